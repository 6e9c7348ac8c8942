"""List a watch's events: those armed and those received since the last clear. Imports no screen code: exports and
printing use it too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from events.stacks.stack import KERNEL_STACKS, USER_STACKS

if TYPE_CHECKING:
    from events.conditions.function_comparison import FunctionSource
    from events.format import EventFormat, Field
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan


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
    """Names of numbers of the fields of a watch's events (`events.conditions.named_number.NumberSource`)."""

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


def fields_of(plans: Sequence[Plan], armed: Iterable[Plan], store: Store | None) -> tuple[str, ...]:
    """Return the names of the fields of events that are armed or were received, in the order of the plans.

    `note` follows if stacks were received without their events.

    Args:
        plans: plans of all probes ever armed, the oldest first.
        armed: plans of the probes armed now.
        store: received events; None: none were.
    """
    received = _received(store)
    listed = _events_of(plans, armed, received)
    events = chain.from_iterable(plan.events for plan in plans)
    names = dict.fromkeys(column.name for event in events if event.path in listed for column in event.columns)
    stacks_alone = not received.isdisjoint((*KERNEL_STACKS, *USER_STACKS))
    return tuple(names | dict.fromkeys(("note",) if stacks_alone else ()))


def kinds_of(plans: Iterable[Plan], fields: Iterable[str]) -> dict[str, frozenset[str]]:
    """Return the fields of each event by its path: those that its probe records at any end, of the given ones.

    Events without any of these are left out.
    """
    shown, kinds = frozenset(fields), dict[str, frozenset[str]]()
    for plan in plans:
        if names := shown.intersection(column.name for event in plan.events for column in event.columns):
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
