"""Lower a latency to a synthetic event, and a hist trigger on each of the two events that produce it.

The begin event stores its timestamp by key in a hist variable; the end event, where it finds a timestamp for its key,
fires the synthetic event with the difference (Documentation/trace/histogram.rst, inter-event). Neither of the two
events is recorded.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple

from btf.btf import Btf
from events.names.syscalls import is_call_number
from probes.facts.dialect import dialect_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment
from probes.kernel_verdict import parse_existing
from probes.lowering.filters.probe_filter import distribute_filter
from probes.lowering.static_events import fields_of, is_returned
from probes.names import MAX_EVENT_NAME, split_name
from probes.plans.plan import DEFAULT_GROUP, Plan, PlanColumn, PlannedEvent
from probes.probe import Probe
from probes.refusal import CannotLower, own_refusal
from probes.rules.deletion import SYNTHETIC
from probes.rules.events.fields import SYNTHETIC_SIZES, built_fields
from probes.rules.readers import RuleContext
from probes.static_events import Latency
from probes.syntax.parse import ParseError, parse_probe

CLOCK = "mono"
"""Clock of the triggers; without it they would switch our instance to the global clock, which no other part uses."""
_MAX_GROUP = len("pw_4194304_zzzzzzz_64")
"""Characters of a session's group name: event names get the same length in all sessions, so that an event keeps its
name."""
_SIZE = 16384
"""Number of keys in each trigger's table."""
_MIN_PARAMETER = 2
"""Least number of letters in a parameter of an action (parse_action_params in kernel/trace/trace_events_hist.c)."""
_COMMON = {"common_pid": "int"}
_WIDTHS = {1: "8", 2: "16", 4: "32", 8: "64"}

Lower = Callable[[Probe, str], Plan]
"""Function that plans a function probe under an event name; raises CannotLower."""


class _LatencyEnd(NamedTuple):
    event: PlannedEvent
    """The event as planned, without a trigger."""
    types: dict[str, str]
    """Types of the event's fields in a synthetic event, by field."""
    returned: frozenset[str] = frozenset()
    """Fields that are the return value of a function or a system call."""
    calls: frozenset[str] = frozenset()
    """Fields that are the number of a system call."""
    names: Mapping[str, str] = MappingProxyType({})
    """Names of numbers by field, as `PlanColumn.names` has them."""
    notes: tuple[str, ...] = ()
    """Ways out of a function that the end does not see, each in a line."""


def lower_latency(
    latency: Latency, btf: Btf | None, facts: TargetFacts, group: str, environment: Environment, lower: Lower
) -> Plan:
    """Lower a latency, as `lower` does. Raises CannotLower."""
    for feature in (Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS):
        if not facts.has(feature):
            raise CannotLower(own_refusal("missing_capability", "lat", 0, f"This kernel has no {feature}"))
    context = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    begin = _side(latency, latency.begin, "begin", context, lower)
    end = _side(latency, latency.end, "end", context, lower)
    for key in latency.keys:
        _require(latency, key.begin, begin.types)
        _require(latency, key.end, end.types)
    saved = {name: f"{latency.name}_{name}" for name in latency.fields if name not in end.types}
    for name in saved:
        _require(latency, name, begin.types)
    if end.event.path == begin.event.path:
        raise CannotLower(own_refusal("missing_capability", latency.end, 0, "Both ends are one event"))
    # The two underscores mark the synthetic events of a session as its own (kernel.cleanup.leftovers).
    short = latency.name[: MAX_EVENT_NAME - _MAX_GROUP - len("__")]
    name = f"{group or DEFAULT_GROUP}__{short}"[:MAX_EVENT_NAME]
    values = [(key.end, end.types[key.end]) for key in latency.keys]
    values += [(field, begin.types[field] if field in saved else end.types[field]) for field in latency.fields]
    values = [
        value for value in values if value[0] not in ("lat", *_COMMON)
    ]  # the task of the end event is the event's own
    for field, _ in values:
        if len(field) < _MIN_PARAMETER and field not in saved:
            reason = "The kernel hands on no field whose name is one letter: give it a longer one"
            raise CannotLower(own_refusal("missing_capability", field, max(str(latency).rfind(field), 0), reason))
    columns = tuple(_column(field, begin if field in saved else end) for field, _ in values)
    synthetic = _synthetic(name, values, columns)
    begin_variable, difference = f"{latency.name}_t0", f"{latency.name}_lat"
    variables = "".join(f",{variable}={field}" for field, variable in saved.items())
    common = f"clock={CLOCK}:size={_SIZE}"
    first = (
        f"hist:keys={','.join(k.begin for k in latency.keys)}:{begin_variable}=common_timestamp{variables}:{common}"
    )
    parameters = ",".join(
        [f"${difference}", *(f"${saved[field]}" if field in saved else field for field, _ in values)]
    )
    group_of_begin, event_of_begin = split_name(begin.event.path)
    second = (
        f"hist:keys={','.join(k.end for k in latency.keys)}:{difference}=common_timestamp-${begin_variable}:{common}"
        f":onmatch({group_of_begin}.{event_of_begin}).{name}({parameters})"
    )
    losses = [*begin.notes, *end.notes]
    losses += [f"only the first {_SIZE:,} values of {', '.join(map(str, latency.keys))} are timed"]
    (synthetic,) = distribute_filter(str(latency), latency.filter, [synthetic], losses)
    events = (synthetic, _with_trigger(begin.event, first), _with_trigger(end.event, second))
    return Plan(latency, events, tuple(losses))


