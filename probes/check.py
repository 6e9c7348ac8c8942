"""Compute the verdict on a probe or a text. Pure and under a millisecond, so that it can run at every keystroke.

A text in the kernel's own syntax gets the answer that the kernel would give, computed (`probes.kernel_verdict`).
Syntax that only probewright has (`$$args`, `%both`, a filter, `[i]`, symbols of programs), and every `Probe` value,
is judged by lowering it to the target and computing the kernel's answer to the lowered lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from btf.btf import Btf
from events.names.function_choice import is_choice
from probes.command import Armable, CommandText, has_own_syntax, is_function
from probes.facts.facts import Feature, TargetFacts
from probes.facts.lookups import UNKNOWN, Environment
from probes.functions.function_index import tracepoints_like
from probes.kernel_verdict import kernel_verdict
from probes.lowering.lower import lower
from probes.plans.plan import Plan, Via
from probes.probe import Probe, ProbeKind
from probes.refusal import CannotLower
from probes.rules.events.filter_meaning import MISREAD
from probes.rules.messages.hints import hint_for
from probes.syntax.parse_error import ParseError
from probes.verdict import Refusal, Verdict

_NAME_ERRORS = frozenset({"EVENT_EXIST", "DIFF_PROBE_TYPE", "DIFF_ARG_TYPE", "SAME_PROBE"})
"""Error codes of rejections that another event name avoids."""

_PATTERN_ERRORS = frozenset({"NO_BTF_ENTRY", "BAD_PROBE_ADDR"})
"""Error codes of the kernel for a pattern of functions with arguments, for an fprobe and for a kprobe."""


class CheckResult(NamedTuple):
    """A verdict, with the plan of the probe that was judged."""

    verdict: Verdict
    plan: Plan | None
    """The lowered probe; None where the probe is refused, or where the text arms nothing (a deletion)."""
    written: Verdict | None = None
    """The kernel's verdict on the text as typed, where the kernel rejects that text but takes its lowered lines."""


def check(probe: Armable | CommandText | str, btf: Btf | None, facts: TargetFacts) -> Verdict:
    """Return this target's verdict on a probe: accepted, or refused with reason and column."""
    return check_plan(probe, btf, facts).verdict


def check_plan(
    probe: Armable | CommandText | str,
    btf: Btf | None,
    facts: TargetFacts,
    group: str = "",
    environment: Environment = UNKNOWN,
    existing: Sequence[str] = (),
    via: Via = Via.TRACEFS,
) -> CheckResult:
    """Return the verdict on a probe, with the lines that would be written, or the programs loaded."""
    if isinstance(probe, str):
        probe = CommandText.parse(probe)
    if isinstance(probe, CommandText):
        if not has_own_syntax(probe.text) and via is not Via.BPF:
            verdict = kernel_verdict(probe.text, btf, facts, existing, environment=environment)
            if verdict.ok:
                return _accepted(probe, verdict, btf, facts, group, environment)
            return CheckResult(_explained_by_pattern(probe, verdict, btf, facts, environment), None)
        try:
            probe = probe.require_armable()
        except ParseError as error:
            return CheckResult(_unreadable(str(probe), error), None)
    command = str(probe)
    try:
        plan = lower(probe, btf, facts, group, environment=environment, via=via)
    except CannotLower as error:
        return CheckResult(Verdict(command, error.refusal), None)
    verdict = (
        Verdict(command)
        if is_function(probe) or plan.programs
        else _lines_verdict(plan, btf, facts, environment, existing)
    )
    return CheckResult(verdict, plan if verdict.ok else None)


