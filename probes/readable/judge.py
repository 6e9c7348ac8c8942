"""Judge one probe by one means, as arming it would: the answer is that of the verdict, so that both never differ."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from btf.btf import Btf
from probes.bpf.fentry import NO_FENTRY
from probes.check import check_plan
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment
from probes.fetcharg import FetchArg
from probes.plans.plan import Plan, Via
from probes.probe import Probe, ProbeEnds, ProbeKind, ProbePlace
from probes.readable.report import Means
from probes.remedies import BY_TRACEFS
from probes.verdict import Refusal

NO_MULTI: Final = "this kernel attaches no programs to functions by name (CONFIG_FPROBE), as was tried"
_AT_ENTRY_ONLY: Final = "this kernel has arguments at the entry only"
_LEFT_AT_EXIT: Final = "programs there get registers as the function has left them; fexit has the arguments"
_KINDS: Final = {
    Means.KRETPROBE: ProbeKind.KRETPROBE,
    Means.FPROBE_ENTRY: ProbeKind.FPROBE,
    Means.FPROBE_EXIT: ProbeKind.FPROBE,
    Means.TRACEPOINT: ProbeKind.TRACEPOINT,
    **dict.fromkeys((Means.MULTI_ENTRY, Means.MULTI_EXIT, Means.FENTRY, Means.FEXIT), ProbeKind.AUTO),
}


def probe_by(means: Means, place: ProbePlace, *fetchargs: FetchArg) -> Probe:
    """Return a probe by a means on a place."""
    ends = ProbeEnds.EXIT if means.at_exit else ProbeEnds.ENTRY
    return Probe(place, ends, _KINDS.get(means, ProbeKind.KPROBE), fetchargs)


@dataclass(frozen=True, slots=True)
class MeansJudge:
    """Judge of the probes on one function."""

    btf: Btf | None
    """Types of the kernel, or of the function's module on top of them; None: unknown."""
    facts: TargetFacts
    environment: Environment
    """Symbols, and the programs that the kernel attaches."""

    def plan(self, means: Means, probe: Probe, group: str = "") -> Plan | Refusal:
        """Return the plan of a probe by a means, or why it is refused; `group`: that of its events."""
        support = self.environment.programs
        if not means.by_program:
            found = check_plan(probe, self.btf, self.facts, group, self.environment)
        else:
            on_one = means in (Means.FENTRY, Means.FEXIT)
            alone = replace(support, fentry=on_one and support.fentry, multi=not on_one and support.multi)
            around = replace(self.environment, programs=alone)
            found = check_plan(probe, self.btf, self.facts, group, around, via=Via.BPF)
        if found.plan is not None:
            return found.plan
        return found.verdict.error or Refusal("refused_without_message", "The kernel refuses it")

    def refusal(self, means: Means, place: ProbePlace, *fetchargs: FetchArg) -> str:
        """Return why a probe by a means is refused, in a line; empty: it is taken.

        A value that only an event of its own at the entry records is not there at the exit.
        """
        support = self.environment.programs
        if means in (Means.FENTRY, Means.FEXIT) and not support.fentry:
            return support.obstacle or NO_FENTRY
        if means in (Means.MULTI_ENTRY, Means.MULTI_EXIT) and not support.multi:
            return support.obstacle or NO_MULTI
        plan = self.plan(means, probe_by(means, place, *fetchargs))
        if isinstance(plan, Refusal):
            return refusal_text(plan)
        if means.at_exit and any(not event.at_exit for event in plan.events):
            return _LEFT_AT_EXIT if means is Means.MULTI_EXIT else _AT_ENTRY_ONLY
        return ""


def refusal_text(refusal: Refusal) -> str:
    """Return the reason of a refusal in a line that begins with a small letter."""
    text = (refusal.hint or refusal.message).removesuffix(f"; {BY_TRACEFS}")
    return text[:1].lower() + text[1:] if text[1:2].islower() or text[1:2] == " " else text
