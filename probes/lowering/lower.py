"""Lower a probe to the lines a target takes. Pure; adds nothing silently, and lists all losses in `Plan.losses`.

Each kind of command has a module.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from btf.btf import Btf
from events.names.function_choice import FunctionChoice, is_choice
from foreign.count_text import counted
from probes.bpf.fentry import MOST_FUNCTIONS, NO_FENTRY, fentry_refusal
from probes.bpf.lower import program_facts, program_refusal, with_programs
from probes.command import Armable, SyntheticEvent, UserProbe
from probes.facts.facts import TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.functions.function_shapes import NO_RESULT, function_shapes, names_wanted, parameter_name, without_void
from probes.functions.signature import Signature, certain_signature_of
from probes.lowering.check_planned import check_planned
from probes.lowering.event import lower_event
from probes.lowering.filters.planned_filters import with_kernel_filters
from probes.lowering.function import lower_function
from probes.lowering.latency import lower_latency
from probes.lowering.mechanism import choose
from probes.lowering.static_events import lower_static
from probes.lowering.synthetic import lower_synthetic
from probes.lowering.tracepoint import lower_tracepoint
from probes.lowering.user import lower_user
from probes.plans.plan import Plan, Via
from probes.probe import Probe, ProbeEnds, ProbeKind
from probes.refusal import CannotLower, own_refusal, refuse_if_unseen
from probes.remedies import BY_TRACEFS
from probes.static_events import Latency, StaticEvent

__all__ = ["CannotLower", "lower"]


def lower(
    probe: Armable,
    btf: Btf | None,
    facts: TargetFacts,
    group: str,
    event: str | None = None,
    environment: Environment = UNKNOWN,
    via: Via = Via.TRACEFS,
) -> Plan:
    """Return the plan of a probe for a target: the lines to write, or the programs to load.

    Args:
        probe: the probe to lower.
        btf: types of the target (of the module the function is in, on top of the kernel's); None: unknown.
        facts: what the target can do.
        group: group of the events; empty: the probe's own, else `probewright`.
        event: name of the event; for two events, the part before `__entry` and `__exit`. None: the probe's own, else
            made of the probed function or event.
        environment: existing events and programs, for probes on them; symbols, for kprobes.
        via: means by which the events are recorded; AUTO: tracefs (`kernel.connection.planner` tries both).

    Raises:
        CannotLower: the target can't run the probe; the refusal names the word responsible (column in `str(probe)`).
    """
    if via is Via.BPF:
        return _programs(probe, btf, facts, group, event, environment)
    return _events(probe, btf, facts, group, event, environment)


def _events(
    probe: Armable,
    btf: Btf | None,
    facts: TargetFacts,
    group: str,
    event: str | None,
    environment: Environment,
    shared: Signature | None = None,
) -> Plan:
    try:
        lowered = _lowered(probe, btf, facts, group, event, environment, shared)
        plan = with_kernel_filters(lowered, btf, facts, environment)
    except CannotLower as error:
        raise CannotLower(refuse_if_unseen(error.refusal, facts)) from error
    check_planned(plan, btf, facts, environment)
    return plan


def _programs(
    probe: Armable, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Return a plan of programs: fentry and fexit for one function, kprobe.multi for several, or what is there.

    Raises CannotLower.
    """
    if not isinstance(probe, Probe) or probe.kind in (ProbeKind.TRACEPOINT, ProbeKind.EVENT):
        raise program_refusal(str(probe), 0, "Only probes on functions are BPF programs")
    support = environment.programs
    mechanism = choose(probe, program_facts(facts), environment, btf)
    if mechanism.functions and support.multi:
        return _by_multi(probe, btf, facts, group, event, environment)
    at_exit = probe.when is not ProbeEnds.ENTRY
    functions = mechanism.functions or (probe.place.symbol,)
    refused = {name: fentry_refusal(name, btf, facts, environment, at_exit=at_exit) for name in functions}
    reason = _fentry_obstacle(refused)
    if not reason:
        try:
            return _by_fentry(probe, btf, facts, group, event, environment, refused)
        except CannotLower as error:
            if not support.multi:
                raise
            reason = error.refusal.hint.partition(";")[0]
    if not support.multi:
        hint = f"{reason[:1].upper()}{reason[1:]}; {BY_TRACEFS}"
        raise CannotLower(own_refusal("not_attached", str(probe.place), str(probe).index(" ") + 1, hint))
    plan = _by_multi(probe, btf, facts, group, event, environment)
    if reason == NO_FENTRY:
        return plan
    return replace(plan, losses=(*plan.losses[:1], f"not by fentry: {reason}", *plan.losses[1:]))


def _fentry_obstacle(refused: Mapping[str, str]) -> str:
    """Return why no function can have programs of its own, or not so many; `refused`: reason of each, or empty."""
    reasons = [reason for reason in refused.values() if reason]
    if len(reasons) == len(refused):
        return reasons[0]
    if len(refused) <= MOST_FUNCTIONS:
        return ""
    return (
        f"without CONFIG_FPROBE this kernel attaches programs to one function each, here to at most {MOST_FUNCTIONS}"
    )


def _by_fentry(
    probe: Probe,
    btf: Btf | None,
    facts: TargetFacts,
    group: str,
    event: str | None,
    environment: Environment,
    refused: Mapping[str, str],
) -> Plan:
    """Return a plan with programs of each function; `refused`: those without, by function. Raises CannotLower."""
    facts = program_facts(facts, fentry=True)
    signatures = {
        name: found
        for name, reason in refused.items()
        if not reason and btf is not None and (found := certain_signature_of(btf, name)) is not None
    }
    if not is_choice(probe.place.symbol):
        plan = _events(probe, btf, facts, group, event, environment)
        return with_programs([(plan, (probe.place.symbol,))], {}, facts, btf, signatures)
    plans, left_out = _shaped_plans(probe, btf, facts, group, event, environment, tuple(signatures))
    for name, reason in refused.items():
        if reason:
            left_out.setdefault(reason, []).append(name)
    return with_programs(plans, left_out, facts, btf, signatures)


def _by_multi(
    probe: Probe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Return a plan with a program for all functions that have the values in equal places. Raises CannotLower."""
    facts = program_facts(facts)
    if not is_choice(probe.place.symbol):
        plan = _events(probe, btf, facts, group, event, environment)
        return with_programs([(plan, (probe.place.symbol,))], {}, facts, btf)
    plans, left_out = _shaped_plans(probe, btf, facts, group, event, environment, ())
    return with_programs(plans, left_out, facts, btf)


def _shaped_plans(
    probe: Probe,
    btf: Btf | None,
    facts: TargetFacts,
    group: str,
    event: str | None,
    environment: Environment,
    chosen: Sequence[str],
) -> tuple[list[tuple[Plan, Sequence[str]]], dict[str, list[str]]]:
    """Return a plan for each shape of functions, with its functions, and those that are left out by the reason.

    `chosen`: the functions; empty: all that the place stands for. Raises CannotLower.
    """
    mechanism = choose(probe, facts, environment, btf)
    functions, void = without_void(chosen or mechanism.functions, probe.fetchargs, btf)
    wanted = names_wanted(probe.fetchargs)
    called = parameter_name(FunctionChoice.parse(str(probe.place)))
    shapes, lacking = function_shapes(functions, wanted, btf, facts.machine, mechanism.parameters, called)
    if not any(shape.functions for shape in shapes):
        count = {
            name: sum(
                len(shape.functions)
                for shape in function_shapes(
                    functions, frozenset({name}), btf, facts.machine, mechanism.parameters, called
                )[0]
            )
            for name in wanted
        }
        raise _no_common_value(probe, min(count, key=count.__getitem__, default="$retval"), functions)
    left_out = {NO_RESULT: void, "they lack a value that is recorded": lacking}
    plans: list[tuple[Plan, Sequence[str]]] = []
    refused = None
    for shape in shapes:
        try:
            plans.append((_events(probe, btf, facts, group, event, environment, shape.signature), shape.functions))
        except CannotLower as error:
            refused = refused or error
            left_out.setdefault(error.refusal.message, []).extend(shape.functions)
    if not plans and refused is not None:
        raise refused
    return plans, left_out


def _no_common_value(probe: Probe, name: str, functions: Sequence[str]) -> CannotLower:
    """Return the error of a probe of which no function has all values; `name`: the one that the fewest have."""
    hint = f"None of {counted(len(functions), 'function')} has it, or BTF does not know them"
    column = str(probe).find(name, str(probe).index(str(probe.place)) + len(str(probe.place)))
    return CannotLower(own_refusal("no_program", name, column if column >= 0 else None, hint))


def _lowered(
    probe: Armable,
    btf: Btf | None,
    facts: TargetFacts,
    group: str,
    event: str | None,
    environment: Environment,
    shared: Signature | None,
) -> Plan:
    if isinstance(probe, SyntheticEvent):
        return lower_synthetic(probe, facts)
    if isinstance(probe, StaticEvent):
        return lower_static(probe, btf, facts, environment)
    if isinstance(probe, Latency):

        def end(side: Probe, name: str) -> Plan:
            return lower_function(side, btf, facts, group, name, environment)

        return lower_latency(probe, btf, facts, group, environment, end)
    if isinstance(probe, UserProbe):
        return lower_user(probe, btf, facts, group, event, environment)
    if probe.kind is ProbeKind.TRACEPOINT:
        return lower_tracepoint(probe, btf, facts, group, event, environment)
    if probe.kind is ProbeKind.EVENT:
        return lower_event(probe, btf, facts, group, event, environment)
    return lower_function(probe, btf, facts, group, event, environment, shared)
