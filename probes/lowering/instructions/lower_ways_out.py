"""Lower a probe on the return instructions or tail calls of a function: one event, with a kprobe on each.

The kernel lets the kprobes of one event read equal fields from different places (append_trace_kprobe,
trace_probe_compare_arg_type): a constant of each line tells which instruction was hit, to filters and triggers, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from btf.btf import Btf
from probes.facts.dialect import MAX_ARGS, dialect_of
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.functions.convention import FunctionConvention, convention_of
from probes.functions.signature import Signature, certain_signature_of
from probes.functions.value import ValueUnavailable
from probes.lowering.arguments.capture import Capturer, needs_entry, needs_exit
from probes.lowering.arguments.event_words import NamedField, capture, name_fields, refused_at
from probes.lowering.arguments.selection import expand_all_arguments
from probes.lowering.arguments.warnings import value_warnings
from probes.lowering.filters.probe_filter import distribute_filter
from probes.lowering.filters.unrecorded import Explanation, explain_unrecorded
from probes.lowering.instructions.chosen_ways import ChosenWays, chosen_ways
from probes.lowering.mechanism import choose
from probes.names import event_name, unique_field
from probes.plans.plan import DEFAULT_GROUP, Plan, PlanColumn, PlannedEvent
from probes.probe import Probe, ProbeEnds
from probes.rules.site import Site

OFFSET: Final = "offset"
"""Name of the field with the instruction that was hit: bytes from the beginning of the function."""
_RESULTS: Final = {"x86_64": "%ax", "aarch64": "%x0", "riscv64": "%a0"}
"""Registers with the result of a call at its return instruction (regs_return_value, asm/ptrace.h)."""
_RETVAL: Final = re.compile(r"\$retval(?![A-Za-z0-9_])")
_EVENT_ENDS: Final = {ProbeEnds.RETURN_INSTRUCTIONS: "__ret", ProbeEnds.TAIL_CALLS: "__tail"}
_NO_ARGUMENTS: Final = {
    ProbeEnds.RETURN_INSTRUCTIONS: "At a return its registers are overwritten",
    ProbeEnds.TAIL_CALLS: "At a tail call its registers hold those of the other function",
}
_NO_RESULT: Final = "There is no result before the other function returns: {} has that; {} has its own returns"


def lower_ways_out(
    probe: Probe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower a probe on the return instructions or tail calls of a function, as `lower` does. Raises CannotLower."""
    # A kprobe at the entry is refused for the same names: those that are not unique, not there, or blacklisted.
    choose(replace(probe, when=ProbeEnds.ENTRY, fetchargs=()), facts, environment, btf)
    chosen = chosen_ways(probe, environment)
    signature = certain_signature_of(btf, probe.place.symbol) if btf is not None else None
    convention = (
        convention_of(btf, signature.params, facts.machine, signature.returns)
        if btf is not None and signature is not None
        else FunctionConvention()
    )
    selection = expand_all_arguments(probe.fetchargs, None, convention, _no_argument_hint(probe))
    fields = name_fields(selection)
    _check_values(probe, fields)
    at_exit = probe.when is ProbeEnds.RETURN_INSTRUCTIONS
    site = Site(dialect_of(facts), btf, None, at_exit=at_exit, environment=environment)
    capturer = Capturer(site, signature, convention, by_name=False)
    name = unique_field(OFFSET, {field.name for field in fields})
    marks = _offset_words(name, chosen)
    longest = max((f"{way.place} {mark}" for way, mark in zip(chosen.ways, marks, strict=True)), key=len)
    captured = capture(probe, fields, capturer, longest, MAX_ARGS - 1)
    words = [_with_register(word, facts.machine) for word in captured.words]
    lines = [[way.place, mark, *words] for way, mark in zip(chosen.ways, marks, strict=True)]
    columns = (PlanColumn(name, OFFSET, names=_labels(chosen)), *captured.columns)
    losses = [*chosen.notes, *selection.losses, *captured.losses]
    losses += value_warnings(fields, captured.columns, capturer)
    planned = [_event(probe, lines, columns, group, event)]
    events = distribute_filter(str(probe), probe.filter, planned, losses, _explain(probe, signature))
    return Plan(probe, events, tuple(dict.fromkeys(losses)))


def _no_argument_hint(probe: Probe) -> str:
    subject = probe.place
    return f"{_NO_ARGUMENTS[probe.when]}: a second probe, p {subject}, has its arguments at the entry"


def _check_values(probe: Probe, fields: Sequence[NamedField]) -> None:
    """Check that no argument is captured, and no result before there is one. Raises CannotLower."""
    subject = probe.place
    for field in fields:
        expression = field.request.arg.expression
        if needs_entry(expression):
            raise refused_at(
                probe, field.request, ValueUnavailable("NOFENTRY_ARGS", hint=_no_argument_hint(probe)), None
            )
        if needs_exit(expression) and probe.when is ProbeEnds.TAIL_CALLS:
            hint = _NO_RESULT.format(f"r {subject}", f"p {subject}%retinsn")
            unavailable = ValueUnavailable("RETVAL_ON_PROBE", token="$retval", hint=hint)  # noqa: S106
            raise refused_at(probe, field.request, unavailable, None)


def _offsets(chosen: ChosenWays) -> list[int]:
    """Return the bytes from the beginning of the function to each instruction; a part split off may lie before it."""
    start = chosen.body.parts[0].address
    return [way.part.address + way.instruction.offset - start for way in chosen.ways]


def _offset_words(name: str, chosen: ChosenWays) -> list[str]:
    """Return a word for each instruction: a constant field with its offset, such as 0x12e."""
    offsets = _offsets(chosen)
    if all(0 <= offset < 1 << 32 for offset in offsets):
        return [f"{name}=\\{offset:#x}:x32" for offset in offsets]
    return [f"{name}=\\{offset}:s64" for offset in offsets]


def _labels(chosen: ChosenWays) -> str:
    """Return the names of the offsets, as `PlanColumn.names` has them: `302=+0x12e,4100=.cold+0x4`."""
    body = chosen.body
    labels = (body.label(way.part, way.instruction.offset) for way in chosen.ways)
    return ",".join(f"{offset}={label}" for offset, label in zip(_offsets(chosen), labels, strict=True))


def _with_register(word: str, machine: str) -> str:
    """Return a word with the register of the result in place of `$retval`; an immediate string stays."""
    return word if "\\" in word else _RETVAL.sub(_RESULTS[machine], word)


def _explain(probe: Probe, signature: Signature | None) -> Explanation:
    """Return the function that explains a name in the filter that is not recorded."""
    return lambda name: explain_unrecorded(name, probe.filter, probe.place.symbol, signature)


def _event(
    probe: Probe, lines: Sequence[Sequence[str]], columns: tuple[PlanColumn, ...], group: str, event: str | None
) -> PlannedEvent:
    """Build the planned event; `lines`: the words behind its name for each instruction."""
    chosen_name = event if event is not None else probe.event
    name = chosen_name or event_name(probe.place.symbol, _EVENT_ENDS[probe.when])
    group_name = group or probe.group or DEFAULT_GROUP
    path = f"{group_name}/{name}"
    line, *more = (" ".join([f"p:{path}", *words]) for words in lines)
    triggers = (*(("stacktrace",) if probe.stack else ()), *probe.triggers)
    return PlannedEvent(group_name, name, line, f"-:{path}", triggers=triggers, columns=columns, more=tuple(more))
