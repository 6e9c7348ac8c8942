"""The time from one event to another -> a synthetic event, and a trigger on each of the two that makes it.

The first keeps its time under the keys in a hist variable; the second, where it finds that, fires the synthetic event
with the difference (Documentation/trace/histogram.rst, inter-event). None of the two is recorded.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

from btf.btf import Btf
from events.names.syscalls import is_call_number
from probes.facts.dialect import dialect_of
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import Environment
from probes.kernel_verdict import built_events
from probes.lowering.filters.probe_filter import filtered
from probes.lowering.static_events import fields_of, is_returned
from probes.names import MAX_EVENT_NAME, split_name
from probes.plans.plan import DEFAULT_GROUP, Plan, PlanColumn, PlannedEvent
from probes.probe import Probe
from probes.refusal import CannotLower, own
from probes.rules.deletion import SYNTHETIC
from probes.rules.events.fields import SYNTHETIC_SIZES, built_fields
from probes.rules.readers import RuleContext
from probes.static_events import Latency
from probes.syntax.parse import ParseError, parse_probe

CLOCK = "mono"
"""Of the triggers; without one they would switch our instance to the global clock, in which nothing else counts."""
_LONGEST_GROUP = len("pw_4194304_zzzzzzz_64")
"""Characters of the group of a session: a name has as many letters in each, and is the same event in all of them."""
_SIZE = 16384
"""Keys of each trigger's table."""
_SHORTEST = 2
"""Letters of a parameter of an action (parse_action_params in kernel/trace/trace_events_hist.c)."""
_COMMON = {"common_pid": "int"}
_WIDTHS = {1: "8", 2: "16", 4: "32", 8: "64"}

Lower = Callable[[Probe, str], Plan]
"""Gives the plan of a function probe whose event has a name; raises CannotLower."""


class _Side(NamedTuple):
    event: PlannedEvent
    """As it is planned without a trigger."""
    types: dict[str, str]
    """Its fields, with the types that a synthetic event has for them."""
    returned: frozenset[str] = frozenset()
    """Those that are what a function or a system call returned."""
    calls: frozenset[str] = frozenset()
    """Those that are the number of a system call."""


def lower_latency(
    latency: Latency, btf: Btf | None, facts: TargetFacts, group: str, environment: Environment, lower: Lower
) -> Plan:
    """See `lower`. Raises CannotLower."""
    for feature in (Feature.SYNTHETIC_EVENTS, Feature.HIST_TRIGGERS):
        if not facts.has(feature):
            raise CannotLower(own("missing_capability", "lat", 0, f"This kernel has no {feature}"))
    reading = RuleContext(dialect_of(facts, btf), btf, facts, environment)
    begin = _side(latency, latency.begin, "begin", reading, lower)
    end = _side(latency, latency.end, "end", reading, lower)
    for key in latency.keys:
        _require(latency, key.begin, begin.types)
        _require(latency, key.end, end.types)
    saved = {name: f"{latency.name}_{name}" for name in latency.fields if name not in end.types}
    for name in saved:
        _require(latency, name, begin.types)
    if end.event.path == begin.event.path:
        raise CannotLower(own("missing_capability", latency.end, 0, "Both ends are one event"))
    # As of every synthetic event of a session: by the two underscores it is known for its own
    # (kernel.cleanup.leftovers).
    short = latency.name[: MAX_EVENT_NAME - _LONGEST_GROUP - len("__")]
    name = f"{group or DEFAULT_GROUP}__{short}"[:MAX_EVENT_NAME]
    values = [(key.end, end.types[key.end]) for key in latency.keys]
    values += [(field, begin.types[field] if field in saved else end.types[field]) for field in latency.fields]
    values = [one for one in values if one[0] not in ("lat", *_COMMON)]  # the task of the end is that of the event
    for field, _ in values:
        if len(field) < _SHORTEST and field not in saved:
            why = "The kernel hands on no field whose name is one letter: give it a longer one"
            raise CannotLower(own("missing_capability", field, max(str(latency).rfind(field), 0), why))
    columns = tuple(_column(field, begin if field in saved else end) for field, _ in values)
    made = _synthetic(name, values, columns)
    since, took = f"{latency.name}_t0", f"{latency.name}_lat"
    kept = "".join(f",{variable}={field}" for field, variable in saved.items())
    common = f"clock={CLOCK}:size={_SIZE}"
    first = f"hist:keys={','.join(k.begin for k in latency.keys)}:{since}=common_timestamp{kept}:{common}"
    given = ",".join([f"${took}", *(f"${saved[field]}" if field in saved else field for field, _ in values)])
    group_of_begin, event_of_begin = split_name(begin.event.path)
    second = (
        f"hist:keys={','.join(k.end for k in latency.keys)}:{took}=common_timestamp-${since}:{common}"
        f":onmatch({group_of_begin}.{event_of_begin}).{name}({given})"
    )
    losses = [f"{', '.join(map(str, latency.keys))}: times are kept for {_SIZE:,} different ones, and for no more"]
    (made,) = filtered(str(latency), latency.filter, [made], losses)
    events = (made, _measuring(begin.event, first), _measuring(end.event, second))
    return Plan(latency, events, tuple(losses))


