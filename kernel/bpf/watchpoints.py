"""Set watchpoints: a perf event of the debug registers for each CPU, each with the program that records the access.

perf_event_open(2) with PERF_TYPE_BREAKPOINT; the program is a link of the event (bpf_perf_link_attach in
kernel/bpf/syscall.c). Both are there as long as their files are open.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from kernel.agent import bpf_calls
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused, ProgramType
from kernel.target import BpfPart, Target
from probes.bpf.instructions import MapRole, encode
from probes.bpf.watchpoints.memory import X86_SLOTS, WatchedMemory
from probes.bpf.watchpoints.watch_writer import RUNS, WATCHED_BYTES, first_value
from probes.plans.plan import Plan

_BREAKPOINT_EVENT: Final = 5
"""PERF_TYPE_BREAKPOINT."""
_PERF_LINK: Final = 41
"""BPF_PERF_EVENT."""
_ANY: Final = -1
_COUNT_BYTES: Final = 8


class SetWatchpoint(NamedTuple):
    """Files that hold a watchpoint."""

    links: tuple[int, ...]
    events: tuple[int, ...]
    value: int
    """Map with its last value and the runs of its program."""
    unseen: int = 0
    """Accesses before the program was attached, which the events have counted."""

    @property
    def files(self) -> tuple[int, ...]:
        """Files in the order in which they are closed, without the map."""
        return (*self.links, *self.events)


def set_watchpoint(
    target: Target, memory: WatchedMemory, program: int, value: int, cpus: Sequence[int]
) -> SetWatchpoint:
    """Watch memory on some CPUs by a program, and read its first value.

    Args:
        target: the kernel.
        memory: watched memory.
        program: file of the program.
        value: file of its map `MapRole.WATCHED`.
        cpus: numbers of the CPUs that are online.

    Raises BpfRefused, FileRefused, TargetLost: nothing is left of it.
    """
    links, events = list[int](), list[int]()
    try:
        for cpu in cpus:
            events.append(_open_event(target, memory, cpu))
            links.append(calls.attach_to_perf_event(target, program, events[-1], _PERF_LINK))
        _read_first_value(target, memory, value)  # what is written afterwards is a hit
        watchpoint = SetWatchpoint(tuple(links), tuple(events), value)
        # Runs first: of accesses between both readings none is taken for a miss later.
        runs = _runs(target, watchpoint)
        return watchpoint._replace(unseen=max(0, _hits(target, watchpoint) - runs))
    except BaseException:
        target.close_bpf([*links, *events])
        raise


def _open_event(target: Target, memory: WatchedMemory, cpu: int) -> int:
    """Open the perf event of a CPU; return its file."""
    head = struct.pack("<ii", _ANY, cpu)
    attributes = struct.pack("<IIQQQQQII", _BREAKPOINT_EVENT, 96, 0, 1, 0, 0, 0, 1, memory.access)
    attributes += struct.pack("<QQQQIi", memory.address, memory.length, 0, 0, 0, 0)
    answer = target.bpf(bpf_calls.PERF_EVENT_OPEN, head + attributes)
    if answer.result < 0:
        raise BpfRefused(f"watching {memory} on CPU {cpu}", -answer.result)
    return answer.result


def _read_first_value(target: Target, memory: WatchedMemory, value: int) -> None:
    """Put the present value of memory into a map, by a program that runs once.

    Raises BpfRefused (EFAULT: nothing is mapped there), FileRefused, TargetLost.
    """
    code = encode(first_value(memory), {MapRole.WATCHED: value})
    program = calls.load_of_type(target, code, "pw_value", ProgramType.RAW_TRACEPOINT)
    try:
        result = calls.run_program(target, program)
    finally:
        target.close_bpf([program])
    if result:
        raise BpfRefused(f"reading {memory}", errno.EFAULT)


def missed_accesses(target: Target, watchpoint: SetWatchpoint) -> int:
    """Return the number of accesses at which the program did not run, as another one ran on that CPU.

    Raises BpfRefused, FileRefused, TargetLost.
    """
    hits = _hits(target, watchpoint)
    return max(0, hits - watchpoint.unseen - _runs(target, watchpoint))


def _hits(target: Target, watchpoint: SetWatchpoint) -> int:
    """Return the number of accesses that the events have counted."""
    hits = 0
    for event in watchpoint.events:
        part = BpfPart(0, b"%d" % _COUNT_BYTES, bpf_calls.RETURNED)
        answer = target.bpf(bpf_calls.PERF_EVENT_READ, struct.pack("<Q", event), (part,))
        if answer.result < 0:
            raise BpfRefused("reading the count of a watchpoint", -answer.result)
        hits += int.from_bytes(answer.returned[0][:_COUNT_BYTES], "little")
    return hits


def _runs(target: Target, watchpoint: SetWatchpoint) -> int:
    """Return the number of runs of the program."""
    element = calls.read_element(target, watchpoint.value, 0, WATCHED_BYTES)
    return int.from_bytes(element[RUNS : RUNS + _COUNT_BYTES], "little")


def slots_obstacle(plan: Plan, armed: Sequence[Plan], machine: str) -> str:
    """Return why a CPU has no room for the watchpoint of a plan beside ours; empty: it has, or that is unknown."""
    if machine != "x86_64" or not any(program.memory for program in plan.programs):
        return ""
    own = [program.memory.place for one in armed for program in one.programs if program.memory is not None]
    if len(own) < X86_SLOTS:
        return ""
    return f"a CPU has {X86_SLOTS} watchpoints, and {', '.join(own)} are set: disarm one first"


HINTS: Final = {
    errno.ENOSPC: "all debug registers of a CPU are in use: perf, gdb and kgdb set them, too",
    errno.EFAULT: "nothing is mapped at this address",
    errno.EINVAL: "the kernel takes no watchpoint there: its own code and data for debug registers are excluded",
    errno.EPERM: "it takes CAP_SYS_ADMIN, or root; a kernel in lockdown refuses it, too",
    errno.EACCES: "it takes CAP_PERFMON and CAP_SYS_ADMIN, or root (kernel.perf_event_paranoid)",
    errno.ENOENT: "this kernel has no perf events of debug registers (CONFIG_HAVE_HW_BREAKPOINT)",
    errno.EOPNOTSUPP: "this machine has no debug registers, as some virtual machines",
    errno.ENODEV: "a CPU went offline meanwhile",
    errno.ENXIO: "this machine has no debug registers, as some virtual machines",
}
"""Reasons for which the kernel rejects a watchpoint, by errno."""