def _explained_by_pattern(
    text: CommandText, verdict: Verdict, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> Verdict:
    """Return the kernel's refusal of a name on a pattern with what lowering knows of the pattern's functions."""
    probe = text.armable
    if not isinstance(probe, Probe) or not is_choice(probe.place.symbol) or _code_of(verdict) not in _PATTERN_ERRORS:
        return verdict
    try:
        lower(probe, btf, facts, "", environment=environment)
    except CannotLower as error:
        if error.refusal.code == "NO_BTF_ENTRY":
            return Verdict(str(probe), error.refusal)
    return verdict


def check_typed(
    typed: CommandText | str,
    btf: Btf | None,
    facts: TargetFacts,
    group: str = "",
    environment: Environment = UNKNOWN,
    existing: Sequence[str] = (),
) -> CheckResult:
    """Check a text as a person types it: a text that this kernel rejects is lowered, if that makes it acceptable."""
    text = CommandText.parse(typed) if isinstance(typed, str) else typed
    checked = check_plan(text, btf, facts, group, environment, existing)
    if checked.verdict.ok:
        return checked
    try:
        probe = text.require_armable()
    except ParseError as error:
        missing = _kind_missing(text.text, facts)
        return checked._replace(verdict=_unreadable(text.text, error)) if missing else checked
    other = check_plan(probe, btf, facts, group, environment, existing)
    if other.plan is None:
        return checked if _code_of(checked.verdict) == _code_of(other.verdict) else other
    return checked if lowers_to_same_line(checked.verdict, other.plan) else other._replace(written=checked.verdict)


def _kind_missing(text: str, facts: TargetFacts) -> bool:
    """Return whether this kernel lacks a text's kind of probe, so that it rejects the text without reading on."""
    features = {"f": Feature.FPROBE_EVENTS, "t": Feature.TPROBE_EVENTS, "e": Feature.EPROBE_EVENTS}
    wanted = features.get(text.split(maxsplit=1)[0].partition(":")[0]) if text.strip() else None
    return wanted is not None and not facts.has(wanted)


def _unreadable(text: str, error: ParseError) -> Verdict:
    """Return the verdict on a text that can't be parsed."""
    refusal = error.refusal
    hint = refusal.hint or hint_for(refusal.code, refusal.token)[0]
    return Verdict(" ".join(text.split()), replace(refusal, hint=hint))


def _code_of(verdict: Verdict) -> str:
    return verdict.error.code if verdict.error is not None else ""


def lowers_to_same_line(verdict: Verdict, plan: Plan) -> bool:
    """Return whether lowering a rejected text gives the same rejected line again, except for the event's name."""
    error, (head, *words) = verdict.error, verdict.command.split() or [""]
    letter = head.partition(":")[0]
    if error is not None and error.column is not None and 0 < error.column < len(letter):
        return any(line.split()[0].partition(":")[0] == letter for line in plan.lines)
    if error is None or (error.column is not None and error.column <= len(head)) or error.code in _NAME_ERRORS:
        return False
    return any(line.split()[1:] == words and line[0] == letter[:1] for line in plan.lines)


def refuse_unknown_tracepoint(text: CommandText, verdict: Verdict, facts: TargetFacts) -> Verdict:
    """Refuse a suggested text whose tracepoint does not exist, if tracepoints with similar names do.

    The kernel accepts any tracepoint name, for a module may define it later.
    """
    probe = text.armable if verdict.ok else None
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


def _lines_verdict(
    plan: Plan, btf: Btf | None, facts: TargetFacts, environment: Environment, existing: Sequence[str]
) -> Verdict:
    """Compute the kernel's verdict on each line of a plan, in order. Lowering does not look at existing events."""
    accumulated = list(existing)
    for line in (line for event in plan.events for line in event.lines):
        verdict = kernel_verdict(line, btf, facts, accumulated, environment=environment)
        if not verdict.ok:
            return verdict
        accumulated.append(line)
    return Verdict(str(plan.probe))


def _accepted(
    text: CommandText, verdict: Verdict, btf: Btf | None, facts: TargetFacts, group: str, environment: Environment
) -> CheckResult:
    """Add the plan to the verdict on a text that the kernel accepts; no plan where the text can't be lowered."""
    if text.armable is None:
        return CheckResult(verdict, None)
    try:
        return CheckResult(verdict, lower(text.armable, btf, facts, group, environment=environment))
    except CannotLower as error:
        refusal = error.refusal
        return CheckResult(replace(verdict, error=refusal) if refusal.code in MISREAD else verdict, None)
