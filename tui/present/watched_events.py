"""List a watch's events: those armed and those received since the last clear. Imports no screen code: exports and
printing use it too.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from itertools import chain
from typing import TYPE_CHECKING, Final

from events.format import FieldKind
from events.recording.lines_in_time import COMMAND_OUTPUT
from events.stacks.stack import KERNEL_STACKS, USER_STACKS

if TYPE_CHECKING:
    from events.conditions.function_comparison import FunctionSource
    from events.decode import Value
    from events.format import EventFormat, Field
    from events.record import Record
    from events.store.columns import FormatTable
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan, PlanColumn, PlannedEvent

_TEXT_OF: Final = re.compile(r"__(\w+)_val", re.ASCII)
"""Field with the text that a system call's argument points to (kernel/trace/trace_syscalls.c)."""
_SYSCALLS: Final = "syscalls"
"""Group of the events of single system calls."""


def events_of(watch: Watch) -> dict[str, bool]:
    """Return the paths of the events that are armed or were received since the last clear, in the order in which the
    probes name them, each with True if it was received.
    """
    return _events_of(watch.event_fields.plans, (one.plan for one in watch.armed.probes), _received(watch.store))


def probed_functions(plans: Iterable[Plan]) -> dict[str, str]:
    """Return the function of each event that is on one alone, by its path: no field of the event names it."""
    from probes.command import is_function  # not before the first picture

    return {
        event.path: plan.probe.subject
        for plan in plans
        if is_function(plan.probe)
        for event in plan.events
        if not event.function_field
    }


def function_source(watch: Watch) -> FunctionSource:
    """Return a function that returns the probed function of an event on one, also of a probe that is armed later."""
    plans: tuple[Plan, ...] = ()
    functions: dict[str, str] = {}

    def function_of(path: str) -> str:
        nonlocal plans, functions
        if plans != watch.event_fields.plans:
            plans = watch.event_fields.plans
            functions = probed_functions(plans)
        return functions.get(path, "")

    return function_of


class WatchedNumbers:
    """Names of numbers of the fields of a watch's events, and files of descriptors, as
    `events.conditions.named_number.NumberSource`.
    """

    def __init__(self, *watches: Watch) -> None:
        """Take the watches; of several hosts all, for their names alone."""
        self._watches = watches

    def names(self, field: str) -> Collection[str]:
        """Return the names that numbers of fields of this name have, in any event."""
        found: dict[str, None] = {}
        for watch in self._watches:
            for fmt in (*chain.from_iterable(one.formats.values() for one in watch.armed.probes), *formats_of(watch)):
                for one in fmt.fields:
                    if one.name == field:
                        found |= dict.fromkeys(watch.event_fields.numbers(fmt, one))
        return found

    def numbers(self, fmt: EventFormat, field: Field) -> Mapping[str, int]:
        """Return the numbers of a field of an event by their names; empty: they have none."""
        return self._watches[0].event_fields.numbers(fmt, field) if self._watches else {}

    @property
    def files_revision(self) -> int:
        """Number that changes with the probes that tell of the files of descriptors."""
        return sum(watch.event_fields.descriptors.revision for watch in self._watches)

    def files_lack(self, field: str) -> str | None:
        """Return why the files of fields of this name are not known; empty: they may be; None: no file is meant."""
        lacks = (watch.event_fields.files_lack(field) for watch in self._watches)
        return min((lack for lack in lacks if lack is not None), key=len, default=None)

    def file(self, record: Record, field: str) -> str | None:
        """Return the file of a descriptor in an event; None: it is not certain."""
        return self._watches[0].event_fields.file(record, field) if self._watches else None

    def files(self, table: FormatTable, field: Field) -> Sequence[Value] | None:
        """Return the file of each event's descriptor, or the number where it is not certain; None: no file is
        meant.
        """
        return self._watches[0].event_fields.files_of(table, field) if self._watches else None


