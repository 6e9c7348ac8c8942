"""What `run` and `record` do with the end, with a signal, and with strings that want to be lines."""

import argparse
import errno
import io
import json
import os
import signal
import sys
import threading
from collections.abc import Container
from dataclasses import replace
from pathlib import Path

import pytest

from events.format import PROBE_FIELDS
from events.record import Record
from events.recording.reader import Recording, RecordingWriter
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import shipped_recording
from kernel.errors import FileRefused, TargetUnusable
from kernel.hosts import arm_request
from kernel.hosts.arm_request import ArmRequest, arm_on_host
from kernel.lab import cache
from kernel.lab.errors import LabError
from kernel.recording.replay import ReplaySession
from kernel.session.armed import Armed
from kernel.session.probe_steps import ProbeSteps
from kernel.target import Step
from kernel.watch.watch import Watch
from probes.check import check_plan
from probes.command import Armable
from probes.facts.facts import Feature
from probes.plans.plan import Plan
from tests.fake_target import ROOT, FakeTarget
from tests.probes_data import kernel
from tests.pure.kernel.test_watch import Anything, Target, id_of, probe
from tui.__main__ import main
from tui.cli.commands import run
from tui.cli.console.output import line, plain
from tui.cli.follow.follow import arm, follow
from tui.cli.follow.signals import signals_deferred as whole_step
from tui.cli.follow.signals import stoppable
from tui.output.event_source import source_of

KERNEL = kernel("7.2")
COMMANDS = (["list", "vfs_read"], ["doctor"], ["check", "f vfs_read"], ["run", "f vfs_read"])


@pytest.fixture
def signals():
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture
def target() -> Target:
    return Target()


def test_the_last_events_are_shown_too(target, monkeypatch):
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    number, events = id_of(armed), frozenset(event.path for event in armed.plan.events)
    shown: list[Record] = []
    end_reading = watch.end_reading

    def one_comes_last() -> None:
        target.event(1000, number)
        end_reading()

    monkeypatch.setattr(watch, "end_reading", one_comes_last)
    assert follow(watch, argparse.Namespace(seconds=0.2, count=None), events, shown.append) == 1
    assert [record.ts for record in shown] == [1000]
    watch.close()


def test_what_was_read_before_a_signal_is_shown_once(target, signals):
    """It comes while the first event is printed; the others wait in the queue, or for those of other CPUs."""
    watch = Watch(Anything(KernelInfo(target)))
    armed = watch.armed.arm(probe("vfs_read"))
    number, events = id_of(armed), frozenset(event.path for event in armed.plan.events)
    shown: list[int] = []

    def show(record: Record) -> None:
        if not shown:
            for ts in range(1001, 1031):
                target.event(ts, number)
            os.kill(os.getpid(), signal.SIGINT)
        shown.append(record.ts)

    target.event(1000, number)
    reached = []
    with stoppable():
        reached.append(follow(watch, argparse.Namespace(seconds=60.0, count=None), events, show))
        os.kill(os.getpid(), signal.SIGINT)  # means nothing any more
        reached.append(len(shown))
    assert shown == list(range(1000, 1031))
    assert reached == [31, 31]
    assert watch.close() == []


def test_a_second_signal_ends_what_the_first_has_to_wait_for(target, signals, monkeypatch):
    """As a print into a pipe that nobody reads."""
    told: list[str] = []
    monkeypatch.setattr("tui.cli.follow.signals.discard_output", lambda: told.append("no output"))
    monkeypatch.setattr("tui.cli.follow.signals.TWICE", -1.0)
    with stoppable():
        with whole_step():
            os.kill(os.getpid(), signal.SIGINT)
            told.append("goes on")
            os.kill(os.getpid(), signal.SIGINT)
            told.append("not reached")
        told.append("not reached")
    assert told == ["goes on", "no output"]


def test_a_signal_that_comes_twice_at_once_is_one(signals, monkeypatch):
    """As timeout(1) sends it: what has to be whole is."""
    monkeypatch.setattr("tui.cli.follow.signals.TWICE", 3600.0)
    told: list[str] = []
    with stoppable():
        with whole_step():
            os.kill(os.getpid(), signal.SIGTERM)
            os.kill(os.getpid(), signal.SIGTERM)
            told.append("whole")
        told.append("not reached")
    assert told == ["whole"]


def _told(target: FakeTarget) -> list[str]:
    """Files that are switched on, in order."""
    return [step.path.rpartition("/")[2] for step in target.steps if step.data in (b"0", b"1")]


def test_probes_are_recorded_from_one_time_on_and_the_time_counts_from_there(target, monkeypatch):
    """To arm takes long on a slow host: `--for` must not hold more of the first than of the last."""
    watch = Watch(Anything(KernelInfo(target)))
    arm(watch, [probe("vfs_read"), probe("vfs_write")])
    told = _told(target)
    assert told.count("enable") == 2 and told.count("tracing_on") == 1, "nothing is recorded yet"
    ends: list[list[str]] = []
    monkeypatch.setattr(watch, "set_deadline", lambda _: ends.append(_told(target)))
    assert follow(watch, argparse.Namespace(seconds=0.01, count=None, reconnect=0), {}, lambda _: None) == 0
    assert ends[0] == [*told, "tracing_on"] and target.steps[-1].data != b"0"
    watch.close()


