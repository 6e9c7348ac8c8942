"""Name the events that take and drop references, so that a recording and a hand-written probe are read alike.

An event is called `KIND_ROLE__FUNCTION`, as `file_get__fget`; its fields are the object's address, and the reference
count where it can be read: `before` the function changed it, or `after`. `file_ref_t` holds a count less one, the
fields of such a count are `before_less_1` and `after_less_1`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

OBJECT: Final = "object"
BEFORE: Final = "before"
AFTER: Final = "after"
LESS_ONE: Final = "_less_1"
_NAME: Final = re.compile(r"([a-z0-9]+)_(new|get|put|free)__(\w+)", re.ASCII)
_MOST_ERRNO: Final = 4095
_ADDRESSES: Final = 1 << 64


class Role(enum.Enum):
    """Change of an object by a function."""

    NEW = "new"
    """Object made, with one reference for the caller."""
    GET = "get"
    PUT = "put"
    FREE = "free"


class ReferenceEvent(NamedTuple):
    """Parts of the name of an event."""

    kind: str
    """Kind of the objects: `file`."""
    role: Role
    function: str


class Reference(NamedTuple):
    """Reference taken or dropped, or an object made or freed."""

    ts: int
    """Nanoseconds of the kernel's clock."""
    seq: int
    """Sequence number of the event."""
    kind: str
    role: Role
    function: str
    address: int
    """Address of the object."""
    task: int
    """Thread, by `events.clocks.boots.task_key`."""
    before: int | None = None
    """References before the function changed their number; None: unknown."""
    after: int | None = None
    """References afterwards; None: unknown."""
    stack: tuple[str, ...] = ()
    """Functions with offsets, the innermost first; empty: no stack was recorded."""

    @property
    def place(self) -> tuple[str, ...]:
        """Function with the callers next to it: references taken in one place are dropped in few places."""
        return (self.function, *self.stack[1:4])


def parse_event_name(path: str) -> ReferenceEvent | None:
    """Return the parts of an event's name or path; None: it is none of references."""
    found = _NAME.fullmatch(path.rpartition("/")[2])
    return ReferenceEvent(found[1], Role(found[2]), found[3]) if found else None


def event_name(kind: str, role: Role, function: str) -> str:
    """Return the name of an event that `parse_event_name` reads."""
    return f"{kind}_{role.value}__{re.sub(r'[^A-Za-z0-9_]', '_', function)}"


def counts_of(role: Role, values: Mapping[str, object]) -> tuple[int | None, int | None]:
    """Return the number of references before and after an event, by its fields."""
    for name, change in ((BEFORE, 0), (BEFORE + LESS_ONE, 1)):
        if isinstance(number := values.get(name), int):
            return number + change, number + change + {Role.GET: 1, Role.PUT: -1}.get(role, 0)
    for name, change in ((AFTER, 0), (AFTER + LESS_ONE, 1)):
        if isinstance(number := values.get(name), int):
            return number + change - {Role.GET: 1, Role.NEW: 1, Role.PUT: -1}.get(role, 0), number + change
    return None, None


def is_address(value: object) -> bool:
    """Return whether a value is the address of an object: no NULL, and no error in a pointer."""
    return isinstance(value, int) and 0 < value % _ADDRESSES < _ADDRESSES - _MOST_ERRNO
