"""Lower the planned events of a function probe to BPF programs, which record the same fields under the same names.

The fetchargs are those that tracefs would get: registers, offsets and types instead of BTF names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from btf.btf import Btf
from btf.types import Enum, Enum64, Int
from btf.walk import strip
from events.bpf_layout import STACK_BYTES
from events.names.name_pattern import is_address
from probes.bpf.context import ProgramContext, RegisterContext, SlotContext
from probes.bpf.exclusions import exclusion_reason
from probes.bpf.fentry import target_of
from probes.bpf.fetch import NotCompiled
from probes.bpf.filters.condition import Condition, parse_condition
from probes.bpf.kernel_loads import NO_LOADS, KernelLoads, kernel_loads
from probes.bpf.program import (
    NO_FUNCTION,
    AttachPoint,
    BpfProgram,
    ObjectRole,
    ProgramValue,
    StoredValue,
    counter_stride,
)
from probes.bpf.program_writer import assembled
from probes.bpf.record import ADDRESS, COMM, RecordLayout, StoredType, stored_type
from probes.bpf.registers import SAVED_REGISTERS, SavedRegisters
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import StaticEventField
from probes.fetcharg import Comm, Expression, Register
from probes.functions.function_index import index_of
from probes.functions.left_out import is_probed_note, left_out_notes, probed_note
from probes.functions.signature import Signature
from probes.plans.plan import Plan, PlannedEvent
from probes.probe import Probe
from probes.refusal import CannotLower, own_refusal
from probes.remedies import BY_TRACEFS
from probes.syntax.parse_error import ParseError
from probes.syntax.parse_fetcharg import parse_fetcharg

STACKTRACE = "stacktrace"
"""Trigger in whose place programs record stacks."""
NO_TRIGGERS = "BPF programs have no triggers but stacktrace"


def program_facts(facts: TargetFacts, *, fentry: bool = False) -> TargetFacts:
    """Return facts for the lines that programs are made of: attached as an fprobe is, with registers and offsets in
    place of names. `fentry`: with arguments at the exit, where a program on many functions no longer has them.
    """
    lacks = {Feature.BTF_ARGS, Feature.ENTRY_ARGS_AT_EXIT, Feature.DENTRY_TYPE}
    has = {Feature.FPROBE_EVENTS, *((Feature.ENTRY_ARGS_AT_EXIT,) if fentry else ())}
    return replace(facts, features=facts.features - lacks | has, function_lists=True)


def with_programs(
    shaped: Sequence[tuple[Plan, Sequence[str]]],
    left_out: Mapping[str, Sequence[str]],
    facts: TargetFacts,
    btf: Btf | None,
    signatures: Mapping[str, Signature] = MappingProxyType({}),
) -> Plan:
    """Return a plan with BPF programs in place of lines.

    Args:
        shaped: plans of a function probe for `program_facts(facts)`, each with the names of the functions that have
            the recorded values where its lines say; those with most functions first.
        left_out: names of functions that are not probed, by the reason.
        facts: what the target can do.
        btf: types of the target; None: unknown.
        signatures: signature of each function where each gets a program of its own (fentry, fexit); empty: the
            functions of a shape share one.

    Raises:
        CannotLower: no program here does it; the refusal names the word.
    """
    plan, first = shaped[0]
    probe = plan.probe
    if not isinstance(probe, Probe):
        raise TypeError("a plan of a function probe is wanted")
    several = len(first) > 1 or len(shaped) > 1 or any(left_out.values())
    like, others = _of_one_type(shaped, probe, btf)
    attached, notes = attachable(like, several, probe, facts)
    plan = attached[0][0]
    writer = ProgramMaker(probe, facts, signatures, kernel_loads(btf))
    layouts = [RecordLayout.of([(name, kind) for name, kind, _ in writer.values(event)]) for event in plan.events]
    size = max(layout.size for layout in layouts)
    events = []
    for number, (event, layout) in enumerate(zip(plan.events, layouts, strict=True)):
        groups = with_equal_lines([(each.events[number], names) for each, names in attached])
        programs = tuple(writer.program(each, names, layout, size) for each, names in writer.split(groups))
        shift = 0 if signatures else event.frame_shift
        events.append(replace(event, line="", remove="", more=(), programs=programs, frame_shift=shift))
    planned = [note for each, _ in attached for note in each.losses if not is_probed_note(note)]
    count = [probed_note(str(probe.place), sum(len(names) for _, names in attached))] if several else []
    points = " and ".join(dict.fromkeys(event.programs[0].point.value for event in events))
    reasons = {name: reason for reason, names in left_out.items() for name in names}
    reasons |= dict.fromkeys(others, "a recorded value has another type there")
    notes += left_out_notes(reasons)
    losses = [f"recorded by BPF programs: {points}", *count, *planned, *notes, *_cut_texts(layouts)]
    made = replace(plan, events=tuple(events), losses=tuple(dict.fromkeys(losses)))
    return with_stacks(made) if records_stacks(probe) else made


def records_stacks(probe: Probe) -> bool:
    """Return whether a probe asks for the kernel's stack of its events."""
    return probe.stack or bool(probe.triggers)