def test_an_order_is_recorded_from_one_time_on_but_costs_those_nothing_that_are_armed(target, monkeypatch):
    watch = Watch(Anything(KernelInfo(target)))
    monkeypatch.setattr(arm_request, "probes_for", lambda _, wanted, *__: ([*map(probe, wanted.specifications)], []))
    arm_on_host(watch, ArmRequest(("vfs_read", "vfs_write")))
    assert [name for name in _told(target) if name in ("enable", "tracing_on")] == [
        "tracing_on", "enable", "enable", "tracing_on"
    ]  # fmt: skip
    before = len(target.steps)
    arm_on_host(watch, ArmRequest(("vfs_open",)))
    assert not any(step.path.endswith("tracing_on") for step in target.steps[before:])
    watch.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_while_a_probe_is_armed_takes_it_away(target, signals, number):
    watch = Watch(Anything(KernelInfo(target)))
    reached = []

    def told_to_end(step: Step) -> None:
        if b"vfs_write" in step.data:
            os.kill(os.getpid(), number)

    target.after = told_to_end
    with stoppable():
        arm(watch, [probe("vfs_read"), probe("vfs_write"), probe("vfs_open")])
        reached.append("armed")
    assert not reached
    os.kill(os.getpid(), number)  # a second one does not cut short what follows
    assert watch.close() == []
    assert not target.traces


def test_a_signal_between_the_last_step_and_the_list_of_what_is_armed_leaves_nothing(target, signals):
    class Interrupted(dict[Armed, ProbeSteps]):
        def __setitem__(self, armed: Armed, holding: ProbeSteps) -> None:
            os.kill(os.getpid(), signal.SIGINT)
            super().__setitem__(armed, holding)

    watch = Watch(Anything(KernelInfo(target)))
    watch.begin()
    watch.session.probes.events._armed = Interrupted()
    with stoppable():
        arm(watch, [probe("vfs_read")])
        watch.armed.arm(probe("vfs_write"))
    assert [armed.plan.probe.subject for armed in watch.armed.probes] == ["vfs_read"]
    assert watch.close() == []
    assert not target.traces


@pytest.mark.parametrize("stays", [False, True])
def test_what_is_left_behind_is_no_success_where_nobody_reads_any_more(target, signals, monkeypatch, stays):
    def unread(*_: object, **__: object) -> None:
        raise BrokenPipeError

    def refused(step: Step) -> None:
        if step.data.startswith(b"-:"):
            raise FileRefused(step.path, errno.EIO)

    target.before = refused if stays else target.before
    monkeypatch.setattr(run, "connect", lambda *_, **__: KernelInfo(target))
    monkeypatch.setattr(run, "Planner", Anything)
    monkeypatch.setattr(run, "probes_of", lambda *_: [probe("vfs_read")])
    monkeypatch.setattr(run, "follow", unread)
    monkeypatch.setattr(sys, "stderr", told := io.StringIO())
    monkeypatch.setattr(told, "close", lambda: None)  # as nobody reads
    assert main(["run", "f vfs_read"]) == int(stays)
    assert ("left behind" in told.getvalue()) == stays == bool(target.traces)


@pytest.mark.parametrize("came", [0, 1])
def test_where_no_event_came_that_is_said_and_where_some_did_they_say_it(target, signals, monkeypatch, capsys, came):
    armed = threading.Event()

    def probes(*_: object) -> list[Armable]:
        armed.set()
        return [probe("vfs_read")]

    def event() -> None:
        armed.wait()
        while not (formats := [path for path in target.files if path.endswith("vfs_read/format")]):
            threading.Event().wait(0.01)
        target.event(1000, int(target.files[formats[-1]].split(b"ID: ")[1].split(b"\n")[0]))

    monkeypatch.setattr(run, "connect", lambda *_, **__: KernelInfo(target))
    monkeypatch.setattr(run, "Planner", Anything)
    monkeypatch.setattr(run, "probes_of", probes)
    if came:
        threading.Thread(target=event, daemon=True).start()
    assert main(["run", "f vfs_read", *(["--count", "1"] if came else ["--for", "0.1"])]) == 0
    told = capsys.readouterr()
    assert len(told.out.splitlines()) == came
    none = "probewright: 0 events, lost 0, missed ?, dropped 0, unread 0\n"
    assert told.err == ("" if came else none)


def test_a_string_with_a_line_end_makes_no_line_of_its_own():
    assert line("name=x\n1.0 [000] root-1 forged\x1b[2J") == "name=x\\n1.0 [000] root-1 forged\\x1b[2J"
    assert plain("two\nlines\x1b") == "two\nlines\\x1b"


