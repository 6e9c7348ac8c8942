"""Roles of events as the entry or exit of a call, and titles of the called functions. Imports no screen code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING

from events.calls.call_values import CalledFunction, EndRole, probe_and_address
from probes.plans.plan import Plan, PlannedEvent, titles_of

if TYPE_CHECKING:
    from events.summary.distribution import Distribution
    from kernel.watch.watch import Watch


def titled_latencies(
    watch: Watch, latencies: Mapping[CalledFunction, Distribution]
) -> list[tuple[str, Distribution]]:
    """Return the title of each function and its durations, those of all boots together.

    The name of the function, with the title of the probe where several probes are on it; else the title of the probe.
    Probes are in the order of their numbers, the functions of one probe by the sum of their durations, the largest
    first.
    """
    plans = watch.event_fields.plans
    titles = titles_of(plans)
    found: dict[tuple[int, str], list[Distribution]] = {}
    for function, durations in latencies.items():
        probe, address = probe_and_address(function.function)
        name_of = watch.event_fields.namer(function.boot).function
        name = name_of(address, plans[probe].probe.subject) if address else ""
        found.setdefault((probe, name), []).append(durations)
    counts = Counter(name for _, name in found)
    sums = [(*key, one[0] if len(one) == 1 else one[0].plus(*one[1:])) for key, one in found.items()]
    return [
        (f"{name} ({titles[probe]})" if name and counts[name] > 1 else name or titles[probe], durations)
        for probe, name, durations in sorted(sums, key=lambda one: (one[0], -one[2].total))
    ]


def ends_of(plans: tuple[Plan, ...], *, results: bool = False) -> dict[str, EndRole]:
    """Return the role of each event that is the end of a call, by its path; `results`: with the return values."""
    ends: dict[str, EndRole] = {}
    for number, plan in enumerate(plans):
        paired = [event for event in plan.events if event.frame]
        carried = _common_arguments(paired)
        several = any(event.function_field for event in paired)
        is_exit_filtered = any(event.filter and event.at_exit for event in paired) and not all(
            event.filter for event in paired
        )
        for event in paired:
            retval = next((column.name for column in event.columns if column.is_retval), "") if results else ""
            address = ("__probe_func" if event.at_exit else "__probe_ip") if several else ""
            ends[event.path] = EndRole(
                number,
                event.at_exit,
                event.frame,
                event.frame_shift,
                carried,
                address,
                is_filtered_by_result=is_exit_filtered,
                result=retval,
            )
    return ends


def other_ends(plan: Plan, complete: Container[str], *, by_exit: bool = False) -> frozenset[str]:
    """Return the paths of a probe's events that are left out of a table, so that each call counts once.

    Kept is the end that has all of the table; if both have, the entry, or the exit where only exits are filtered.

    Args:
        plan: plan of the probe.
        complete: paths of the events with all keys and values of the table.
        by_exit: True to keep the exit.
    """
    ends = [event for event in plan.events if event.frame]
    having = [event for event in ends if event.path in complete]
    if {event.at_exit for event in having} != {True, False}:
        kept_at_exit = having[0].at_exit if having else None
    else:
        filtered = {event.at_exit for event in having if event.filter}
        kept_at_exit = by_exit or filtered == {True}
    if kept_at_exit is None or (by_exit and not kept_at_exit):
        return frozenset()  # of no end, or what passes the filter has not all of it
    return frozenset(event.path for event in ends if event.at_exit is not kept_at_exit)


def _common_arguments(events: list[PlannedEvent]) -> tuple[str, ...]:
    """Return the names of arguments that all of the events carry to the exit."""
    names = [{column.name for column in event.columns if column.kept} for event in events]
    return tuple(sorted(set.intersection(*names))) if names else ()
