"""`compare A.pwr B.pwr`: output, exports and refusals, on the shipped recording and on changed copies of it."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections import Counter, defaultdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from events.differences.change import ChangeVerdict
from events.differences.differences import Aspect, Difference, RecordingFacts, compare
from events.names.event_names import exported_name
from events.store.outage_mark import Outage
from kernel.connection.open_target import shipped_recording
from kernel.guards.row_bounds import HEADLESS, SCREEN, RowBounds
from tests.export_recordings import outage_recording, recording
from tests.pure.commands import called
from tui.cli.status import DONE, UNUSABLE, USAGE
from tui.output.comparison_table import ComparisonTable
from tui.views.compare import reading
from tui.views.compare.text import group_name
from widgets.lists.text_rows import TextRows

HERE = str(shipped_recording())


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> str:
    return shutil.copy(HERE, str(tmp_path_factory.mktemp("copy") / "copy.pwr"))


@pytest.mark.parametrize(
    ("group", "name"),
    [
        (("vfs_read__exit", "vfs_read"), "vfs_read__exit"),
        (("__x64_sys_openat__entry", "__x64_sys_openat"), "__x64_sys_openat__entry"),
        (("do_file_open_path_openat__exit", "path_openat"), "do_file_open_path_openat__exit path_openat"),
    ],
)
def test_a_function_that_the_event_has_the_name_of_is_not_named_again(group, name):
    assert group_name(group) == name


def test_long_names_that_differ_at_their_ends_look_different_in_a_table():
    event = "do_file_open_path_openat_path_init_link_path_walk_step_in__exit"
    rows = TextRows(("event", "what"), {}, {})
    rows.rows = [(f"{event} {name}", "per second") for name in ("path_openat", "link_path_walk")]
    rows.prepare(0, 2)
    a, b = ("".join(piece.text for piece in rows.pieces(row, 60)) for row in (0, 1))
    assert a != b and "path_openat  per second" in a and "link_path_walk  per second" in b


def objects(capsys, *words: str) -> dict[str, list[dict[str, Any]]]:
    status, out, err = called(capsys, "compare", *words, "--json")
    assert status == DONE, err
    found = defaultdict(list)
    for line in out.splitlines():
        found[json.loads(line)["compare"]].append(json.loads(line))
    return found


def test_a_copy_differs_in_nothing(capsys, copy, records):
    status, out, err = called(capsys, "compare", HERE, copy)
    head = out.splitlines()
    assert (status, err) == (DONE, "")
    words = "".join(out.split())  # lines end where paths of this machine let them
    assert words.startswith("".join(f"A {HERE}: {len(records)} events in ".split())) and f"B{copy}:" in words
    assert re.search("^no difference beyond chance in [0-9]+ comparisons;", out, re.MULTILINE)
    assert max(len(line) for line in head if line[:1] not in "AB" or "  " not in line[:3]) <= 80
    assert {line.split("  ")[-1] for line in head[3:] if " p50 " in line} <= {"no difference", "too few to tell"}


def test_counts_and_values_are_those_of_the_records(capsys, copy, records):
    found = objects(capsys, HERE, copy)
    assert {one["event"]: one["a"]["count"] for one in found["group"]} == Counter(
        exported_name(record.event) for record in records
    )
    assert all(one["a"] == one["b"] for one in found["group"])
    reads = [record.values["count"] for record in records if record.event.endswith("vfs_read__exit")]
    (group,) = (one for one in found["group"] if one["event"] == "vfs_read__exit")
    values = group["a"]["values"]["count"]
    assert (values["number"], values["min"], values["max"]) == (len(reads), min(reads), max(reads))
    powers = Counter((count - 1).bit_length() for count in reads if count > 0)
    assert {exponent: hits for exponent, hits in values["log2"] if hits} == powers
    (result,) = found["result"]
    assert result["changed"] == 0 and result["comparisons"] == len(found["difference"])
    stamps = [record.ts for record in records]
    assert found["recording"][0]["seconds"] == pytest.approx((max(stamps) - min(stamps)) / 1e9)


def test_latencies_are_those_of_the_summary(capsys, copy):
    status, out, _ = called(capsys, HERE, "--export", "jsonl:-", "--view", "summary")
    assert status == DONE
    sums = [json.loads(line) for line in out.splitlines()]
    true = {one["function"]: one for one in sums if one["summary"] == "latency"}
    groups = [one for one in objects(capsys, HERE, copy)["group"] if one["a"]["latency"]]
    assert {one["by"]["func"] for one in groups} == set(true) and true
    names = ("calls", "p50", "p90", "p99", "max", "mean")
    for one in groups:
        own, summed = one["a"]["latency"], true[one["by"]["func"]]
        assert {name: own[name] for name in names} == {name: summed[name] for name in names}
    assert all(one["mean"] == one["total"] / one["calls"] for one in sums if one["summary"] == "latency")
    assert any(one["total"] % one["calls"] for one in sums if one["summary"] == "latency"), "a mean has a fraction"


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_counts_are_the_same_in_any_pieces(monkeypatch, piece):
    def facts(bounds: RowBounds) -> RecordingFacts:
        monkeypatch.setattr(reading, "BOUNDS", bounds)
        return reading.read_file(HERE, "", lambda *_: None, lambda: False)

    whole, found = facts(SCREEN), facts(HEADLESS._replace(piece=piece))
    assert (found.events, found.seconds, set(found.groups)) == (whole.events, whole.seconds, set(whole.groups))
    assert found.fields == whole.fields and found.recorded == whole.recorded
    for one in compare(whole, found).differences:
        assert one.a == one.b and one.change.verdict in (ChangeVerdict.SAME, ChangeVerdict.TOO_FEW)
    for labels, group in whole.groups.items():
        other = found.groups[labels]
        assert other.events == group.events
        assert {name: own.shares for name, own in other.values.items()} == {
            name: own.shares for name, own in group.values.items()
        }
        assert (other.durations and other.durations.total) == (group.durations and group.durations.total)


def test_reading_can_be_stopped():
    with pytest.raises(reading.ReadingStopped):
        reading.read_file(HERE, "", lambda *_: None, lambda: True)


def test_a_key_takes_the_place_of_the_function(capsys, copy, records):
    groups = objects(capsys, HERE, copy, "--by", "comm")["group"]
    true = Counter((exported_name(record.event), record.comm) for record in records)
    assert {(one["event"], one["by"]["comm"]): one["a"]["count"] for one in groups} == true
    calls = sum(one["a"]["latency"]["calls"] for one in groups if one["a"]["latency"])
    whole = objects(capsys, HERE, copy)["group"]
    assert calls == sum(one["a"]["latency"]["calls"] for one in whole if one["a"]["latency"])


def test_a_filter_holds_for_both(capsys, copy, records):
    found = objects(capsys, HERE, copy, "--filter", "comm == cat")
    number = sum(record.comm == "cat" for record in records)
    assert [one["events"] for one in found["recording"]] == [number, number]


def test_losses_and_gaps_are_said(capsys, tmp_path):
    cut = recording("cut", tmp_path)
    status, out, _ = called(capsys, "compare", HERE, str(cut))
    assert status == DONE and "B has gaps of 4.0 s in all, which are no recorded time" in out
    lossy = recording("overrun", tmp_path)
    status, out, _ = called(capsys, "compare", HERE, str(lossy))
    assert status == DONE and "B lost " in out and "a rate that they may explain counts as unsure" in out


@pytest.mark.parametrize(
    ("outage", "times"), [(Outage(4.0, booted=True), 2), (Outage(4.0, lost=1), 1)], ids=["booted", "for good"]
)
def test_an_outage_takes_no_recorded_time_where_it_is_not_between_events_of_one_clock(tmp_path, outage, times):
    def facts(path: Path | str) -> RecordingFacts:
        return reading.read_file(str(path), "", lambda *_: None, lambda: False)

    whole, found = facts(HERE), facts(outage_recording(tmp_path / "outage.pwr", outage))
    assert (found.gap, found.events) == (4.0, times * whole.events)
    assert found.seconds == pytest.approx(times * whole.seconds)


@pytest.mark.parametrize("key", ["item", "a", "event", "comm"])
def test_a_key_has_a_column_of_its_own(key):
    change = SimpleNamespace(factor=2.0, least=1.5, verdict=ChangeVerdict.CHANGED)
    one = Difference(("vfs_read", "key"), Aspect.RATE, "field", "other", 1.0, 2.0, change)
    table = ComparisonTable(SimpleNamespace(differences=[one]), (key, "cpu"))
    cells = [cells for row in table.objects() for cells in table.cells(row)]
    assert len(set(table.columns)) == len(table.columns) and "cpu" in table.columns
    assert [row[table.columns[1]] for row in cells] == ["key"]
    assert [(row["event"], row["item"], row["a"]) for row in cells] == [("vfs_read", "other", 1.0)]


def test_it_is_given_out(capsys, copy, tmp_path):
    status, out, _ = called(capsys, "compare", HERE, copy, "--export", "csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert status == DONE and len(rows) == len(objects(capsys, HERE, copy)["difference"])
    assert {"event", "func", "aspect", "field", "item", "a", "b", "factor", "least", "verdict"} == set(rows[0])
    for name in ("x.jsonl", "x.parquet"):
        assert called(capsys, "compare", HERE, copy, "-o", str(tmp_path / name))[0] == DONE
        assert (tmp_path / name).stat().st_size
    status, _, err = called(capsys, "compare", HERE, copy, "-o", str(tmp_path / "x.pftrace"))
    assert status == USAGE and "a comparison is exported as jsonl, csv, parquet" in err


@pytest.mark.parametrize(
    ("words", "status", "text"),
    [
        ((HERE, HERE), UNUSABLE, "are the same file"),
        ((HERE, "local"), UNUSABLE, "compare takes two recordings"),
        ((HERE, "lab:7.2"), UNUSABLE, "record SPEC -t lab:7.2"),
        ((HERE, "/nowhere.pwr"), UNUSABLE, "/nowhere.pwr: no such recording"),
        ((HERE, "README.md"), UNUSABLE, "no recording"),
        ((HERE, "tests/data/btf-7.2.xz"), UNUSABLE, "no recording"),
    ],
)
def test_what_is_no_pair_of_recordings_is_refused(capsys, words, status, text):
    found, out, err = called(capsys, "compare", *words)
    assert (found, out) == (status, "") and text in err, err


def test_wrong_keys_and_filters_are_refused(capsys, copy):
    status, _, err = called(capsys, "compare", HERE, copy, "--by", "com")
    assert status == USAGE and "no event has com" in err
    status, _, err = called(capsys, "compare", HERE, copy, "--filter", "comm = x")
    assert status == USAGE and "^" in err


def test_a_link_to_the_file_is_the_same_file(capsys, tmp_path: Path):
    link = tmp_path / "link.pwr"
    link.symlink_to(HERE)
    status, _, err = called(capsys, "compare", HERE, str(link))
    assert status == UNUSABLE and "are the same file" in err
