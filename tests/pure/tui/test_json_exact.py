"""Numbers in `--json` are whole and exact: none is rounded, has a unit, or is cut short for people."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

import pytest

from events.summary.hist_text import HistEntry, HistKey, Histogram
from kernel.connection.open_target import shipped_recording
from kernel.watch.histogram import HistogramReading
from probes.hist.kept import LATENCY as OF_CALLS
from probes.hist.kept import WatchedHistogram
from probes.plans.plan import PlannedEvent
from tests.json_reader import read_line
from tests.pure.commands import command
from tests.pure.tui.test_live_fields import LATENCY, id_of, target, watch
from tui.__main__ import main
from tui.cli.status import DONE
from tui.cli.tables.summary_printer import summarize
from tui.filter.filter import Filter
from tui.present.summary_objects import objects_of_kernel

__all__ = ["command", "target", "watch"]

HERE = str(shipped_recording())
OPENS = "f do_sys_openat2%both dfd filename:ustring how->flags $retval"
FOR_PEOPLE = re.compile(r"[≤≥~]?\s*-?\d[\d.,]*\s*(?:ns|us|µs|ms|s|k|M|G|T|[kMG]i?B)(?:/s)?|-?\d{1,3}(?:,\d{3})+|.*…")
"""`1.23 ms`, `12.5k`, `1.2 MB/s`, `1,234`, and what was cut."""
PARTS = {"gaps", "seconds", "mean"}
"""Names of values that have parts of one: seconds of a lost connection, means."""
TYPED = {"parameters"}
"""Names of what a person wrote."""
COMMANDS = [
    ("run", OPENS, "--json"),
    ("run", OPENS, "--json", "--clock", "utc"),
    ("run", OPENS, "--json", "--summary", "ret"),
    ("run", OPENS, "--json", "--summary", "filename", "--filter", "latency > 1ms"),
    ("run", "file-position", "--json"),
    ("check", OPENS, "f vfs_read nosuch", "--matrix", "--json"),
    ("list", "vfs_read", "--json"),
    ("show", "vfs_read", "--json"),
    ("show", "struct file", "--json"),
    ("graph", "--json"),
    ("preset", "list", "--json"),
    ("preset", "show", "slow-opens", "--json"),
    ("preset", "check", "slow-opens", "--json"),
    ("export", OPENS, "--as", "comment", "--json"),
    ("doctor", "--json"),
]


def values(value: object, names: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], object]]:
    """Yield what an object holds, each with the names on the way to it."""
    if isinstance(value, dict):
        for name, part in value.items():
            yield from values(part, (*names, name))
    elif isinstance(value, list):
        for part in value:
            yield from values(part, names)
    else:
        yield names, value


def for_people(found: list[dict[str, Any]]) -> list[tuple[tuple[str, ...], object]]:
    """Return what is no exact number and no plain text."""
    return [
        (names, value)
        for one in found
        for names, value in values(one)
        if TYPED.isdisjoint(names)
        if (isinstance(value, float) and PARTS.isdisjoint(names))
        or (isinstance(value, str) and FOR_PEOPLE.fullmatch(value))
    ]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_number_is_made_for_people(command, words):
    done = command(*words, "-t", HERE)
    found = [read_line(line) for line in done.out.splitlines()]
    assert found, done.err
    assert for_people(found) == []


@pytest.mark.parametrize("text", ["2.34 ms", "812 ns", "12.5k", "≤ 1.05 ms", "1.2 MB", "1,234", "cut sho…", "3/s"])
def test_what_is_made_for_people_is_seen(text):
    made = [{"a": [{"b": text}]}, {"a": 1.5}]
    assert [names for names, _ in for_people(made)] == ([("a", "b")] if text != "3/s" else []) + [("a",)]


TOOK = (2_341_017, 2_341_018, 169_012, 169_444, 812, (1 << 64) - 5)


def summed(watch, *, as_json: bool, capsys) -> str:
    armed = watch.armed.arm(LATENCY)
    for ts, took in enumerate(TOOK, 1000):
        watch.info.target.came(ts, id_of(armed, "io"), took)
    bounds = argparse.Namespace(seconds=0.5, count=6, summary="lat", hist=False, json=as_json, reconnect=0)
    paths = {event.path for event in armed.plan.events}
    summarize(watch, bounds, paths, Filter())
    return str(capsys.readouterr().out)


def test_a_measured_time_has_all_its_digits(watch, capsys):
    """Times that read the same are one row for people, and as many as there are for a machine."""
    found = [read_line(line.encode()) for line in summed(watch, as_json=True, capsys=capsys).splitlines()]
    (shown,) = (one["values"] for one in found if one["summary"] == "values" and one["field"] == "lat")
    assert sorted(int(one["number"]) for one in shown) == sorted(TOOK)
    assert all(int(one["value"]) == one["number"] and one["count"] == 1 for one in shown)
    assert for_people(found) == []


def test_a_measured_time_reads_as_others_do_for_people(watch, capsys):
    told = summed(watch, as_json=False, capsys=capsys)
    assert re.search(r"2\.34 ms \|#+ *\| 2\n", told) and re.search(r"169 us \|#+ *\| 2\n", told)


def test_times_of_the_kernels_histograms_are_exact(watch):
    event = PlannedEvent("pw", "vfs_read", "f:pw/vfs_read vfs_read", "-:pw/vfs_read")
    most = (1 << 53) + 1  # a float has no such number
    entries = (
        HistEntry((HistKey("lat", "log2", "~ 2^53"),), {"hitcount": 1.0}, (("hitcount", "1"), ("lat", str(most)))),
        HistEntry((HistKey("lat", "log2", "~ 2^4"),), {"hitcount": 2.0}, (("hitcount", "2"), ("lat", "25"))),
    )
    kept = WatchedHistogram("vfs_read", OF_CALLS, event, "hist:keys=lat.log2:vals=lat")
    found = list(
        objects_of_kernel(
            watch, (HistogramReading(kept, Histogram(kept.trigger, True, entries, 3, 2, 0)),), exact=True
        )
    )
    assert (found[0]["calls"], found[0]["total"], found[0]["mean"]) == (3, most + 25, (most + 25) / 3)


def test_calls_have_the_numbers_behind_the_names(command, tmp_path):
    preset = tmp_path / "opens.toml"
    preset.write_text(f'version = 1\nname = "opens"\ntitle = "opens"\nview = "calls"\nprobes = [\'{OPENS}\']\n')
    calls = command("run", str(preset), "--json", "-t", HERE).objects
    assert calls and all(one["values"]["exit"]["ret"] == int(one["ret"]) for one in calls)
    assert all(one["values"]["entry"]["dfd"] == -100 for one in calls)
    assert all(set(one["entry"]) == set(one["values"]["entry"]) for one in calls if one["entry"])
    assert for_people(calls) == []


def test_addresses_of_probes_have_their_symbols_beside(capsys):
    """Of the functions that are probed without the kernel's symbols, too: nothing is read for a line of JSON."""
    for words in (("run", OPENS, "--json", "--target", HERE), (HERE, "--export", "jsonl")):
        assert main([*words]) == DONE
        rows = [read_line(line.encode()) for line in capsys.readouterr().out.splitlines()]
        exits = [row for row in rows if "__probe_func" in row["values"]]
        assert exits
        for row in exits:
            assert row["text"]["__probe_func"] == row["event"].removesuffix("__exit")
            assert int(row["values"]["__probe_func"]) > 1 << 63
    places = {name for row in rows for name in row["text"] if name.startswith("__probe_")}
    assert {"__probe_ip", "__probe_ret_ip"} <= places
    assert all(text.partition("+")[0].isidentifier() for row in exits for text in [row["text"]["__probe_ret_ip"]])