def fields_of(
    plans: Sequence[Plan], armed: Iterable[Plan], store: Store | None, formats: Iterable[EventFormat] = ()
) -> tuple[str, ...]:
    """Return the names of the fields of events that are armed or were received, in the order of the plans.

    Those of an event as the kernel has it are in the order of `reading_order`, those of the lines of a
    command last. `note` follows if stacks were received without their events.

    Args:
        plans: plans of all probes ever armed, the oldest first.
        armed: plans of the probes armed now.
        store: received events; None: none were.
        formats: formats of the armed events, besides those that the store has.
    """
    received = _received(store)
    listed = _events_of(plans, armed, received)
    of_kernel = kernel_paths(plans)
    known = chain(formats, store.decoder.formats.values() if store is not None else ()) if of_kernel else ()
    by_path = {fmt.path: fmt for fmt in known if fmt.path in of_kernel}
    names: dict[str, None] = {}
    for event in sorted(chain.from_iterable(plan.events for plan in plans), key=_is_output):
        if event.path in listed:
            in_order = event.path in of_kernel
            columns = reading_order(event, by_path.get(event.path)) if in_order else event.columns
            names |= dict.fromkeys(column.name for column in columns)
    stacks_alone = not received.isdisjoint((*KERNEL_STACKS, *USER_STACKS))
    return tuple(names | dict.fromkeys(("note",) if stacks_alone else ()))


def _is_output(event: PlannedEvent) -> bool:
    return event.path == COMMAND_OUTPUT


def reading_order(event: PlannedEvent, fmt: EventFormat | None) -> list[PlanColumn]:
    """Return the columns of an event of the kernel in the order in which people read them: texts, numbers that have
    names, numbers, addresses. Of a system call its number is left out, as the event's name tells it, and so is the
    address of a text that is recorded itself.

    `fmt`: format of the event; None: unknown, its texts and addresses are taken for numbers.
    """
    fields = {field.name: field for field in fmt.fields} if fmt is not None else {}

    def rank(column: PlanColumn) -> int:
        field = fields.get(column.name)
        if fmt is not None and column.name in fmt.texts:
            return 0
        if column.naming or column.is_retval or column.is_call or (field is not None and field.naming):
            return 1
        return 3 if field is not None and field.kind is FieldKind.POINTER else 2

    told = _told_otherwise(event)
    return sorted((column for column in event.columns if column.name not in told), key=rank)


def _told_otherwise(event: PlannedEvent) -> Set[str]:
    """Return the columns of an event of a single system call that its name, or the text at an address, tells."""
    if event.group != _SYSCALLS:
        return frozenset()
    told = {column.name for column in event.columns if column.is_call}
    return told | {found[1] for column in event.columns if (found := _TEXT_OF.fullmatch(column.name)) is not None}


def kernel_paths(plans: Iterable[Plan]) -> frozenset[str]:
    """Return the paths of the events that are recorded as the kernel has them."""
    from probes.static_events import StaticEvent  # not before the first picture

    return frozenset(event.path for plan in plans if isinstance(plan.probe, StaticEvent) for event in plan.events)


def kinds_of(plans: Iterable[Plan], fields: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the fields of each event by its path: those that its probe records at any end, of the given ones, but
    for what other fields of a system call tell (see `reading_order`).

    Events without any of these are left out.
    """
    shown, kinds = frozenset(fields), dict[str, frozenset[str]]()
    for plan in plans:
        names = shown.intersection(
            column.name
            for event in plan.events
            for told in [_told_otherwise(event)]
            for column in event.columns
            if column.name not in told
        )
        if names:
            kinds |= dict.fromkeys((event.path for event in plan.events), names)
    return kinds


def _received(store: Store | None) -> set[str]:
    return {store.event(number) for number, count in store.totals.items() if count} if store else set()


def _events_of(plans: Sequence[Plan], armed: Iterable[Plan], received: set[str]) -> dict[str, bool]:
    # An event that only has triggers is never received.
    listed = {event.path for plan in armed for event in plan.events if event.recorded} | received
    every = chain.from_iterable(plan.events for plan in plans)
    return {event.path: event.path in received for event in every if event.path in listed}


def formats_of(watch: Watch) -> Iterable[EventFormat]:
    """Return the formats of the received events; for a recording those of all its events, read or not."""
    recording = watch.info.target.recording
    if recording is not None:
        return recording.every_format()
    return watch.store.decoder.formats.values() if watch.store is not None else ()
