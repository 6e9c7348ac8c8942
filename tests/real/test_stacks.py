"""Stacks of each kind of probe: each event has its own, and nothing of the tracer is in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from events.record import Record
from events.stacks.stack import is_stack, kernel_frames
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.lab.guest import Guest
from kernel.lab.target import connect
from kernel.session.session import Session
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.facts.facts import Feature
from tests.real.conftest import prepared
from tests.real.held import bring_in
from tests.real.saved import SavedGuests
from tui.present.stack_rows import stack_rows

KERNELS = ["6.1", "6.12", "7.2", "arm64:6.12"]
SIZE = 4321
EVERYWHERE = (
    "p:x/entry vfs_open $comm",
    "r:x/exit vfs_open%return $retval",
    f"p:x/written vfs_write count=$arg3:u64 if count == {SIZE}",
    "e:x/waking sched.sched_waking $pid",
    "e:x/call syscalls.sys_enter_openat $dfd",
)
FPROBES = ("f:x/f_entry filp_close", "f:x/f_exit filp_close%return", "t:x/point sched_process_exit")
WORKLOAD = f"for n in 1 2 3; do dd if=/dev/zero of=/tmp/written bs={SIZE} count=1 2>/dev/null; done; rm /tmp/written"
TRACERS = re.compile(
    r"probe|ftrace|rethook|trampoline|return_to_handler|fentry|fexit|event_trigger|trace_event|traceiter|probestub"
    r"|int3|brk|el1h?_|optimized"
)
"""More than is known of the tracer's functions: no function that is probed here, or calls one, has such a name."""


@pytest.fixture(scope="module")
def guest(request: pytest.FixtureRequest, saved: SavedGuests) -> Iterator[Guest]:
    kernel = str(request.param)
    prepared(kernel)
    with saved.lent(kernel) as machine:
        yield machine


@pytest.fixture(scope="module")
def watch(guest: Guest) -> Iterator[Watch]:
    """All kinds armed with stacks, the workload run, and all that came of it in the store."""
    watch = Watch(Planner(KernelInfo(connect(guest, guest.kernel.release))))
    try:
        features = watch.info.facts.features
        watch.armed.arm(parse_armable("p:x/quiet kernel_halt"))  # which nobody calls
        assert isinstance(watch.session, Session)
        # A busy machine reads late, and what is overwritten leaves stacks alone. So does a resize while events are
        # recorded: recording is off meanwhile (__tracing_resize_ring_buffer), for an event but not for its stack.
        watch.session.resize(8192)
        for spec in (*EVERYWHERE, *(FPROBES if Feature.FPROBE_EVENTS in features else ())):
            watch.armed.arm(parse_armable(spec), triggers=["stacktrace"])
        guest.run(WORKLOAD)
        bring_in(watch)
        for armed in watch.armed.probes:
            assert watch.armed.disarm(armed) == []
        bring_in(watch)
        yield watch
    finally:
        assert watch.close() == []
        watch.info.close()


def rows(watch: Watch, name: str = "") -> list[Record]:
    store = watch.store
    assert store is not None
    records = [store.record(seq) for seq in range(store.first_seq, store.next_seq)]
    return [record for record in records if record.event.endswith(f"/{name}" if name else "")]


def stacked(watch: Watch, name: str = "") -> list[Record]:
    return [record for record in rows(watch, name) if record.stacks]


def functions(watch: Watch, record: Record) -> list[str]:
    frames = kernel_frames(record, lambda _: watch.info.symbols.current)
    assert frames is not None
    assert [row.value for row in stack_rows(watch, record)] == [frame.text for frame in frames]
    return [frame.function.partition(".")[0] for frame in frames]


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_every_event_has_its_stack_and_no_stack_is_alone(watch: Watch) -> None:
    """Also those of events that a filter left out are nowhere, and none came before or after its probe.

    Where others record already, the trigger comes a moment after its event, and goes a moment before it.
    """
    assert watch.store is not None and not watch.store.overrun and not watch.store.overrun_unknown
    lone = [record for record in rows(watch) if is_stack(record)]
    beside = [[row for row in rows(watch) if row.cpu == one.cpu and abs(row.seq - one.seq) < 9] for one in lone]
    assert lone == [], beside
    for name, cpu in {(record.event, record.cpu) for record in rows(watch)}:  # each CPU sees the trigger come and go
        have = [len(record.stacks) for record in rows(watch) if (record.event, record.cpu) == (name, cpu)]
        first = have.index(1) if 1 in have else len(have)
        assert have[first:][: sum(have)] == [1] * sum(have), (name, cpu)
    assert all(record.stacks for record in rows(watch, "written"))


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_the_first_event_of_a_probe_that_is_alone_has_its_stack(guest: Guest) -> None:
    watch = Watch(Planner(KernelInfo(connect(guest, guest.kernel.release))))
    try:
        watch.armed.arm(parse_armable("e:x/waking sched.sched_waking $pid"), triggers=["stacktrace"])
        guest.run("true")
        bring_in(watch)
        found = rows(watch)
        assert len(found) > 10 and all(len(record.stacks) == 1 for record in found)
    finally:
        assert watch.close() == []
        watch.info.close()


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_nothing_of_the_tracer_is_in_a_stack(watch: Watch) -> None:
    names = {record.event.rpartition("/")[2] for record in stacked(watch)}
    assert names >= {"entry", "exit", "written", "waking", "call"}
    if Feature.FPROBE_EVENTS in watch.info.facts.features:
        assert names >= {"f_entry", "f_exit", "point"}
    for record in stacked(watch):
        stack = functions(watch, record)  # what is not known to be left out stands first
        assert stack and not TRACERS.search(stack[0]) and not stack[0].startswith("0x"), (record.event, stack)


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_a_stack_begins_with_the_probed_function_or_its_caller(watch: Watch) -> None:
    for entry, leave, function in (("entry", "exit", "vfs_open"), ("f_entry", "f_exit", "filp_close")):
        begun = [functions(watch, record) for record in stacked(watch, entry)]
        ended = [functions(watch, record) for record in stacked(watch, leave)]
        assert {stack[0] for stack in begun} <= {function}
        callers = {tuple(stack[1:]) for stack in begun}
        # At its first instruction a function of arm64 has no frame yet that says who called it.
        missing = 1 if watch.info.facts.machine == "aarch64" else 0
        assert {tuple(stack[missing:]) for stack in ended} <= callers
        assert bool(ended) == bool(begun)
    assert {functions(watch, record)[0] for record in stacked(watch, "waking")} == {"try_to_wake_up"}


@pytest.mark.parametrize("guest", KERNELS, indirect=True)
def test_the_same_call_has_the_frames_that_its_system_call_goes_through(watch: Watch) -> None:
    written = stacked(watch, "written")
    assert [record.values["count"] for record in written] == [SIZE] * 3
    for record in written:
        stack = functions(watch, record)
        assert stack[0] == "vfs_write"
        assert stack[1] in ("ksys_write", "__arm64_sys_write")  # a compiler puts one into the other
        assert stack[-1] in ("entry_SYSCALL_64_after_hwframe", "el0t_64_sync")
