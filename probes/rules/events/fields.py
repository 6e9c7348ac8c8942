"""Return the fields of events as the kernel defines them: static events by format file, dynamic ones by
definition.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from probes.facts.lookups import Environment, StaticEventField
from probes.rules.parsed_event import USER_EVENT, ParsedArgument, ParsedEvent
from probes.syntax.text import kstrtoul
from probes.user_events.kernel_reading import read_definition

_TEXT = "__data_loc char[]"
_TEXT_TYPES = frozenset({"string", "ustring", "symstr"})
_BIT_FIELD = re.compile(r":b([0-9]{1,2})@[0-9]+/[0-9]+$")
_WORD = {"u": "u", "s": "s", "x": "u"}
SYNTHETIC_SIZES = {
    **{f"{sign}{bits}": bits // 8 for sign in "su" for bits in (8, 16, 32, 64)},
    "char": 1,
    "unsigned char": 1,
    "bool": 1,
    "int": 4,
    "unsigned int": 4,
    "pid_t": 4,
    "gfp_t": 4,
    "long": 8,
    "unsigned long": 8,
}
"""Sizes in bytes of the plain types of synthetic events (synth_field_size)."""


_PRINT = (StaticEventField("ip", "unsigned long", 8), StaticEventField("buf", "char[]"))
"""Fields of writes to trace_marker; available_events doesn't list the event, but it takes triggers."""


class FoundEvent(NamedTuple):
    """Result of looking up an event."""

    exists: bool
    fields: Mapping[str, StaticEventField] | None
    """Fields without the common ones; None: unknown."""
    built: ParsedEvent | None = None
    """Definition of a dynamic event; None: not a dynamic event that is known."""


def find_event(group: str, event: str, existing: Sequence[ParsedEvent], environment: Environment) -> FoundEvent:
    """Look up an event among the dynamic and the static events; without a list of events, assume that it exists."""
    for built in reversed(existing):
        if (built.group, built.event) == (group, event):
            return FoundEvent(True, built_fields(built), built)
    if environment.event is None:
        return FoundEvent(True, None)
    event_fields = environment.event(group, event)
    if event_fields is None and (group, event) == ("ftrace", "print"):
        event_fields = _PRINT
    if event_fields is None:
        return FoundEvent(False, None)
    return FoundEvent(True, {field.name: field for field in event_fields})


def built_fields(built: ParsedEvent) -> dict[str, StaticEventField]:
    """Return the fields of a dynamic event (traceprobe_define_arg_fields, synth_event_define_fields)."""
    if built.letter == "s":
        return {name: synthetic_field(name, kind) for name, kind in built.fields}
    if built.letter == USER_EVENT:
        fields = read_definition(f"{built.event} {built.place}").fields
        return {name: StaticEventField(name, kind, size, not kind.startswith("u")) for kind, name, size in fields}
    arguments = {argument.name: _argument(argument) for argument in built.arguments}
    if built.letter == "e":
        return arguments
    places = ("__probe_func", "__probe_ret_ip") if built.returns else ("__probe_ip",)
    return {**{name: StaticEventField(name, "unsigned long", 8) for name in places}, **arguments}


def _argument(argument: ParsedArgument) -> StaticEventField:
    if not argument.type:
        return StaticEventField(argument.name, "", 8)  # the argument's text alone doesn't tell its type
    if argument.type in _TEXT_TYPES:
        kind, signed = _TEXT, True
    elif argument.type == "symbol":
        kind, signed = "u64" if argument.width > 4 else "u32", False
    elif argument.type == "char":
        kind, signed = "u8", False
    else:
        kind, signed = f"{_WORD.get(argument.type[:1], 'u')}{argument.type[1:]}", argument.type.startswith("s")
    if argument.elements:
        kind = f"{kind}[{argument.elements}]"
    part = _BIT_FIELD.search(argument.body) if not argument.elements else None
    return StaticEventField(argument.name, kind, argument.width, signed, bits=int(part[1]) if part is not None else 0)


def synthetic_field(name: str, kind: str) -> StaticEventField:
    """Return the field of a synthetic event for its declaration (parse_synth_field)."""
    size = SYNTHETIC_SIZES.get(kind)
    if size is None and "char[" in kind:
        number = kind.partition("char[")[2].partition("]")[0]
        size = kstrtoul(number) if number else 0
    if not size:
        kind, size = f"__data_loc {kind}", 8
    return StaticEventField(name, kind, size, not kind.startswith("u") and kind != "gfp_t")
