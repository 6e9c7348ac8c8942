"""Describe the events that tell of file descriptors, and find whether they tell of all that matters."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from events.descriptors.calls import CHANGING_EXEC, CLOSING, EXEC, NEW_TASK
from events.names.syscalls import call_names, call_number


class DescriptorRole(enum.Enum):
    """Part of an event."""

    ENTER = "entry of a system call"
    LEAVE = "exit of a system call"
    ANY_ENTER = "entry of any system call, by number"
    ANY_LEAVE = "exit of any system call, by number"
    OPEN_ENTER = "entry of a function that opens a file"
    OPEN_LEAVE = "exit of a function that opens a file"
    NEW_TASK = "start of a task"
    EXEC = "start of a program"


class DescriptorSource(NamedTuple):
    """Event that tells of descriptors."""

    role: DescriptorRole
    order: int
    """Place among the armed probes: an event shows that those before its own were armed."""
    call: str = ""
    """System call; empty: any, or none."""
    fields: Mapping[str, str] = {}
    """Fields by the parameter of the call that they have; for a result `ret`."""
    paths: tuple[str, ...] = ()
    """Fields that have the path, where they are texts."""
    is_filtered: bool = False
    """True if not each such event is recorded."""


class Coverage(NamedTuple):
    """Knowledge of all changes of descriptors by some sources."""

    missing: tuple[str, ...]
    """Events that are not recorded, or not each of them; empty: all changes are known."""
    order: int = 0
    """Place of the last armed probe that is needed."""
    follows_exec: bool = False
    """True if all calls are recorded that change whether a descriptor stays when a program is started."""


def coverage(sources: Mapping[str, DescriptorSource], machine: str) -> Coverage:
    """Return how much some sources, by the path of their event, tell on an architecture (`uname -m`)."""
    orders: dict[str, int] = {}
    for one in sources.values():
        for name in () if one.is_filtered else _told(one):
            orders[name] = min(orders.get(name, one.order), one.order)
    known = bool(call_names(machine))

    def lacking(calls: tuple[str, ...]) -> list[str]:
        exists = [call for call in calls if not known or call_number(machine, call) is not None]
        return [call for call in exists if call not in orders and "" not in orders]

    missing = (*lacking(CLOSING), *(event for event in (NEW_TASK, EXEC) if event not in orders))
    needed = (*CLOSING, *CHANGING_EXEC, NEW_TASK, EXEC, "")
    return Coverage(
        missing, max((orders[name] for name in needed if name in orders), default=0), not lacking(CHANGING_EXEC)
    )


def _told(source: DescriptorSource) -> Iterator[str]:
    """Yield the call that a source tells of, the event; empty: all calls."""
    if source.role is DescriptorRole.ENTER:
        yield source.call
    elif source.role is DescriptorRole.ANY_ENTER:
        yield ""
    elif source.role is DescriptorRole.NEW_TASK:
        yield NEW_TASK
    elif source.role is DescriptorRole.EXEC:
        yield EXEC
