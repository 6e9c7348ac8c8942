"""Let BPF programs put the calls of a probe into groups, and read these as rows. Imports no screen code.

They have what hist triggers lack: the least and the greatest value, errors as keys, several counts by powers of two,
the duration of calls.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from events.aggregates.aggregate import GroupKey
from events.aggregates.event_columns import ERRNO, FUNC, KeyKind, KeySource
from events.aggregates.request import BY, TIMED, AggregateError, AggregateRequest
from events.decode import Value, text_of
from events.search.comparison import COMM, CPU, PID
from events.store.columns import is_number
from kernel.session.session import Session
from probes.bpf.fetch import NotCompiled
from probes.bpf.groups.grouping import CallFrame, GroupedField, Grouping, GroupingKey, GroupingValue, KeyPart
from probes.bpf.program import BpfProgram, ProgramValue, counter_stride
from probes.bpf.program_writer import assembled
from probes.command import is_function
from tui.views.aggregate.hist_triggers import column_of
from tui.views.aggregate.kernel_groups import GroupsReading, KernelGroup

if TYPE_CHECKING:
    from events.format import EventFormat
    from kernel.bpf.loaded import ProgramGroups
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan, PlannedEvent

_RECORD: Final = "recorded events are aggregated by it without --hist"
_ERROR_WIDTHS: Final = (4, 8)
"""Bytes of a return value that can be an error."""
_PROPERTIES: Final = {
    **dict.fromkeys(COMM, (KeyKind.COMM, KeyPart.COMM)),
    **dict.fromkeys(PID, (KeyKind.PID, KeyPart.THREAD)),
    **dict.fromkeys(CPU, (KeyKind.CPU, KeyPart.CPU)),
}


class ProgramKey(NamedTuple):
    """Key of a request in the calls that programs group."""

    kind: KeyKind
    key: GroupingKey | None = None
    """Key of the program; None: all calls of the event have the same."""
    field: str = ""
    """Name of the field, for a field and an error."""


def with_groups(request: AggregateRequest, plan: Plan) -> Plan:
    """Return a plan whose programs put calls into groups in place of recording them.

    Events that lack a key or a value are left out; for the duration of calls the entry notes when they begin. Raises
    AggregateError: no program groups so, or no event has it.
    """
    timed = next((one for one in request.statistics if _is_duration(one.value, plan)), None)
    if timed is not None and not any(event.frame for event in plan.events):
        raise AggregateError(f"{timed.value} is of calls, whose ends NAME%both has", timed.function, timed.value, 0)
    events: list[PlannedEvent] = []
    missing: AggregateError | None = None
    for event in plan.events:
        notes = timed is not None and not event.at_exit
        change = _noting_begins if notes else partial(_grouping, request, plan)
        try:
            programs = tuple(_checked(change(event, program)) for program in event.programs)
        except AggregateError as error:
            missing = missing or error
        else:
            events.append(replace(event, programs=programs))
    if any(program.grouping is not None for event in events for program in event.programs):
        return replace(plan, events=tuple(events))
    if missing is not None and (timed is not None or len(plan.events) == 1):
        raise missing
    names = ", ".join((*request.keys, *request.values))
    raise AggregateError(f"no event alone has all of {names}; {_RECORD}", BY, "", 0)


def _is_duration(value: str, plan: Plan) -> bool:
    """Return whether a value is the duration of calls: no field has that name."""
    return value in TIMED and all(column_of(value, event) is None for event in plan.events)


def _checked(program: BpfProgram) -> BpfProgram:
    """Return a program that the kernel's limits allow. Raises AggregateError."""
    try:
        assembled(program, (), 1, counter_stride(program.number + 1))
    except NotCompiled as error:
        raise AggregateError(f"no program groups by {error}; {_RECORD}", BY, "", 0) from None
    return program


def _noting_begins(event: PlannedEvent, program: BpfProgram) -> BpfProgram:
    """Return the program of an entry that notes when calls begin."""
    return replace(program, begins=_frame(event, program))


def _frame(event: PlannedEvent, program: BpfProgram) -> CallFrame:
    return CallFrame(_field(event.frame, program), event.frame_shift)


def _grouping(request: AggregateRequest, plan: Plan, event: PlannedEvent, program: BpfProgram) -> BpfProgram:
    """Return a program that groups the calls of an event. Raises AggregateError."""
    if program.role is not None:
        raise AggregateError("the calls of a tracked object are recorded", BY, "", 0)
    keys = [key.key for key in keys_of(request, plan, event, program) if key.key is not None]
    values = [_value(name, request, plan, event, program) for name in request.values]
    timed = _frame(event, program) if any(value.field is None for value in values) else None
    return replace(program, grouping=Grouping(tuple(keys), tuple(values), timed))


def keys_of(
    request: AggregateRequest, plan: Plan, event: PlannedEvent, program: BpfProgram
) -> tuple[ProgramKey, ...]:
    """Return the keys of a request in the calls of an event. Raises AggregateError for one that it lacks."""
    return tuple(_key(name, plan, event, program) for name in request.keys)


