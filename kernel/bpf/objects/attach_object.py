"""Attach the programs of a compiled BPF object on a target, each by the way that its section names."""

from __future__ import annotations

import errno
import re
import struct
from collections.abc import Sequence
from typing import Final

from events.names.glob import Glob
from events.names.name_pattern import is_address
from kernel.agent import bpf_calls
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused
from kernel.errors import FileRefused
from kernel.target import BpfPart, Target
from probes.bpf.program import AttachPoint
from probes.facts.facts import TargetFacts
from probes.functions.function_index import index_of
from probes.objects.attach_kinds import ObjectAttach
from probes.objects.object_file import ObjectProgram
from probes.objects.object_plan import attaches_to

_KPROBES: Final = "/sys/bus/event_source/devices/kprobe"
_TRACEPOINT_EVENT, _SOFTWARE_EVENT, _BPF_OUTPUT = 2, 1, 10
"""PERF_TYPE_TRACEPOINT, PERF_TYPE_SOFTWARE, PERF_COUNT_SW_BPF_OUTPUT (include/uapi/linux/perf_event.h)."""
_TID, _TIME, _RAW = 1 << 1, 1 << 2, 1 << 10
"""PERF_SAMPLE_*."""
FORMAT_LOST: Final = 1 << 4
"""PERFFORMAT_LOST."""
_USE_CLOCKID = 1 << 25
_CLOCK_MONOTONIC = 1
_PERF_LINK: Final = 41
"""BPF_PERF_EVENT."""
_ANY = -1
_MULTI: Final = {
    ObjectAttach.KPROBE_MULTI: AttachPoint.ENTRY,
    ObjectAttach.KRETPROBE_MULTI: AttachPoint.EXIT,
    ObjectAttach.KPROBE_SESSION: AttachPoint.SESSION,
}
_SYSCALLS: Final = {"x86_64": "__x64_sys_", "aarch64": "__arm64_sys_", "riscv64": "__riscv_sys_"}


def attach_program(target: Target, facts: TargetFacts, one: ObjectProgram, file: int) -> list[int]:
    """Attach a program, and return the files that hold it attached, in the order in which they are closed.

    Raises BpfRefused, FileRefused, TargetLost: nothing is left of it.
    """
    try:
        return _attached(target, facts, one, file)
    except BpfRefused as error:
        raise BpfRefused(f"attaching {one.name} to {attaches_to(one)}", error.number, error.log) from None


def _attached(target: Target, facts: TargetFacts, one: ObjectProgram, file: int) -> list[int]:
    kind, where = one.place.kind, one.place.target
    if kind in (ObjectAttach.FENTRY, ObjectAttach.FEXIT, ObjectAttach.TP_BTF):
        return [calls.attach_to_function(target, file)]
    if kind is ObjectAttach.RAW_TRACEPOINT:
        attributes, parts = struct.pack("<QII", 0, file, 0), (BpfPart(0, where.encode() + b"\0"),)
        return [_done(target, bpf_calls.RAW_TRACEPOINT_OPEN, attributes, parts, one)]
    if kind in _MULTI:
        return [calls.attach(target, file, functions_like(where, facts), _MULTI[kind])]
    open_event = _tracepoint if kind is ObjectAttach.TRACEPOINT else _kprobe
    event = open_event(target, facts, one)
    try:
        link = struct.pack("<IIIIQ", file, event, _PERF_LINK, 0, 0)
        return [_done(target, bpf_calls.LINK_CREATE, link, (), one), event]
    except BaseException:
        target.close_bpf([event])
        raise


def functions_like(pattern: str, facts: TargetFacts) -> list[str]:
    """Return the functions that a pattern with `*` and `?` names. Raises BpfRefused where there are none."""
    index = index_of(facts)
    if "*" not in pattern and "?" not in pattern:
        return [pattern]
    fits = Glob(pattern).matches
    names = [name for name in index.modules if fits(name) and index.count(name) == 1 and not is_address(name)]
    if not names:
        raise BpfRefused(f"attaching to {pattern}", 3)
    return names


