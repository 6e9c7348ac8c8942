"""Probes that are too fast, on real kernels: measured before, stopped while they are armed, and what helps."""

from __future__ import annotations

import math
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import ProbeRefused
from kernel.guards import limits, rate_meter
from kernel.guards.limits import Limits, TooFast
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.probe_steps import Mode
from kernel.watch.hist_tables import read_tables
from kernel.watch.watch import Watch
from probes.plans.cost_estimate import AGENT, EMULATED
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.real.held import bring_in, hold
from tests.real.processes import until
from tui.present.stack_rows import stack_rows

pytestmark = pytest.mark.parametrize("guest", ["6.12", "7.2"], indirect=True)

SIZE = 4271
"""Bytes; nobody else reads so many at once."""
READS = 500
BUSY = """
import os
fd = os.open("/dev/zero", os.O_RDONLY)
open("/tmp/begun", "w").close()
while not os.path.exists("/tmp/enough"):
    for _ in range(200):
        os.pread(fd, 7, 0)
"""


class Work:
    """A process in the guest that reads until it is told that it was enough."""

    def __init__(self, guest: Guest, program: str) -> None:
        self._guest = guest
        guest.run("rm -f /tmp/enough /tmp/begun")
        command = [*guest.ssh_command, "cat >/tmp/work.py; exec python3 -I -S /tmp/work.py"]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        self._process.stdin.write(program.encode())
        self._process.stdin.close()
        self._process.stdin = None
        guest.run("until [ -e /tmp/begun ]; do sleep 0.1; done")

    def stop(self) -> str:
        """What it printed."""
        self._guest.run("touch /tmp/enough")
        return self._process.communicate()[0].decode()


def reads(guest: Guest, number: int, size: int = SIZE) -> None:
    guest.run(f"dd if=/dev/zero of=/dev/null bs={size} count={number} 2>/dev/null")


class Measuring:
    """Has the guest read while a rate is measured, instead of waiting for others to do it."""

    def __init__(self, guest: Guest) -> None:
        self._guest = guest
        self.number = 0
        """Reads of `SIZE` bytes."""
        self.seconds = 0.0

    def wait(self, _: float) -> None:
        began = time.monotonic()
        reads(self._guest, READS)
        self.number += READS
        self.seconds += time.monotonic() - began


