"""Translate the fields of the kernel's events to bpftrace: `args->prev_comm`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from probes.export.bpftrace.value import COMM, BpftraceValue, number, text
from probes.export.dialect import CannotExport
from probes.facts.lookups import Environment, StaticEventField
from probes.fetcharg import EventField, FetchArg
from probes.plans.plan import PlannedEvent

_LENGTH = re.compile(r"(?:const )?char\[\d+\]")
_ELSEWHERE = "__data_loc char[]"
_POINTERS = ("char *", "const char *")
_SYSCALLS = "syscalls"
_SIZES = (1, 2, 4, 8)


class PrintedFields(NamedTuple):
    """Fields of an event that bpftrace prints."""

    values: list[tuple[str, BpftraceValue]]
    left_out: list[str]
    """Declarations of the fields without a counterpart."""


def all_fields(event: PlannedEvent, environment: Environment) -> PrintedFields:
    """Return all fields of an event by name. Raises CannotExport where none has a counterpart, or all are unknown."""
    known = environment.event(event.group, event.event) if environment.event is not None else None
    if known is None:
        raise CannotExport("its fields are unknown here; name those to print: e GROUP.EVENT $field")
    found = PrintedFields([], [])
    for each in known:
        if event.group == _SYSCALLS and each.name.startswith("__"):
            continue  # the number, which the event's name says, and what another field points to
        try:
            found.values.append((each.name, _shown(each, event.group)))
        except CannotExport:
            found.left_out.append(f"{each.type} {each.name}")
    if found.left_out and not found.values:
        raise CannotExport(f"bpftrace prints no field of it: {', '.join(found.left_out)}")
    return found


def field_value(arg: FetchArg, fields: Mapping[str, StaticEventField], group: str) -> BpftraceValue:
    """Return the value that a probe on an event records. Raises CannotExport.

    Args:
        arg: the value.
        fields: fields of the event by name; empty: unknown.
        group: group of the event.
    """
    inner = arg.expression
    if str(inner) in ("$comm", "$COMM"):
        return COMM
    if not isinstance(inner, EventField):
        raise CannotExport(f"{arg}: fields of events can be read as they are only")
    known = fields.get(inner.name)
    if arg.type in ("string", "ustring"):
        if known is None:
            raise CannotExport(f"{arg}: whether it is an array or lies elsewhere can't be said for bpftrace")
        return _text(known, group)
    kind = arg.type or "x64"
    if not re.fullmatch(r"[usx](8|16|32|64)", kind):
        raise CannotExport(f"{arg}: type {arg.type} has no counterpart")
    return number(f"args->{inner.name}", kind, _own(known) if known is not None else "")


def _own(known: StaticEventField) -> str:
    """Return the fetcharg type of a number; empty: it is none."""
    is_number = known.size in _SIZES and not re.search(r"[\[*]|__\w+_loc", known.type)
    return f"{'s' if known.signed else 'u'}{known.size * 8}" if is_number or known.type.endswith("*") else ""


def _shown(known: StaticEventField, group: str) -> BpftraceValue:
    """Return a field as the event prints it. Raises CannotExport for one without a counterpart."""
    if not re.fullmatch(r"\w+", known.name, re.ASCII):
        raise CannotExport(f"no name of a field: {known.name}")
    if known.type == "int" and group == _SYSCALLS:
        return BpftraceValue("%d", (f"args->{known.name}",), f"(int32)args->{known.name}")
    if known.type in _POINTERS and group != _SYSCALLS:
        return number(f"args->{known.name}", "x64", "u64")
    if _LENGTH.fullmatch(known.type) or known.type in (_ELSEWHERE, *_POINTERS):
        return _text(known, group)
    own = _own(known)
    if not own:
        raise CannotExport(f"{known.name}: {known.type} has no counterpart; name the fields to print")
    is_hex = "x" in known.spec.lower() or known.type.endswith("*")
    return number(f"args->{known.name}", f"x{own[1:]}" if is_hex else own, own)


def _text(known: StaticEventField, group: str) -> BpftraceValue:
    """Return a text. Raises CannotExport for a field that is none."""
    expression = f"args->{known.name}"
    if _LENGTH.fullmatch(known.type):
        return text(expression)
    if known.type == _ELSEWHERE or (known.type in _POINTERS and group == _SYSCALLS):
        return text(f"str({expression})")
    raise CannotExport(f"{known.name}: {known.type} is no text for bpftrace")
