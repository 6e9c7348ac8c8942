"""Lower a probe to the lines or programs a target takes. Pure; adds nothing silently, and lists all losses in
`Plan.losses`.
"""

from __future__ import annotations

from btf.btf import Btf
from probes.command import Armable
from probes.facts.facts import TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.lowering.programs import lower_to_programs
from probes.lowering.tracefs_events import LoweringInput, lower_to_events
from probes.plans.plan import Plan, Via
from probes.sources.source import has_one_means


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
    given = LoweringInput(btf, facts, group, event, environment)
    by_programs = via is Via.BPF and not has_one_means(probe)
    return lower_to_programs(probe, given) if by_programs else lower_to_events(probe, given)
