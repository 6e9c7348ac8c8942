"""Tables of what the kernel counted, given out: what `--json` prints and the screen shows, whole, also in CSV."""

from __future__ import annotations

import csv
import io
import json
import math
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.export.catalogue import format_named
from events.json_text import json_line
from events.summary.hist_text import parse_hist
from kernel.connection.kernel_info import KernelInfo
from kernel.watch.hist_tables import HistTable
from tests.fake_hist import HistKernel
from tests.json_reader import read_line
from tests.pure.commands import command
from tests.pure.fake_hosts import AnyProbe, FakeHost
from tests.pure.kernel.test_hist_tables import FILE, tables
from tests.pure.kernel.test_hist_tables_hosts import TRIGGER, CountingHost
from tui.cli.commands import run
from tui.cli.exports import view_export
from tui.cli.follow import follow as watching
from tui.output.kernel_tables import HistogramsTable
from tui.output.view_job import ViewJob
from tui.present.hist_tables import object_of

__all__ = ["command"]

SPEC = "f vfs_read"


class HistHost(HistKernel, FakeHost):
    """A host with hist triggers."""


def written(found: list[tuple[HistTable, int, str]], name: str) -> bytes:
    """Return the file of some tables."""
    table, out, form = HistogramsTable(), io.BytesIO(), format_named(name)
    assert form is not None
    table.tables = found
    assert ViewJob(table, form, out).step(math.inf)
    return out.getvalue()


def rows_of(data: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(data.decode(), newline="")))


def filled(row: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in row.items() if value}


def test_a_row_of_csv_is_an_entry_with_numbers_beside_names_and_then_the_totals():
    rows = [filled(row) for row in rows_of(written([(one, 2, "") for one in tables()], "csv"))]
    about = {"summary": "hist", "event": "vfs_read__entry", "active": "true"}
    assert [{**row, "trigger": ""} for row in rows[:3]] == [
        {
            **about,
            "trigger": "",
            "key.count.log2": "~ 2^16",
            "key.count.log2.number": "16",
            "key.common_pid.execname": "cat",
            "key.common_pid.execname.number": "152",
            "value.hitcount": "2",
            "value.count": "131072",
        },
        {
            **about,
            "trigger": "",
            "key.count.log2": "~ 2^14",
            "key.count.log2.number": "14",
            "key.common_pid.execname": "dropbear",
            "key.common_pid.execname.number": "123",
            "value.hitcount": "2",
            "value.count": "32750",
        },
        {
            **about,
            "summary": "hist totals",
            "trigger": "",
            "hits": "5",
            "entries_taken": "2",
            "without_room": "1",
            "cuts": "2",
        },
    ]
    assert rows[3]["key.common_stacktrace"] == "vfs_read+0x9/0x490;ksys_read+0xcf/0x110"
    assert rows[3]["active"] == "false"
    assert (rows[5]["key.id.sym"], rows[5]["key.id.sym.number"]) == ("vfs_read", str(0xFFFFFFFF8108C2D0))
    assert (rows[5]["value.hitcount (%)"], rows[5]["value.big"]) == ("12.340", "########")
    assert rows[-1]["hits"] == str((1 << 64) - 1)


def test_json_lines_are_what_run_prints():
    lines = written([(one, 1, "") for one in tables()], "jsonl").splitlines()
    assert [line.decode() for line in lines] == [json_line(object_of(one, 1)) for one in tables()]


def test_of_several_hosts_each_row_says_whose_it_is():
    found = [(one, 0, host) for host in ("one", "two") for one in tables()]
    assert [row["host"] for row in rows_of(written(found, "csv")) if row["summary"] == "hist totals"] == [
        *(["one"] * 3),
        *(["two"] * 3),
    ]
    assert {json.loads(line)["host"] for line in written(found, "jsonl").splitlines()} == {"one", "two"}


def test_a_table_that_nothing_has_hit_has_its_columns_all_the_same():
    text = (
        "# event histogram\n#\n# trigger info: hist:keys=common_pid:vals=hitcount,count.percent:sort=hitcount "
        "[active]\n#\n\n\nTotals:\n    Hits: 0\n    Entries: 0\n    Dropped: 0\n"
    )
    data = written([(HistTable("g/e", one), 0, "") for one in parse_hist(text)], "csv")
    assert {"key.common_pid", "value.hitcount", "value.count (%)"} < set(
        next(csv.reader([data.decode().split("\r")[0]]))
    )
    assert [filled(row)["hits"] for row in rows_of(data)] == ["0"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(0, 2**64 - 1))
def test_both_formats_say_the_same_whatever_a_process_is_called(name, hits):
    text = FILE.replace("dropbear", name).replace("131072", str(hits))
    found = [(HistTable("g/e", one), 0, "") for one in parse_hist(text)]
    rows = rows_of(written(found, "csv"))
    objects = [read_line(line) for line in written(found, "jsonl").splitlines()]
    entries = [entry for one in objects for entry in one["entries"]]
    listed = [row for row in rows if row["summary"] == "hist"]
    assert len(listed) == len(entries)
    for row, entry in zip(listed, entries, strict=True):
        for title, value in entry["values"].items():
            shown = row[f"value.{title}"]
            assert shown.removeprefix("'") == (f"{value:.3f}" if isinstance(value, float) else str(value))
        for key in entry["keys"]:
            title = ".".join(filter(None, ("key", key["name"], key.get("modifier", ""))))
            if "number" in key:
                assert str(key["number"]) in (row[title], row.get(f"{title}.number"))
    assert [int(row["hits"]) for row in rows if row["summary"] == "hist totals"] == [one["hits"] for one in objects]


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHost]:
    made = CountingHost("one")
    made.hits = 7
    monkeypatch.setattr(run, "connect", lambda *_, **__: KernelInfo(made))
    monkeypatch.setattr(run, "Planner", AnyProbe)
    yield made
    assert not made.traces


