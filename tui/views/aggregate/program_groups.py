"""Let BPF programs put the calls of a probe into groups, and read these as rows. Imports no screen code.

They have what hist triggers lack: the least and the greatest value, errors as keys, several counts by powers of two,
the duration of calls, keys of one end with values of the other.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import replace
from itertools import takewhile
from typing import TYPE_CHECKING

from events.aggregates.aggregate import GroupKey
from events.aggregates.event_columns import EVENT, KeyKind, KeySource
from events.aggregates.request import BY, AggregateError, AggregateRequest
from events.decode import Value, text_of
from events.store.columns import is_number
from kernel.session.session import Session
from kernel.watch.tasks.cgroup_names import cgroup_names
from probes.bpf.fetch import NotCompiled
from probes.bpf.groups.grouping import Grouping
from probes.bpf.program import BpfProgram, counter_stride
from probes.bpf.program_writer import assembled
from tui.present.call_ends import other_ends
from tui.views.aggregate.kernel_groups import GroupsReading, KernelGroup
from tui.views.aggregate.program_keys import RECORD, ProgramKey, RequestedCalls

if TYPE_CHECKING:
    from events.format import EventFormat
    from kernel.bpf.loaded import ProgramGroups
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan, PlannedEvent


def with_groups(request: AggregateRequest, plan: Plan) -> Plan:
    """Return a plan whose programs put calls into groups in place of recording them.

    Events that lack a key or a value are left out, and of calls whose ends both have all, one end. For the duration
    of calls, and for fields of both ends, the entry notes when they begin, with its fields. Raises AggregateError: no
    program groups so, or no event has it.
    """
    wanted = RequestedCalls(request, plan)
    if (timed := wanted.timed) and not wanted.have_both_ends:
        function = next(one.function for one in request.statistics if one.value == timed)
        raise AggregateError(f"{timed} is of calls, whose ends NAME%both has", function, timed, 0)
    events: list[PlannedEvent] = []
    missing: AggregateError | None = None
    for event in plan.events:
        try:
            programs = tuple(_checked(_changed(wanted, event, program)) for program in event.programs)
        except AggregateError as error:
            missing = missing or error
        else:
            events.append(replace(event, programs=programs))
    grouped = [event.path for event in events if any(program.grouping is not None for program in event.programs)]
    if grouped:
        once = frozenset[str]() if wanted.of_calls or EVENT in request.keys else other_ends(plan, grouped)
        return replace(plan, events=tuple(event for event in events if event.path not in once))
    if missing is not None and (wanted.of_calls or len(plan.events) == 1):
        raise missing
    names = ", ".join((*request.keys, *request.values))
    raise AggregateError(f"no event alone has all of {names}; {RECORD}", BY, "", 0)


def _changed(wanted: RequestedCalls, event: PlannedEvent, program: BpfProgram) -> BpfProgram:
    """Return a program that groups the calls of an event, or notes when they begin. Raises AggregateError."""
    if program.role is not None:
        raise AggregateError("the calls of a tracked object are recorded", BY, "", 0)
    if program.memory is not None:
        raise AggregateError(f"the accesses of a watchpoint are recorded; {RECORD}", BY, "", 0)
    frame = wanted.frame(event, program)
    if frame is not None and not event.at_exit:
        return replace(program, begins=frame)
    keys = tuple(key.key for key in wanted.keys(event, program) if key.key is not None)
    return replace(program, grouping=Grouping(keys, wanted.values(event, program), frame))


def _checked(program: BpfProgram) -> BpfProgram:
    """Return a program that the kernel's limits allow. Raises AggregateError."""
    try:
        assembled(program, (), 1, counter_stride(program.number + 1))
    except NotCompiled as error:
        raise AggregateError(f"no program groups by {error}; {RECORD}", BY, "", 0) from None
    return program


def read_groups(watch: Watch, request: AggregateRequest) -> GroupsReading:
    """Read the groups of all armed probes whose programs make them. Raises BpfRefused, TargetLost."""
    session = watch.armed.session
    found = GroupsReading()
    if not isinstance(session, Session):
        return found
    for armed in session.probes.armed:
        formats = {fmt.path: fmt for fmt in armed.formats.values()}
        wanted = RequestedCalls(request, armed.plan)
        by_path = session.probes.groups(armed)
        for event in armed.plan.events:
            for one in by_path.get(event.path, ()):
                found = found.beside(_reading(request, wanted.keys(event, one.program), one, formats))
    return _with_cgroups(watch, found)


def _with_cgroups(watch: Watch, reading: GroupsReading) -> GroupsReading:
    """Return groups with paths of cgroups in place of ids, of those that are there still. Raises TargetLost."""
    ids = {
        key.value
        for group in reading.groups
        for key in group.keys
        if key.source.kind is KeyKind.CGROUP and isinstance(key.value, int)
    }
    if not ids:
        return reading
    names = cgroup_names(watch.info.target, ids)

    def named(key: GroupKey) -> GroupKey:
        if key.source.kind is not KeyKind.CGROUP or not isinstance(key.value, int):
            return key
        return key._replace(value=names.get(key.value, f"cgroup {key.value}"))

    groups = tuple(group._replace(keys=tuple(map(named, group.keys))) for group in reading.groups)
    return reading._replace(groups=groups)


def _reading(
    request: AggregateRequest,
    keys: tuple[ProgramKey, ...],
    read: ProgramGroups,
    formats: Mapping[str, EventFormat],
) -> GroupsReading:
    groups = []
    for group in read.groups:
        parts = iter(group.keys)
        found = tuple(_group_key(key, next(parts) if key.key is not None else b"", formats) for key in keys)
        groups.append(KernelGroup(found, group.hits, dict(zip(request.values, group.values, strict=True))))
    return GroupsReading(tuple(groups), read.counts.recorded, sum(read.counts.lost.values()))


def _group_key(key: ProgramKey, data: bytes, formats: Mapping[str, EventFormat]) -> GroupKey:
    fmt = formats.get(key.path)
    if key.key is None:
        return GroupKey(KeySource(key.kind, fmt, path=key.path), key.path)
    if key.kind is KeyKind.STACK:
        frames = struct.unpack(f"<{len(data) // 8}Q", data)
        return GroupKey(KeySource(key.kind, fmt, path=key.path), tuple(takewhile(bool, frames)))
    field = next((one for one in fmt.fields if one.name == key.field), None) if fmt is not None else None
    value: Value = text_of(data.partition(b"\0")[0])
    is_text = key.kind is KeyKind.COMM or (key.kind is KeyKind.FIELD and field is not None and not is_number(field))
    if not is_text:
        signed = key.kind is KeyKind.FIELD and field is not None and field.signed
        size = field.width if key.kind is KeyKind.FIELD and field is not None else len(data)
        value = int.from_bytes(data[:size], "little", signed=signed)
    return GroupKey(KeySource(key.kind, fmt, field, key.path), value)
