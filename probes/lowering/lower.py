"""Lower a probe to the lines a target takes. Pure; adds nothing silently, and lists all losses in `Plan.losses`.

Each kind of command has a module.
"""

from __future__ import annotations

from collections.abc import Sequence

from btf.btf import Btf
from events.names.function_choice import FunctionChoice
from foreign.count_text import counted
from probes.bpf.lower import program_facts, program_refusal, with_programs
from probes.command import Armable, SyntheticEvent, UserProbe
from probes.facts.facts import TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.functions.function_shapes import NO_RESULT, function_shapes, names_wanted, parameter_name, without_void
from probes.functions.signature import Signature
from probes.lowering.check_planned import check_planned
from probes.lowering.event import lower_event
from probes.lowering.filters.planned_filters import with_kernel_filters
from probes.lowering.function import lower_function
from probes.lowering.latency import lower_latency
from probes.lowering.mechanism import choose
from probes.lowering.object_track import lower_track
from probes.lowering.static_events import lower_static
from probes.lowering.synthetic import lower_synthetic
from probes.lowering.tracepoint import lower_tracepoint
from probes.lowering.user import lower_user
from probes.plans.plan import Plan, Via
from probes.probe import Probe, ProbeEnds, ProbeKind
from probes.refusal import CannotLower, own_refusal, refuse_if_unseen
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
    if isinstance(probe, Probe) and probe.when is ProbeEnds.TRACK:
        hint = "Only BPF programs track objects, where the kernel attaches them to many functions (CONFIG_FPROBE)"
        raise CannotLower(own_refusal("missing_capability", "%track", str(probe).index("%track"), hint))
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
    if not isinstance(probe, Probe) or probe.kind in (ProbeKind.TRACEPOINT, ProbeKind.EVENT):
        raise program_refusal(str(probe), 0, "Only probes on functions are BPF programs")
    facts = program_facts(facts)
    if probe.when is ProbeEnds.TRACK:

        def lowered(one: Probe, name: str, shared: Signature | None) -> Plan:
            return _events(one, btf, facts, group, name, environment, shared)

        return lower_track(probe, btf, facts, event, lowered)
    mechanism = choose(probe, facts, environment, btf)
    if not mechanism.functions:
        plan = _events(probe, btf, facts, group, event, environment)
        return with_programs([(plan, (probe.place.symbol,))], {}, facts, btf)
    functions, void = without_void(mechanism.functions, probe.fetchargs, btf)
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
        raise _no_common_value(probe, min(count, key=count.__getitem__, default="$retval"), mechanism.functions)
    left_out = {NO_RESULT: void, "they lack a value that is recorded": lacking}
    plans, refused = [], None
    for shape in shapes:
        try:
            plans.append((_events(probe, btf, facts, group, event, environment, shape.signature), shape.functions))
        except CannotLower as error:
            refused = refused or error
            left_out.setdefault(error.refusal.message, []).extend(shape.functions)
    if not plans and refused is not None:
        raise refused
    return with_programs(plans, left_out, facts, btf)


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