def with_stacks(plan: Plan) -> Plan:
    """Return a plan of programs that record the kernel's stack at each event, as the trigger of events does."""
    events = []
    for event in plan.events:
        programs = tuple(
            one if one.has_stack else replace(one, size=one.size + STACK_BYTES, has_stack=True)
            for one in event.programs
        )
        events.append(replace(event, programs=programs, triggers=(STACKTRACE,)))
    return replace(plan, events=tuple(events))


def _saved_registers(probe: Probe, facts: TargetFacts) -> SavedRegisters:
    """Return the registers that programs of a probe read. Raises CannotLower where there are no such programs."""
    registers = SAVED_REGISTERS.get(facts.machine)
    if registers is None or facts.byteorder != "little" or facts.long_size != 8:
        raise program_refusal(facts.machine, None, "Programs are made for x86-64, arm64 and riscv64 only")
    if probe.place.offset or probe.place.base is not None:
        raise program_refusal(
            str(probe.place), str(probe).index(" ") + 1, "A program is attached where a function begins"
        )
    if others := [text for text in probe.triggers if text.strip() != STACKTRACE]:
        raise program_refusal(f"!{others[0]}", None, NO_TRIGGERS)
    return registers


def _of_one_type(
    shaped: Sequence[tuple[Plan, Sequence[str]]], probe: Probe, btf: Btf | None
) -> tuple[list[tuple[Plan, Sequence[str]]], list[str]]:
    """Return the plans that record values of the same types, on most functions, and the functions of the others.

    Values of different enums are of different types, although of one size.
    """
    by_types: dict[tuple[object, ...], list[tuple[Plan, Sequence[str]]]] = {}
    for plan, functions in shaped:
        stored = [(name, kind) for event in plan.events for name, kind, _ in _values(event, probe)]
        named = [(column.name, _names(btf, column.btf_type)) for event in plan.events for column in event.columns]
        by_types.setdefault((*stored, *named), []).append((plan, functions))
    like = max(by_types.values(), key=lambda plans: sum(len(functions) for _, functions in plans))
    return like, [name for plans in by_types.values() if plans is not like for _, names in plans for name in names]


def _names(btf: Btf | None, type_id: int | None) -> tuple[tuple[str, int], ...] | str:
    """Return the names that values of a type have; empty: they are numbers."""
    kind = btf.type(strip(btf, type_id)) if btf is not None and type_id else None
    if isinstance(kind, Enum | Enum64):
        return tuple((value.name, value.value) for value in kind.values)
    return "bool" if isinstance(kind, Int) and kind.is_bool else ""


def with_equal_lines(
    shaped: Sequence[tuple[PlannedEvent, Sequence[str]]],
) -> list[tuple[PlannedEvent, tuple[str, ...]]]:
    """Return events that read the same places as one, on the functions of all."""
    merged: dict[tuple[str, ...], tuple[PlannedEvent, list[str]]] = {}
    for event, functions in shaped:
        key = (*event.line.split()[2:], event.filter)
        merged.setdefault(key, (event, []))[1].extend(functions)
    return [(event, tuple(sorted(functions))) for event, functions in merged.values()]


def no_tracefs_note(what: str, reason: str) -> str:
    """Return the note that programs lack something, of a probe that only they can record."""
    return f"{what}, and tracefs can't record this probe: {reason}"


def program_refusal(token: str, column: int | None, hint: str) -> CannotLower:
    """Return the error of a probe that no BPF program does, with the way out by tracefs."""
    return CannotLower(own_refusal("no_program", token, column, f"{hint}; {BY_TRACEFS}"))


def _not_computed(probe: Probe, part: str) -> CannotLower:
    """Return the error of a value or condition that no program computes, at its place in the probe's text."""
    column = str(probe).find(part)
    return program_refusal(part, column if column >= 0 else None, f"No program computes {part}")


def attachable(
    shaped: Sequence[tuple[Plan, Sequence[str]]], several: bool, probe: Probe, facts: TargetFacts
) -> tuple[list[tuple[Plan, tuple[str, ...]]], list[str]]:
    """Return the plans with the functions that a link takes, and a note for those that are left out.

    Raises CannotLower: none is left.
    """
    index = index_of(facts)
    left_out: dict[str, str] = {}
    attached = []
    for plan, functions in shaped:
        for name in functions:
            reason = exclusion_reason(name) if several else ""
            count = 1 if is_address(name) else index.count(name)
            if reason or count != 1:
                left_out[name] = reason or (
                    "it is not traceable" if not count else f"{count} functions have this name"
                )
        if names := tuple(sorted(set(functions) - left_out.keys())):
            attached.append((plan, names))
    if not attached:
        column = str(probe).index(" ") + 1
        raise program_refusal(
            probe.place.symbol, column, "; ".join(f"{name}: {why}" for name, why in left_out.items())
        )
    return attached, left_out_notes(left_out)


