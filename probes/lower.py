"""A probe -> the lines one target takes: pure, nothing added silently, and what is lost is said in `Plan.losses`.

Each kind of command has its module.
"""

from __future__ import annotations

from btf.btf import Btf
from probes.facts import TargetFacts
from probes.lower_function import lower_function
from probes.plan import Plan
from probes.probe import Probe
from probes.refusal import CannotLower

__all__ = ["CannotLower", "lower"]


def lower(probe: Probe, btf: Btf | None, facts: TargetFacts, group: str, event: str | None = None) -> Plan:
    """Turn a probe into the lines of one target.

    Args:
        probe: what is wanted.
        btf: types of the target (of the module the function is in, on top of the kernel's); None: unknown.
        facts: what the target can do.
        group: group of the events; empty: the probe's own, else `probewright`.
        event: name of the event; of two events the part before `__entry` and `__exit`. None: the probe's, else by
            the function's name.

    Raises:
        CannotLower: this target can't do it; the refusal says which word is in the way (column in `str(probe)`).
    """
    return lower_function(probe, btf, facts, group, event)
