"""Tables of hist triggers: every entry as the kernel wrote it, in its order, and none of our own."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.json_text import json_line
from events.summary.hist_text import parse_hist
from kernel.errors import TargetLost
from kernel.guards.rate_meter import KEYS
from kernel.session.probe_steps import Mode
from kernel.session.start import open_session
from kernel.watch.hist_tables import HistTable, events_with_tables, read_tables
from kernel.watch.histogram import Histograms
from probes.hist.stack_triggers import within_filter
from probes.hist.unfiltered import trigger_note
from tests.fake_hist import HistKernel
from tests.pure.kernel.test_hist_text import _filled, _of_keys
from tests.pure.kernel.test_histograms import OneSession, plan
from tui.cli.tables.hist_printer import print_tables
from tui.output.kernel_tables import HistogramsTable
from tui.present.hist_tables import lines_of, object_of

LOG2 = "hist:keys=count.log2,common_pid.execname:vals=hitcount,count:sort=count.descending:size=2048"
FILE = """# event histogram
#
# trigger info: LOG2 [active]
#

{ count: ~ 2^16, common_pid: cat             [       152] } hitcount:          2  count:     131072
{ count: ~ 2^14, common_pid: dropbear        [       123] } hitcount:          2  count:      32750

Totals:
    Hits: 5
    Entries: 2
    Dropped: 1


# event histogram
#
# trigger info: hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048 [paused]
#

{ common_stacktrace:
         vfs_read+0x9/0x490
         ksys_read+0xcf/0x110
} hitcount:          3

Totals:
    Hits: 3
    Entries: 1
    Dropped: 0


# event histogram
#
# trigger info: hist:keys=id.sym:vals=hitcount.percent,big.graph:sort=hitcount:size=2048 [active]
#

{ id: [ffffffff8108c2d0] vfs_read                                      } hitcount (%):  12.34  big: ########
{ id: [ffffffff8108c2d1] evil { } hitcount: 9                          } hitcount (%):  87.66  big:

Totals:
    Hits: 18446744073709551615
    Entries: 2
    Dropped: 0