def _measuring(event: PlannedEvent, trigger: str) -> PlannedEvent:
    """Return an end with its trigger, whose condition is its own: that of the event holds for no trigger."""
    condition = f" if {event.filter}" if event.filter else ""
    return replace(event, triggers=(*event.triggers, f"{trigger}{condition}"), filter="", recorded=False)


def _column(field: str, side: _Side) -> PlanColumn:
    return PlanColumn(field, field, is_retval=field in side.returned, is_call=field in side.calls)


def _synthetic(name: str, values: list[tuple[str, str]], columns: tuple[PlanColumn, ...]) -> PlannedEvent:
    texts = ["u64 lat"]
    for field, kind in values:
        base, bracket, size = kind.partition("[")
        texts.append(f"{base} {field}{bracket}{size}")
    line = f"s:{name} {'; '.join(texts)}"
    return PlannedEvent(SYNTHETIC, name, line, f"-:{SYNTHETIC}/{name}", columns=(PlanColumn("lat", "lat"), *columns))


def _side(latency: Latency, text: str, end: str, reading: RuleContext, lower: Lower) -> _Side:
    if " " in text:
        return _made(latency, text, end, reading, lower)
    fields = fields_of(text, str(latency), reading.environment)
    if fields is None:
        why = "The fields of the event can't be known here, and the event that is made of them needs their types"
        raise CannotLower(own("missing_capability", text, max(str(latency).find(text), 0), why))
    group, name = split_name(text)
    types = {field.name: _type(field.type, field.size, field.signed) for field in fields.values()}
    returned = frozenset(name for name in fields if is_returned(text, name))
    calls = frozenset(name for name in fields if is_call_number(group, name))
    known = {name: kind for name, kind in types.items() if kind} | _COMMON
    return _Side(PlannedEvent(group, name, "", ""), known, returned, calls)


def _type(kind: str, size: int, signed: bool) -> str:
    """The type in a synthetic event; empty: it can't have such a field (synth_field_size)."""
    plain = " ".join(kind.replace("const ", "").split())
    if plain.startswith("__data_loc char[]"):
        return "char[]"
    if plain in SYNTHETIC_SIZES or plain.startswith("char["):
        return plain
    if "[" in plain or size not in _WIDTHS:
        return ""
    return f"{'s' if signed else 'u'}{_WIDTHS[size]}"


def _made(latency: Latency, text: str, end: str, reading: RuleContext, lower: Lower) -> _Side:
    """A side that is a probe of ours. Raises CannotLower."""
    column = max(str(latency).find(text), 0)
    try:
        plan = lower(parse_probe(text), f"{latency.name}_{end}")
    except ParseError as error:
        raise CannotLower(replace(error.refusal, column=column + (error.refusal.column or 0))) from None
    except CannotLower as error:
        raise CannotLower(replace(error.refusal, column=column + (error.refusal.column or 0))) from None
    if len(plan.events) != 1:
        why = "; ".join(plan.losses) or "It takes two events, and this end can be one only"
        raise CannotLower(own("missing_capability", text, column, why))
    (event,) = plan.events
    fields = [field for built in built_events(event.lines, reading) for field in built_fields(built).values()]
    types = {field.name: _type(field.type, field.size, field.signed) for field in fields}
    types = {one.name: kind for one in event.columns if (kind := types.get(one.name))}
    returned = frozenset(one.name for one in event.columns if one.is_retval)
    return _Side(event, types | _COMMON, returned, frozenset(one.name for one in event.columns if one.is_call))


def _require(latency: Latency, name: str, types: dict[str, str]) -> None:
    if name not in types:
        near = tuple(difflib.get_close_matches(name, types, 3))
        hint = f"Fields: {', '.join(types)}"
        raise CannotLower(own("unknown_filter_field", name, max(str(latency).rfind(name), 0), hint, near))
