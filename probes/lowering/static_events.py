"""Lower an existing event of the kernel, unchanged, to a plan without lines: it is only enabled in our instance."""

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

_COMMON_FIELD = re.compile(r"common_\w+")
_EXIT_OF_CALL = re.compile(r"raw_syscalls/sys_exit|syscalls/sys_exit_\w+")


def lower_static(event: StaticEvent, btf: Btf | None, facts: TargetFacts, environment: Environment) -> Plan:
    """Lower a static event, as `lower` does.

    Raises CannotLower: there is no such event, or the filter is not valid for this event.
    """
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
            naming=field.naming,
        )
        for field in (fields or {}).values()
        if not _COMMON_FIELD.fullmatch(field.name)
    )
    return Plan(event, (PlannedEvent(group, name, "", "", filter=condition, columns=columns),))


def is_returned(path: str, field: str) -> bool:
    """Return whether a field of an event (`group/event`) is a system call's return value, which may be an error.

    include/trace/events/syscalls.h, and syscall_exit_fields_array in kernel/trace/trace_syscalls.c.
    """
    return field == "ret" and _EXIT_OF_CALL.fullmatch(path) is not None


def fields_of(path: str, text: str, environment: Environment) -> dict[str, StaticEventField] | None:
    """Return the fields of an event by name; None: unknown. Raises CannotLower where there is no such event.

    Args:
        path: `group/event`.
        text: the text that contains the path, for the column.
        environment: source of existing events.
    """
    if environment.event is None:
        return None
    event_fields = environment.event(*split_name(path))
    if event_fields is None:
        hint, _ = hint_for("BAD_ATTACH_EVENT", "")
        column = max(text.find(path), 0)
        raise CannotLower(Refusal("BAD_ATTACH_EVENT", message_of("BAD_ATTACH_EVENT"), column, path, hint))
    return {field.name: field for field in event_fields}
