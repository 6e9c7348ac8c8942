"""An event of the kernel as it is -> a plan without a line: it is there, and is switched on in our instance."""

from __future__ import annotations

import re

from btf.btf import Btf
from events.names.syscalls import is_call_number
from probes.facts.dialect import dialect_of
from probes.facts.errors_table import message_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, StaticEventField
from probes.lowering.arguments.field_types import btf_type
from probes.lowering.filters.event_condition import checked_condition
from probes.names import split_name
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.refusal import CannotLower
from probes.rules.messages.hints import hint_for
from probes.static_events import StaticEvent
from probes.verdict import Refusal

_OF_KERNEL = re.compile(r"common_\w+")
_EXIT_OF_CALL = re.compile(r"raw_syscalls/sys_exit|syscalls/sys_exit_\w+")


def lower_static(event: StaticEvent, btf: Btf | None, facts: TargetFacts, environment: Environment) -> Plan:
    """See `lower`. Raises CannotLower: there is no such event, or its filter is none of this event's."""
    group, name = split_name(event.path)
    fields = fields_of(event.path, str(event), environment)
    condition = event.filter
    if condition:
        start, dialect = len(str(event)) - len(condition), dialect_of(facts, btf)
        condition = checked_condition(condition, start, group, fields, btf, environment, dialect, facts.cpus)
    columns = tuple(
        PlanColumn(
            field.name,
            field.name,
            btf_type(btf, field),
            is_returned(event.path, field.name),
            is_call=is_call_number(group, field.name),
        )
        for field in (fields or {}).values()
        if not _OF_KERNEL.fullmatch(field.name)
    )
    return Plan(event, (PlannedEvent(group, name, "", "", filter=condition, columns=columns),))


def is_returned(path: str, field: str) -> bool:
    """Whether a field of an event (`group/event`) is what a system call returned, so that it may be an error.

    include/trace/events/syscalls.h, and syscall_exit_fields_array in kernel/trace/trace_syscalls.c.
    """
    return field == "ret" and _EXIT_OF_CALL.fullmatch(path) is not None


def fields_of(path: str, text: str, environment: Environment) -> dict[str, StaticEventField] | None:
    """Fields of an event by name; None: they can't be known. Raises CannotLower where there is no such event.

    Args:
        path: `group/event`.
        text: in which it stands, for the column.
        environment: what can be asked.
    """
    if environment.event is None:
        return None
    found = environment.event(*split_name(path))
    if found is None:
        hint, _ = hint_for("BAD_ATTACH_EVENT", "")
        column = max(text.find(path), 0)
        raise CannotLower(Refusal("BAD_ATTACH_EVENT", message_of("BAD_ATTACH_EVENT"), column, path, hint))
    return {field.name: field for field in found}
