"""Lower a probe on functions to BPF programs: fentry and fexit, kprobe.multi, or what this kernel attaches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from events.names.function_choice import FunctionChoice, is_choice
from foreign.count_text import counted
from probes.bpf.fentry import MOST_FUNCTIONS, NO_FENTRY, fentry_refusal
from probes.bpf.lower import program_facts, program_refusal, with_programs
from probes.command import Armable
from probes.functions.function_shapes import NO_RESULT, function_shapes, names_wanted, parameter_name, without_void
from probes.functions.signature import Signature, certain_signature_of
from probes.lowering.mechanism import choose
from probes.lowering.object_track import lower_track
from probes.lowering.tracefs_events import LoweringInput, lower_to_events
from probes.plans.plan import Plan
from probes.probe import Probe, ProbeEnds, ProbeKind
from probes.refusal import CannotLower, own_refusal
from probes.remedies import BY_TRACEFS

_AT_ENDS = "BPF programs are attached where a function begins and where it returns to, not to its instructions"


def lower_to_programs(probe: Armable, given: LoweringInput) -> Plan:
    """Return a plan of programs: fentry and fexit for one function, kprobe.multi for several, or what is there.

    Raises CannotLower.
    """
    if not isinstance(probe, Probe) or probe.kind in (ProbeKind.TRACEPOINT, ProbeKind.EVENT):
        raise program_refusal(str(probe), 0, "Only probes on functions are BPF programs")
    if probe.needs_code:
        raise CannotLower(own_refusal("not_attached", f"%{probe.when.value}", None, f"{_AT_ENDS}; {BY_TRACEFS}"))
    btf, environment, support = given.btf, given.environment, given.environment.programs
    as_multi = given._replace(facts=program_facts(given.facts))
    if probe.when is ProbeEnds.TRACK and support.multi:
        return _tracking(probe, as_multi)
    mechanism = choose(probe, as_multi.facts, environment, btf)
    if mechanism.functions and support.multi:
        return _by_multi(probe, as_multi)
    at_exit = probe.when is not ProbeEnds.ENTRY
    functions = mechanism.functions or (probe.place.symbol,)
    refused = {name: fentry_refusal(name, btf, given.facts, environment, at_exit=at_exit) for name in functions}
    reason = _fentry_obstacle(refused)
    if not reason:
        try:
            return _by_fentry(probe, given, refused)
        except CannotLower as error:
            if not support.multi:
                raise
            reason = error.refusal.hint.partition(";")[0]
    if not support.multi:
        hint = f"{reason[:1].upper()}{reason[1:]}; {BY_TRACEFS}"
        raise CannotLower(own_refusal("not_attached", str(probe.place), str(probe).index(" ") + 1, hint))
    plan = _by_multi(probe, as_multi)
    if reason == NO_FENTRY:
        return plan
    return replace(plan, losses=(*plan.losses[:1], f"not by fentry: {reason}", *plan.losses[1:]))


def _tracking(probe: Probe, given: LoweringInput) -> Plan:
    """Return a plan of programs that track objects. Raises CannotLower."""

    def lowered(one: Probe, name: str, shared: Signature | None) -> Plan:
        return lower_to_events(one, given._replace(event=name), shared)

    try:
        return lower_track(probe, given.btf, given.facts, given.event, lowered)
    except CannotLower as error:  # tracefs, the way out elsewhere, tracks nothing
        refusal = error.refusal
        raise CannotLower(replace(refusal, hint=refusal.hint.removesuffix(f"; {BY_TRACEFS}"))) from None


def _fentry_obstacle(refused: Mapping[str, str]) -> str:
    """Return why no function can have programs of its own, or not so many; `refused`: reason of each, or empty."""
    reasons = [reason for reason in refused.values() if reason]
    if len(reasons) == len(refused):
        return reasons[0]
    if len(refused) <= MOST_FUNCTIONS:
        return ""
    return f"without CONFIG_FPROBE programs are attached to one function each, here to {MOST_FUNCTIONS} at most"


def _by_fentry(probe: Probe, given: LoweringInput, refused: Mapping[str, str]) -> Plan:
    """Return a plan with programs of each function; `refused`: those without, by function. Raises CannotLower."""
    given = given._replace(facts=program_facts(given.facts, fentry=True))
    btf, facts = given.btf, given.facts
    signatures = {
        name: found
        for name, reason in refused.items()
        if not reason and btf is not None and (found := certain_signature_of(btf, name)) is not None
    }
    if not is_choice(probe.place.symbol):
        plan = lower_to_events(probe, given)
        return with_programs([(plan, (probe.place.symbol,))], {}, facts, btf, signatures)
    plans, left_out = _shaped_plans(probe, given, tuple(signatures))
    for name, reason in refused.items():
        if reason:
            left_out.setdefault(reason, []).append(name)
    return with_programs(plans, left_out, facts, btf, signatures)


def _by_multi(probe: Probe, given: LoweringInput) -> Plan:
    """Return a plan with a program for all functions that have the values in equal places. Raises CannotLower."""
    if not is_choice(probe.place.symbol):
        plan = lower_to_events(probe, given)
        return with_programs([(plan, (probe.place.symbol,))], {}, given.facts, given.btf)
    plans, left_out = _shaped_plans(probe, given)
    return with_programs(plans, left_out, given.facts, given.btf)


def _shaped_plans(
    probe: Probe, given: LoweringInput, chosen: Sequence[str] = ()
) -> tuple[list[tuple[Plan, Sequence[str]]], dict[str, list[str]]]:
    """Return a plan for each shape of functions, with its functions, and those that are left out by the reason.

    `chosen`: the functions; empty: all that the place stands for. Raises CannotLower.
    """
    btf, facts = given.btf, given.facts
    mechanism = choose(probe, facts, given.environment, btf)
    functions, void = without_void(chosen or mechanism.functions, probe.fetchargs, btf)
    wanted = names_wanted(probe.fetchargs)
    called = parameter_name(FunctionChoice.parse(str(probe.place)))
    shapes, lacking = function_shapes(functions, wanted, btf, facts.machine, mechanism.parameters, called)
    if not any(shape.functions for shape in shapes):

        def lacks(name: str) -> int:
            alone = frozenset({name})
            return len(function_shapes(functions, alone, btf, facts.machine, mechanism.parameters, called)[1])

        raise _no_common_value(probe, max(sorted(wanted), key=lacks, default="$retval"), functions)
    left_out = {NO_RESULT: void, "they lack a value that is recorded": lacking}
    plans: list[tuple[Plan, Sequence[str]]] = []
    refused = None
    for shape in shapes:
        try:
            plans.append((lower_to_events(probe, given, shape.signature), shape.functions))
        except CannotLower as error:
            refused = refused or error
            left_out.setdefault(error.refusal.message, []).extend(shape.functions)
    if not plans and refused is not None:
        raise refused
    return plans, left_out


def _no_common_value(probe: Probe, name: str, functions: Sequence[str]) -> CannotLower:
    """Return the error of a probe of which no function has all values; `name`: the value that the fewest have."""
    hint = f"None of {counted(len(functions), 'function')} has it, or BTF does not know them"
    column = str(probe).find(name, str(probe).index(str(probe.place)) + len(str(probe.place)))
    return CannotLower(own_refusal("no_program", name, column if column >= 0 else None, hint))
