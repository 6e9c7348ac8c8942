"""Histograms in the kernel go on where the connection was lost, and leave each probe as they found it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, ProbeRefused, TargetLost
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.target import Step
from kernel.watch.histogram import Histograms
from kernel.watch.reconnect import ReconnectAttempt
from kernel.watch.watch import Watch
from probes.command import Armable
from probes.hist.kept import LATENCY, TASK
from probes.plans.plan import Plan, PlannedEvent
from tests.pure.kernel.test_ssh_reconnect import Side, at_once, cut, side
from tests.pure.kernel.test_watch import Anything, probe

__all__ = ["at_once", "side"]

HIST = """# event histogram
#
# trigger info: {}:vals=hitcount:sort=hitcount:size=16384 [active]
#


Totals:
    Hits: {}
    Entries: 1
    Dropped: 0
"""


class TwoEnds(Anything):
    """Each probe has an entry and an exit."""

    def lower(self, probe: Armable, group: str, *rest: object) -> Plan:
        name, where = probe.subject, getattr(probe, "filter", "")
        made = PlannedEvent(group, name, f"f:{group}/{name} {name}", f"-:{group}/{name}", filter=where, frame="frame")
        out = f"{name}_exit"
        exit_ = replace(
            made, event=out, line=f"f:{group}/{out} {name}%return", remove=f"-:{group}/{out}", at_exit=True
        )
        return Plan(probe, (made, exit_))


@pytest.fixture
def watch(side: Side) -> Iterator[Watch]:
    made = Watch(TwoEnds(KernelInfo(side.target)))
    yield made
    made.close()


class Counting:
    """Gives every event a field, and its `hist` file, as a kernel does."""

    def __init__(self, target: Side) -> None:
        self.hits = 1
        self._target, self._read = target, target.read
        target.read = self.read  # type: ignore[method-assign]

    def read(self, path: str, limit: int = 64 << 20, offset: int = 0) -> bytes:
        if path.endswith("/format"):
            return self._read(path, limit, offset) + b"\tfield:u64 count;\toffset:8;\tsize:8;\tsigned:0;\n"
        if not path.endswith("/hist"):
            return self._read(path, limit, offset)
        triggers = self._read(f"{path.removesuffix('hist')}trigger").decode().split("\n")
        found = [re.match(r"hist:keys=([^:]+)(?:.*?(name=[^: ]+:?))?", one) for one in triggers]
        heads = [f"hist:{one[2] or ''}:keys={one[1]}".replace("::", ":") for one in found if one]
        return "\n\n".join(HIST.format(head, self.hits) for head in heads).encode()


def mode(watch: Watch, armed: Armed) -> Mode:
    assert watch.session is not None
    return watch.session.probes.mode(armed)


def texts(watch: Watch) -> list[str]:
    assert watch.session is not None
    return [text for armed in watch.armed.probes for _, text in watch.session.probes.triggers(armed)]


def fields(armed: Armed) -> list[tuple[str, str]]:
    return [(fmt.path, fmt.fields[-1].name) for fmt in armed.formats.values()]


def test_they_begin_anew_when_the_line_is_back_and_leave_the_probe_recording(side: Side, watch: Watch) -> None:
    counting = Counting(side)
    armed = watch.armed.arm(probe("vfs_read"))
    watch.armed.add_trigger(armed, armed.plan.events[0], "stacktrace")
    kept = Histograms(watch.armed)
    kept.begin(watch.armed.probes, fields(armed))
    before = [(one.watched.value, one.histogram.hits) for one in kept.read()]
    assert [what for what, _ in before if what in (TASK, LATENCY)] == [TASK, TASK, LATENCY] and len(before) == 5
    cut(side, watch)
    assert [(one.watched.value, one.histogram.hits) for one in kept.read()] == before, "as it was read last"
    back = ReconnectAttempt(watch).run()
    (now,) = watch.armed.probes
    assert not back.rejected_probes and now.key is armed.key and mode(watch, now) is Mode.COUNT
    assert kept.counting == (now,)
    assert len(texts(watch)) == 8, "nobody had to look for them to go on"
    counting.hits = 3
    reads = kept.read()
    assert [(one.watched.value, one.histogram.hits) for one in reads] == [(what, 3) for what, _ in before]
    assert watch.session is not None
    assert all(watch.session.group in one.watched.event.path for one in reads)
    kept.end()
    assert mode(watch, now) is Mode.RECORD and texts(watch) == ["stacktrace"]


def test_each_probe_does_again_what_it_did(side: Side, watch: Watch) -> None:
    recorded, counted, stopped = (
        watch.armed.arm(probe("a")),
        watch.armed.arm(probe("b"), mode=Mode.COUNT),
        watch.armed.arm(probe("c")),
    )
    watch.armed.switch(stopped, Mode.OFF)
    modes = [Mode.RECORD, Mode.COUNT, Mode.OFF]
    kept = Histograms(watch.armed)
    for recording in (False, True):
        kept.begin(watch.armed.probes, recording=recording)
        assert [mode(watch, one) for one in watch.armed.probes] == (modes if recording else [Mode.COUNT] * 3)
        kept.begin(watch.armed.probes, recording=recording)
        kept.end()
        assert [mode(watch, one) for one in (recorded, counted, stopped)] == modes

    def refuse(step: Step) -> None:
        if b"common_timestamp-" in step.data and step.data[:1] != b"!" and b"c_exit" not in step.data:
            raise FileRefused(step.path, 22)

    side.before = refuse
    with pytest.raises(ProbeRefused):
        kept.begin(watch.armed.probes)
    assert [mode(watch, one) for one in watch.armed.probes] == modes and texts(watch) == []


def test_what_someone_switched_meanwhile_stays_so(watch: Watch) -> None:
    armed = watch.armed.arm(probe("vfs_read"))
    kept = Histograms(watch.armed)
    kept.begin(watch.armed.probes)
    watch.armed.switch(armed, Mode.OFF)  # as a guard does
    kept.end()
    assert mode(watch, armed) is Mode.OFF


def test_they_are_ended_while_the_line_is_cut(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    kept = Histograms(watch.armed)
    kept.begin(watch.armed.probes)
    cut(side, watch)
    with pytest.raises(TargetLost):
        kept.end()
    ReconnectAttempt(watch).run()
    assert [mode(watch, one) for one in watch.armed.probes] == [Mode.RECORD] and texts(watch) == []


def test_a_line_that_is_cut_again_while_they_begin_anew(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    Counting(side)
    kept = Histograms(watch.armed)
    kept.begin(watch.armed.probes)
    cut(side, watch)

    def again(step: Step) -> None:
        if step.data.startswith(b"hist:keys=common_pid.execname"):
            side.cut()
            raise TargetLost("cut again")

    side.before = again
    ReconnectAttempt(watch).run()
    side.before = lambda step: None
    cut(side, watch)
    ReconnectAttempt(watch).run()
    assert len(kept.counting) == 1 and len(kept.read()) == 3
    kept.end()
    assert [mode(watch, one) for one in watch.armed.probes] == [Mode.RECORD] and texts(watch) == []


def test_a_refusal_on_the_other_line_is_told_by_the_next_reading(side: Side, watch: Watch) -> None:
    watch.armed.arm(probe("vfs_read"))
    kept = Histograms(watch.armed)
    kept.begin(watch.armed.probes)
    cut(side, watch)

    def refuse(step: Step) -> None:
        if step.data.startswith(b"hist:keys=common_pid.execname"):
            raise FileRefused(step.path, 22)

    side.before = refuse
    ReconnectAttempt(watch).run()
    with pytest.raises(ProbeRefused):
        kept.read()
    assert [mode(watch, one) for one in watch.armed.probes] == [Mode.RECORD] and texts(watch) == []
