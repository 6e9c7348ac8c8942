"""`probewright graph` on a recording: which calls are printed, and that none is dropped without a word."""

import argparse
import io
import re
from pathlib import Path
from typing import Any

import pytest

from events.export.catalogue import format_named
from events.export.job import Job, writer_of
from events.graph import live_tree
from events.graph.record_ends import NO_RETURNS
from events.graph.tree import CallTree
from events.recording.reader import Recording
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import open_target, shipped_recording
from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from kernel.guards.row_bounds import SCREEN
from kernel.recording.target import RecordingTarget
from kernel.watch.watch import Watch
from tests.export_recordings import SECONDS, late_graph, recording
from tests.json_reader import read_line
from tests.trimmed_recordings import graph_recording
from tui.__main__ import main
from tui.cli.console.output import connect
from tui.cli.follow.graph_printer import GraphPrinter
from tui.cli.follow.loss_printer import print_losses
from tui.output.event_source import source_of_rows

HERE = str(shipped_recording())


def printed(capsys, *functions: str) -> list[str]:
    main(["graph", *functions, "--target", HERE])
    return capsys.readouterr().out.splitlines()


def test_only_functions_that_were_asked_for_are_printed(capsys):
    everything = printed(capsys)
    opens = [line for line in everything if " do_sys_openat2(" in line]
    assert 0 < len(opens) < len(everything)
    assert printed(capsys, "do_sys_openat2") == printed(capsys, "do_sys_*") == opens
    assert printed(capsys, "do_sys_openat2", "*") == everything


def test_where_nothing_fits_it_is_said(capsys):
    assert main(["graph", "no_such_*", "--target", HERE]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "probewright: no call of no_such_* was recorded\n")


def test_where_nothing_was_so_slow_it_is_said(capsys):
    opens = printed(capsys, "do_sys_openat2")
    assert main(["graph", "do_sys_openat2", "--slower", "1000", "--target", HERE]) == 0
    slow = capsys.readouterr().out.splitlines()
    assert 0 < len(slow) < len(opens) and set(slow) < set(opens)
    assert main(["graph", "do_sys_openat2", "--slower", "5000000", "--target", HERE]) == 1
    told = capsys.readouterr()
    assert (told.out, told.err) == (
        "",
        "probewright: no call of do_sys_openat2 that took 5,000,000 us was recorded\n",
    )


def nested(path: Path, capsys, *words: str) -> list[dict[str, Any]]:
    main(["graph", "--json", *words, "--target", str(path)])
    found = [read_line(line) for line in capsys.readouterr().out.splitlines()]
    return [one for one in found if one["kind"] != "lost"]


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_recording_is_printed_down_to_a_depth(tmp_path, capsys, depth):
    """As a tracer with max_graph_depth has it: so many calls within one another, and switches at any depth."""
    path = recording("graph", tmp_path)
    everything, found = nested(path, capsys), nested(path, capsys, "--depth", str(depth))
    told = [one for one in everything if one["kind"] == "call"]
    left = [one for one in found if one["kind"] == "call"]
    assert left == [one for one in told if one["level"] < depth] and 0 < len(left) < len(told)
    beside = [[{**one, "level": 0} for one in rows if one["kind"] != "call"] for rows in (everything, found)]
    assert beside[0] == beside[1], "only their level is another"
    assert all(one["level"] <= depth for one in found)


def test_a_recording_is_printed_without_calls_that_were_too_short(tmp_path, capsys):
    path = recording("graph", tmp_path)
    everything, found = nested(path, capsys), nested(path, capsys, "--slower", "20")
    calls = [one for one in found if one["kind"] == "call"]
    assert calls and all(one["duration"] is None or one["duration"] >= 20_000 for one in calls)
    slow = [one for one in everything if one["kind"] == "call" and (one["duration"] or 0) >= 20_000]
    left, wanted = ([{**one, "level": 0} for one in rows if one["duration"] is not None] for rows in (calls, slow))
    assert left == wanted, "none that was so slow is left out; what was in a shorter one has another level"


def test_a_recording_among_the_functions_is_told_from_them(capsys):
    assert main(["graph", HERE]) == 2
    assert capsys.readouterr().err == f"probewright: {HERE} is a recording: give it by -t {HERE}\n"


@pytest.mark.parametrize("limit", [8, 1 << 20])
def test_what_a_tree_has_no_room_for_is_printed_or_counted(capsys, monkeypatch, limit):
    everything = len(printed(capsys))
    monkeypatch.setattr(live_tree, "CallTree", lambda brackets, _: CallTree(brackets, limit))
    watch = Watch(Planner(KernelInfo(RecordingTarget(Recording.open(shipped_recording()), "x"))))
    watch.begin()
    wanted = argparse.Namespace(functions=[], count=None, seconds=None, json=False, slower=0, depth=0)
    following = GraphPrinter(watch, wanted)
    following.run()
    print_losses(watch, following.dropped)
    told = capsys.readouterr()
    assert len(told.out.splitlines()) >= following.printed > 0
    if limit > 8:
        assert len(told.out.splitlines()) == everything
        assert "before they were printed" not in told.err
    else:
        assert following.dropped > 0
        assert f"{following.dropped:,} calls or events of calls dropped before they were printed" in told.err


