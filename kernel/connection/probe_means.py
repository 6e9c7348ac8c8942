"""Choose the means by which a probe on functions is recorded: events of tracefs, or BPF programs."""

from __future__ import annotations

import contextlib
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
from probes.remedies import BY_TRACEFS

_OF_ANY_MEANS = frozenset({"not_traceable", "no_choice"})
"""Codes of refusals that programs would have, too."""


class ProbeMeans(NamedTuple):
    """Means by which a probe is recorded."""

    via: Via
    reason: str = ""
    """Reason why it is not what it would be otherwise, in a line; empty: it is."""

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
    """Choice between tracefs and programs for one kernel."""

    def __init__(self, info: KernelInfo) -> None:
        self._info = info
        self._last: tuple[Probe, Via, ProbeMeans] | None = None

    def choose(self, probe: Probe, btf: Btf | None, around: Environment, wanted: Via) -> ProbeMeans:
        """Return tracefs, or programs for a probe on several functions which tracefs can't record.

        Where a person wants programs and the kernel attaches none, return tracefs, too, if it can. What this kernel
        attaches is tried. Raises TargetLost.
        """
        if self._last is None or self._last[:2] != (probe, wanted) or around.function_list is not None:
            choose = self._of_programs if wanted is Via.BPF else self._chosen
            self._last = probe, wanted, choose(probe, btf, around)
        return self._last[2]

    def forget(self) -> None:
        """Forget the last choice: the kernel has refused it."""
        self._last = None

    def _of_programs(self, probe: Probe, btf: Btf | None, around: Environment) -> ProbeMeans:
        """Return programs, or tracefs where this kernel attaches none to the functions and tracefs records them."""
        from probes.lowering.lower import lower

        if not self._info.target.is_kernel:
            return ProbeMeans(Via.BPF)
        facts, attached = self._info.facts, replace(around, programs=self._info.program_support)
        try:
            lower(probe, btf, facts, "", environment=attached, via=Via.BPF)
        except CannotLower as error:
            if error.refusal.code == "not_attached":
                with contextlib.suppress(CannotLower):
                    lower(probe, btf, facts, "", environment=around)
                    said = error.refusal.hint.partition(f"; {BY_TRACEFS}")[0]
                    return ProbeMeans(Via.TRACEFS, f"by tracefs, not by BPF programs: {said[:1].lower()}{said[1:]}")
        return ProbeMeans(Via.BPF)

    def _chosen(self, probe: Probe, btf: Btf | None, around: Environment) -> ProbeMeans:
        from probes.lowering.lower import lower

        facts = self._info.facts
        try:
            lower(probe, btf, facts, "", environment=around)
        except CannotLower as error:
            refusal = error.refusal
        else:
            return ProbeMeans(Via.TRACEFS)
        if refusal.code in _OF_ANY_MEANS or not self._info.program_support.any:
            return ProbeMeans(Via.TRACEFS)
        attached = replace(around, programs=self._info.program_support)
        try:
            lower(probe, btf, facts, "", environment=attached, via=Via.BPF)
        except CannotLower as error:
            if error.refusal.code == "not_attached":
                return ProbeMeans(Via.TRACEFS)
        # Programs may refuse it, too: what they say is about the probe, not about the number of its functions.
        said = f"{refusal.message[:1].lower()}{refusal.message[1:]}"
        return ProbeMeans(Via.BPF, f"tracefs does not do this: {said}")