def _values(event: PlannedEvent, probe: Probe) -> list[tuple[str, StoredType, Expression]]:
    """Return name, type and expression of the values of an event's line. Raises CannotLower."""
    values: list[tuple[str, StoredType, Expression]] = []
    for word in event.line.split()[2:]:
        try:
            arg = parse_fetcharg(word)
        except ParseError:
            raise _not_computed(probe, word) from None
        kind = COMM if isinstance(arg.expression, Comm) else stored_type(arg.type or "x64")
        if kind is None or arg.name is None:
            raise _not_computed(probe, arg.type or word)
        values.append((arg.name, kind, arg.expression))
    return values


class ProgramMaker:
    """Maker of the programs of a plan, on one function each (fentry, fexit) where signatures are given."""

    def __init__(
        self,
        probe: Probe,
        facts: TargetFacts,
        signatures: Mapping[str, Signature] = MappingProxyType({}),
        loads: KernelLoads = NO_LOADS,
    ) -> None:
        """Raise CannotLower where no programs are made for a probe."""
        self._probe = probe
        self._registers = _saved_registers(probe, facts)
        self._facts = facts
        self._signatures = signatures
        self._loads = loads
        self._number = 0

    def split(
        self, groups: Sequence[tuple[PlannedEvent, tuple[str, ...]]]
    ) -> list[tuple[PlannedEvent, tuple[str, ...]]]:
        """Return the functions of each program: a link takes names or addresses."""
        if not self._signatures:
            apart = [
                (event, tuple(name for name in names if is_address(name) is by_address))
                for event, names in groups
                for by_address in (False, True)
            ]
            return [(event, names) for event, names in apart if names]
        return [(event, (name,)) for event, names in groups for name in names]

    def values(self, event: PlannedEvent) -> list[tuple[str, StoredType, Expression | ProgramValue]]:
        """Return name, type and expression of the values of an event, after those that each event of a function has.

        Raises CannotLower.
        """
        head: list[tuple[str, StoredType, Expression | ProgramValue]] = [
            (event.function_address, ADDRESS, ProgramValue.FUNCTION)
        ]
        if event.at_exit and not self._signatures:
            head.append(("__probe_ret_ip", ADDRESS, Register("ip")))
        own = [
            (name, kind, ProgramValue.CALL if self._signatures and name == event.frame else expression)
            for name, kind, expression in _values(event, self._probe)
        ]
        return [*head, *own]

    def program(
        self,
        event: PlannedEvent,
        functions: tuple[str, ...],
        layout: RecordLayout,
        size: int,
        *,
        role: ObjectRole | None = None,
        at_exit: bool = False,
    ) -> BpfProgram:
        """Return the next program of the plan. Raises CannotLower.

        `at_exit`: it runs at the exit although the record is that of an event at the entry.
        """
        pairs = zip(self.values(event), layout.fields, strict=True)
        values = [StoredValue(expression, field) for (_, _, expression), field in pairs]
        number, self._number = self._number, self._number + 1
        signature = self._signatures.get(functions[0])
        at_exit = at_exit or event.at_exit
        context = self._context(at_exit, signature)
        if signature is None:
            point, target = AttachPoint.EXIT if at_exit else AttachPoint.ENTRY, NO_FUNCTION
        else:
            point = AttachPoint.FEXIT if at_exit else AttachPoint.FENTRY
            target = target_of(signature, self._facts) or NO_FUNCTION
        try:
            condition = _condition(event, layout)
            made = BpfProgram(
                point,
                functions,
                layout,
                size,
                tuple(values),
                condition,
                context,
                number,
                target,
                role,
                loads=self._loads,
            )
            assembled(made, (), 1, counter_stride(number + 1))
        except NotCompiled as error:
            raise _not_computed(self._probe, str(error)) from None
        return made

    def _context(self, at_exit: bool, signature: Signature | None) -> ProgramContext:
        if signature is None:
            return RegisterContext(self._registers, at_exit)
        return SlotContext.of(
            signature,
            self._facts.machine,
            at_exit=at_exit,
            has_user_range=self._registers.has_user_range,
        ).with_own_frames(self._registers.own_frames)


def _condition(event: PlannedEvent, layout: RecordLayout) -> Condition | None:
    """Return the tree of an event's filter; None: it has none. Raises NotCompiled."""
    if not event.filter:
        return None
    condition = parse_condition(event.filter, _fields(layout))
    if condition is None:
        raise NotCompiled(event.filter)
    return condition


def _fields(layout: RecordLayout) -> Mapping[str, StaticEventField]:
    return {
        one.name: StaticEventField(one.name, one.type.declared, one.type.size * one.type.elements, one.type.signed)
        for one in layout.fields
    }


def _cut_texts(layouts: Sequence[RecordLayout]) -> list[str]:
    names = {one.name: one.type.size - 1 for layout in layouts for one in layout.fields if one.type.text}
    return [f"{name}: a text of more than {size} bytes is cut there" for name, size in names.items()]
