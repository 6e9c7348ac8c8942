"""Lower a probe for other kernels with the types of this kernel, for users who build here and probe there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from btf.btf import Btf
from probes.command import Armable
from probes.facts.facts import TargetFacts
from probes.lowering.lower import lower
from probes.refusal import CannotLower
from probes.verdict import Refusal


class OtherKernelLines(NamedTuple):
    """Lines of a probe on another kernel, or the reason why it can't run."""

    lines: tuple[str, ...] = ()
    losses: tuple[str, ...] = ()
    error: Refusal | None = None


def lower_for_others(
    probe: Armable, btf: Btf | None, kernels: Mapping[str, TargetFacts], group: str = ""
) -> dict[str, OtherKernelLines]:
    """Lower a probe for other kernels.

    Args:
        probe: the probe to lower.
        btf: types of this kernel; offsets and arguments may differ on the others.
        kernels: facts of the other kernels, by name.
        group: group of the events.
    """
    return {name: _lowered(probe, btf, facts, group) for name, facts in kernels.items()}


def _lowered(probe: Armable, btf: Btf | None, facts: TargetFacts, group: str) -> OtherKernelLines:
    try:
        plan = lower(probe, btf, facts, group)
    except CannotLower as error:
        return OtherKernelLines(error=error.refusal)
    return OtherKernelLines(plan.lines, plan.losses)
