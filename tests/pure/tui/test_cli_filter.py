"""`run --filter` chooses what the application's filter does, and what `--export --filter` of a recording does."""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
from collections.abc import Callable

import pytest
from hypothesis import given, settings

from events.conditions.field_kinds import ValueKind
from events.export.hosts import passes
from events.record import Record
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.watch.watch import Watch
from tests.json_reader import read_line
from tests.pure.commands import command
from tests.pure.export_events import record_of
from tests.pure.fake_hosts import is_clean
from tests.pure.kernel.test_watch import Anything, id_of, probe
from tests.pure.tui.test_cli_hosts import feed, lan, objects, targets
from tests.pure.tui.test_cli_showing import Late
from tests.pure.tui.test_filter import FIXED, filters, recording, wanted_events
from tests.real.command import Done
from tui.__main__ import main
from tui.cli.args.parser import parse
from tui.cli.follow.filter import export_filter_of
from tui.cli.follow.follow import follow
from tui.cli.main import run as run_hosts
from tui.cli.tables.summary_printer import summarize
from tui.filter.filter import Filter

__all__ = ["command", "lan"]

HERE = str(shipped_recording())
PROBES = (
    "f vfs_read%return file->f_pos count $retval",
    "f do_sys_openat2%both dfd filename:ustring how->flags $retval",
    "f vfs_write%both pos[0] count $retval",
    "f bprm_execve bprm->filename:string",
)
"""Those of the recording that comes along."""
OPENS = PROBES[1]


@settings(max_examples=10)
@given(filters())
def test_run_of_a_recording_gives_what_its_export_does(text):
    shown = told_by("run", "-t", HERE, *PROBES, "--json", "--filter", text)
    exported = told_by(HERE, "--export", "jsonl", "--filter", text)
    assert (shown.status, exported.status) == (0, 0)
    assert shown.out == exported.out
    assert shown.err == exported.err == f"probewright: {len(wanted_events(text))} of 790 events pass the filter\n"


def told_by(*words: str) -> Done:
    """Run a command within one example of a property, of which a fixture knows nothing."""
    out, err = io.BytesIO(), io.StringIO()
    with contextlib.redirect_stdout(io.TextIOWrapper(out, write_through=True)), contextlib.redirect_stderr(err):
        status = main([*words])
        return Done(status, out.getvalue(), err.getvalue().encode())


@pytest.mark.parametrize("form", ["jsonl", "csv", "perfetto", "folded", "text"])
def test_each_format_of_run_is_the_recordings(command, tmp_path, form):
    text = "latency > 100us && comm == cat"
    for name, words in (("run", ("run", "-t", HERE, *PROBES)), ("export", (HERE,))):
        done = command(*words, "--export", f"{form}:{tmp_path / name}", "--filter", text)
        assert " of 790 event" in done.err
    same = (tmp_path / "run").read_bytes() == (tmp_path / "export").read_bytes()
    assert same and (tmp_path / "run").stat().st_size > 0


@pytest.mark.parametrize("text", FIXED)
def test_a_summary_counts_what_passes(command, text):
    done = command("run", "-t", HERE, OPENS, "--summary", "dfd", "--json", "--filter", text)
    wanted = [seq for seq in wanted_events(text) if "openat2" in recording()[2][seq].event]
    counted = {one["summary"]: one for one in done.objects}
    assert (counted["events"]["events"], counted["events"]["of"]) == (len(wanted), 318)
    assert counted["processes"]["events"] == len(wanted)
    pairs = [pair for pair in recording()[3] if not {*pair[:2]}.isdisjoint(wanted)]
    assert counted.get("latency", {"calls": 0})["calls"] == len(pairs)
    in_words = command("run", "-t", HERE, OPENS, "--summary", "--filter", text)
    assert in_words.out.startswith(f"{len(wanted)} of 318 events\n")


