"""Find keys and values among the fields of an event: by name, or by the expression that recorded them."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from events.aggregates.request import TIMED
from events.conditions.comparison import CALL_TIMES, COMM, CPU, LATENCY, PID
from events.conditions.errno_comparison import ERRNO
from events.conditions.field_kinds import ValueKind, value_kind
from events.conditions.function_comparison import FUNC
from events.format import PROBE_FIELDS, EventFormat, Field
from events.names.errnos import returned_field
from events.names.event_names import CGROUP

STACKS: Final = ("kstack", "stack")
"""Words for the kernel's stack of an event."""
EVENT: Final = "event"


class KeyKind(enum.Enum):
    """Kind of a key."""

    FIELD = "a field"
    FUNCTION = "the probed function of an event on one function"
    COMM = "task name"
    PID = "thread id"
    CPU = "CPU"
    CGROUP = "cgroup of the task"
    EVENT = "name of the event"
    ERRNO = "error that a function returned"
    STACK = "kernel stack"


_PROPERTIES: Final = {
    **dict.fromkeys(COMM, KeyKind.COMM),
    **dict.fromkeys(PID, KeyKind.PID),
    **dict.fromkeys(CPU, KeyKind.CPU),
    **dict.fromkeys(CGROUP, KeyKind.CGROUP),
    EVENT: KeyKind.EVENT,
    ERRNO: KeyKind.ERRNO,
}
_OF_EVERYEVENT: Final = ("comm", "pid", "cpu", "cgroup", EVENT)


class EventColumns(NamedTuple):
    """Meaning of the fields of one event, as far as the plan of its probe tells."""

    expressions: Mapping[str, str] = {}
    """Field name by expression: `$retval`, `file->f_pos`."""
    hidden: frozenset[str] = frozenset()
    """Names of fields that only match entries with exits."""
    is_on_function: bool = False
    """True if the event is on one function, which no field names."""
    has_stacks: bool = False
    """True if a trigger records the kernel's stack of the event."""


class KeySource(NamedTuple):
    """Key of the events of one format."""

    kind: KeyKind
    fmt: EventFormat | None
    """Format; None: the events were received as text."""
    field: Field | None = None
    """Field, for a field and an error."""
    path: str = ""
    """Path of the event."""


class ValueSource(NamedTuple):
    """Value of the events of one format."""

    field: Field | None
    """Field; None: the duration of a call, from its end or from the times in it."""


def field_of(name: str, fmt: EventFormat, columns: EventColumns) -> Field | None:
    """Return the field that a name or an expression denotes; None: the event has none."""
    wanted = name if name in fmt.names else columns.expressions.get(name, "")
    return next((field for field in fmt.fields if field.name == wanted), None)


def key_source(name: str, fmt: EventFormat, columns: EventColumns) -> KeySource | None:
    """Return what a key is in the events of a format; None: they have no such key."""
    if (field := field_of(name, fmt, columns)) is not None:
        return KeySource(KeyKind.FIELD, fmt, field, fmt.path)
    kind = property_kind(name, columns)
    if kind is KeyKind.ERRNO and (field := returned_field(fmt)) is None:
        return None
    return KeySource(kind, fmt, field, fmt.path) if kind is not None else None


def property_kind(name: str, columns: EventColumns) -> KeyKind | None:
    """Return the kind of a key that is no field; None: the event has no such key."""
    if name == FUNC and columns.is_on_function:
        return KeyKind.FUNCTION
    if name in STACKS and columns.has_stacks:
        return KeyKind.STACK
    return _PROPERTIES.get(name)


def value_source(name: str, fmt: EventFormat, columns: EventColumns) -> ValueSource | None:
    """Return what a value is in the events of a format; None: they have no such number."""
    field = field_of(name, fmt, columns)
    if field is not None:
        if value_kind(field) is not ValueKind.NUMBER:
            return None
        return ValueSource(field)
    return ValueSource(None) if name in TIMED and set(CALL_TIMES) <= set(fmt.names) else None


def key_names(formats: Iterable[tuple[EventFormat, EventColumns]]) -> tuple[str, ...]:
    """Return the keys that some event has, those that a probe records first."""
    found: dict[str, None] = {}
    later: dict[str, None] = {}
    for fmt, columns in formats:
        found |= dict.fromkeys(_own_names(fmt, columns, lambda _: True))
        later |= {name: None for name in (FUNC, ERRNO, STACKS[0]) if key_source(name, fmt, columns)}
    return tuple({FUNC: None} if FUNC in later else {}) + tuple(
        name for name in (*_OF_EVERYEVENT, *later, *found) if name != FUNC
    )


def value_names(formats: Iterable[tuple[EventFormat, EventColumns]], *, has_calls: bool) -> tuple[str, ...]:
    """Return the values that some event has; `has_calls`: calls have a duration."""
    found: dict[str, None] = {}
    for fmt, columns in formats:
        found |= dict.fromkeys(_own_names(fmt, columns, lambda field: value_kind(field) is ValueKind.NUMBER))
        has_calls = has_calls or value_source(LATENCY, fmt, columns) is not None
    return (*found, *((LATENCY,) if has_calls else ()))


def _own_names(fmt: EventFormat, columns: EventColumns, wanted: Callable[[Field], bool]) -> Iterator[str]:
    """Yield the names of an event's fields that a person recorded, an expression where it is one."""
    for field in fmt.fields:
        if field.name not in PROBE_FIELDS and field.name not in columns.hidden and wanted(field):
            yield field.name
