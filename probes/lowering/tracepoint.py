"""Lower a tracepoint probe to its line: by the tracepoint's own arguments, else by the fields of its event."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from btf.btf import Btf
from probes.facts.dialect import dialect_of
from probes.facts.errors_table import message_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment
from probes.fetcharg import EventField as FieldValue
from probes.fetcharg import FetchArg, Variable
from probes.functions.convention import FunctionConvention, convention_of
from probes.functions.function_index import STUB, tracepoints_like
from probes.functions.signature import Signature, signature_of, tracepoint_of
from probes.functions.value import Value, ValueUnavailable, locate
from probes.lowering.arguments.capture import Capturer, word_of
from probes.lowering.arguments.event_words import capture, name_fields, refused_at
from probes.lowering.arguments.field_types import field_type
from probes.lowering.arguments.pointers import numbers_of
from probes.lowering.arguments.selection import expand_all_arguments
from probes.lowering.arguments.warnings import value_warnings
from probes.lowering.event import EventWriter, event_probe, event_site, select
from probes.lowering.filters.probe_filter import distribute_filter
from probes.lowering.filters.unrecorded import explain_unrecorded
from probes.names import event_name
from probes.plans.plan import DEFAULT_GROUP, Plan, PlanColumn, PlannedEvent
from probes.probe import Probe
from probes.refusal import CannotLower, own_refusal
from probes.rules.messages.hints import hint_for
from probes.rules.place import tprobe_spot
from probes.rules.site import Site
from probes.syntax.refused import Refused
from probes.verdict import Refusal

_ITERATOR = "__traceiter_"
_CALL = ("sys_enter", "id")
"""Tracepoint and argument that is the number of a system call (include/trace/events/syscalls.h)."""


def lower_tracepoint(
    probe: Probe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower a tracepoint probe, as `lower` does. Raises CannotLower."""
    _check_name(probe)
    if not facts.has(Feature.TPROBE_EVENTS):
        return _by_event(probe, btf, facts, group, event, environment)
    name = probe.place.symbol
    has_stub = btf is not None and btf.function(f"{STUB}{name}") is not None
    signature = tracepoint_of(btf, name) if btf is not None and has_stub else None
    convention = _convention(btf, f"{STUB}{name}", facts)
    selection = expand_all_arguments(probe.fetchargs, signature, convention)
    losses = [*(() if has_stub else _absence_notes(name, facts)), *selection.losses]
    dialect = dialect_of(facts, btf)
    site = Site(dialect, btf, signature, at_entry=True, fprobe=True, environment=environment, tracepoint=True)
    fields = name_fields(selection)
    for field in fields:
        if "$retval" in str(field.request.arg):
            raise refused_at(probe, field.request, Refused("RETVAL_ON_PROBE", 0, "$retval"), None)
    capturer = Capturer(site, signature, convention, dialect.btf_args)
    captured = capture(probe, fields, capturer, name)
    losses += [*captured.losses, *value_warnings(fields, captured.columns, capturer)]
    group = group or probe.group or DEFAULT_GROUP
    own_name = event if event is not None else probe.event or event_name(name, "")
    path = f"{group}/{own_name}"
    line = " ".join([f"t:{path}", name, *captured.words])
    triggers = (*(("stacktrace",) if probe.stack else ()), *probe.triggers)
    columns = tuple(replace(column, is_call=(name, column.label) == _CALL) for column in captured.columns)
    planned = PlannedEvent(group, own_name, line, f"-:{path}", triggers=triggers, columns=columns)
    return _plan(probe, planned, losses, signature)


def _plan(probe: Probe, planned: PlannedEvent, losses: list[str], signature: Signature | None) -> Plan:
    """Build the plan of an event that records the probe's arguments, with the filter. Raises CannotLower."""
    filtered = distribute_filter(
        str(probe),
        probe.filter,
        [planned],
        losses,
        lambda unknown: explain_unrecorded(unknown, probe.filter, probe.place.symbol, signature, function=False),
    )
    return Plan(probe, filtered, tuple(losses))


def _check_name(probe: Probe) -> None:
    """Check that a name can be a tracepoint's; an event's `group/event` can't. Raises CannotLower."""
    head, place = str(probe).split(" ")[:2]
    try:
        tprobe_spot([str(probe.kind), place])
    except Refused as error:
        if error.code != "BAD_TP_NAME":
            return
        hint, nearest = hint_for(error.code, error.token, error.names)
        column = len(head) + 1 + error.offset
        message = message_of(error.code) or error.code
        raise CannotLower(Refusal(error.code, message, column, error.token, hint, nearest)) from None