def test_calls_pass_with_one_of_their_ends(command, tmp_path):
    """As in the table of calls on the screen, whatever the other end has."""
    preset = tmp_path / "opens.toml"
    preset.write_text(f'version = 1\nname = "opens"\ntitle = "opens"\nview = "calls"\nprobes = [\'{OPENS}\']\n')
    every = command("run", "-t", HERE, str(preset), "--json").objects
    for text in ("ret > 3", "latency > 1ms", "event ~ *entry && comm == cat", "ret > 3000"):
        done = command("run", "-t", HERE, str(preset), "--json", "--filter", text)
        passing = wanted_events(text)
        stamps = {recording()[2][seq].ts for seq in passing}
        pairs = {recording()[2][pair[1]].ts for pair in recording()[3] if not passing.isdisjoint(pair[:2])}
        wanted = [one for one in every if one["ts"] in stamps | pairs]
        assert done.objects == wanted
        assert done.err == f"probewright: {len(wanted)} of {len(every)} calls pass the filter\n"


def test_the_number_that_is_asked_for_is_of_those_that_pass(command):
    every = command("run", "-t", HERE, OPENS, "--json", "--filter", "comm == cat").objects
    some = command("run", "-t", HERE, OPENS, "--json", "--filter", "comm == cat", "--count", "5")
    assert some.objects == every[:5]
    assert some.err.startswith("probewright: 5 of ")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--filter", "(dfd > 5"), "--filter at 9: a ) is missing\n    (dfd > 5\n            ^\n"),
        (("--filter", " fdd > 5"), "--filter at 1: no field fdd: did you mean dfd?\n    fdd > 5\n    ^\n"),
        (
            ("--filter", "dfd > x\x1b"),
            "--filter at 7: dfd is a number, x\\x1b is none; dfd takes a number or a name: AT_FDCWD\n"
            "    dfd > x\\x1b\n          ^\n",
        ),
        (("--filter", "dfd > 5", "--hist"), "--filter chooses among recorded events, and with --hist the kernel"),
        (("--filter", "dfd > 5", "--count-only"), "and with --count-only the kernel counts all and records none"),
    ],
)
@pytest.mark.parametrize("more", [(), ("--json",), ("--export", "csv"), ("--summary",)])
def test_what_is_no_filter_is_told_at_its_place(command, words, told, more):
    done = command("run", "-t", HERE, OPENS, *words, *more)
    assert (done.status, done.out) == (2, "")
    assert told in done.err
    if "--hist" not in words and "--count-only" not in words:
        exported = command(HERE, "--export", "jsonl", *words)
        assert (exported.status, exported.out) == (2, "")
        assert exported.err == done.err


def test_other_commands_say_where_events_are_chosen(command):
    done = command("record", OPENS, "-o", "x.pwr", "--filter", "dfd > 5")
    assert done.status == 2
    assert "a recording keeps every event, and `FILE.pwr --export FORMAT --filter CONDITION` chooses" in done.err


# -- several hosts ---------------------------------------------------------------------------------------------------


def test_events_of_several_hosts_are_chosen_as_those_of_one(lan, capsys):
    feed(lan, ("one", 1), ("two", 2), ("one", 3), ("two", 1))
    words = ["run", "f vfs_read", *targets("one", "two"), "--count", "2", "--window", "1", "--json"]
    assert run_hosts(parse([*words, "--filter", "pid == 1"])) == 0
    told = capsys.readouterr()
    events, hosts = objects(told.out)
    assert [(one["host"], one["pid"]) for one in events] == [("one", 1), ("two", 1)]
    assert {name: (one["events"], one["of"]) for name, one in hosts.items()} == {"one": (1, 2), "two": (1, 2)}
    assert "probewright: 2 of 4 events pass the filter\n" in told.err
    assert all(is_clean(host) for host in lan.hosts.values())


@pytest.mark.parametrize(("text", "at"), [("nosuch == 1", 1), ("pid = 1", 5)])
def test_what_is_no_filter_is_refused_on_several_hosts(lan, capsys, text, at):
    status = run_hosts(parse(["run", "f vfs_read", *targets("one", "gone", "two"), "--json", "--filter", text]))
    told = capsys.readouterr()
    assert status == 2
    assert f"probewright: --filter at {at}: " in told.err
    assert not objects(told.out)[0]
    assert all(is_clean(host) for host in lan.hosts.values())


