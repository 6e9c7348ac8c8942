"""Which events a watch is about; no screen, for what is printed and given out needs it too."""

from __future__ import annotations

from itertools import chain

from kernel.watch import Watch


def events_of(watching: Watch) -> dict[str, bool]:
    """Paths of the events that are armed or came since the last clear, in the order in which the probes name them;
    whether they came.
    """
    store = watching.store
    came = {store.event(number) for number, count in store.totals.items() if count} if store else set()
    # Of an event that only has triggers nothing comes.
    armed = {event.path for one in watching.armed for event in one.plan.events if event.recorded}
    every = chain.from_iterable(plan.events for plan in watching.known.plans)
    return {event.path: event.path in came for event in every if event.path in armed or event.path in came}
