"""Name the events that take and drop references, so that a recording and a hand-written probe are read alike.

An event is called `KIND_ROLE__FUNCTION`, as `file_get__fget`; its fields are the object's address, its `name`, and
the reference count where it can be read: `before` the function changed it, or `after`. `file_ref_t` holds a count
less one, the fields of such a count are `before_less_1` and `after_less_1`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from events.names.errnos import MAX_ERRNO

OBJECT: Final = "object"
NAME: Final = "name"
BEFORE: Final = "before"
AFTER: Final = "after"
LESS_ONE: Final = "_less_1"
_NAME: Final = re.compile(r"([a-z0-9]+)_(new|get|put|free)__(\w+)", re.ASCII)
_ADDRESSES: Final = 1 << 64


class Role(enum.Enum):
    """Change of an object by a function."""

    NEW = "new"
    """Object made, with one reference for the caller."""
    GET = "get"
    PUT = "put"
    FREE = "free"


_PLACE: Final = 3
"""Callers that tell one place from another."""
_CHANGES: Final = {Role.NEW: 1, Role.GET: 1, Role.PUT: -1, Role.FREE: 0}
"""Change of the count by each role."""


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
    """Callers with offsets, the nearest first; empty: no stack was recorded."""
    name: str = ""
    """Name of the object; empty: unknown."""

    @property
    def place(self) -> tuple[str, ...]:
        """Function with the nearest callers: references taken in one place are dropped in few places."""
        return (self.function, *self.stack[:_PLACE])


def parse_event_name(path: str) -> ReferenceEvent | None:
    """Return the parts of an event's name or path; None: it is none of references."""
    found = _NAME.fullmatch(path.rpartition("/")[2])
    return ReferenceEvent(found[1], Role(found[2]), found[3]) if found else None


def event_name(kind: str, role: Role, function: str) -> str:
    """Return the name of an event that `parse_event_name` reads."""
    return f"{kind}_{role.value}__{re.sub(r'[^A-Za-z0-9_]', '_', function)}"


def counts_of(role: Role, values: Mapping[str, object]) -> tuple[int | None, int | None]:
    """Return the number of references before and after an event, by its fields; (None, None): unknown."""
    change = _CHANGES[role]
    for name in (BEFORE, AFTER):
        for field, less in ((name, 0), (name + LESS_ONE, 1)):
            if not isinstance(number := values.get(field), int):
                continue
            if role is Role.NEW:  # before, the memory holds what it held
                return 0, number + less if name is AFTER else 1
            before = number + less - (change if name is AFTER else 0)
            return before, before + change
    return None, None


def object_address(value: object) -> int:
    """Return the address of an object; 0: a value is none, but NULL or an error in a pointer."""
    if not isinstance(value, int):
        return 0
    address = value % _ADDRESSES
    return address if address < _ADDRESSES - MAX_ERRNO else 0
