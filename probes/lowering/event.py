"""Lower an event probe to its line: fields of the probed event, each with the type that its format file gives."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from btf.btf import Btf
from events.names.syscalls import is_call_number
from probes.facts.dialect import dialect_of
from probes.facts.errors_table import message_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment, StaticEventField, events_like
from probes.fetcharg import AllArguments, Comm, FetchArg
from probes.fetcharg import EventField as FieldValue
from probes.lowering.arguments.capture import type_on_kernel, word_of
from probes.lowering.arguments.event_words import CapturedWords, capture, name_fields
from probes.lowering.arguments.field_types import btf_type, field_type
from probes.lowering.arguments.selection import CaptureRequest, CaptureSelection
from probes.lowering.filters.event_condition import checked_condition
from probes.names import event_name, split_name
from probes.plans.plan import DEFAULT_GROUP, Plan, PlanColumn, PlannedEvent
from probes.probe import Probe
from probes.refusal import CannotLower, own_refusal
from probes.rules.events.predicate import is_text
from probes.rules.messages.hints import hint_for
from probes.rules.site import Site
from probes.syntax.text import collapsed
from probes.verdict import Refusal

Fields = Mapping[str, StaticEventField]
_SPACE = re.compile(r"[ \t\n\v\f\r]+")


@dataclass(frozen=True, slots=True)
class EventWriter:
    """Writer of fetchargs that are fields of an event."""

    site: Site
    group: str
    """Group of the event."""

    def words(self, arg: FetchArg, name: str) -> list[str]:
        return [word_of(name, str(arg.expression), type_on_kernel(self._type(arg), self.site.dialect))]

    @property
    def argument_numbers(self) -> dict[str, int]:
        return {}

    def column(self, arg: FetchArg, name: str) -> PlanColumn:
        field = self._field(arg)
        plain = field is not None and "[" not in (arg.type or "") and arg.type not in ("string", "ustring", "symbol")
        type_id = btf_type(self.site.btf, field) if field is not None and plain else None
        is_call = field is not None and plain and is_call_number(self.group, field.name)
        naming = field.naming if field is not None and plain else ""
        return PlanColumn(name, str(arg.expression), type_id, is_call=is_call, naming=naming)

    def _field(self, arg: FetchArg) -> StaticEventField | None:
        if isinstance(arg.expression, FieldValue) and self.site.fields is not None:
            return self.site.fields.get(arg.expression.name)
        return None

    def _type(self, arg: FetchArg) -> str | None:
        """Return the type as written, else the field's own; the kernel's default is a hexadecimal number."""
        field = self._field(arg)
        if arg.type is None and field is not None:
            return field_type(self.group, field, self.site.dialect.bits)
        if arg.type is None and isinstance(arg.expression, Comm | FieldValue) and str(arg.expression) == "$comm":
            return "string"
        return arg.type


def lower_event(
    probe: Probe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower an event probe, as `lower` does. Raises CannotLower."""
    if not facts.has(Feature.EPROBE_EVENTS):
        raise CannotLower(own_refusal("missing_capability", "e", 0, "This kernel has no event probes"))
    system, name = split_name(probe.place.symbol)
    site = event_site(probe, system, name, btf, facts, environment)
    condition = _condition(probe, system, site, facts)
    chosen = select(probe, system, site)
    captured = capture(probe, name_fields(chosen), EventWriter(site, system), f"{system}.{name} if {condition}")
    planned = event_probe(probe, system, name, captured, group, event)
    if probe.filter:
        planned = replace(planned, line=f"{planned.line} if {condition}")
    losses = dict.fromkeys((*chosen.losses, *captured.losses, *_blanks(probe.filter)))
    return Plan(probe, (planned,), tuple(losses))


def _blanks(written: str) -> list[str]:
    """Warn of a condition whose text the kernel compares with other text than written (trace_eprobe_parse_filter)."""
    condition = _SPACE.sub(" ", written)
    if collapsed(written) == condition:
        return []
    return [f"if {condition}: the kernel takes white space in an event probe's condition for one blank, in text too"]