def _with_trigger(event: PlannedEvent, trigger: str) -> PlannedEvent:
    """Return an end's event with its trigger, which takes over the event's filter."""
    condition = f" if {event.filter}" if event.filter else ""
    return replace(event, triggers=(*event.triggers, f"{trigger}{condition}"), filter="", recorded=False)


def _column(field: str, side: _LatencyEnd) -> PlanColumn:
    names = side.names.get(field, "")
    return PlanColumn(field, field, is_retval=field in side.returned, is_call=field in side.calls, names=names)


def _synthetic(name: str, values: list[tuple[str, str]], columns: tuple[PlanColumn, ...]) -> PlannedEvent:
    texts = ["u64 lat"]
    for field, kind in values:
        base, bracket, size = kind.partition("[")
        texts.append(f"{base} {field}{bracket}{size}")
    line = f"s:{name} {'; '.join(texts)}"
    return PlannedEvent(SYNTHETIC, name, line, f"-:{SYNTHETIC}/{name}", columns=(PlanColumn("lat", "lat"), *columns))


def _side(latency: Latency, text: str, end: str, context: RuleContext, lower: Lower) -> _LatencyEnd:
    if " " in text:
        return _side_of_probe(latency, text, end, context, lower)
    fields = fields_of(text, str(latency), context.environment)
    if fields is None:
        reason = "The fields of the event can't be known here, and the event that is made of them needs their types"
        raise CannotLower(own_refusal("missing_capability", text, max(str(latency).find(text), 0), reason))
    group, name = split_name(text)
    types = {field.name: _type(field.type, field.size, field.signed) for field in fields.values()}
    returned = frozenset(name for name in fields if is_returned(text, name))
    calls = frozenset(name for name in fields if is_call_number(group, name))
    synthetic_types = {name: kind for name, kind in types.items() if kind} | _COMMON
    return _LatencyEnd(PlannedEvent(group, name, "", ""), synthetic_types, returned, calls)


def _type(kind: str, size: int, signed: bool) -> str:
    """Return the type in a synthetic event; empty: it can't have such a field (synth_field_size)."""
    plain = " ".join(kind.replace("const ", "").split())
    if plain.startswith("__data_loc char[]"):
        return "char[]"
    if plain in SYNTHETIC_SIZES or plain.startswith("char["):
        return plain
    if "[" in plain or size not in _WIDTHS:
        return ""
    return f"{'s' if signed else 'u'}{_WIDTHS[size]}"


def _side_of_probe(latency: Latency, text: str, end: str, context: RuleContext, lower: Lower) -> _LatencyEnd:
    """Plan an end that is a probe. Raises CannotLower."""
    column = max(str(latency).find(text), 0)
    try:
        probe = parse_probe(text)
        plan = lower(probe, f"{latency.name}_{end}")
    except ParseError as error:
        raise CannotLower(replace(error.refusal, column=column + (error.refusal.column or 0))) from None
    except CannotLower as error:
        raise CannotLower(replace(error.refusal, column=column + (error.refusal.column or 0))) from None
    if len(plan.events) != 1:
        reason = "; ".join(plan.losses) or "It takes two events, and this end can be one only"
        raise CannotLower(own_refusal("missing_capability", text, column, reason))
    (event,) = plan.events
    fields = [field for built in parse_existing(event.lines, context) for field in built_fields(built).values()]
    types = {field.name: _type(field.type, field.size, field.signed) for field in fields}
    types = {planned.name: kind for planned in event.columns if (kind := types.get(planned.name))}
    returned = frozenset(planned.name for planned in event.columns if planned.is_retval)
    calls = frozenset(planned.name for planned in event.columns if planned.is_call)
    names = {planned.name: planned.names for planned in event.columns if planned.names}
    return _LatencyEnd(event, types | _COMMON, returned, calls, names, plan.losses if probe.needs_code else ())


def _require(latency: Latency, name: str, types: dict[str, str]) -> None:
    if name not in types:
        similar = tuple(difflib.get_close_matches(name, types, 3))
        hint = f"Fields: {', '.join(types)}"
        raise CannotLower(own_refusal("unknown_filter_field", name, max(str(latency).rfind(name), 0), hint, similar))
