"""Probes that are too fast, on real kernels: measured before, stopped while they are armed, and what helps."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from events.record import Record
from kernel import limits, meter
from kernel.arming import Mode
from kernel.connection import Connection
from kernel.errors import ProbeRefused, TooFast
from kernel.lab.guest import Guest
from kernel.lab_target import connect
from kernel.limits import Limits
from kernel.watch import Watch
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.real.held import hold
from tests.real.processes import until
from tui.stacks import stack_rows

pytestmark = pytest.mark.parametrize("guest", ["6.12", "7.2"], indirect=True)

PACED = """
import json, os, sys, time
fd = os.open("/dev/zero", os.O_RDONLY)
when = [time.monotonic()]
open("/tmp/begun", "w").close()
while not os.path.exists("/tmp/enough") and when[-1] - when[0] < 60:
    for _ in range(20):
        os.pread(fd, 7, 0)
    time.sleep(0.01)
    when.append(time.monotonic())
print(json.dumps([100 / (after - before) for before, after in zip(when, when[5:])]))
"""
"""Prints reads a second, of each five rounds one after the other: about as long as a rate is measured."""
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
        guest.run("until [ -e /tmp/begun ]; do sleep 0.1; done", timeout=60)

    def stop(self) -> str:
        """What it printed."""
        self._guest.run("touch /tmp/enough")
        return self._process.communicate(timeout=60)[0].decode()


@pytest.fixture
def watch(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    monkeypatch.setattr(meter, "SLOW_LINE", 2.0)  # an emulated machine on a busy one
    connection = Connection(connect(guest, guest.kernel.release))
    watching = Watch(connection)
    yield watching
    assert watching.close() == []
    connection.close()
    left = guest.run("cd /sys/kernel/tracing; cat dynamic_events; ls instances").decode().split()
    assert left == []


def came(watch: Watch, enough: Callable[[], bool]) -> bool:
    """Whether it is so once what comes is brought in; a busy guest may take longer than one settling."""

    def settled() -> bool:
        watch.settle()
        return enough()

    return until(settled)


def follow(watch: Watch, over: Callable[[], bool], seconds: float = 60.0) -> bool:
    """What the screen does: bring in what came, and ask for the counts each second."""
    end, asked = time.monotonic() + seconds, 0.0
    while time.monotonic() < end:
        watch.tick()
        if time.monotonic() - asked > 1:
            asked = time.monotonic()
            watch.counts()
        if over():
            return True
        time.sleep(0.05)
    return False


@pytest.mark.parametrize("spec", ["f vfs_read count", "p vfs_read", "r vfs_read $retval", "f vfs_read%both count"])
def test_the_rate_is_measured_before_a_probe_is_armed(watch: Watch, guest: Guest, spec: str) -> None:
    work = Work(guest, PACED)
    armed = watch.arm(parse_probe(spec))
    found = armed.measured
    did = json.loads(work.stop())
    assert found is not None
    for event in armed.plan.events:
        assert min(did) / 2 < found.rates[event.path].hits < max(did) * 2
        assert watch.session.instance.read(f"events/{event.path}/trigger").startswith("# Available triggers")


def test_what_passes_a_filter_is_measured_apart(watch: Watch, guest: Guest) -> None:
    work = Work(guest, PACED)
    armed = watch.arm(parse_probe("f vfs_read count if count == 8"))
    work.stop()
    assert armed.measured is not None
    (rate,) = armed.measured.rates.values()
    assert rate.hits > 200
    assert rate.records == 0


def test_too_fast_is_refused_and_can_be_armed_all_the_same(watch: Watch, guest: Guest) -> None:
    watch.limits = Limits(max_rate=100)
    work = Work(guest, PACED)
    with pytest.raises(TooFast) as caught:
        watch.arm(parse_probe("f vfs_read count"))
    assert caught.value.measured.records > 100
    assert watch.armed == ()
    assert not guest.run("cat /sys/kernel/tracing/dynamic_events").strip()
    assert watch.arm(parse_probe("f vfs_read count"), at_any_rate=True).measured is None
    work.stop()


def test_counting_records_nothing(watch: Watch, guest: Guest) -> None:
    armed = watch.arm(parse_probe("f vfs_read count"), mode=Mode.COUNT)
    (event,) = armed.plan.events
    guest.run("dd if=/dev/zero of=/dev/null bs=1 count=5000 2>/dev/null")
    counts = watch.counts()
    assert counts.hits[event.path] >= 5000
    assert counts.written == 0
    assert watch.switch(armed, Mode.RECORD) == []
    guest.run("dd if=/dev/zero of=/dev/null bs=1 count=50 2>/dev/null")
    watch.settle()
    assert watch.store.next_seq >= 50
    assert watch.switch(armed, Mode.OFF) == []
    watch.settle()
    before = watch.store.next_seq
    guest.run("dd if=/dev/zero of=/dev/null bs=1 count=50 2>/dev/null")
    watch.settle()
    assert watch.store.next_seq == before


def test_a_filter_that_the_kernel_refuses_leaves_the_one_there_was(watch: Watch) -> None:
    armed = watch.arm(parse_probe("f vfs_read%both count if count == 5"))
    for text in ("nosuch == 7", "count == ", "count ~ 7"):
        # Past all checks of ours: the kernel drops the old filter where it can't read the new one.
        events = [*armed.plan.events[:-1], replace(armed.plan.events[-1], filter=text)]
        with pytest.raises(ProbeRefused):
            watch.session.change_filters(armed, replace(armed.plan, events=tuple(events)))
        for event in armed.plan.events:
            assert watch.session.instance.read(f"events/{event.path}/filter").strip() == "count == 5"


@pytest.mark.parametrize("spec", ["f vfs_read count", "f vfs_read%both count"])
def test_an_armed_probe_gets_another_filter(watch: Watch, guest: Guest, spec: str) -> None:
    read = "for bs in 5 7; do dd if=/dev/zero of=/dev/null bs=$bs count=30 2>/dev/null; done"
    armed = watch.arm(parse_probe(f"{spec} if count == 5"))
    number = 30 * len(armed.plan.events)
    guest.run(read)
    assert came(watch, lambda: watch.store.next_seq >= number)
    before = watch.store.next_seq
    assert {watch.store.record(seq).values["count"] for seq in range(before)} == {5}
    changed = watch.change_filter(armed, "count == 7")
    assert watch.armed == (changed,)
    assert str(changed.plan.probe).endswith("if count == 7")
    guest.run(read)
    assert came(watch, lambda: watch.store.next_seq >= before + number)
    assert {watch.store.record(seq).values["count"] for seq in range(before, watch.store.next_seq)} == {7}
    with pytest.raises(CannotLower):
        watch.change_filter(changed, "nosuch == 7")
    assert watch.armed == (changed,)
    changed = watch.change_filter(changed, "")
    after = watch.store.next_seq
    guest.run(read)
    assert came(
        watch,
        lambda: {5, 7} <= {watch.store.record(seq).values["count"] for seq in range(after, watch.store.next_seq)},
    )


@pytest.mark.parametrize("hot", ["f vfs_read count", "p vfs_read"])
def test_a_storm_is_stopped_and_the_others_go_on(watch: Watch, guest: Guest, hot: str) -> None:
    quiet = watch.arm(parse_probe("f do_sys_openat2 dfd"))
    storm = watch.arm(parse_probe(hot), at_any_rate=True)
    watch.guard.limit = 1000
    work = Work(guest, BUSY)
    assert follow(watch, lambda: watch.session.mode(storm) is Mode.OFF)
    work.stop()
    (told,) = watch.guard.take()
    assert told.armed is storm
    assert told.rate > 1000
    assert told.failures == ()
    assert watch.session.mode(storm) is Mode.OFF
    assert watch.session.mode(quiet) is Mode.RECORD
    (stopped,), (going_on,) = storm.plan.events, quiet.plan.events

    def nothing_waits() -> bool:
        seen = watch._seen().get(stopped.path, 0)
        follow(watch, lambda: False, 1.0)
        return watch._seen().get(stopped.path, 0) == seen

    assert came(watch, nothing_waits)
    before = dict(watch._seen())
    guest.run("dd if=/dev/zero of=/dev/null bs=1 count=500 2>/dev/null; cat /proc/version >/dev/null")
    assert came(watch, lambda: watch._seen().get(going_on.path, 0) > before.get(going_on.path, 0))
    assert watch._seen().get(stopped.path, 0) == before.get(stopped.path, 0)
    watch.guard.limit = limits.STORM
    watch.switch(storm, Mode.RECORD)
    assert watch.session.mode(storm) is Mode.RECORD
    guest.run("dd if=/dev/zero of=/dev/null bs=1 count=500 2>/dev/null")
    assert came(watch, lambda: watch._seen().get(stopped.path, 0) > before.get(stopped.path, 0))


def test_triggers_are_added_and_taken_away_by_hand_and_the_stack_is_the_events(watch: Watch, guest: Guest) -> None:
    armed = watch.arm(parse_probe("f vfs_read count"), triggers=["hist:keys=common_pid"])
    (event,) = armed.plan.events
    watch.add_trigger(armed, event, "stacktrace")
    assert not watch.connection.trigger_verdict(armed.plan, event, "hist:keys=nosuch").ok
    with pytest.raises(ProbeRefused):
        watch.add_trigger(armed, event, "hist:keys=nosuch")
    guest.run("dd if=/dev/zero of=/dev/null bs=7 count=20 2>/dev/null")
    store = watch.store

    def sevens() -> list[Record]:
        records = [store.record(seq) for seq in range(store.next_seq)]
        return [one for one in records if one.values.get("count") == 7]

    # A stack comes behind its event.
    assert came(watch, lambda: len(sevens()) >= 20 and bool(stack_rows(watch, sevens()[-1])))
    ours = sevens()
    assert len(ours) == 20
    for record in ours:
        names = [row.value.partition("+")[0] for row in stack_rows(watch, record)]
        assert "ksys_read" in names
        assert names.index("ksys_read") > 0
    watch.session.remove_trigger(armed, event, "stacktrace")
    said = watch.session.instance.read(f"events/{event.path}/trigger")
    assert "stacktrace" not in said
    assert "common_pid" in said
    assert watch.disarm(armed) == []
    assert not guest.run("cat /sys/kernel/tracing/dynamic_events").strip()


def test_a_bigger_buffer_ends_the_losses_and_loses_nothing(guest: Guest) -> None:
    target = connect(guest, guest.kernel.release)
    held = hold(target)
    watching = Watch(Connection(target))
    try:
        watching.arm(parse_probe("f vfs_read count"))
        assert watching.session is not None
        usual = watching.session.resize(16)
        assert usual > 1000
        guest.run("dd if=/dev/zero of=/dev/null bs=1 count=3000 2>/dev/null")
        lost = watching.counts().lost
        assert lost > 1000
        kept = watching.counts().written - lost
        assert watching.session.resize(1024) < 32  # the kernel rounds up to whole sub-buffers
        guest.run("dd if=/dev/zero of=/dev/null bs=1 count=3000 2>/dev/null")
        assert watching.counts().lost == lost
        for one in held:
            one.let_go()
        assert came(watching, lambda: watching.store.next_seq >= kept + 3000)
    finally:
        assert watching.close() == []
        watching.connection.close()
