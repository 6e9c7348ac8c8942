"""Rows of several kinds of events: one kind has columns, rows of the others show theirs as a text across these."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from events.format import parse_format
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.pure.tui.test_event_table_search import shown
from tui.present.status import fields_of
from tui.present.watched_events import kinds_of, reading_order
from tui.views.events.event_kinds import EventKinds
from widgets.events.column_choice import ColumnChoice, is_mixed
from widgets.events.event_rows import FIXED, EventColumn, EventRows
from widgets.safe_text import ELLIPSIS

READ, OPEN, EXEC = (
    frozenset(("f_pos", "count", "ret")),
    frozenset(("dfd", "name", "flags", "ret")),
    frozenset(("name",)),
)
KINDS = {"p/read": READ, "p/read_exit": READ, "p/open": OPEN, "p/exec": EXEC}
FIELDS = ("f_pos", "count", "ret", "dfd", "name", "flags")


def names(choice: ColumnChoice) -> list[str]:
    return [column.name for column in choice.shown if not column.of_all]


def test_kinds_that_share_their_fields_or_have_few_are_not_mixed():
    assert is_mixed(tuple(KINDS.values()))
    assert not is_mixed((READ, READ))
    assert not is_mixed((READ, frozenset((*READ, "pos"))))
    assert not is_mixed((frozenset("a"), frozenset("b"), frozenset("c"))), "three columns are no sheet"
    assert not is_mixed(())


def test_the_kind_of_an_event_has_the_columns_and_one_without_fields_changes_nothing():
    kinds = EventKinds()
    choice = kinds.use(ColumnChoice().with_fields(FIELDS), KINDS)
    assert kinds.is_undecided
    assert names(choice) == []
    assert choice.rest == set(FIELDS)
    choice = kinds.at(choice, "p/open")
    assert not kinds.is_undecided
    assert names(choice) == ["ret", "dfd", "name", "flags"]
    assert choice.rest == {"f_pos", "count"}
    assert kinds.at(choice, "ftrace/kernel_stack") == choice
    assert kinds.at(choice, "p/read_exit") == kinds.at(choice, "p/read")


def test_what_was_hidden_moved_or_sorted_stays_so_for_every_kind():
    kinds = EventKinds()
    choice = kinds.at(kinds.use(ColumnChoice().with_fields(FIELDS), KINDS), "p/open")
    choice = choice.at([column.name for column in choice.shown].index("ret")).moved(1)
    assert names(choice) == ["dfd", "ret", "name", "flags"]
    choice = choice.at([column.name for column in choice.shown].index("flags")).without_current()
    read = kinds.at(choice, "p/read")
    assert read.rest == {"dfd", "name"}, "flags are hidden in the text, too"
    assert names(kinds.at(read, "p/open")) == ["dfd", "ret", "name"]
    assert "count" in names(kinds.at(choice, "p/open", sorted_by="count"))
    assert "flags" in names(kinds.at(choice.with_all(), "p/open"))


def test_all_columns_are_there_if_the_user_wants_them():
    kinds = EventKinds()
    choice = kinds.at(kinds.use(ColumnChoice().with_fields(FIELDS), KINDS), "p/open")
    choice = kinds.toggle(choice, "p/read")
    assert (names(choice), choice.rest) == (list(FIELDS), frozenset())
    assert kinds.at(choice, "p/exec") == choice
    assert names(kinds.toggle(choice, "p/read")) == ["f_pos", "count", "ret"]


OPENAT = """name: sys_enter_openat
ID: 700
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;

\tfield:int __syscall_nr;\toffset:8;\tsize:4;\tsigned:1;
\tfield:int dfd;\toffset:16;\tsize:8;\tsigned:0;
\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;
\tfield:int flags;\toffset:32;\tsize:8;\tsigned:0;
\tfield:void * buffer;\toffset:40;\tsize:8;\tsigned:0;
\tfield:umode_t mode;\toffset:48;\tsize:8;\tsigned:0;
\tfield:__data_loc char[] __filename_val;\toffset:56;\tsize:4;\tsigned:0;