def _convention(btf: Btf | None, stub: str, facts: TargetFacts) -> FunctionConvention:
    """Return the places of a tracepoint's arguments: `$argN` doesn't count the stub's first, private pointer."""
    signature = signature_of(btf, stub) if btf is not None else None
    if btf is None or signature is None:
        return FunctionConvention()
    places = convention_of(btf, signature.params, facts.machine, signature.returns).params[1:]
    return FunctionConvention(
        tuple(place._replace(slots=tuple(slot - 1 for slot in place.slots)) for place in places)
    )


def _absence_notes(name: str, facts: TargetFacts) -> list[str]:
    """Return a note for a nonexistent tracepoint, whose name the kernel accepts: a module may bring it later."""
    similar = tracepoints_like(name, facts)
    if not similar:
        return []
    hint, _ = hint_for("", name, similar)
    return [f"{name}: there is no such tracepoint now; the probe waits for a module that has it. {hint}".strip()]


@dataclass(frozen=True, slots=True)
class _FieldWriter:
    """Writer of a tracepoint's arguments as fields of its event: `prev->comm` is the field `prev_comm`."""

    fields: EventWriter
    signature: Signature | None
    """Signature of the tracepoint."""
    convention: FunctionConvention

    @property
    def site(self) -> Site:
        return self.fields.site

    def words(self, arg: FetchArg, name: str) -> list[str]:
        expression = arg.expression
        if isinstance(expression, Variable) and self._field(expression) is None:
            capturer = Capturer(self.site, self.signature, self.convention, False)
            capturer.check_text(arg)
            text, kind = capturer.typed(self._behind(expression), arg.type)
            return [word_of(name, text, kind)]
        return self.fields.words(self._as_field(arg), name)

    @property
    def argument_numbers(self) -> dict[str, int]:
        return numbers_of(self.signature, self.convention)

    def column(self, arg: FetchArg, name: str) -> PlanColumn:
        expression = arg.expression
        if isinstance(expression, Variable) and self._field(expression) is None:
            return PlanColumn(name, str(expression), self._behind(expression).type_id)
        return replace(self.fields.column(self._as_field(arg), name), label=str(expression))

    def _field(self, expression: Variable) -> str | None:
        """Return the field that holds an expression's value; None: there is none."""
        joined = "_".join([expression.name, *(hop.name for hop in expression.path)])
        return joined if joined in (self.site.fields or {}) else None

    def _as_field(self, arg: FetchArg) -> FetchArg:
        """Return a fetcharg on the event's field; a text field keeps its string type, whatever type was requested."""
        field = self._field(arg.expression) if isinstance(arg.expression, Variable) else None
        if field is None or self.site.fields is None:
            return arg
        kind = field_type(self.fields.group, self.site.fields[field], self.site.dialect.bits)
        return FetchArg(FieldValue(field), arg.name, kind if kind == "string" else arg.type)

    def _behind(self, expression: Variable) -> Value:
        """Locate a path that begins at a field with the argument's address. Raises ValueUnavailable."""
        event_fields = self.site.fields or {}
        base = event_fields.get(expression.name)
        if base is None or "*" not in base.type:
            reason = f"this kernel has no tracepoint probes, and the event records no {expression}"
            raise ValueUnavailable(
                "no_event_field", reason, 0, "_".join(re.findall(r"\w+", str(expression))), tuple(event_fields)
            )
        if self.signature is None:
            raise ValueUnavailable("NO_BTF_ENTRY", token=str(expression))
        return replace(locate(self.signature, self.convention, expression), base=f"${expression.name}")


def _by_event(
    probe: Probe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower to an event probe on the tracepoint's event, without tracepoint probes. Raises CannotLower."""
    name = probe.place.symbol
    groups = environment.groups_of(name) if environment.groups_of is not None else ()
    if not groups or not facts.has(Feature.EPROBE_EVENTS):
        reason = "This kernel has no tracepoint probes" + (
            f", and there is no event {name} that an event probe could sit on" if environment.groups_of else ""
        )
        raise CannotLower(own_refusal("missing_capability", "t", 0, reason))
    system = groups[0]
    site = event_site(probe, system, name, btf, facts, environment)
    iterator = f"{_ITERATOR}{name}"
    full = signature_of(btf, iterator) if btf is not None else None
    signature = replace(full, params=full.params[1:]) if full is not None else None
    selection = select(probe, system, site)
    writer = _FieldWriter(EventWriter(site, system), signature, _convention(btf, iterator, facts))
    captured = capture(probe, name_fields(selection), writer, f"{system}.{name}")
    losses = [
        f"this kernel has no tracepoint probes: an event probe shows what the event {system}:{name} records",
        *selection.losses,
        *captured.losses,
    ]
    planned = event_probe(probe, system, name, captured, group, event)
    return _plan(probe, planned, losses, signature)
