"""The verdict on a probe or on a text: pure, and under a millisecond, so that it can follow every key.

A text in the kernel's own syntax gets the kernel's own answer, computed (`probes.kernel_verdict`). What only
probewright knows (`$$args`, `%both`, a filter, `[i]`, symbols of programs), and every probe as a value, is judged by
whether the target can do it: by lowering, and by what the kernel says of the lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from btf.btf import Btf
from probes.command import Armable, Deletion, is_function, is_own, parse_command
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.functions.function_index import tracepoints_like
from probes.kernel_verdict import kernel_verdict
from probes.lowering.lower import lower
from probes.plans.plan import Plan
from probes.probe import Probe, ProbeKind
from probes.refusal import CannotLower
from probes.rules.events.filter_meaning import MISREAD
from probes.rules.messages.hints import hint_for
from probes.syntax.parse_error import ParseError, refuse
from probes.verdict import Refusal, Verdict

__all__ = ["Checked", "armable", "as_there", "check", "check_plan", "check_typed", "comes_back", "kernel_verdict"]

_OF_NAME = frozenset({"EVENT_EXIST", "DIFF_PROBE_TYPE", "DIFF_ARG_TYPE", "SAME_PROBE"})
"""Refusals that another name of the event does away with."""


class Checked(NamedTuple):
    """A verdict with the lines it is about."""

    verdict: Verdict
    plan: Plan | None
    """None where the probe is refused, or where its text is nothing to arm: a deletion."""
    written: Verdict | None = None
    """What the kernel says of the text as it was written, where that is refused and what it is lowered to is not."""


def check(probe: Armable | str, btf: Btf | None, facts: TargetFacts) -> Verdict:
    """Say whether this target takes a probe, and if not why and where."""
    return check_plan(probe, btf, facts).verdict


def check_plan(
    probe: Armable | str,
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
            return _taken(probe, verdict, btf, facts, group, environment) if verdict.ok else Checked(verdict, None)
        text = probe
        try:
            probe = armable(text)
        except ParseError as error:
            return Checked(_unread(text, error), None)
    command = str(probe)
    try:
        plan = lower(probe, btf, facts, group, environment=environment)
    except CannotLower as error:
        return Checked(Verdict(command, error.refusal), None)
    verdict = Verdict(command) if is_function(probe) else _of_lines(plan, btf, facts, environment, existing)
    return Checked(verdict, plan if verdict.ok else None)


def check_typed(
    text: str,
    btf: Btf | None,
    facts: TargetFacts,
    group: str = "",
    environment: Environment = UNKNOWN,
    existing: Sequence[str] = (),
) -> Checked:
    """Like `check_plan`, for a text as a person types it: what this kernel refuses may yet be lowered."""
    checked = check_plan(text, btf, facts, group, environment, existing)
    if checked.verdict.ok:
        return checked
    try:
        probe = armable(text)
    except ParseError as error:
        return checked._replace(verdict=_unread(text, error)) if _is_missing(text, facts) else checked
    other = check_plan(probe, btf, facts, group, environment, existing)
    if other.plan is None:
        return checked if _code(checked) == _code(other) else other
    return checked if comes_back(checked.verdict, other.plan) else other._replace(written=checked.verdict)


def _is_missing(text: str, facts: TargetFacts) -> bool:
    """Whether a text is of a kind that this kernel has not, so that it says no more of it than that."""
    features = {"f": Feature.FPROBE_EVENTS, "t": Feature.TPROBE_EVENTS, "e": Feature.EPROBE_EVENTS}
    wanted = features.get(text.split(maxsplit=1)[0].partition(":")[0]) if text.strip() else None
    return wanted is not None and not facts.has(wanted)


def _unread(text: str, error: ParseError) -> Verdict:
    """The verdict on a text that can't be read."""
    refusal = error.refusal
    hint = refusal.hint or hint_for(refusal.code, refusal.token)[0]
    return Verdict(" ".join(text.split()), replace(refusal, hint=hint))


def _code(checked: Checked) -> str:
    return checked.verdict.error.code if checked.verdict.error is not None else ""


def comes_back(verdict: Verdict, plan: Plan) -> bool:
    """Whether lowering what is refused gives what is refused again: the same line, only its event's name apart."""
    error, (head, *words) = verdict.error, verdict.command.split() or [""]
    letter = head.partition(":")[0]
    if error is not None and error.column is not None and 0 < error.column < len(letter):
        return any(line.split()[0].partition(":")[0] == letter for line in plan.lines)
    if error is None or (error.column is not None and error.column <= len(head)) or error.code in _OF_NAME:
        return False
    return any(line.split()[1:] == words and line[0] == letter[:1] for line in plan.lines)


def as_there(text: str, verdict: Verdict, facts: TargetFacts) -> Verdict:
    """The verdict on a text that was found for another: one that only waits for a tracepoint is not what was meant.

    The kernel takes the name of any tracepoint, for a module may bring it.
    """
    try:
        probe = armable(text) if verdict.ok else None
    except ParseError:
        return verdict
    if not isinstance(probe, Probe) or probe.kind is not ProbeKind.TRACEPOINT:
        return verdict
    name = probe.place.symbol
    if not (near := tracepoints_like(name, facts)):
        return verdict
    hint, nearest = hint_for("", name, near)
    column = len(verdict.command.split(" ")[0]) + 1
    return Verdict(
        verdict.command, Refusal("unknown_tracepoint", "There is no such tracepoint", column, name, hint, nearest)
    )


def _of_lines(
    plan: Plan, btf: Btf | None, facts: TargetFacts, environment: Environment, existing: Sequence[str]
) -> Verdict:
    """What the kernel says of the lines, one behind the other: lowering knows nothing of what is there already."""
    there = list(existing)
    for line in (line for event in plan.events for line in event.lines):
        verdict = kernel_verdict(line, btf, facts, there, environment=environment)
        if not verdict.ok:
            return verdict
        there.append(line)
    return Verdict(str(plan.probe))


def armable(text: str) -> Armable:
    """Read a text that is to be armed. Raises ParseError."""
    command = parse_command(text)
    if isinstance(command, Deletion):
        raise refuse("deletion", 0, command.head)
    return command


def _taken(
    text: str, verdict: Verdict, btf: Btf | None, facts: TargetFacts, group: str, environment: Environment
) -> Checked:
    """The plan for a text the kernel takes; without one for what is lowered nowhere."""
    try:
        return Checked(verdict, lower(armable(text), btf, facts, group, environment=environment))
    except ParseError:
        return Checked(verdict, None)
    except CannotLower as error:
        refusal = error.refusal
        return Checked(replace(verdict, error=refusal) if refusal.code in MISREAD else verdict, None)
