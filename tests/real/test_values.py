"""Decoded events against the kernel's own text of the same run: values, time stamps, tasks and CPUs.

Twice for each kernel. Once of the very same buffer: the session's stream is held back, the kernel prints the buffer
(`trace` takes nothing out of it), and then the stream takes the same records as raw pages. And once while they come:
the same events go to a second instance of the test's own, which only the kernel reads.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from events.names.kernel_text import kernel_text
from events.record import Record
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.session import Session
from kernel.watch.watch import Watch
from probes.facts.dialect import dialect_of
from probes.refusal import CannotLower
from probes.syntax.parse import parse_probe
from tests.real.conftest import prepared
from tests.real.held import Event, Held, assert_same, bring_in, hold, kernel_side
from tests.real.saved import SavedGuests

PAGES = ["7.2", "6.12", "6.1", "arm64:6.12", "7.2-64k"]
TEXT = ["7.2-sh"]
TRACING = "/sys/kernel/tracing"
THEIRS = f"{TRACING}/instances/theirs"
WORKLOAD = Path(__file__).with_name("workload.sh").read_bytes()
SPECS = (
    "f vfs_read%return file->f_pos count $retval",
    "f do_sys_openat2 filename:ustring dfd",
    "f do_sys_openat2%return $retval",
    "f vfs_write%both $$args file->f_pos $retval",
    "f vfs_statx%both $$args $retval",
    "f path_openat%both $$args",
    "f inode_permission%both $$args $retval",
    "f security_file_permission $$args",
    "f security_file_open file->f_op file->f_op->open:symbol file->f_path.dentry->d_name.name:string file->f_mode",
    "f vfs_mkdir%both $$args $retval",
    "f vfs_unlink%both $$args $retval",
    "f vfs_rename $$args",
    "f do_mmap%both $$args $retval",
    "f wake_up_new_task%both $$args p->comm p->comm:string p->pid p->prio p->in_execve p->sched_reset_on_fork",
    "f do_exit $$args",
    "f exit_signals tsk->comm:string tsk->flags tsk->in_execve",  # a bit-field last: the kernel would spoil the text
    "f send_signal_locked $$args",
    "f __queue_work $$args work->func work->func:symbol",
    "f hrtimer_start_range_ns $$args timer->function:symbol",
    "f sk_alloc%both $$args $retval",
    "f inet_sendmsg%both $$args $retval",
    "f unix_create $$args sock->type sock->state",
    "f inet_release sock->sk->sk_reuse sock->sk->sk_kern_sock sock->sk->sk_userlocks sock->sk->sk_pacing_status",
    "f sock_setsockopt%both $$args $retval",
    # The kernel's types by hand: arrays, bit-fields, characters, what cannot be read.
    "p vfs_read $arg1:x64 +0($arg1):x8[8] +0($arg1):s16[3] $arg3:s16 $arg3:b4@4/32 $arg3:x32 $arg3:char $comm",
    "p vfs_write +0($arg2):ustring +0($arg3):string $stack0:symbol $stack1",
    r'p vfs_write note=\"text":string seven=\7 $arg3:u8',
    "r vfs_write $retval:x64 $retval:s8 $retval:symbol",
)
INTERRUPTS = ("hrtimer_start_range_ns", "send_signal_locked", "__queue_work")
"""What interrupts do too, in whichever task they come."""
APART = 1000
"""Microseconds: the clock of NMIs, which stamps, is adjusted apart from the one that a process reads."""
MUST = ("vfs_read", "do_sys_openat2", "vfs_write", "wake_up_new_task", "do_mmap", "do_exit", "hrtimer_start_range_ns")
"""Functions that every kernel here can probe."""


class Run(NamedTuple):
    """A session with all probes armed; its stream is held."""

    guest: Guest
    planner: Planner
    watch: Watch
    session: Session
    held: Held
    text: bool
    """No pages: the remote host has a shell only."""
    switch: str
    """File of the instance that stops and starts it. A trace_pipe that has been read ends with tracing_on."""
    same: tuple[list[Event], list[Event]] = ([], [])
    """Of pages: ours and the kernel's of one buffer, which nobody read while the workload ran."""


@pytest.fixture(scope="module")
def run(request: pytest.FixtureRequest, saved: SavedGuests) -> Iterator[Run]:
    """Of a kernel; `-sh` behind it: without Python; `-64k`: with large sub-buffers."""
    kernel, _, variant = str(request.param).partition("-")
    prepared(kernel, python=variant != "sh")
    with saved.lent(kernel, python=variant != "sh") as guest:
        subprocess.run([*guest.ssh_command, "cat >/tmp/workload"], input=WORKLOAD, check=True)
        target = connect(guest, kernel)
        planner = Planner(KernelInfo(target))
        held = hold(target, 64 if variant == "64k" else 0)
        watch = Watch(planner)
        try:
            _arm(watch)
            session = watch.session
            assert isinstance(session, Session)
            switch = f"events/{session.group}/enable" if variant == "sh" else "tracing_on"
            session.resize(8192)
            run = Run(guest, planner, watch, session, held[0], variant == "sh", switch)
            yield run if run.text else run._replace(same=_same_buffer(run))
        finally:
            assert watch.close() == []
            planner.info.close()
        left = guest.run(f"cat {TRACING}/dynamic_events; ls {TRACING}/instances")
        assert left in (b"", b"theirs\n")


def _arm(watch: Watch) -> None:
    """Arm every probe that this kernel can have."""
    for spec in SPECS:
        probe = parse_probe(spec)
        try:
            watch.armed.arm(probe)
        except CannotLower as error:
            assert probe.place.symbol not in MUST, (spec, error.refusal)