def test_what_was_read_before_the_line_was_cut_is_printed(capsys, monkeypatch):
    """Names of tasks are asked for meanwhile, and nobody answers."""

    def cut(*_: object, **__: object) -> dict[int, str]:
        raise TargetLost("the connection was lost")

    everything = printed(capsys)
    watch = Watch(Planner(KernelInfo(RecordingTarget(Recording.open(shipped_recording()), "x"))))
    watch.begin()
    monkeypatch.setattr(watch, "names", cut)
    GraphPrinter(
        watch, argparse.Namespace(functions=[], count=None, seconds=None, json=False, slower=0, depth=0)
    ).run()
    assert len(capsys.readouterr().out.splitlines()) == len(everything) > 0


def test_calls_are_printed_though_other_events_came_alone_before_them(tmp_path, capsys):
    """A task is switched, and no call comes until after a look."""
    main(["graph", "--target", str(graph_recording(tmp_path / "whole.pwr", "7.2"))])
    everything = capsys.readouterr()
    bounds = SCREEN._replace(at_once=1)
    watch = Watch(Planner(KernelInfo(open_target(str(late_graph(tmp_path / "late.pwr", "7.2"))))), bounds)
    watch.info.symbols.load()
    watch.begin()
    GraphPrinter(
        watch, argparse.Namespace(functions=[], count=None, seconds=None, json=False, slower=0, depth=0)
    ).run()
    late = capsys.readouterr()
    assert late.out == everything.out != ""
    assert late.err == everything.err == f"probewright: {NO_RETURNS}\n"


# -- for machines ----------------------------------------------------------------------------------------------------


def objects(kind: str, folder: Path, capsys) -> list[dict[str, Any]]:
    main(["graph", "--json", "--target", str(recording(kind, folder))])
    out = capsys.readouterr().out
    assert "\\u2026" not in out and out.isascii()
    return [read_line(line) for line in out.splitlines()]


def test_json_has_whole_pointers_and_addresses_beside_names(tmp_path, capsys):
    found = objects("graph", tmp_path, capsys)
    calls = [one for one in found if one["kind"] == "call"]
    assert len(calls) > 3000
    symbols = connect(str(tmp_path / "graph.pwr")).symbols.current
    assert all(symbols.text(int(one["address"], 16), offset=False) == one["function"] for one in calls)
    pointers = re.findall(r"=(0xff[0-9a-f]*)", " ".join(one["arguments"] for one in calls))
    assert len(pointers) > 1000 and {len(one) for one in pointers} == {18}
    errors = [one for one in calls if one["failed"]]
    assert errors and all(-4095 <= one["retval"] < 0 or one["retval"] >> 12 == 0xFFFFF for one in errors)
    returned = [one for one in calls if str(one["returned"]).startswith("0xff")]
    assert returned and all(int(one["returned"], 16) == one["retval"] % 2**64 for one in returned)


@pytest.mark.parametrize(("kind", "gaps", "losses"), [("graph", 0, 0), ("graph-cut", 1, 0), ("graph-overrun", 0, 1)])
def test_json_has_a_row_for_a_gap_and_for_lost_events(tmp_path, capsys, kind, gaps, losses):
    found = objects(kind, tmp_path, capsys)
    cuts = [one for one in found if one["kind"] == "line_cut"]
    assert len(cuts) == gaps and sum(one["kind"] == "lost" for one in found) == losses
    for one in cuts:
        assert one["back"] - one["lost"] == SECONDS * 10**9 and one["seconds"] == SECONDS
        assert one["note"].startswith("disconnected for 4.0 s")
    assert [one["events"] for one in found if one["kind"] == "lost"] == [1] * losses
    for place, cut in ((place, one) for place, one in enumerate(found) if one["kind"] == "line_cut"):
        roots = [(at, one["ts"]) for at, one in enumerate(found) if one.get("level") == 0]
        assert all((at < place) == (ts <= cut["lost"]) for at, ts in roots), "it stands between the calls"


def test_a_gap_is_told_where_no_call_came(tmp_path, capsys):
    path = str(recording("graph-cut", tmp_path))
    assert main(["graph", "no_such", "--json", "--target", path]) == 1
    (one,) = capsys.readouterr().out.splitlines()
    assert read_line(one)["kind"] == "line_cut"


@pytest.mark.parametrize(("kernel", "lacks"), [("7.2", True), ("full", False)])
def test_where_a_kernel_keeps_no_return_values_it_is_said_once(tmp_path, capsys, kernel, lacks):
    """On standard error, with the option that gives them and a probe that does; also by exports."""
    path = str(graph_recording(tmp_path / "graph.pwr", kernel))
    for options in ([], ["--json"]):
        main(["graph", "--target", path, *options])
        told = capsys.readouterr()
        assert told.err.count(f"probewright: {NO_RETURNS}\n") == told.err.count("funcgraph-retval") == lacks
        assert "funcgraph-retval" not in told.out
    for count in (0, 1):
        main([path, "--export", f"jsonl:{tmp_path / f'{count}.jsonl'}"])
        assert capsys.readouterr().err.count(NO_RETURNS) == lacks
    watch = Watch(Planner(KernelInfo(open_target(path))))
    watch.begin()
    while watch.tick(1.0):
        pass
    job = Job(watch.store, writer_of(format_named("jsonl"), source_of_rows(watch), io.BytesIO()))
    assert (NO_RETURNS in job.notes) is lacks
