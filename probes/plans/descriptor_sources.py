"""Find among planned events those that tell of file descriptors: by system call and parameter, not by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from events.descriptors.calls import EXEC, NEW_TASK, PARAMETERS, PATHS
from events.descriptors.sources import DescriptorRole, DescriptorSource
from probes.plans.plan import Plan, PlannedEvent

_CALL: Final = re.compile(r"syscalls[/.]sys_(enter|exit)_(\w+)")
_FUNCTIONS: Final = ("do_sys_openat2", "do_sys_open")
"""Functions that open a file for each system call that does."""
_ROLES: Final = {
    "raw_syscalls/sys_enter": DescriptorRole.ANY_ENTER,
    "raw_syscalls/sys_exit": DescriptorRole.ANY_LEAVE,
    NEW_TASK: DescriptorRole.NEW_TASK,
    EXEC: DescriptorRole.EXEC,
}
OPENING: Final = (DescriptorRole.LEAVE, DescriptorRole.ANY_LEAVE, DescriptorRole.OPEN_LEAVE)
"""Roles of events that tell of new descriptors."""
_WORD: Final = re.compile(r"\w+", re.ASCII)


def descriptor_sources(plans: Iterable[Plan]) -> dict[str, DescriptorSource]:
    """Return the sources by the path of their event; the place of a plan is its order."""
    found: dict[str, DescriptorSource] = {}
    for order, plan in enumerate(plans):
        for event in plan.events:
            if event.recorded and (source := _source(plan, event, order)) is not None:
                found.setdefault(event.path, source)
    return found


def event_orders(plans: Iterable[Plan]) -> Mapping[str, int]:
    """Return the place of the first plan that has an event, by the event's path."""
    found: dict[str, int] = {}
    for order, plan in enumerate(plans):
        for event in plan.events:
            found.setdefault(event.path, order)
    return found


def tells_of_descriptors(plan: Plan) -> bool:
    """Return whether a plan has such an event."""
    return bool(descriptor_sources((plan,)))


def _source(plan: Plan, event: PlannedEvent, order: int) -> DescriptorSource | None:
    is_filtered = bool(event.filter)
    attached = event.line.split()[1] if event.line[:2] == "e:" and len(event.line.split()) > 1 else event.path
    if (role := _ROLES.get(attached)) is not None:
        fields = {column.label.removeprefix("$"): column.name for column in event.columns}
        return DescriptorSource(role, order, "", fields, (), is_filtered)
    if (call := _CALL.fullmatch(attached)) is not None:
        at_exit, name = call[1] == "exit", call[2]
        if name not in PARAMETERS or (name in PATHS and is_filtered and not at_exit):
            return None
        return _of_call(event, DescriptorRole.LEAVE if at_exit else DescriptorRole.ENTER, order, name, is_filtered)
    if getattr(plan.probe, "subject", "") in _FUNCTIONS and not (is_filtered and not event.at_exit):
        return _of_call(
            event,
            DescriptorRole.OPEN_LEAVE if event.at_exit else DescriptorRole.OPEN_ENTER,
            order,
            "openat",
            is_filtered,
        )
    return None


def _of_call(event: PlannedEvent, role: DescriptorRole, order: int, call: str, is_filtered: bool) -> DescriptorSource:
    returned = next((column.name for column in event.columns if column.is_retval), "")
    fields = {column.label.removeprefix("how->").removeprefix("$"): column.name for column in event.columns}
    fields |= dict.fromkeys(("ret",) if returned else (), returned)
    wanted = PATHS.get(call, "filename")
    paths = tuple(
        column.name for column in event.columns if wanted in _WORD.findall(column.label.replace("_val", " "))
    )
    return DescriptorSource(role, order, call, fields, (*paths, f"__{wanted}_val"), is_filtered)