def _key(name: str, plan: Plan, event: PlannedEvent, program: BpfProgram) -> ProgramKey:
    if (column := column_of(name, event)) is not None:
        field = _field(column.name, program)
        if field is None:
            raise AggregateError(f"{name} is several values, which are no key; {_RECORD}", BY, name, 0)
        return ProgramKey(KeyKind.FIELD, GroupingKey(KeyPart.FIELD, field), column.name)
    if name in (FUNC, event.function_field) and event.function_field:
        return ProgramKey(KeyKind.FIELD, GroupingKey(KeyPart.FUNCTION), event.function_field)
    if name == FUNC and is_function(plan.probe):
        return ProgramKey(KeyKind.FUNCTION)
    if name == "event":
        return ProgramKey(KeyKind.EVENT)
    if name == ERRNO:
        return _error_key(event, program)
    if name in _PROPERTIES:
        kind, part = _PROPERTIES[name]
        return ProgramKey(kind, GroupingKey(part))
    raise AggregateError(f"{name} is no key of programs; {_RECORD}", BY, name, 0)


def _error_key(event: PlannedEvent, program: BpfProgram) -> ProgramKey:
    for column in event.columns:
        field = _field(column.name, program) if column.is_retval else None
        if field is not None and field.type.size in _ERROR_WIDTHS:
            return ProgramKey(KeyKind.ERRNO, GroupingKey(KeyPart.ERROR, field), column.name)
    raise AggregateError(
        "errno is the error in a return value, and no probe records one: NAME%return $retval does", BY, ERRNO, 0
    )


def _field(name: str, program: BpfProgram) -> GroupedField | None:
    """Return a field of a program; None where it has several values."""
    for number, (expression, field) in enumerate(program.values):
        if field.name == name and not isinstance(expression, ProgramValue) and field.type.elements == 1:
            return GroupedField(number, expression, field)
    return None


def _value(
    name: str, request: AggregateRequest, plan: Plan, event: PlannedEvent, program: BpfProgram
) -> GroupingValue:
    """Return a value of a request. Raises AggregateError where it is none of the event's numbers."""
    has_powers = name in request.histograms
    if _is_duration(name, plan):
        return GroupingValue(None, signed=False, has_powers=has_powers)
    column = column_of(name, event)
    field = _field(column.name, program) if column is not None else None
    if column is None or field is None or field.type.text or field.type.declared.startswith("char["):
        function = next(one.function for one in request.statistics if one.value == name)
        raise AggregateError(f"{name} is no number of {event.event}; {_RECORD}", function, name, 0)
    signed = field.type.signed or (column.is_retval and field.type.size in _ERROR_WIDTHS)
    return GroupingValue(field, signed, has_powers)


def read_groups(watch: Watch, request: AggregateRequest) -> GroupsReading:
    """Read the groups of all armed probes whose programs make them. Raises BpfRefused, TargetLost."""
    session = watch.armed.session
    found = GroupsReading()
    if not isinstance(session, Session):
        return found
    for armed in session.probes.armed:
        formats = {fmt.path: fmt for fmt in armed.formats.values()}
        by_path = session.probes.groups(armed)
        for event in armed.plan.events:
            for one in by_path.get(event.path, ()):
                keys = keys_of(request, armed.plan, event, one.program)
                found = found.beside(_reading(request, keys, one, formats.get(event.path), event.path))
    return found


def _reading(
    request: AggregateRequest,
    keys: tuple[ProgramKey, ...],
    read: ProgramGroups,
    fmt: EventFormat | None,
    path: str,
) -> GroupsReading:
    groups = []
    for group in read.groups:
        parts = iter(group.keys)
        found = tuple(_group_key(key, next(parts) if key.key is not None else b"", fmt, path) for key in keys)
        groups.append(KernelGroup(found, group.hits, dict(zip(request.values, group.values, strict=True))))
    return GroupsReading(tuple(groups), read.counts.recorded, sum(read.counts.lost.values()))


def _group_key(key: ProgramKey, data: bytes, fmt: EventFormat | None, path: str) -> GroupKey:
    if key.key is None:
        return GroupKey(KeySource(key.kind, fmt, path=path), path)
    field = next((one for one in fmt.fields if one.name == key.field), None) if fmt is not None else None
    value: Value = text_of(data.partition(b"\0")[0])
    is_text = key.kind is KeyKind.COMM or (key.kind is KeyKind.FIELD and field is not None and not is_number(field))
    if not is_text:
        signed = key.kind is KeyKind.FIELD and field is not None and field.signed
        size = field.width if key.kind is KeyKind.FIELD and field is not None else len(data)
        value = int.from_bytes(data[:size], "little", signed=signed)
    return GroupKey(KeySource(key.kind, fmt, field, path), value)