VIEW = ("run", SPEC, "--for", "0.1", "--trigger", TRIGGER, "--view", "histograms")


def test_run_writes_the_tables_in_place_of_events_and_prints_them_no_second_time(host, command, tmp_path):
    path = tmp_path / "x.csv"
    done = command(*VIEW, "--export", f"csv:{path}")
    assert done.status == 0 and done.out == ""
    assert f"{path}: 1 histogram, 1 entry, " in done.err and "hits, " not in done.err
    entry, totals = map(filled, rows_of(path.read_bytes()))
    assert (entry["event"], entry["key.common_pid"], entry["value.hitcount"], totals["hits"]) == (
        "vfs_read",
        "812",
        "7",
        "7",
    )
    assert totals["cuts"] == "0"


def test_as_json_lines_they_are_what_json_prints(host, command):
    printed = command("run", SPEC, "--for", "0.1", "--trigger", TRIGGER, "--json")
    given_out = command(*VIEW, "--export", "jsonl")
    assert given_out.out == printed.out and '"hits":7' in given_out.out


def test_where_the_kernel_does_not_let_them_be_read_no_file_is_begun(host, command, tmp_path):
    host.hits = -1
    path = tmp_path / "x.csv"
    done = command(*VIEW, "--export", f"csv:{path}")
    assert done.status == 3 and "Input/output error" in done.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--view", "histograms"), "--view names the table that --export writes"),
        (("--view", "histograms", "--export", "perfetto:x"), "perfetto holds events"),
        (("--view", "histograms", "--export", "csv", "--filter", "count > 1"), "this table is of none"),
        (("--view", "calls", "--export", "csv", "--count", "3"), "--for says when"),
        (("--view", "hosts", "--export", "csv"), "-t more than once"),
        (("--view", "calls", "--export", "csv", "--hist"), "--view summary, that of what the kernel counts"),
        (("--view", "calls", "--export", "csv", "--hist", "--summary", "count"), "--hist prints; its table is"),
        (("--view", "summary", "--export", "csv", "--summary", "count"), "has the values of every field"),
        (("--summary", "--export", "csv"), "--view summary gives"),
        (("--hist", "--export", "csv"), "--view summary gives"),
        (("-t", "a", "-t", "b", "--view", "calls", "--export", "csv"), "of several there are histograms and hosts"),
    ],
)
def test_what_has_no_table_is_told_before_anything_is_opened(command, words, told):
    done = command("run", SPEC, *words)
    assert (done.status, done.out) == (2, "")
    assert told in done.err


def test_a_recording_has_no_histogram(command):
    from tests.pure.tui.test_cli_filter import HERE

    done = command(HERE, "--export", "csv", "--view", "histograms")
    assert done.status == 3 and "a recording holds events and no histogram" in done.err


def test_run_gives_out_what_the_kernel_counted_in_place_of_events(command, monkeypatch):
    made = HistHost("one")
    monkeypatch.setattr(run, "connect", lambda *_, **__: KernelInfo(made))
    monkeypatch.setattr(run, "Planner", AnyProbe)
    words = ("run", SPEC, "--for", "0.1", "--hist", "--summary", "count", "--export")
    done = command(*words, "jsonl", "--view", "summary")
    assert done.status == 0
    assert [(one["summary"], one.get("field")) for one in done.objects] == [
        ("hits", None),
        ("values", "count"),
        ("processes", ""),
    ]
    rows = list(csv.DictReader(io.StringIO(command(*words, "csv", "--view", "summary").out, newline="")))
    assert [(row["summary"], row["event"], row["count"]) for row in rows[:1]] == [("hits", "vfs_read", "0")]
    assert "without_room" in rows[0]
    printed = command(*words[:-1], "--json").objects
    assert printed == done.objects
    assert not made.traces


def test_run_gives_a_recordings_tables_to_whom_they_belong(command):
    """It holds more than a probe that `run` was asked for: the table would be of other events, too."""
    from tests.pure.tui.test_cli_filter import HERE

    done = command("run", "-t", HERE, "f vfs_read", "--export", "csv", "--view", "calls")
    assert done.status == 2 and "probewright FILE.pwr --view" in done.err


@pytest.mark.parametrize(("text", "number"), [("", 3), ("pid == 5", 2), ("pid == 7", 0)])
def test_run_gives_the_table_of_what_came_and_passes(command, monkeypatch, tmp_path, text, number):
    made = FakeHost("one")
    monkeypatch.setattr(run, "connect", lambda *_, **__: KernelInfo(made))
    monkeypatch.setattr(run, "Planner", AnyProbe)

    def follow(*words: object, **more: object) -> int:
        for pid in (5, 6, 5):
            made.event(time.time_ns(), pid=pid)
        return watching.follow(*words, **more)

    monkeypatch.setattr(view_export, "follow", follow)
    path = tmp_path / "sums.jsonl"
    done = command(
        *("run", SPEC, "--for", "0.1", "--json", "--view", "summary", "--filter", text), "--export", f"jsonl:{path}"
    )
    (told,) = done.objects
    assert done.status == 0 and told["file"] == str(path) and told["rows"] == len(path.read_bytes().splitlines())
    sums = [json.loads(line) for line in path.read_text().splitlines()]
    assert sums[0] == {"summary": "events", "events": number, **({"of": 3} if text else {}), "uncounted": 0}
