"""Choose the means by which a probe on functions is recorded: events of tracefs, or BPF programs."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeGuard

from btf.btf import Btf
from events.names.function_choice import is_choice
from kernel.connection.kernel_info import KernelInfo
from probes.command import Armable, is_function
from probes.facts.lookups import Environment
from probes.plans.plan import Plan, Via
from probes.probe import Probe, ProbeEnds
from probes.refusal import CannotLower

_OF_ANY_MEANS = frozenset({"not_traceable", "no_choice"})
"""Codes of refusals that programs would have, too."""


class ProbeMeans(NamedTuple):
    """Means by which a probe is recorded."""

    via: Via
    reason: str = ""
    """Reason why it is not tracefs, in a line; empty: it is, or a person chose."""

    def told(self, plan: Plan) -> Plan:
        """Return a plan with the reason among its notes."""
        notes = plan.losses
        return replace(plan, losses=(*notes[:1], self.reason, *notes[1:])) if self.reason else plan


def has_means(probe: Armable) -> TypeGuard[Probe]:
    """Return whether a probe may be one that tracefs can't record: on several functions, or tracking objects."""
    if not isinstance(probe, Probe) or not is_function(probe):
        return False
    return is_choice(probe.place.symbol) or probe.when is ProbeEnds.TRACK


class MeansChooser:
    """Choice between tracefs and programs for one kernel, where no person chose."""

    def __init__(self, info: KernelInfo) -> None:
        self._info = info
        self._last: tuple[Probe, ProbeMeans] | None = None

    def choose(self, probe: Probe, btf: Btf | None, around: Environment) -> ProbeMeans:
        """Return tracefs, or programs for a probe on several functions which tracefs can't record.

        Whether this kernel attaches programs is tried. Raises TargetLost.
        """
        if self._last is None or self._last[0] != probe or around.function_list is not None:  # a file may change
            self._last = probe, self._chosen(probe, btf, around)
        return self._last[1]

    def _chosen(self, probe: Probe, btf: Btf | None, around: Environment) -> ProbeMeans:
        from probes.lowering.lower import lower

        facts = self._info.facts
        try:
            lower(probe, btf, facts, "", environment=around)
        except CannotLower as error:
            refusal = error.refusal
        else:
            return ProbeMeans(Via.TRACEFS)
        if refusal.code in _OF_ANY_MEANS or not self._info.attaches_programs:
            return ProbeMeans(Via.TRACEFS)
        # Programs may refuse it, too: what they say is about the probe, not about the number of its functions.
        said = f"{refusal.message[:1].lower()}{refusal.message[1:]}"
        return ProbeMeans(Via.BPF, f"tracefs does not do this: {said}")