@pytest.mark.parametrize(
    ("specs", "events", "fields"),
    [
        (["f vfs_write%return count"], {"vfs_write__exit"}, {"count"}),
        (["f vfs_write%both count"], {"vfs_write__entry", "vfs_write__exit"}, {"count"}),
        (["f vfs_write%return count", "f vfs_write%return $retval"], {"vfs_write__exit"}, {"count", "ret"}),
    ],
)
def test_of_a_recording_only_what_was_asked_for_is_printed(signals, capsys, specs, events, fields):
    here = ["--target", str(shipped_recording())]
    assert main(["run", *specs, *here, "--json"]) == 0
    told = [json.loads(text) for text in capsys.readouterr().out.splitlines()]
    assert {one["event"].rpartition("/")[2] for one in told} == events
    assert set().union(*(one["text"] for one in told)) - PROBE_FIELDS == fields
    assert {one["text"]["__probe_func"] for one in told if "__probe_func" in one["values"]} == {"vfs_write"}
    assert not {"pos_0"} & set().union(*(one["values"] for one in told))
    assert main(["run", *specs, *here]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(told)
    assert not any("pos_0=" in text for text in lines)


def test_of_a_measured_time_every_field_is_printed(target):
    """Three events are planned, of which the one that is made of the other two is all that comes."""
    text = "lat:x {f vfs_read count} to {f vfs_read%return $retval} by common_pid with count,ret"
    facts = replace(KERNEL.facts, features=KERNEL.facts.features | {Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS})
    plan = check_plan(text, KERNEL.btf, facts, "pw_1").plan
    assert plan is not None and len(plan.events) == 3
    made, *ends = plan.events
    measured = plan.probe
    made = replace(
        made, line=made.line.replace("s:", "s:synthetic/")
    )  # as the kernel that is made of a dict takes it

    as_here = replace(plan, events=(made, *ends))

    class Measures(Anything):
        def lower(self, probe: Armable, group: str, *rest: Container[str]) -> Plan:
            return as_here if probe == measured else super().lower(probe, group, *rest)

    watch = Watch(Measures(KernelInfo(target)))
    stacks = 'name: kernel_stack\nID: 4\nformat:\n\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: ""\n'
    target.files[f"{ROOT}/events/ftrace/kernel_stack/format"] = stacks.encode()
    events = arm(watch, [measured])
    assert [column.name for column in made.columns] == ["lat", "count", "ret"]
    assert events == {"synthetic/pw_1__x": frozenset()}
    assert watch.armed.probes[0].formats and {fmt.path for fmt in watch.armed.probes[0].formats.values()} == {*events}
    watch.armed.arm(probe("vfs_write"))  # somebody else's
    assert {fmt.path for fmt in source_of(watch, events).formats} == {*events}
    watch.close()


def whole() -> bytes:
    path = shipped_recording()
    assert path is not None
    return path.read_bytes()


def cut(folder: Path, size: int) -> Path:
    path = folder / "x.pwr"
    path.write_bytes(whole()[:size])
    return path


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("less", [0, 30_000])
def test_every_command_says_that_a_recording_is_cut_short(signals, tmp_path, capsys, command, less):
    path = cut(tmp_path, len(whole()) - less)
    main([*command, "--target", str(path)])
    assert ("x.pwr: the recording is cut short; its end is missing" in capsys.readouterr().err) is bool(less)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("size", [20, 600, 200_000, 300_000])
def test_a_recording_without_its_functions_is_damaged_whatever_is_asked(tmp_path, capsys, command, size):
    path = cut(tmp_path, size)
    assert main([*command, "--target", str(path)]) == 3
    told = capsys.readouterr()
    assert (told.out, told.err) == (
        "",
        f"probewright: {path}: the recording is damaged: cut short before its functions and types\n",
    )


@pytest.mark.parametrize("counts", [[], {"overrun": {"x": 1}}, {"dropped": "many"}, {"nmissed": 5}])
def test_damaged_counts_of_a_recording_are_told(tmp_path, counts):
    path = tmp_path / "x.pwr"
    with path.open("wb") as file:
        writer = RecordingWriter(file)
        writer.meta({"counts": counts, "plans": []})
        writer.close()
    with pytest.raises(TargetUnusable, match="damaged"):
        ReplaySession(Recording.open(path)).counts()


def test_a_cache_that_cannot_be_made_names_the_way_out(monkeypatch):
    monkeypatch.setenv("PROBEWRIGHT_CACHE", "/proc/no/such")
    with pytest.raises(LabError, match="/proc/no/such") as error:
        cache.root()
    assert "PROBEWRIGHT_CACHE" in error.value.remedy


def test_doctor_says_in_json_too_why_there_are_no_types(tmp_path, capsys):
    (tmp_path / "available_filter_functions").write_text("vfs_read\n")
    main(["doctor", "--target", str(tmp_path), "--json"])
    assert "No such file" in json.loads(capsys.readouterr().out)["btf_error"]
