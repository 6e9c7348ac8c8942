"""Tell the kind of a place that a probe can be on by its name in the list: cheap, for the first picture."""

from __future__ import annotations

import enum
import re
from typing import Final

TRACEPOINT_LETTER: Final = "t "
"""Beginning of a tracepoint's name in the list."""
_EVENT: Final = re.compile(r"[\w-]+/[^\s/@*?!,]+")
_SYSTEM_CALLS: Final = "syscalls/"


class PlaceKind(enum.StrEnum):
    """Kind of a place in the list."""

    FUNCTION = "function"
    TRACEPOINT = "tracepoint"
    EVENT = "event"
    SYSTEM_CALL = "syscall"
    """Event at the begin or end of a system call."""


def kind_of_place(name: str) -> PlaceKind:
    """Return the kind of a place by its name in the list: `vfs_read`, `t sched_switch`, `sched/sched_switch`.

    A text that stands for several functions is a function's, such as `/^tcp_/` and `@/tmp/names`.
    """
    if name.startswith(TRACEPOINT_LETTER):
        return PlaceKind.TRACEPOINT
    if "/" not in name or _EVENT.fullmatch(name) is None:
        return PlaceKind.FUNCTION
    return PlaceKind.SYSTEM_CALL if name.startswith(_SYSTEM_CALLS) else PlaceKind.EVENT
