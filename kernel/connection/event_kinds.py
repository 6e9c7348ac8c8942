"""Compare planned events: those of one name are one event, and mean the same, or one of them gets another name.

Apart from `kernel.connection.planner`, which lowers probes.
"""

from __future__ import annotations

from collections.abc import Container, Hashable, Mapping

from btf.btf import Btf
from events.names.value_names import Namer
from probes.plans.plan import Plan, PlannedEvent


def kind_of(event: PlannedEvent, btf: Btf | None) -> tuple[Hashable, ...]:
    """Return the key that the probes of one event share (append_trace_kprobe, append_trace_fprobe_event), which all
    events of that name are shown by: how it attaches, and what names its values have.
    """
    return event.line[:1].replace("r", "p"), event.at_exit, _names_of_values(event, btf)


def _names_of_values(event: PlannedEvent, btf: Btf | None) -> tuple[Hashable, ...]:
    """Return what names the values of each column have: of functions, errors, system calls and enumerators."""
    namer = Namer(btf)
    return tuple(
        (
            column.name,
            column.functions,
            column.is_retval,
            column.is_call,
            column.naming,
            namer.words(column.btf_type) != [],
            namer.enumerators(column.btf_type),
        )
        for column in event.columns
    )


def reason_for_number(
    plan: Plan, not_free: Container[str], kinds: Mapping[str, object], alone: Container[str], btf: Btf | None
) -> str:
    """Return why the events of a plan need other names; empty: they don't.

    Args:
        plan: what is to be armed.
        not_free: paths of events that were another probe's.
        kinds: what is armed, by path of the event, as `kind_of` tells it.
        alone: paths of events that no fprobe can join: it would be registered only when its event is enabled, which
            is enabled already, and would record nothing.
        btf: types of the plan.
    """
    if any(event.path in not_free for event in plan.events):
        return "events of an earlier probe of this name may still be seen"
    if any(kinds[event.path] != kind_of(event, btf) for event in plan.events if event.path in kinds):
        return "an event of this name belongs to a probe of another kind or pattern, or has other names of values"
    if any(event.path in alone and event.line[:1] in ("f", "t") for event in plan.events):
        return "an fprobe that joins an event records nothing on this kernel (a kprobe can join: p in place of f)"
    return ""
