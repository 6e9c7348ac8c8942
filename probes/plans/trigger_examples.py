"""Choose examples of triggers that a kernel takes on the events of a probe."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from probes.plans.plan import Plan, PlannedEvent

_TEXTS = ("string", "ustring", "symstr", "char", "%p")
"""Beginnings of the types of fetchargs that are text."""


def trigger_examples(plan: Plan, accepts: Callable[[str], bool]) -> tuple[str, ...]:
    """Return a trigger of each kind that some event of a plan takes; empty: it takes none.

    Args:
        plan: the plan of an armed probe.
        accepts: returns whether the kernel takes a text on one of the events.
    """
    found = (next((text for text in kind if accepts(text)), "") for kind in _kinds(plan))
    return tuple(filter(None, found))


def _kinds(plan: Plan) -> Iterator[Iterator[str]]:
    """Yield the texts for each kind of trigger, the most telling first."""
    columns = [column for event in plan.events for column in event.columns]
    results = [column.name for column in columns if column.is_retval]
    values = [name for event in plan.events for name in _numbers(event)]
    yield iter(("stacktrace",))
    yield iter((*(f"traceoff:1 if {name} < 0" for name in results), "traceoff:1"))
    yield iter(("snapshot",))
    yield iter((*(f"hist:keys=common_pid:vals={name}" for name in values), "hist:keys=common_pid"))


def _numbers(event: PlannedEvent) -> Iterator[str]:
    """Yield the fields of an event that are single numbers, by the words of its line."""
    for word in event.line.split()[2:]:
        named, _, kind = word.partition(":")
        name, _, value = named.partition("=")
        if value != "$comm" and name != event.frame and not kind.startswith(_TEXTS) and "[" not in kind:
            yield name
