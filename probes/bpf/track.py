"""Make the BPF programs of a probe that tracks objects: one event, recorded where an object is found, where it is
touched, and where it is freed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from btf.btf import Btf
from probes.bpf.kernel_loads import kernel_loads
from probes.bpf.lower import ProgramMaker, attachable, with_equal_lines
from probes.bpf.program import BpfProgram, ObjectRole
from probes.bpf.record import RecordLayout
from probes.facts.facts import TargetFacts
from probes.plans.plan import Plan
from probes.probe import Probe

Shaped = Sequence[tuple[Plan, Sequence[str]]]
"""Plans, each with the names of the functions that have the recorded values where its lines say."""


class TrackedPlans(NamedTuple):
    """Plans of function probes, whose lines record the same values under the same names."""

    finding: Plan
    """At the function that finds an object."""
    touching: Shaped
    """At functions that take it."""
    freeing: Shaped
    """At functions after which it is no more."""


def with_tracking(plans: TrackedPlans, facts: TargetFacts, btf: Btf | None) -> Plan:
    """Return the plan with all programs; the first value of their lines is the object's address.

    Raises:
        CannotLower: no program does it; the refusal names the word.
    """
    probe = plans.finding.probe
    if not isinstance(probe, Probe):
        raise TypeError("a plan of a function probe is wanted")
    maker = ProgramMaker(probe, facts, loads=kernel_loads(btf))
    found = plans.finding.events[-1]
    ((_, own),), _ = attachable([(plans.finding, [probe.place.symbol])], False, probe, facts)
    touching, left_out = attachable(plans.touching, True, probe, facts)
    freeing, _ = attachable(plans.freeing, True, probe, facts) if plans.freeing else ([], [])
    event = touching[0][0].events[0]
    layout = RecordLayout.of([(name, kind) for name, kind, _ in maker.values(event)])

    def programs(shaped: Shaped, role: ObjectRole) -> list[BpfProgram]:
        groups = with_equal_lines([(plan.events[0], names) for plan, names in shaped])
        return [maker.program(one, names, layout, layout.size, role=role) for one, names in groups]

    made = [*programs(touching, ObjectRole.TOUCH), *programs(freeing, ObjectRole.END)]
    # Attached last, so that no call with an object is missed.
    finding = replace(found, at_exit=False)
    made.append(maker.program(finding, own, layout, layout.size, role=ObjectRole.BEGIN, at_exit=found.at_exit))
    losses = ["recorded by BPF programs: kprobe.multi", *plans.finding.losses, *left_out]
    event = replace(event, line="", remove="", more=(), filter=found.filter, programs=tuple(made))
    return replace(plans.finding, events=(event,), losses=tuple(dict.fromkeys(losses)))