""".replace("LOG2", LOG2)


def tables() -> list[HistTable]:
    return [HistTable("pw_1_2/vfs_read__entry", one) for one in parse_hist(FILE)]


def test_entries_stand_as_the_kernel_wrote_them_in_its_order():
    lines = [" ".join(one.text.split()) for one in lines_of(tables())]
    assert lines == [
        f"vfs_read__entry {LOG2}",
        "count.log2 common_pid.execname hitcount count",
        "~ 2^16 cat [ 152] 2 131072",
        "~ 2^14 dropbear [ 123] 2 32750",
        "5 hits, 2 entries, 1 without room",
        "",
        "vfs_read__entry hist:keys=common_stacktrace:vals=hitcount:sort=hitcount:size=2048 paused",
        "common_stacktrace hitcount",
        "vfs_read+0x9/0x490 3",
        "ksys_read+0xcf/0x110",
        "3 hits, 1 entry",
        "",
        "vfs_read__entry hist:keys=id.sym:vals=hitcount.percent,big.graph:sort=hitcount:size=2048",
        "id.sym hitcount (%) big",
        "[ffffffff8108c2d0] vfs_read 12.34 ########",
        "[ffffffff8108c2d1] evil { } hitcount: 9 87.66",
        "18,446,744,073,709,551,615 hits, 2 entries",
    ]


def test_objects_have_each_key_and_value_and_no_number_that_is_rounded():
    logs, stacks, symbols = (json.loads(json_line(object_of(one))) for one in tables())
    assert (logs["summary"], logs["event"], logs["active"]) == ("hist", "vfs_read__entry", True)
    assert logs["entries"][0] == {
        "keys": [
            {"name": "count", "text": "~ 2^16", "modifier": "log2", "number": 16},
            {"name": "common_pid", "text": "cat             [       152]", "modifier": "execname", "number": 152},
        ],
        "values": {"hitcount": 2, "count": 131072},
    }
    assert (logs["hits"], logs["entries_taken"], logs["without_room"]) == (5, 2, 1)
    assert stacks["active"] is False
    assert "ksys_read+0xcf/0x110" in stacks["entries"][0]["keys"][0]["text"]
    first = symbols["entries"][0]
    assert first["keys"][0]["number"] == str(0xFFFFFFFF8108C2D0)
    assert first["values"] == {"hitcount (%)": 12.34, "big": "########"}


def test_a_filter_that_does_not_hold_for_a_table_is_told_below_it():
    first, *_ = tables()
    lines = [one.text for one in lines_of([first._replace(ignored="count > 5\n")])]
    assert (
        lines[-1].startswith("  counted also where the probe's filter does not hold: ") and "count > 5" in lines[-1]
    )
    assert all(line.isprintable() for line in lines)
    assert "ignored_filter" not in object_of(first)
    assert object_of(first._replace(ignored="count > 5"))["ignored_filter"] == "count > 5"


@pytest.mark.parametrize(
    ("trigger", "condition", "told"),
    [
        ("traceoff", "count > 5", True),
        (" traceoff:1 ", "count > 5", True),
        ("enable_event:sched:sched_waking", "count > 5", True),
        ("traceoff if count > 5", "count > 5", False),
        ("traceoff", "", False),
        ("stacktrace", "count > 5", False),
        ("hist:keys=count", "count > 5", False),
        ("no such trigger ::", "count > 5", False),
    ],
)
def test_a_trigger_that_goes_by_no_filter_is_told(trigger, condition, told):
    note = trigger_note(trigger, condition)
    assert bool(note) is told and (condition in note) is (told or not condition)


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(0, 2**64 - 1))
def test_whatever_a_process_is_called_its_line_is_one_line_and_safe(name, hits):
    text = FILE.replace("dropbear", name).replace("131072", str(hits))
    found = [HistTable("g/e", one) for one in parse_hist(text)]
    for one in lines_of(found):
        assert one.text.isprintable() and len(one.text.splitlines()) <= 1
    for table in found:
        json.loads(json.dumps(object_of(table)))


def test_an_entry_without_the_keys_of_its_trigger_has_one_key_all_the_same():
    found = parse_hist(FILE.replace("{ id:", "{ other:"))[-1]
    assert [len(entry.keys) for entry in found.entries] == [1, 1]
    assert found.entries[0].keys[0].text.startswith("other: [ffffffff8108c2d0] vfs_read")


def test_those_of_people_are_read_and_none_of_our_own(capsys):
    target = HistKernel()
    with open_session(target) as session:
        armed = session.probes.arm(plan(session.group))
        watch = OneSession(session)
        assert events_with_tables(watch) == () and list(read_tables(watch)) == []
        entry, leave = armed.plan.events
        session.probes.add_trigger(armed, entry, "hist:keys=common_pid.execname")
        session.probes.add_trigger(armed, entry, "hist:name=mine:keys=count")
        session.probes.add_trigger(armed, leave, f"hist:{KEYS}")
        session.probes.add_trigger(armed, leave, "stacktrace")
        Histograms(watch).begin([armed], [(entry.path, "count")])
        assert session.probes.mode(armed) is Mode.COUNT
        for _ in range(3):
            target.hit(entry.path)
        found = [
            (one.event, one.histogram.trigger.partition(":vals")[0], one.histogram.hits) for one in read_tables(watch)
        ]
        assert found == [
            (entry.path, "hist:keys=common_pid.execname", 3),
            (entry.path, "hist:name=mine:keys=count", 3),
            (leave.path, "hist:keys=common_cpu", 0),
        ]
        print_tables(SimpleNamespace(armed=watch, outages=()), as_json=True)
        objects = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [one["trigger"].partition(":vals")[0] for one in objects] == [trigger for _, trigger, _ in found]
        print_tables(SimpleNamespace(armed=watch, outages=()), as_json=False)
        assert "entry  hist:keys=common_pid.execname:vals=hitcount" in capsys.readouterr().out
        print_tables(SimpleNamespace(armed=watch, outages=()), as_json=True, aside=True)
        told = capsys.readouterr()
        assert told.out == "" and "3 hits, 1 entry" in told.err
        target.lost = True
        with pytest.raises(TargetLost):
            list(read_tables(watch))
        print_tables(SimpleNamespace(armed=watch, outages=()), as_json=False)
        assert "can't be read" in capsys.readouterr().err
        target.lost = False
        session.probes.disarm(armed)
        assert list(read_tables(watch)) == []
    assert list(read_tables(SimpleNamespace(session=None))) == []
    assert not target.traces


@pytest.mark.parametrize("text", ["stacktrace if", "stacktrace:x", "stacktraces"])
def test_a_stack_trigger_that_the_kernel_can_not_read_is_left_to_it(text):
    assert within_filter(text, "count > 5") == text


def test_an_entry_whose_keys_can_not_be_told_apart_hides_no_other():
    """It stands behind them with its values, as the kernel printed it; in each form."""
    text = _of_keys(
        "from,to",
        f"from: {'/' + 'x' * 49 + ', to: /etc' + ' ' * 60}, to: {_filled('/b')}",
        f"from: {_filled('/a')}, to: {_filled('/c')}",
    )
    (table,) = (HistTable("g/e", one) for one in parse_hist(text, {"from", "to"}))
    lines = [line.text for line in lines_of([table])]
    (sure,) = (n for n, line in enumerate(lines) if line.split() == ["/a", "/c", "3"])
    (unsure,) = (n for n, line in enumerate(lines) if line.startswith("  ? from: /xxx"))
    assert sure < unsure and lines[unsure].endswith("hitcount 3")
    assert "1 entry whose keys can be read in several ways" in lines[unsure - 1]
    made = object_of(table)
    assert [key["text"] for key in made["entries"][0]["keys"]] == ["/a", "/c"]
    (apart,) = made["entries_unsure"]
    assert apart["text"].startswith("from: /xxx") and apart["values"] == {"hitcount": 3}
    rows = HistogramsTable()
    rows.tables = [(table, 0, "")]
    cells = [row for one in rows.objects() for row in rows.cells(one)]
    assert [row["summary"] for row in cells] == ["hist", "hist unsure", "hist totals"]
    assert cells[1]["keys"] == apart["text"] and set(cells[1]) <= set(rows.columns)
