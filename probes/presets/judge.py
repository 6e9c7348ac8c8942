"""Judge a preset for a target: the probes it accepts, their plans, and the losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from probes.check import CheckResult
from probes.command import Armable, parse_armable
from probes.plans.plan import Plan
from probes.presets.errors import PresetError
from probes.presets.failure_request import only_traces
from probes.presets.schema import Preset, PresetView
from probes.presets.substitute import substitute
from probes.verdict import Verdict


class ProbeJudgement(NamedTuple):
    """Judgement of a preset's probe on a target."""

    text: str
    """The specification that is armed, with values in it; if none is accepted, the first."""
    probe: Armable
    verdict: Verdict
    plan: Plan | None
    """The plan; None where no alternative is accepted."""
    rejected_alternatives: tuple[Verdict, ...] = ()
    """Verdicts on the alternatives refused before it."""

    @property
    def losses(self) -> tuple[str, ...]:
        """Losses on this target, with a note if an earlier alternative was refused."""
        other = (
            (f"{self.rejected_alternatives[0].command}: refused here, another way is taken",)
            if self.rejected_alternatives and self.plan
            else ()
        )
        return (*other, *(self.plan.losses if self.plan else ()))


class PresetJudgement(NamedTuple):
    """Judgement of a whole preset on a target."""

    probes: tuple[ProbeJudgement, ...]

    @property
    def ok(self) -> bool:
        """True if all probes can be armed."""
        return all(judgement.plan is not None for judgement in self.probes)

    @property
    def losses(self) -> tuple[str, ...]:
        """Losses of all probes, each once."""
        return tuple(dict.fromkeys(loss for judgement in self.probes for loss in judgement.losses))


def judge(
    preset: Preset, given: Mapping[str, str], check: Callable[[Armable], CheckResult], machine: str = ""
) -> PresetJudgement:
    """Judge each probe of a preset on a target.

    Raises PresetError where a value is missing or invalid, or the preset traces calls and so has no probes.

    Args:
        preset: the preset to arm.
        given: values of its parameters; the other parameters get their defaults.
        check: checks a probe on the target, as `kernel.connection.planner.Planner.check` does.
        machine: `uname -m` of the target, which determines system call numbers; empty: unknown.
    """
    if preset.view is PresetView.FAILURES:
        raise PresetError(only_traces(preset))
    return PresetJudgement(tuple(_judge_alternatives(texts, check) for texts in substitute(preset, given, machine)))


def _judge_alternatives(texts: tuple[str, ...], check: Callable[[Armable], CheckResult]) -> ProbeJudgement:
    """Return the judgement of the first accepted alternative; if none is accepted, of the first."""
    refused: list[ProbeJudgement] = []
    for text in texts:
        probe = parse_armable(text)
        verdict, plan = check(probe)[:2]
        judgement = ProbeJudgement(text, probe, verdict, plan, tuple(earlier.verdict for earlier in refused))
        if plan is not None:
            return judgement
        refused.append(judgement)
    return refused[0]