print fmt: ""
"""


def test_the_columns_of_an_event_of_the_kernel_are_in_the_order_in_which_people_read_them():
    fmt = parse_format(OPENAT, "syscalls")
    naming = {"dfd": "dfd", "flags": "open"}
    columns = [
        PlanColumn(name, name, is_call=name == "__syscall_nr", naming=naming.get(name, "")) for name in fmt.names
    ]
    event = PlannedEvent("syscalls", "sys_enter_openat", "", "", columns=tuple(columns))
    order = ["__filename_val", "dfd", "flags", "mode", "buffer"]
    assert [column.name for column in reading_order(event, fmt)] == order
    without_texts = replace(event, columns=event.columns[:-1])
    assert "filename" in [column.name for column in reading_order(without_texts, fmt)], "older kernels have no text"
    elsewhere = replace(event, group="raw_syscalls")
    assert {column.name for column in reading_order(elsewhere, fmt)} == set(fmt.names), "the call differs there"
    assert set(reading_order(event, None)) == set(reading_order(event, fmt))


def test_an_address_whose_text_is_recorded_has_no_column_though_another_event_has_a_text_of_that_name():
    columns = tuple(PlanColumn(name, name) for name in ("dfd", "filename", "__filename_val"))
    opens = PlannedEvent("syscalls", "sys_enter_openat", "", "", columns=columns)
    execs = PlannedEvent("sched", "sched_process_exec", "", "", columns=(PlanColumn("filename", "filename"),))
    plans = [Plan(Probe(ProbePlace("x")), (one,)) for one in (opens, execs, replace(opens, columns=columns[:2]))]
    fields = ("filename", "__filename_val", "dfd")
    assert kinds_of(plans[:2], fields) == {opens.path: {"__filename_val", "dfd"}, execs.path: {"filename"}}
    assert kinds_of(plans[2:], fields) == {opens.path: {"filename", "dfd"}}, "older kernels have no text"


@given(
    st.lists(st.sets(st.sampled_from("abcdefgh")).map(frozenset), max_size=6), st.sets(st.sampled_from("abcdefgh"))
)
def test_each_field_that_is_not_hidden_stands_in_one_place(sets, hidden):
    kinds, fields = EventKinds(), tuple("abcdefgh")
    choice = kinds.use(ColumnChoice().with_fields(fields), {f"p/{n}": one for n, one in enumerate(sets)})
    choice = choice.preferring((), tuple(hidden))
    for n in range(len(sets)):
        choice = kinds.at(choice, f"p/{n}")
        columns = names(choice)
        assert set(columns) | choice.rest == set(fields) - hidden
        assert not choice.rest.intersection(columns)


def test_rows_of_the_recording_lose_nothing_at_any_width():
    watch, events, _ = shown()
    fields, store = fields_of(watch), events.store
    kinds = EventKinds()
    choice = kinds.use(ColumnChoice().with_fields(fields), kinds_of(watch.event_fields.plans, fields))
    assert kinds.mixed
    assert set(kinds_of(watch.event_fields.plans, fields)) >= {store.record(seq).event for seq in range(40)}
    for seq in range(40):
        choice = kinds.at(choice, store.record(seq).event)
        rows = EventRows(events, choice.shown, events.items.cells, fields=choice.fields)
        rows.prepare(0, 40)
        assert "".join(piece.text for piece in rows.header(400)).split()[4:] == names(choice)
        for row in range(40):
            line = "".join(piece.text for piece in rows.pieces(row, max(400, rows.total(400))))
            cells = events.items.cells(events.item(row))
            for name, text in cells.items():
                assert text in line
                assert (f"{name}={text}" in line) == (not choice.rest.isdisjoint(cells))
        for width in (40, 75, 118):
            total = max(width, rows.total(width))
            lines = ["".join(piece.text for piece in rows.pieces(row, total)) for row in range(40)]
            assert all(len(line) <= total for line in lines)
            for row, line in enumerate(lines):
                assert "=" in line or choice.rest.isdisjoint(events.items.cells(events.item(row)))


def test_a_text_in_place_of_cells_has_the_fields_in_their_order_but_those_that_stand_before_it():
    _, events, _ = shown()
    row = next(seq for seq in range(40) if "dfd" in events.items.cells(events.item(seq)))
    columns, fields = (EventColumn("dfd"), *FIXED, EventColumn("pid")), ("flags", "filename", "dfd")
    rows = EventRows(events, columns, events.items.cells, fields=fields)
    rows.prepare(row, row + 1)
    line = "".join(piece.text for piece in rows.pieces(row, 200))
    assert line.startswith("AT_FDCWD  ") and "dfd=" not in line
    assert "  flags=O_" in line and " filename=/" in line and line.index("flags=") < line.index("filename=")
    narrow = rows.total(30)
    assert narrow == rows.span(4, 30)[1] + 26, "the row scrolls sideways, else there would be nothing of it"


def test_a_task_has_its_id_at_every_width():
    _, events, _ = shown()
    columns = (*FIXED, *(EventColumn(name) for name in ("filename", "flags")))
    rows = EventRows(events, columns, events.items.cells)
    rows.prepare(0, events.next)
    cells: list[str] = []
    for width in range(50, 100, 5):
        start, stop = rows.span(2, width)
        for row in range(events.next):
            cells.append("".join(piece.text for piece in rows.pieces(row, width))[start:stop].rstrip())
            assert cells[-1].endswith(str(events.item(row).pid)), cells[-1]
    assert any(ELLIPSIS in cell for cell in cells)


def test_where_all_fields_have_columns_each_event_has_its_cells():
    watch, events, _ = shown()
    fields = fields_of(watch)
    columns = (*FIXED, *(EventColumn(name) for name in fields))
    rows = EventRows(events, columns, events.items.cells, fields=fields)
    rows.prepare(0, 10)
    for row in range(10):
        texts = [piece.text for piece in rows.pieces(row, rows.total(80))]
        assert not any("=" in text for text in texts)


def test_fields_of_one_structure_stand_in_braces_where_they_have_no_columns():
    _, events, _ = shown()
    row = next(seq for seq in range(40) if "dfd" in events.items.cells(events.item(seq)))
    owners = {"dfd": "how", "flags": "how"}
    fields = ("dfd", "flags", "filename")
    rows = EventRows(events, FIXED, events.items.cells, fields=fields, owners=lambda _: owners)
    rows.prepare(row, row + 1)
    line = "".join(piece.text for piece in rows.pieces(row, 300))
    assert "  how={dfd=AT_FDCWD, flags=O_" in line and "} filename=/" in line
    kinds = {events.item(row).event: frozenset(("dfd", "flags"))}
    told = EventRows(events, FIXED, events.items.cells, fields=fields, kinds=kinds)
    told.prepare(row, row + 1)
    line = "".join(piece.text for piece in told.pieces(row, 300))
    assert "dfd=" in line and "filename" not in line, "an address whose text the event has is told by that"
    rows.search = "flags=O_"
    marked = [piece.text for piece in rows.pieces(row, 300) if piece.look == "match"]
    assert "".join(marked) == "flags=O_", "a search that finds the row is seen in it"
