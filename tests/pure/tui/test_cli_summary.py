"""`run --summary` on the recording that comes with it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from events.summary.hist_text import HistEntry, HistKey, Histogram
from kernel.connection.open_target import shipped_recording
from kernel.errors import TargetLost
from kernel.watch.histogram import HistogramReading
from probes.hist.kept import TASK, WatchedHistogram
from probes.plans.plan import PlannedEvent
from tests.pure.commands import command
from tui.__main__ import main
from tui.cli.follow.follow import follow
from tui.cli.tables import summary_printer
from tui.present.summary_objects import objects_of_kernel

__all__ = ["command"]

SPEC = "f vfs_write%both pos[0] count $retval"


RUN = ("run", "-t", str(shipped_recording()), SPEC)


def test_the_sum_of_what_was_asked_for_and_of_nothing_else(command):
    done = command(*RUN, "--summary", "count", "--json")
    found = done.objects
    assert done.status == 0
    assert found[0] == {"summary": "events", "events": 103, "uncounted": 0}
    rates = {one["event"]: one for one in found if one["summary"] == "rate"}
    assert {name: sum(one["counts"]) for name, one in rates.items()} == {
        "vfs_write__entry": 51,
        "vfs_write__exit": 52,
    }
    (latency,) = (one for one in found if one["summary"] == "latency")
    assert (latency["function"], latency["calls"]) == ("vfs_write", 51)
    assert sum(hits for _, hits in latency["log2"]) == 51
    assert latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["max"]
    values = [one for one in found if one["summary"] == "values"]
    assert [(one["event"], one["values"], one["exact"]) for one in values] == [
        (f"vfs_write__{end}", [{"value": "4096", "number": 4096, "count": hits, "error": 0}], True)
        for end, hits in (("entry", 51), ("exit", 52))
    ]


def test_the_same_in_words(command):
    done = command(*RUN, "--summary", "count")
    assert done.status == 0
    assert "vfs_write: 51 pairs  p50 " in done.out
    assert "vfs_write__exit count: 52 events\n  4096 |####" in done.out


def test_what_was_counted_until_the_line_was_cut_is_given_out(capsys, monkeypatch):
    def cut(*arguments: object, **more: object) -> int:
        follow(*arguments, **more)
        raise TargetLost("the connection was lost")

    monkeypatch.setattr(summary_printer, "follow", cut)
    assert main([*RUN, "--summary", "count"]) == 3
    told = capsys.readouterr()
    assert "vfs_write__exit count: 52 events" in told.out and "the connection was lost" in told.err


def test_a_field_that_no_event_has_is_named(command):
    assert "no event has a field nothing" in command(*RUN, "--summary", "nothing").err


def test_a_recording_has_no_kernel_that_could_count(command):
    done = command(*RUN, "--hist")
    assert done.status == 3 and "no kernel here" in done.err


@pytest.mark.parametrize("without_room", [0, 40])
def test_processes_that_found_no_room_in_the_kernel_are_not_said_to_be_counted(without_room):
    there = (HistEntry((HistKey("common_pid", "execname", "cat             [       812]"),), {"hitcount": 60.0}),)
    event = PlannedEvent("pw", "vfs_read", "f:pw/vfs_read vfs_read", "-:pw/vfs_read")
    kept = WatchedHistogram("vfs_read", TASK, event, "hist:keys=common_pid.execname")
    assert kept.is_task
    read = HistogramReading(kept, Histogram(kept.trigger, True, there, 60 + without_room, 1, without_room))
    _, processes = objects_of_kernel(SimpleNamespace(), (read,), exact=True)
    assert processes["summary"] == "processes" and processes["others"] == without_room
    assert processes["exact"] is (without_room == 0)
    assert next(summary_printer._lines(processes)).endswith(", approximate") is (without_room > 0)


@pytest.mark.parametrize("number", [1, 3, 4, 100])
@pytest.mark.parametrize("more", [[], ["--filter", "count > 1"], ["--filter", "comm == head"]])
def test_a_sum_of_so_many_events_has_those_that_are_printed(command, number, more):
    words = (*RUN, "--json", "--count", str(number), *more)
    printed = [row for row in command(*words).objects if "event" in row]
    summed = command(*words, "--summary", "count").objects
    assert summed[0]["events"] == len(printed) == number
    assert sum(sum(row["counts"]) for row in summed if row["summary"] == "rate") == number
    assert sum(row["calls"] for row in summed if row["summary"] == "latency") <= number


@pytest.mark.parametrize("number", [1, 4, 1000])
def test_a_preset_of_calls_ends_after_so_many_calls(command, number, tmp_path):
    preset = tmp_path / "writes.toml"
    preset.write_text(f'version = 1\nname = "writes"\ntitle = "writes"\nview = "calls"\nprobes = ["{SPEC}"]\n')
    rows = command("run", str(preset), "-t", str(shipped_recording()), "--json", "--count", str(number)).objects
    assert len(rows) == min(number, 52)


@pytest.mark.parametrize("words", [("--hist",), ("--count-only",), ("--count-only", "-t", "ssh://elsewhere")])
def test_a_number_of_events_ends_nothing_that_records_none(command, words):
    done = command(*RUN, *words, "--count", "5")
    assert done.status == 2
    assert f"with {words[0]} the kernel records none: --for SECONDS ends it" in done.err
