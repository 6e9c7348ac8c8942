"""The verdict on a probe or on a text: pure, and under a millisecond, so that it can follow every key.

A text in the kernel's own syntax gets the kernel's own answer, computed (`probes.kernel_verdict`). What only
probewright knows (`$$args`, `%both`, a filter, `[i]`), and every `Probe`, is judged by whether the target can do it:
by lowering.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from btf.btf import Btf
from probes.command import is_own
from probes.environment import UNKNOWN, Environment
from probes.facts import TargetFacts
from probes.kernel_verdict import kernel_verdict
from probes.lower import lower
from probes.parse import ParseError, parse_probe
from probes.plan import Plan
from probes.probe import Probe
from probes.refusal import CannotLower
from probes.verdict import Verdict

__all__ = ["Checked", "check", "check_plan", "check_typed", "kernel_verdict"]


class Checked(NamedTuple):
    """A verdict with the lines it is about."""

    verdict: Verdict
    plan: Plan | None
    """None where the probe is refused, or where its text is no function probe of ours."""


def check(probe: Probe | str, btf: Btf | None, facts: TargetFacts) -> Verdict:
    """Say whether this target takes a probe, and if not why and where."""
    return check_plan(probe, btf, facts).verdict


def check_plan(
    probe: Probe | str,
    btf: Btf | None,
    facts: TargetFacts,
    group: str = "",
    environment: Environment = UNKNOWN,
    existing: Sequence[str] = (),
) -> Checked:
    """Like `check`, with the lines that would be written.

    Args:
        probe: a probe, or text in the specification language.
        btf: types of the target; None: unknown.
        facts: what the target can do.
        group: group of the events; empty: the probe's own, else `probewright`.
        environment: what can be asked of the target besides.
        existing: lines of its dynamic_events.
    """
    if isinstance(probe, str):
        if not is_own(probe):
            verdict = kernel_verdict(probe, btf, facts, existing, environment=environment)
            return Checked(verdict, _plan_of(probe, btf, facts, group) if verdict.ok else None)
        command = " ".join(probe.split())
        try:
            probe = parse_probe(probe)
        except ParseError as error:
            return Checked(Verdict(command, error.refusal), None)
    command = str(probe)
    try:
        return Checked(Verdict(command), lower(probe, btf, facts, group))
    except CannotLower as error:
        return Checked(Verdict(command, error.refusal), None)


def check_typed(
    text: str,
    btf: Btf | None,
    facts: TargetFacts,
    group: str = "",
    environment: Environment = UNKNOWN,
    existing: Sequence[str] = (),
) -> Checked:
    """Like `check_plan`, for a text as a person types it: what this kernel refuses as it stands may yet be lowered."""
    checked = check_plan(text, btf, facts, group, environment, existing)
    if checked.verdict.ok:
        return checked
    try:
        probe = parse_probe(text)
    except ParseError:
        return checked
    return check_plan(probe, btf, facts, group, environment, existing)


def _plan_of(text: str, btf: Btf | None, facts: TargetFacts, group: str) -> Plan | None:
    """The plan for a text the kernel takes; None for what is lowered nowhere yet."""
    try:
        return lower(parse_probe(text), btf, facts, group)
    except (ParseError, CannotLower):
        return None