@pytest.fixture
def measuring(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> Measuring:
    made = Measuring(guest)
    monkeypatch.setattr(rate_meter, "SLOW_LINE", math.inf)  # an emulated machine on a busy one
    measure = rate_meter.RateMeter.measure
    by_reads = lambda meter, _, *, patient: measure(meter, made.wait, patient=patient)  # noqa: E731
    monkeypatch.setattr(rate_meter.RateMeter, "measure", by_reads)
    return made


@pytest.fixture
def watch(guest: Guest) -> Iterator[Watch]:
    planner = Planner(KernelInfo(connect(guest, guest.kernel.release)))
    watching = Watch(planner)
    yield watching
    assert watching.close() == []
    planner.info.close()
    left = guest.run("cd /sys/kernel/tracing; cat dynamic_events; ls instances").decode().split()
    assert left == []


def follow(watch: Watch, over: Callable[[], bool]) -> bool:
    """Whether it becomes true while what came is brought in and the counts are asked for, as the screen does it."""
    asked = 0.0

    def looked() -> bool:
        nonlocal asked
        watch.tick()
        if time.monotonic() - asked > 1:
            asked = time.monotonic()
            watch.counts()
        return over()

    return until(looked)


@pytest.mark.parametrize(
    "spec",
    [
        "f vfs_read count",
        "f vfs_read%both count",
        *(pytest.param(spec, marks=pytest.mark.matrix) for spec in ("p vfs_read", "r vfs_read $retval")),
    ],
)
def test_the_rate_is_measured_before_a_probe_is_armed(
    watch: Watch, guest: Guest, measuring: Measuring, spec: str
) -> None:
    """Beside a kprobe of all tasks, which counts for itself: more than ours did, as others read too."""
    tracing = "/sys/kernel/tracing"
    guest.run(f"cd {tracing}; echo 'p:all/reads vfs_read' >>dynamic_events; echo 1 >events/all/reads/enable")
    began = time.monotonic()
    armed = watch.armed.arm(parse_probe(spec))
    took = time.monotonic() - began
    every = int(guest.run(f"cd {tracing}; grep reads kprobe_profile").split()[1])
    guest.run(f"cd {tracing}; echo 0 >events/all/reads/enable; echo -:all/reads >>dynamic_events; echo >trace")
    found = armed.measured
    assert found is not None
    assert 0 < measuring.seconds <= found.seconds <= took
    assert (found.reader, found.slowdown) == (AGENT, EMULATED), "a guest's reader costs it something, too"
    assert "more to read them there" in found.text(armed.plan)
    for event in armed.plan.events:
        assert measuring.number <= round(found.rates[event.path].hits * found.seconds) <= every
        assert watch.session.instance.read(f"events/{event.path}/trigger").startswith("# Available triggers")


@pytest.mark.parametrize(("size", "passing"), [(SIZE, True), (SIZE + 1, False)])
def test_what_passes_a_filter_is_measured_apart(watch: Watch, measuring: Measuring, size: int, passing: bool) -> None:
    armed = watch.armed.arm(parse_probe(f"f vfs_read count if count == {size}"))
    assert armed.measured is not None
    (rate,) = armed.measured.rates.values()
    assert round(rate.hits * armed.measured.seconds) >= measuring.number > 0
    assert round(rate.records * armed.measured.seconds) == (measuring.number if passing else 0)


def test_too_fast_is_refused_and_can_be_armed_all_the_same(watch: Watch, guest: Guest, measuring: Measuring) -> None:
    watch.armed.limits = Limits(max_rate=0.01)  # READS in a day would be too many
    with pytest.raises(TooFast) as caught:
        watch.armed.arm(parse_probe("f vfs_read count"))
    assert caught.value.measured.records > 0.01
    assert watch.armed.probes == ()
    assert not guest.run("cat /sys/kernel/tracing/dynamic_events").strip()
    assert watch.armed.arm(parse_probe("f vfs_read count"), at_any_rate=True).measured is None


def test_counting_records_nothing(watch: Watch, guest: Guest) -> None:
    armed = watch.armed.arm(parse_probe("f vfs_read count"), mode=Mode.COUNT)
    (event,) = armed.plan.events
    reads(guest, 5000)
    counts = watch.counts()
    assert counts.hits[event.path] >= 5000
    assert counts.written == 0
    assert watch.armed.switch(armed, Mode.RECORD) == []
    reads(guest, 50)
    bring_in(watch)
    assert watch.store.next_seq >= 50
    assert watch.armed.switch(armed, Mode.OFF) == []
    bring_in(watch)
    before = watch.store.next_seq
    reads(guest, 50)
    bring_in(watch)
    assert watch.store.next_seq == before


@pytest.mark.parametrize("spec", ["f vfs_read count", pytest.param("p vfs_read count=%dx", marks=pytest.mark.matrix)])
def test_what_is_only_counted_passes_the_filter(watch: Watch, guest: Guest, spec: str) -> None:
    size, other = SIZE + 3, SIZE + 4
    trigger = "hist:keys=common_pid"
    armed = watch.armed.arm(parse_probe(f"{spec} if count == {size}"), mode=Mode.COUNT, triggers=[trigger])
    (event,) = armed.plan.events
    reads(guest, 40, size)
    reads(guest, 300, other)
    counts = watch.counts()
    assert counts.counted[event.path] == 40 and counts.hits[event.path] >= 340 and counts.written == 0
    armed = watch.armed.change_filter(armed, f"count == {other}")
    reads(guest, 40, size)
    reads(guest, 300, other)
    counts = watch.counts()
    assert counts.counted[event.path] == 300 and counts.hits[event.path] >= 340
    (table,) = read_tables(watch.armed)
    assert table.ignored == f"count == {other}" and table.histogram.hits >= 680, "a trigger has a filter of its own"
    watch.armed.add_trigger(armed, event, f"{trigger},count if count == {size}")
    assert [one.ignored for one in read_tables(watch.armed)] == [f"count == {other}", ""]


def test_a_filter_that_the_kernel_refuses_leaves_the_one_there_was(watch: Watch) -> None:
    armed = watch.armed.arm(parse_probe("f vfs_read%both count if count == 5"))
    for text in ("nosuch == 7", "count == ", "count ~ 7"):
        # Past all checks of ours: the kernel drops the old filter where it can't read the new one.
        events = [*armed.plan.events[:-1], replace(armed.plan.events[-1], filter=text)]
        with pytest.raises(ProbeRefused):
            watch.session.probes.change_filters(armed, replace(armed.plan, events=tuple(events)))
        for event in armed.plan.events:
            assert watch.session.instance.read(f"events/{event.path}/filter").strip() == "count == 5"


@pytest.mark.parametrize("spec", ["f vfs_read count", "f vfs_read%both count"])
def test_an_armed_probe_gets_another_filter(watch: Watch, guest: Guest, spec: str) -> None:
    one, other = SIZE, SIZE + 1
    armed = watch.armed.arm(parse_probe(f"{spec} if count == {one}"))
    number = 30 * len(armed.plan.events)

    def counts(first: int) -> list[object]:
        for size in (one, other):
            reads(guest, 30, size)
        bring_in(watch)
        return [watch.store.record(seq).values["count"] for seq in range(first, watch.store.next_seq)]

    assert counts(0) == [one] * number
    changed = watch.armed.change_filter(armed, f"count == {other}")
    assert watch.armed.probes == (changed,)
    assert str(changed.plan.probe).endswith(f"if count == {other}")
    assert counts(number) == [other] * number
    with pytest.raises(CannotLower):
        watch.armed.change_filter(changed, "nosuch == 7")
    assert watch.armed.probes == (changed,)
    changed = watch.armed.change_filter(changed, "")
    assert {one, other} <= set(counts(2 * number))


@pytest.mark.parametrize("hot", ["f vfs_read count", pytest.param("p vfs_read", marks=pytest.mark.matrix)])
def test_a_storm_is_stopped_and_the_others_go_on(watch: Watch, guest: Guest, hot: str) -> None:
    quiet = watch.armed.arm(parse_probe("f vfs_mkdir"))
    storm = watch.armed.arm(parse_probe(hot), at_any_rate=True)
    watch.guard.limit = 50  # `BUSY` is faster on whatever machine
    work = Work(guest, BUSY)
    assert follow(watch, lambda: watch.session.probes.mode(storm) is Mode.OFF)
    work.stop()
    (told,) = watch.guard.take()
    assert told.armed is storm
    assert told.rate > 50
    assert told.failures == ()
    assert watch.session.probes.mode(storm) is Mode.OFF
    assert watch.session.probes.mode(quiet) is Mode.RECORD
    (stopped,), (going_on,) = storm.plan.events, quiet.plan.events
    bring_in(watch)
    before = dict(watch.intake.stored_counts())
    reads(guest, READS)
    guest.run("mkdir /tmp/quiet; rmdir /tmp/quiet")
    bring_in(watch)
    after = dict(watch.intake.stored_counts())
    assert after.get(going_on.path, 0) == before.get(going_on.path, 0) + 1
    assert after.get(stopped.path, 0) == before.get(stopped.path, 0)
    watch.guard.limit = limits.STORM
    watch.armed.switch(storm, Mode.RECORD)
    assert watch.session.probes.mode(storm) is Mode.RECORD
    reads(guest, READS)
    bring_in(watch)
    assert watch.intake.stored_counts().get(stopped.path, 0) >= before.get(stopped.path, 0) + READS


def test_triggers_are_added_and_taken_away_by_hand_and_the_stack_is_the_events(watch: Watch, guest: Guest) -> None:
    armed = watch.armed.arm(parse_probe("f vfs_read count"), triggers=["hist:keys=common_pid"])
    (event,) = armed.plan.events
    watch.armed.add_trigger(armed, event, "stacktrace")
    assert not watch.planner.trigger_verdict(armed.plan, event, "hist:keys=nosuch").ok
    with pytest.raises(ProbeRefused):
        watch.armed.add_trigger(armed, event, "hist:keys=nosuch")
    reads(guest, 20)
    bring_in(watch)
    records = [watch.store.record(seq) for seq in range(watch.store.next_seq)]
    ours = [one for one in records if one.values.get("count") == SIZE]
    assert len(ours) == 20
    for record in ours:
        names = [row.value.partition("+")[0] for row in stack_rows(watch, record)]
        assert names[:2] == ["vfs_read", "ksys_read"]
    watch.session.probes.remove_trigger(armed, event, "stacktrace")
    said = watch.session.instance.read(f"events/{event.path}/trigger")
    assert "stacktrace" not in said
    assert "common_pid" in said
    assert watch.armed.disarm(armed) == []
    assert not guest.run("cat /sys/kernel/tracing/dynamic_events").strip()


def test_a_bigger_buffer_ends_the_losses_and_loses_nothing(guest: Guest) -> None:
    target = connect(guest, guest.kernel.release)
    held = hold(target)
    watching = Watch(Planner(KernelInfo(target)))
    try:
        watching.armed.arm(parse_probe(f"f vfs_read count if count == {SIZE}"))
        assert watching.session is not None
        usual = watching.session.resize(16)
        assert usual > 1000
        reads(guest, 3000)
        lost = watching.counts().lost
        assert lost > 1000
        kept = 3000 - lost
        assert watching.counts().written == 3000
        assert watching.session.resize(1024) < 32  # the kernel rounds up to whole sub-buffers
        reads(guest, 3000)
        assert watching.counts().lost == lost
        for one in held:
            one.let_go()
        bring_in(watching)
        assert watching.store.next_seq == kept + 3000
    finally:
        assert watching.close() == []
        watching.info.close()