def _same_buffer(run: Run) -> tuple[list[Event], list[Event]]:
    ours = run.session.instance.path
    run.guest.run(f"cd {ours}; echo >trace; sh /tmp/workload; echo 0 >{run.switch}")
    theirs = kernel_side(run.guest, ours)
    run.held.let_go()
    return _events(run, 0), theirs


def _events(run: Run, first: int) -> list[Event]:
    """Our side: the rows from `first` on, once nothing more comes."""
    bring_in(run.watch)
    run.watch.intake.know_names(run.watch.names())
    store = run.watch.store
    assert store is not None
    assert (store.undecodable, dict(store.overrun)) == (0, {})
    assert store.late_events == 0 or run.text  # trace_pipe orders what it happens to see
    return [_ours(run, store.record(seq)) for seq in range(max(first, store.first_seq), store.next_seq)]


def _ours(run: Run, record: Record) -> Event:
    return Event(
        (record.ts + 500) // 1000,  # as the kernel rounds it
        record.cpu,
        record.pid,
        record.comm,
        kernel_text(record, run.planner.info.symbols.current),
    )


@pytest.mark.parametrize("run", PAGES, indirect=True)
def test_the_same_buffer(run: Run) -> None:
    """Every event, its stamp to the microsecond, its CPU, task and values, in the kernel's order."""
    found, theirs = run.same
    assert_same(found, theirs)
    assert found == theirs
    assert len(found) > 1000
    _everything_was_seen(run, found)


@pytest.mark.parametrize("run", PAGES + TEXT, indirect=True)
def test_another_instance_meanwhile(run: Run) -> None:
    """What the stream brings while it comes, against what the kernel keeps in an instance that nobody reads.

    Only what processes of the workload did. Each instance stamps for itself: all stamps are of the time of the
    workload, and in the order in which a task did things.
    """
    store = run.watch.store
    assert store is not None
    first = store.next_seq
    ours = run.session.instance.path
    events = " ".join(f"events/{event.path}" for armed in run.watch.armed.probes for event in armed.plan.events)
    run.guest.run(
        f"mkdir {THEIRS}; cd {THEIRS}; echo 0 >tracing_on; echo mono >trace_clock; echo 8192 >buffer_size_kb\n"
        # Our own processes write what they read, so text of events would stand in strings of events.
        f"echo event-fork >trace_options; cat {ours}/set_event_notrace_pid >set_event_notrace_pid\n"
        f"for event in {events}; do echo 1 >$event/enable; done"
    )
    try:
        begin = run.guest.run(
            f"echo 1 >{THEIRS}/tracing_on; echo 1 >{ours}/{run.switch}; cut -d ' ' -f 1 /proc/uptime\n"
            "sh -c 'echo $$; exec sh /tmp/workload'\n"
            # What has a higher number came later, when one of both may be off already.
            f"sh -c 'echo $$'; cut -d ' ' -f 1 /proc/uptime; echo 0 >{ours}/{run.switch}\necho 0 >{THEIRS}/tracing_on"
        )
        began, first_pid, *_, last_pid, ended = begin.split()
        pids = range(int(first_pid), int(last_pid))
        theirs = [_settled(event) for event in kernel_side(run.guest, THEIRS) if event.pid in pids]
        found = [_settled(event) for event in _events(run, first) if event.pid in pids]
    finally:
        run.guest.run(f"cd {THEIRS}; for event in {events}; do echo 0 >$event/enable; done; rmdir {THEIRS}")
    found, theirs = ([event._replace(comm="") for event in side] for side in (found, theirs))  # that of the printing
    assert_same([e._replace(stamp=0) for e in found], [e._replace(stamp=0) for e in theirs])
    assert len(found) > 500
    assert _by_task(found) == _by_task(theirs)
    span = float(began) * 1e6 - APART, float(ended) * 1e6 + 10_000 + APART  # uptime has hundredths, rounded down
    assert all(span[0] < event.stamp < span[1] for side in (found, theirs) for event in side)


def _by_task(events: list[Event]) -> dict[int, list[str]]:
    """What each task did by itself, in the order of the stamps: an interrupt may come between both instances."""
    found: dict[int, list[str]] = {}
    for event in sorted(events, key=lambda event: event.stamp):
        if not event.text.startswith(INTERRUPTS):
            found.setdefault(event.pid, []).append(event.text)
    return found


def _settled(event: Event) -> Event:
    """Without what another CPU may change between the looks that two instances take: a woken task runs already."""
    if event.text.startswith("wake_up_new_task__exit:"):
        return event._replace(text=re.sub(r' (comm|p_comm|in_execve)=("[^"]*"|\S+)', "", event.text))
    return event


def _everything_was_seen(run: Run, found: list[Event]) -> None:
    """That what is compared above is all that the probes are there for."""
    names = Counter(event.text.partition(":")[0] for event in found)
    planned = {event.event for armed in run.watch.armed.probes for event in armed.plan.events}
    assert names.keys() <= planned
    text = "\n".join(event.text for event in found)
    assert planned - names.keys() == set()
    dying = [event.text for event in found if event.text.startswith("exit_signals__entry:")]
    assert all(re.search(r' comm="[^"]+" .* in_execve=[01]$', one) for one in dying), dying
    char = ["'.'"] if dialect_of(run.planner.info.facts).char else []
    for sign in (r"ret=-2\b", r"\(fault\)", r'"', r"=\{0x", r"\w\+0x\w+/0x\w+ <- \w", *char):
        assert re.search(sign, text), sign