@pytest.mark.parametrize("form", ["jsonl", "csv", "perfetto"])
def test_files_of_several_hosts_have_what_passes(lan, capsys, tmp_path, form):
    feed(lan, ("one", 1), ("two", 2), ("one", 3))
    path = tmp_path / "x"
    words = ["run", "f vfs_read", *targets("one", "two"), "--count", "1", "--window", "1", "--export"]
    assert run_hosts(parse([*words, f"{form}:{path}", "--filter", "pid == 3"])) == 0
    assert f"{path}: 1 of 3 events" in capsys.readouterr().err
    if form == "jsonl":
        assert [read_line(line)["pid"] for line in path.read_bytes().splitlines()] == [3]
    elif form == "csv":
        assert [line.split(",")[6] for line in path.read_text().splitlines()] == ['"pid"', "3"]


def test_a_record_of_one_host_passes_where_nobody_said_it_does_not():
    assert passes(record_of({}))


def test_fields_that_two_kernels_have_in_two_ways_can_be_compared_as_both(monkeypatch):
    """Else all events of the one whose field is another would pass, for the condition is none there."""
    ways = itertools.cycle([{"x": ValueKind.NUMBER}, {"x": ValueKind.TEXT}])
    monkeypatch.setattr("tui.filter.filter.sorts_of_fields", lambda _: next(ways))
    watch = recording()[0]
    chosen = Filter()
    for _ in range(2):
        chosen.sorts(watch)
    assert chosen.sorts(watch)["x"] is ValueKind.MIXED
    ways = itertools.cycle([{"x": ValueKind.TEXT}])
    assert chosen.sorts(watch)["x"] is ValueKind.MIXED, "events of before are still there"
    chosen.check("x > 5 && x ~ cat*", [watch])
    assert chosen.with_text("x == cat").sorts(watch)["x"] is ValueKind.MIXED


# -- names that come after the events --------------------------------------------------------------------------------


@pytest.mark.parametrize(("text", "of_tasks", "of_cgroups"), [
    ("comm == cat", True, False), ("!(COMM ~ c*)", True, False), ("cgroup == /a", False, True),
    ("dfd > 5", False, False), ("", False, False),
])  # fmt: skip
def test_a_filter_says_what_it_has_to_wait_for(text, of_tasks, of_cgroups):
    chosen = Filter()
    chosen.choose(text, recording()[0])
    assert (chosen.of_tasks, chosen.of_cgroups) == (of_tasks, of_cgroups)


Follow = Callable[[Watch, argparse.Namespace, set[str], Filter], int]


def _shown(watch: Watch, bounds: argparse.Namespace, paths: set[str], chosen: Filter) -> int:
    shown: list[Record] = []
    passing = export_filter_of(watch, chosen)
    assert follow(watch, bounds, paths, shown.append, passing=passing, chosen=chosen) == len(shown)
    assert passing.of == 3
    return len(shown)


def _counted(watch: Watch, bounds: argparse.Namespace, paths: set[str], chosen: Filter) -> int:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        summarize(watch, bounds, paths, chosen)
    found = read_line(out.getvalue().splitlines()[0].encode())
    assert found["of"] == 3
    return int(found["events"])


@pytest.mark.parametrize("see", [_shown, _counted])
@pytest.mark.parametrize(("knows_from", "text", "number"), [
    (3, "comm == cat", 3), (3, "comm != cat", 0), (1000, "comm == cat", 0), (1000, "comm != cat", 3),
])  # fmt: skip
def test_an_event_is_chosen_by_the_name_that_its_task_gets_later(see: Follow, knows_from, text, number):
    target = Late(knows_from)
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    chosen = Filter()
    chosen.choose(text, watch)
    for ts in range(3):
        target.event(1000 + ts, id_of(armed))
    bounds = argparse.Namespace(seconds=1.0, count=number or None, summary="", hist=False, json=True, reconnect=0)
    assert see(watch, bounds, {one.path for one in armed.plan.events}, chosen) == number
    assert watch.close() == []
