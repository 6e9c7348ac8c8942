"""A preset against a target: what of it is accepted, into what it is lowered, and what is lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from probes.check import Checked, armable
from probes.command import Armable
from probes.plans.plan import Plan
from probes.presets.schema import Preset
from probes.presets.substitute import substituted
from probes.verdict import Verdict


class ProbeJudgement(NamedTuple):
    """One probe of a preset on one target."""

    text: str
    """The specification that is armed, with values in it; where none is accepted, the first."""
    probe: Armable
    verdict: Verdict
    plan: Plan | None
    """None where no alternative is accepted."""
    refused: tuple[Verdict, ...] = ()
    """Of the alternatives before it."""

    @property
    def losses(self) -> tuple[str, ...]:
        """What this target can't give, and that another way had to be taken."""
        other = (
            (f"{self.refused[0].command}: refused here, another way is taken",) if self.refused and self.plan else ()
        )
        return (*other, *(self.plan.losses if self.plan else ()))


class PresetJudgement(NamedTuple):
    """A whole preset on one target."""

    probes: tuple[ProbeJudgement, ...]

    @property
    def ok(self) -> bool:
        """Whether all of it can be armed."""
        return all(one.plan is not None for one in self.probes)

    @property
    def losses(self) -> tuple[str, ...]:
        """Of all probes, each once."""
        return tuple(dict.fromkeys(loss for one in self.probes for loss in one.losses))


def judge(
    preset: Preset, given: Mapping[str, str], check: Callable[[Armable], Checked], machine: str = ""
) -> PresetJudgement:
    """Check each probe on a target. Raises PresetError where a value is missing or none.

    Args:
        preset: what is to be armed.
        given: values of its parameters; for the others their defaults are taken.
        check: asks the target, as `kernel.connection.planner.Connection.check` does.
        machine: its `uname -m`, which says what numbers system calls have; empty: not known.
    """
    return PresetJudgement(tuple(_judged(texts, check) for texts in substituted(preset, given, machine)))


def _judged(texts: tuple[str, ...], check: Callable[[Armable], Checked]) -> ProbeJudgement:
    """The first alternative that is accepted; where none is, the first of all."""
    refused: list[ProbeJudgement] = []
    for text in texts:
        probe = armable(text)
        verdict, plan = check(probe)[:2]
        one = ProbeJudgement(text, probe, verdict, plan, tuple(judged.verdict for judged in refused))
        if plan is not None:
            return one
        refused.append(one)
    return refused[0]
