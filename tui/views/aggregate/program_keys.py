"""Find the keys and values of a request in the calls that BPF programs group. Imports no screen code."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from events.aggregates.event_columns import STACKS, KeyKind
from events.aggregates.request import BY, TIMED, AggregateError, AggregateRequest
from events.conditions.comparison import COMM, CPU, PID
from events.conditions.errno_comparison import ERRNO, NO_RESULT
from events.conditions.function_comparison import FUNC
from events.names.event_names import CGROUP
from probes.bpf.groups.grouping import (
    LARGEST_KEY,
    MOST_FRAMES,
    CallFrame,
    GroupedField,
    GroupingKey,
    GroupingValue,
    KeptField,
    KeyPart,
)
from probes.bpf.program import BpfProgram, ProgramValue
from probes.command import is_function
from tui.views.aggregate.hist_triggers import column_of

if TYPE_CHECKING:
    from probes.plans.plan import Plan, PlannedEvent

RECORD: Final = "recorded events are aggregated by it without --hist"
_ERROR_WIDTHS: Final = (4, 8)
"""Bytes of a return value that can be an error."""
_PROPERTIES: Final = {
    **dict.fromkeys(COMM, (KeyKind.COMM, KeyPart.COMM)),
    **dict.fromkeys(PID, (KeyKind.PID, KeyPart.THREAD)),
    **dict.fromkeys(CPU, (KeyKind.CPU, KeyPart.CPU)),
    **dict.fromkeys(CGROUP, (KeyKind.CGROUP, KeyPart.CGROUP)),
    **dict.fromkeys(STACKS, (KeyKind.STACK, KeyPart.STACK)),
}


class ProgramKey(NamedTuple):
    """Key of a request in the calls that programs group."""

    kind: KeyKind
    path: str
    """Path of the event that has it."""
    key: GroupingKey | None = None
    """Key of the program; None: all calls of the event have the same."""
    field: str = ""
    """Name of the field, for a field and an error."""


class RequestedCalls:
    """Request for groups of the calls of one plan."""

    def __init__(self, request: AggregateRequest, plan: Plan) -> None:
        self.request = request
        self._plan = plan
        has_exits = any(event.frame and event.at_exit and event.programs for event in plan.events)
        entries = [event for event in plan.events if event.frame and not event.at_exit and event.programs]
        self._entry = entries[0] if entries and has_exits else None
        """Event of the entries; None: entries or exits are not recorded."""

    @cached_property
    def timed(self) -> str:
        """Name of a value that is the duration of calls; empty: none is."""
        return next((one for one in self.request.values if self._is_duration(one)), "")

    @property
    def have_both_ends(self) -> bool:
        """True if both ends of each call are known."""
        return self._entry is not None

    @cached_property
    def of_calls(self) -> bool:
        """True if the time between both ends is wanted, or fields of which no end alone has all."""
        if self.timed or self._entry is None:
            return bool(self.timed)
        names = [*self.request.keys, *self.request.values]
        of_fields = [
            name for name in names if name == ERRNO or any(column_of(name, one) for one in self._plan.events)
        ]
        return not any(all(_has(name, event) for name in of_fields) for event in self._plan.events)

    @cached_property
    def _kept(self) -> dict[str, GroupedField]:
        """Fields of the entry that are wanted and that the exit lacks, by name or expression."""
        found: dict[str, GroupedField] = {}
        if self._entry is None or not self.of_calls:
            return found
        for name in (*self.request.keys, *self.request.values):
            if any(_has(name, event) for event in self._plan.events if event.at_exit):
                continue
            column = column_of(name, self._entry)
            field = _field(column.name, self._entry.programs[0]) if column is not None else None
            if field is not None:
                found[name] = field
        return found

    def frame(self, event: PlannedEvent, program: BpfProgram) -> CallFrame | None:
        """Return the frame by which the ends of calls find each other; None: they need not.

        The values of the entry are read by expressions of its own program: each shape of functions has others.
        """
        if not self.of_calls:
            return None
        names = dict.fromkeys(one.field.name for one in self._kept.values())
        kept = [one for one in self._kept.values() if names.pop(one.field.name, 0) is None]
        if not event.at_exit:
            kept = [own for one in kept if (own := _field(one.field.name, program)) is not None]
        return CallFrame(_field(event.frame, program), event.frame_shift, tuple(kept))

    def keys(self, event: PlannedEvent, program: BpfProgram) -> tuple[ProgramKey, ...]:
        """Return the keys in the calls of an event. Raises AggregateError for one that it lacks."""
        keys = [self._key(name, event, program) for name in self.request.keys]
        others = sum(key.key.size for key in keys if key.key is not None)
        stacks = sum(key.kind is KeyKind.STACK for key in keys)
        frames = min(MOST_FRAMES, (LARGEST_KEY - others) // 8 // max(stacks, 1))
        return tuple(_with_frames(key, frames) for key in keys)

    def values(self, event: PlannedEvent, program: BpfProgram) -> tuple[GroupingValue, ...]:
        """Return the values in the calls of an event. Raises AggregateError for what is none of its numbers."""
        return tuple(self._value(name, event, program) for name in self.request.values)

    def _key(self, name: str, event: PlannedEvent, program: BpfProgram) -> ProgramKey:
        if (kept := self._kept_field(name, event, program)) is not None and self._entry is not None:
            key = GroupingKey(KeyPart.FIELD, kept)
            return ProgramKey(KeyKind.FIELD, self._entry.path, key, kept.field.name)
        if (column := column_of(name, event)) is not None:
            field = _field(column.name, program)
            if field is None:
                raise _several_values(name)
            return ProgramKey(KeyKind.FIELD, event.path, GroupingKey(KeyPart.FIELD, field), column.name)
        if name in (FUNC, event.function_field) and event.function_field:
            return ProgramKey(KeyKind.FIELD, event.path, GroupingKey(KeyPart.FUNCTION), event.function_field)
        if name == FUNC and is_function(self._plan.probe):
            return ProgramKey(KeyKind.FUNCTION, event.path)
        if name == "event":
            return ProgramKey(KeyKind.EVENT, event.path)
        if name == ERRNO:
            return _error_key(event, program)
        if self._entry is not None and column_of(name, self._entry) is not None:
            raise _several_values(name)
        if name in _PROPERTIES:
            kind, part = _PROPERTIES[name]
            return ProgramKey(kind, event.path, GroupingKey(part))
        raise AggregateError(f"{name} is no key of programs; {RECORD}", BY, name, 0)

    def _value(self, name: str, event: PlannedEvent, program: BpfProgram) -> GroupingValue:
        has_powers = name in self.request.histograms
        if self._is_duration(name):
            return GroupingValue(None, signed=False, has_powers=has_powers)
        kept = self._kept_field(name, event, program)
        column = column_of(name, event if kept is None or self._entry is None else self._entry)
        field = kept or (_field(column.name, program) if column is not None else None)
        if column is None or field is None or field.type.text or field.type.declared.startswith("char["):
            function = next(one.function for one in self.request.statistics if one.value == name)
            raise AggregateError(f"{name} is no number of {event.event}; {RECORD}", function, name, 0)
        signed = field.type.signed or (column.is_retval and field.type.size in _ERROR_WIDTHS)
        return GroupingValue(field, signed, has_powers)

    def _kept_field(self, name: str, event: PlannedEvent, program: BpfProgram) -> KeptField | None:
        frame = self.frame(event, program) if event.at_exit and name in self._kept else None
        return frame.kept_field(self._kept[name].field.name) if frame is not None else None

    def _is_duration(self, value: str) -> bool:
        """Return whether a value is the duration of calls: no field has that name."""
        return value in TIMED and all(column_of(value, event) is None for event in self._plan.events)


def _has(name: str, event: PlannedEvent) -> bool:
    """Return whether an event alone has a key or a value that is a field."""
    if column_of(name, event) is not None or (event.function_field and name in (FUNC, event.function_field)):
        return True
    return name == ERRNO and any(column.is_retval for column in event.columns)


def _with_frames(key: ProgramKey, frames: int) -> ProgramKey:
    """Return a key with so many addresses, if it is a stack."""
    if key.kind is not KeyKind.STACK or key.key is None:
        return key
    return key._replace(key=key.key._replace(frames=frames))


def _several_values(name: str) -> AggregateError:
    return AggregateError(f"{name} is several values, which are no key; {RECORD}", BY, name, 0)


def _error_key(event: PlannedEvent, program: BpfProgram) -> ProgramKey:
    for column in event.columns:
        field = _field(column.name, program) if column.is_retval else None
        if field is not None and field.type.size in _ERROR_WIDTHS:
            return ProgramKey(KeyKind.ERRNO, event.path, GroupingKey(KeyPart.ERROR, field), column.name)
    raise AggregateError(NO_RESULT, BY, ERRNO, 0)


def _field(name: str, program: BpfProgram) -> GroupedField | None:
    """Return a field of a program; None where it has several values."""
    for number, (expression, field) in enumerate(program.values):
        if field.name == name and not isinstance(expression, ProgramValue) and field.type.elements == 1:
            return GroupedField(number, expression, field)
    return None
