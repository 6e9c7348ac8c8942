"""The ssh target on real kernels, both dialects: events, and the clean-up after a disconnect or a dead process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from events import subbuffer
from events.text import parse_line
from kernel.cleanup import leftovers
from kernel.cleanup.owner import owner_name
from kernel.errors import FileRefused, ProbeRefused, TargetLost
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.remote.target import RemoteTarget
from kernel.session.session import Session
from kernel.session.start import open_session
from kernel.target import Effect, Step
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe, ProbePlace
from tests.real.processes import sshs, until

DIALECTS = ["agent", pytest.param("sh", marks=pytest.mark.matrix)]
TRACEFS = "/sys/kernel/tracing"


def reach(guest: Guest, dialect: str) -> RemoteTarget:
    return connect(guest, f"lab:{guest.kernel.release}", python=dialect == "agent")


@pytest.fixture(params=DIALECTS)
def target(request: pytest.FixtureRequest, guest_72: Guest) -> Iterator[RemoteTarget]:
    made = reach(guest_72, request.param)
    yield made
    made.close()


def plan(session: Session, name: str, line: str) -> Plan:
    path = f"{session.group}/{name}"
    letter, _, rest = line.partition(" ")
    return Plan(Probe(ProbePlace(rest)), (PlannedEvent(session.group, name, f"{letter}:{path} {rest}", f"-:{path}"),))


def with_filter(one: Plan, text: str) -> Plan:
    return replace(one, events=tuple(replace(event, filter=text) for event in one.events))


def drained(session: Session, seconds: float = 0.0) -> list[tuple[int, str]]:
    """(pid, text or nothing) of all events that came within some seconds."""
    time.sleep(seconds)
    session.pump.settle(3)
    found: list[tuple[int, str]] = []
    size = session.header.page_size
    for chunk in (chunk for batch in session.pump.drain() for chunk in batch.chunks):
        if chunk.text:
            for line in chunk.data.splitlines():
                record = parse_line(line.decode())
                if record is not None:
                    found.append((record.pid, record.text))
            continue
        for start in range(0, len(chunk.data), size):
            page = chunk.data[start : start + size]
            for _, offset, _ in subbuffer.walk(page, session.header):
                found.append((int.from_bytes(page[offset + 4 : offset + 8], "little"), ""))
    return found


def falls_silent(session: Session) -> bool:
    """Whether there comes a second without an event or a byte; before it, other sessions of ssh may be ending."""

    def silent() -> bool:
        before = session.pump.received_bytes
        return drained(session, 1.0) == [] and session.pump.received_bytes == before

    return until(silent)


def seen(session: Session, number: int) -> list[tuple[int, str]]:
    """What came until there were so many events, or for a minute."""
    found: list[tuple[int, str]] = []

    def enough() -> bool:
        found.extend(drained(session, 0.2))
        return len(found) >= number

    until(enough)
    return found


def left(guest: Guest) -> str:
    """Our events, instances and processes, as another connection to the guest sees them."""
    return guest.run(
        f"cat {TRACEFS}/dynamic_events | grep pw_; ls {TRACEFS}/instances | grep probewright; "
        "grep -hE '^(python3|dd|sleep)$' /proc/[0-9]*/comm 2>/dev/null; true"
    ).decode()


def is_recording(guest: Guest) -> bool:
    """Return whether all events of the only session of ours are on, and recording is.

    The file of the group says so too early: while rates are measured an event is on, but records nothing (`0*`), and
    `tracing_on` is 0 until all probes are armed.
    """
    files = f"{TRACEFS}/instances/probewright-*/events/pw_*/*/enable {TRACEFS}/instances/probewright-*/tracing_on"
    states = guest.run(f"cat {files} 2>/dev/null || true").split()
    return len(states) > 1 and all(state.startswith(b"1") for state in states)


def the_master() -> int:
    """The ssh of this process that holds its connection, once those of earlier ones have ended."""
    assert until(lambda: len(sshs(os.getpid(), master=True)) == 1)
    return sshs(os.getpid(), master=True)[0]


def is_clean(guest: Guest) -> bool:
    """Whether nothing of ours is left, in the end."""
    return until(lambda: not left(guest))


def test_files_of_the_kernel(target: RemoteTarget, guest_72: Guest) -> None:
    facts = target.facts()
    assert facts.release == guest_72.kernel.release
    assert facts.usable, facts.troubles
    assert len(facts.functions) > 20_000
    assert target.owner == owner_name(target.read(f"/proc/{target.owner.split('_')[0]}/stat"))
    assert target.read("/sys/kernel/btf/vmlinux") == target.btf()
    assert target.btf()[:2] == b"\x9f\xeb"
    names = target.list(f"{TRACEFS}/events/sched")
    assert "sched_switch" in names
    with pytest.raises(FileRefused) as caught:
        target.perform(Step(Effect.APPEND, f"{TRACEFS}/dynamic_events", b"p no_such_function_at_all\n"))
    assert caught.value.errno == 22
    # All of a long line in one write: the kernel takes each for a command of its own.
    line = "p:pw_long/line vfs_read " + " ".join(f"argument{n}=+{n}(%di):u64" for n in range(100))
    target.perform(Step(Effect.APPEND, f"{TRACEFS}/dynamic_events", line.encode() + b"\n"))
    assert b"argument99=" in target.read(f"{TRACEFS}/dynamic_events")
    # The symbols of a boot are cached, those that come and go are as they are now: a trampoline of a probe has one.
    assert target.read("/proc/kallsyms") == guest_72.run("cat /proc/kallsyms")
    probe = f"{TRACEFS}/events/pw_long/line/enable"
    target.perform(Step(Effect.WRITE, probe, b"1"))
    symbols = target.read("/proc/kallsyms")
    assert symbols == guest_72.run("cat /proc/kallsyms") and b"[__builtin__" in symbols.splitlines()[-1]
    target.perform(Step(Effect.WRITE, probe, b"0"))
    target.perform(Step(Effect.APPEND, f"{TRACEFS}/dynamic_events", b"-:pw_long/line\n"))


def test_events_of_others_and_none_of_our_own(target: RemoteTarget, guest_72: Guest) -> None:
    """vfs_read and the tcp path are what we and the ssh server live on: without the filter this would never end."""
    with open_session(target) as session:
        session.probes.arm(plan(session, "read", "p vfs_read count=%dx:u64"))
        session.probes.arm(plan(session, "send", "p tcp_sendmsg"))
        for _ in range(20):
            target.read("/proc/uptime")
        ours = set(target.our_pids())
        assert falls_silent(session), "our own traffic must not feed itself"
        guest_72.workload(True)
        try:
            found = seen(session, 21)
        finally:
            guest_72.workload(False)
        assert len(found) > 20
        assert not ours & {pid for pid, _ in found}
        if target.access == "sh":
            assert any("count=" in text for _, text in found)
        assert session.close() == []
    assert session.pump.error is None


def test_a_remote_host_that_stands_still_is_silent_until_it_goes_on(target: RemoteTarget, guest_72: Guest) -> None:
    """Nobody asks but the stream itself, and its probe is never hit."""
    with open_session(target) as session:
        session.probes.arm(plan(session, "never", "p kernel_restart"))
        heard = target.last_received
        assert until(lambda: target.last_received > heard), "a quiet connection is asked for a word"
        guest_72.run(f"kill -STOP {target.owner.partition('_')[0]}")
        try:
            assert until(lambda: target.overdue_seconds is not None)
            assert session.pump.error is None, "it is not cut"
        finally:
            guest_72.run(f"kill -CONT {target.owner.partition('_')[0]}")
        assert until(lambda: target.overdue_seconds is None)


def test_a_storm_is_bounded_and_lost_events_are_the_kernels(target: RemoteTarget, guest_72: Guest) -> None:
    with open_session(target, buffer_kb=64) as session:
        session.probes.arm(plan(session, "read", "p vfs_read"))
        guest_72.run("dd if=/dev/zero of=/dev/null bs=1 count=60000")
        found: list[tuple[int, str]] = []

        def all_came() -> bool:
            found.extend(drained(session))
            return len(found) + sum(session.counts().overrun.values()) >= 60_000

        assert until(all_came)
        assert len(found) > 1000


def test_no_event_is_lost_when_another_probe_goes(target: RemoteTarget, guest_72: Guest) -> None:
    """To remove an event that was on empties our buffer; see `kernel.session.parked_events`."""
    count = 60_000
    with open_session(target, buffer_kb=8192) as session, ThreadPoolExecutor(1) as worker:
        session.probes.arm(with_filter(plan(session, "read", "p vfs_read count=%dx:u64"), "count == 77"))
        reads = worker.submit(guest_72.run, f"dd if=/dev/zero of=/dev/null bs=77 count={count}")
        for number in range(6):
            other = session.probes.arm(plan(session, f"other{number}", "p vfs_rmdir"))
            assert session.probes.disarm(other) == []
        reads.result()
        came = 0

        def all_came() -> bool:
            nonlocal came
            came += len(drained(session))
            return came + session.counts().lost >= count

        assert until(all_came)
        assert came + session.counts().lost == count
        assert session.close() == []
    assert "pw_" not in left(guest_72)


def test_a_refusal_is_the_kernels_own(target: RemoteTarget) -> None:
    with open_session(target) as session, pytest.raises(ProbeRefused) as caught:
        session.probes.arm(plan(session, "bad", "f vfs_read file->f_poss"))
    assert caught.value.verdict.error is not None
    assert caught.value.verdict.error.code == "NO_BTF_FIELD"


def test_close_leaves_nothing(target: RemoteTarget, guest_72: Guest) -> None:
    session = open_session(target)
    session.probes.arm(plan(session, "read", "p vfs_read"))
    assert "pw_" in left(guest_72)
    target.close()  # not even the session: what is guarded is undone on the remote host
    assert is_clean(guest_72), left(guest_72)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_cut_line_leaves_nothing(guest_72: Guest, dialect: str) -> None:
    target = reach(guest_72, dialect)
    try:
        session = open_session(target)
        session.probes.arm(plan(session, "read", "p vfs_read"))
        session.probes.arm(plan(session, "exit", "f vfs_read%return $retval"))
        found = left(guest_72)
        assert "exit" in found and "probewright-" in found
        os.kill(the_master(), signal.SIGKILL)
        assert is_clean(guest_72), left(guest_72)
        with pytest.raises(TargetLost):
            target.read("/proc/version")
        assert until(lambda: session.pump.error is not None)
        session.close()
    finally:
        target.close()
    assert until(lambda: not sshs(os.getpid()))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_kill_9_of_ours_leaves_nothing_here_or_there(guest_72: Guest, dialect: str) -> None:
    script = (
        "import sys, json; sys.path.insert(0, sys.argv[1])\n"
        "from kernel.remote.address import Address\n"
        "from kernel.remote.connect import open_ssh\n"
        "from kernel.session.start import open_session\n"
        "from tests.real.test_ssh_guest import plan\n"
        "options, python = json.loads(sys.argv[2]), sys.argv[3] == 'agent'\n"
        "target = open_ssh(Address('127.0.0.1', 'root'), options=options, python=python)\n"
        "session = open_session(target)\n"
        "session.probes.arm(plan(session, 'read', 'p vfs_read'))\n"
        "print('armed', flush=True); sys.stdin.read()\n"
    )
    top = str(Path(__file__).parents[2])
    ours = subprocess.Popen(
        [sys.executable, "-c", script, top, json.dumps(guest_72.ssh_options), dialect],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert ours.stdin and ours.stdout
    assert ours.stdout.readline() == "armed\n"
    assert "pw_" in left(guest_72)
    assert len(sshs(ours.pid)) == (1 if dialect == "agent" else 2)
    ours.kill()
    ours.wait()
    ours.stdin.close()
    ours.stdout.close()
    assert is_clean(guest_72), left(guest_72)
    assert until(lambda: not sshs(ours.pid))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_kill_9_of_the_far_process_is_cleaned_up_at_the_next_start(guest_72: Guest, dialect: str) -> None:
    target = reach(guest_72, dialect)
    session = open_session(target)
    session.probes.arm(plan(session, "read", "p vfs_read"))
    group = session.group
    guest_72.run(f"kill -9 {target.owner.split('_')[0]}")
    with pytest.raises(TargetLost):
        until(lambda: not target.read("/proc/version"))
    session.close()
    target.close()
    assert group in left(guest_72)
    with contextlib.closing(reach(guest_72, dialect)) as again:
        found = leftovers.find(again)
        assert [leftover.group for leftover in found] == [group]
        assert [leftovers.remove(again, leftover) for leftover in found] == [[]]
        assert not leftovers.find(again)
        with open_session(again) as living:
            living.probes.arm(plan(living, "read", "p vfs_read"))
            assert not leftovers.find(again), "what lives is left alone"
    assert is_clean(guest_72), left(guest_72)