def event_site(
    probe: Probe, system: str, name: str, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> Site:
    """Return the site of an event probe on an event. Raises CannotLower where there is no such event."""
    fields = None
    if not system or not name:
        raise CannotLower(_unnamed(probe, environment))
    if environment.event is not None:
        event_fields = environment.event(system, name)
        if event_fields is None:
            column = len(str(probe).split(" ")[0]) + 1
            wanted, message = probe.place.symbol, message_of("BAD_ATTACH_EVENT")
            hint, nearest = hint_for("BAD_ATTACH_EVENT", wanted, events_like(wanted, environment))
            raise CannotLower(Refusal("BAD_ATTACH_EVENT", message, column, wanted, hint, nearest))
        fields = {field.name: field for field in event_fields}
    return Site(dialect_of(facts, btf), btf, None, on_event=True, fields=fields, environment=environment)


def _unnamed(probe: Probe, environment: Environment) -> Refusal:
    """Return the refusal of an event name that lacks its group or its name: the kernel requires both."""
    place = probe.place.symbol
    hint, nearest = hint_for("NO_EVENT_INFO", place, events_like(place, environment))
    column = len(str(probe).split(" ")[0]) + 1
    return Refusal("NO_EVENT_INFO", message_of("NO_EVENT_INFO"), column, place, hint, nearest)


def select(probe: Probe, system: str, site: Site) -> CaptureSelection:
    """Replace `$$args` and `$arg*` by each field that an event probe can read."""
    wanted: list[CaptureRequest] = []
    losses: list[str] = []
    named = {arg.expression for arg in probe.fetchargs}
    for index, arg in enumerate(probe.fetchargs):
        if not isinstance(arg.expression, AllArguments):
            wanted.append(CaptureRequest(arg, index))
            if isinstance(arg.expression, FieldValue) and arg.expression.name in (site.fields or {}):
                field = (site.fields or {})[arg.expression.name]
                losses += _pointer_warning(field, site) + _type_warning(field, arg.type, system)
            continue
        if site.fields is None:
            losses.append(f"{arg.expression}: the event's fields can't be known here, nor whether it is there")
            continue
        for field in site.fields.values():
            expression = FieldValue(field.name)
            if expression in named:
                continue
            if field_type(system, field, site.dialect.bits) is None:
                losses.append(f"{field.name}: an event probe can't read {field.type}")
            elif warning := _pointer_warning(field, site):
                losses += warning
            else:
                wanted.append(CaptureRequest(FetchArg(expression), index, is_explicit=False))
    return CaptureSelection(tuple(wanted), tuple(losses))


def _pointer_warning(field: StaticEventField, site: Site) -> list[str]:
    """Warn of a pointer to text: older kernels read a single byte (6.1 was fixed late), undetectably."""
    if site.dialect.btf_args or not field.type.endswith("char *"):
        return []
    return [
        f"{field.name}: event probes of a kernel as old as this may misread {field.type}; probe a function instead"
    ]


def _type_warning(field: StaticEventField, kind: str | None, group: str) -> list[str]:
    """Warn of a type that doesn't show the field's value: text read as a number or the reverse (get_event_field)."""
    if kind is None:
        return []
    own_refusal, wants_text = field_type(group, field, 64), kind.partition("[")[0] in ("string", "ustring")
    if is_text(field) and not wants_text:
        return [f"{field.name}: text; as a number it is the place in the buffer where it was"]
    if is_text(field) and kind.startswith("ustring"):
        return [f"{field.name}: text of the event itself, where no task's memory is: ustring gives (fault)"]
    if (
        wants_text
        and "*" not in field.type
        and own_refusal is not None
        and own_refusal[1:] != "64"
        and not is_text(field)
    ):
        return [f"{field.name}: a number read as an address of text gives (fault)"]
    return []


def event_probe(
    probe: Probe, system: str, name: str, captured: CapturedWords, group: str, event: str | None
) -> PlannedEvent:
    """Build the planned event with its line, without a filter."""
    group = group or probe.group or DEFAULT_GROUP
    own_name = event if event is not None else probe.event or event_name(name, "")
    words = [f"e:{group}/{own_name}", f"{system}.{name}", *captured.words]
    triggers = (*(("stacktrace",) if probe.stack else ()), *probe.triggers)
    return PlannedEvent(
        group, own_name, " ".join(words), f"-:{group}/{own_name}", triggers=triggers, columns=captured.columns
    )


def _condition(probe: Probe, system: str, site: Site, facts: TargetFacts) -> str:
    """Return the filter on the event's own fields, in the kernel's words. Raises CannotLower."""
    if not probe.filter:
        return ""
    start = len(str(probe)) - len(probe.filter)
    if not facts.has(Feature.EPROBE_FILTER):
        raise CannotLower(
            own_refusal("missing_capability", "if", start - 3, "This kernel's event probes take no filter")
        )
    condition = checked_condition(
        probe.filter, start, system, site.fields, site.btf, site.environment, site.dialect, facts.cpus
    )
    return _SPACE.sub(" ", condition)  # the kernel joins its words by blanks; a newline would begin another command
