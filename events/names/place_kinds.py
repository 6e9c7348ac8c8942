"""Tell the kind of a place that a probe can be on by its name in the list: cheap, for the first picture."""

from __future__ import annotations

import enum
import re
from typing import Final

TRACEPOINT_LETTER: Final = "t "
"""Beginning of a tracepoint's name in the list."""
_EVENT: Final = re.compile(r"[\w-]+/[^\s/@*?!,]+")
_SYSTEM_CALLS: Final = "syscalls/"
_PATH: Final = re.compile(r"/[^\s:,*?()|\[\]^$!]*+")
_IN_PROGRAM: Final = re.compile(r"/[^\n:]*+:(?:(sdt_\w+:\w+)|[A-Za-z_.$][^:%+()/\s]*+)", re.ASCII)


class PlaceKind(enum.StrEnum):
    """Kind of a place in the list."""

    FUNCTION = "function"
    TRACEPOINT = "tracepoint"
    EVENT = "event"
    SYSTEM_CALL = "syscall"
    """Event at the begin or end of a system call."""
    PROGRAM = "program"
    """File of a program or library, or a folder, whose places come next: `/usr/bin/bash`, `/usr/lib/`."""
    SYMBOL = "symbol"
    """Function of a program: `/usr/bin/bash:readline`."""
    USDT = "usdt"
    """Static probe of a program: `/usr/bin/python3:sdt_python:gc__start`."""


IN_PROGRAMS: Final = frozenset({PlaceKind.SYMBOL, PlaceKind.USDT})
"""Kinds of places in programs."""


def kind_of_place(name: str) -> PlaceKind:
    """Return the kind of a place by its name in the list: `vfs_read`, `t sched_switch`, `sched/sched_switch`.

    A text that stands for several functions is a function's, such as `/^tcp_/` and `@/tmp/names`.
    """
    if name.startswith("/"):
        return _kind_of_path(name)
    if name.startswith(TRACEPOINT_LETTER):
        return PlaceKind.TRACEPOINT
    if "/" not in name or _EVENT.fullmatch(name) is None:
        return PlaceKind.FUNCTION
    return PlaceKind.SYSTEM_CALL if name.startswith(_SYSTEM_CALLS) else PlaceKind.EVENT


def _kind_of_path(name: str) -> PlaceKind:
    """Return the kind of a place whose name begins with a slash; an expression between two is one of functions."""
    if (found := _IN_PROGRAM.fullmatch(name)) is not None:
        return PlaceKind.USDT if found[1] else PlaceKind.SYMBOL
    is_expression = name.endswith("/") and name.count("/") == 2
    return PlaceKind.PROGRAM if _PATH.fullmatch(name) and not is_expression else PlaceKind.FUNCTION


def place_label(name: str) -> str:
    """Return the part of a place's name that differs from those around it: of a path the last part, of a place in a
    program its symbol, of an event what follows its group.
    """
    kind = kind_of_place(name)
    if kind in IN_PROGRAMS:
        return name.partition(":")[2].removeprefix("sdt_")
    if kind is PlaceKind.PROGRAM:
        folder = "/" if name.endswith("/") else ""
        return name.rstrip("/").rpartition("/")[2] + folder
    return name if kind in (PlaceKind.FUNCTION, PlaceKind.TRACEPOINT) else name.rpartition("/")[2]