def open_perf_buffer(target: Target, cpu: int) -> int:
    """Open the perf event of a CPU into whose buffer programs write, each record with thread and time.

    Return its file; whoever maps the buffer switches it on. Its count of lost records can be read where the kernel
    has one. Raises BpfRefused, FileRefused, TargetLost.
    """
    head = struct.pack("<ii", _ANY, cpu)
    answer = target.bpf(bpf_calls.PERF_EVENT_OPEN, head + perf_output_attributes(FORMAT_LOST))
    if answer.result == -errno.EINVAL:
        answer = target.bpf(bpf_calls.PERF_EVENT_OPEN, head + perf_output_attributes())
    if answer.result < 0:
        raise BpfRefused(f"opening the perf buffer of CPU {cpu}", -answer.result)
    return answer.result


def perf_output_attributes(read_format: int = 0) -> bytes:
    """Return the struct perf_event_attr of a perf event that programs write records to; `read_format`: bits of
    enum perf_event_read_format.
    """
    sample, flags = _TID | _TIME | _RAW, _USE_CLOCKID
    return _perf_attributes(_SOFTWARE_EVENT, _BPF_OUTPUT, sample=sample, read_format=read_format, flags=flags)


def _tracepoint(target: Target, facts: TargetFacts, one: ObjectProgram) -> int:
    where = one.place.target
    path = f"{facts.tracefs}/events/{where}/id"
    try:
        number = int(target.read(path))
    except (FileRefused, ValueError):
        raise BpfRefused(f"{one.name}: the kernel has no tracepoint {where}", 2) from None
    return _open_event(target, _perf_attributes(_TRACEPOINT_EVENT, number), (), one)


def _kprobe(target: Target, facts: TargetFacts, one: ObjectProgram) -> int:
    function, _, offset = one.place.target.partition("+")
    if one.place.kind in (ObjectAttach.KSYSCALL, ObjectAttach.KRETSYSCALL):
        function = _SYSCALLS.get(facts.machine, "sys_") + function
    returns = one.place.kind in (ObjectAttach.KRETPROBE, ObjectAttach.KRETSYSCALL)
    kind = int(target.read(f"{_KPROBES}/type"))
    bit = 0
    if returns:
        found = re.search(r"config:(\d+)", target.read(f"{_KPROBES}/format/retprobe").decode("utf-8", "replace"))
        bit = 1 << int(found[1]) if found else 1
    attributes = _perf_attributes(kind, bit, offset=int(offset or "0", 0))
    return _open_event(target, attributes, (BpfPart(8 + 56, function.encode() + b"\0"),), one)


def _open_event(target: Target, attributes: bytes, parts: Sequence[BpfPart], one: ObjectProgram) -> int:
    """Open a perf event of all processes on the first CPU: programs of links run on every one."""
    return _done(target, bpf_calls.PERF_EVENT_OPEN, struct.pack("<ii", _ANY, 0) + attributes, parts, one)


def _perf_attributes(
    kind: int, config: int, *, sample: int = 0, read_format: int = 0, flags: int = 0, offset: int = 0
) -> bytes:
    """Return a struct perf_event_attr up to its clock (PERF_ATTR_SIZE_VER3)."""
    head = struct.pack("<IIQQQQQII", kind, 96, config, 1, sample, read_format, flags, 1, 0)
    return head + struct.pack("<QQQQIi", 0, offset, 0, 0, 0, _CLOCK_MONOTONIC if flags & _USE_CLOCKID else 0)


def _done(target: Target, command: int, attributes: bytes, parts: Sequence[BpfPart], one: ObjectProgram) -> int:
    answer = target.bpf(command, attributes, parts)
    if answer.result < 0:
        raise BpfRefused(f"attaching {one.name} to {attaches_to(one)}", -answer.result)
    return answer.result
