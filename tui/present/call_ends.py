"""Roles of events as the entry or exit of a call, and titles of the called functions. Imports no screen code."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from events.calls.call_values import EndRole, probe_and_address
from probes.plans.plan import Plan, PlannedEvent, titles_of

if TYPE_CHECKING:
    from kernel.watch.watch import Watch


def function_titles(watch: Watch, functions: Iterable[int], boot: int | None) -> dict[int, str]:
    """Return a title for each function, given as a result of `events.calls.call_values.function_key`.

    The name of the function, with the title of the probe where several probes are on it; else the title of the probe.
    `boot`: that of all calls; None: several, in which an address has no common name.
    """
    plans, name_of = watch.event_fields.plans, watch.event_fields.namer(boot).function
    titles = titles_of(plans)
    found = {function: probe_and_address(function) for function in functions}
    names = {
        function: name_of(address, plans[probe].probe.subject) if address else ""
        for function, (probe, address) in found.items()
    }
    counts = Counter(names.values())
    return {
        function: f"{name} ({titles[probe]})" if name and counts[name] > 1 else name or titles[probe]
        for (function, (probe, _)), name in zip(found.items(), names.values(), strict=True)
    }


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


def _common_arguments(events: list[PlannedEvent]) -> tuple[str, ...]:
    """Return the names of arguments that all of the events carry to the exit."""
    names = [{column.name for column in event.columns if column.kept} for event in events]
    return tuple(sorted(set.intersection(*names))) if names else ()
