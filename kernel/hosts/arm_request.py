"""Arm a request on one host; kernels differ, so the result is each host's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from kernel.connection.planner import Planner
from kernel.connection.text_note import text_note
from kernel.errors import KernelError, ProbeRefused, TargetUnusable
from kernel.session.probe_steps import Mode
from kernel.watch.watch import Watch
from probes.command import Armable, parse_armable
from probes.hist.unfiltered import trigger_notes
from probes.plans.duplicates import duplicate_note, split_duplicates
from probes.presets.judge import judge
from probes.presets.schema import PresetChoice
from probes.refusal import CannotLower
from probes.syntax.parse_error import ParseError
from probes.verdict import Verdict


@dataclass(frozen=True)
class ArmRequest:
    """Probes, mode and triggers to be armed on every host."""

    specifications: tuple[PresetChoice | str, ...]
    """Presets, and specifications as typed; empty: the triggers are for the probes already armed."""
    at_any_rate: bool = False
    mode: Mode = Mode.RECORD
    triggers: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Short description of the request."""
        return ", ".join(
            entry if isinstance(entry, str) else entry.preset.name for entry in self.specifications or self.triggers
        )


@dataclass(frozen=True)
class ArmResult:
    """Result of an arm request on one host."""

    lines: tuple[str, ...] = ()
    """Lines written to dynamic_events there."""
    notes: tuple[str, ...] = ()
    """Notes on the parts which this kernel lacks, or which it provides in another way."""


def probes_for(
    planner: Planner, order: ArmRequest, armed_probes: Iterable[Armable] = ()
) -> tuple[list[Armable], list[str]]:
    """Return the probes this kernel takes that are not armed yet, and notes on all of them; writes nothing.

    Raises:
        ProbeRefused: the kernel supports a probe in no way.
        PresetError: a value of a preset is missing or invalid.
    """
    probes: list[Armable] = []
    notes: list[str] = []
    for entry in order.specifications:
        if isinstance(entry, str):
            probes.append(_typed(planner, entry))
            continue
        for outcome in judge(entry.preset, entry.values, planner.check, planner.info.facts.machine).probes:
            if outcome.plan is None:
                raise ProbeRefused(outcome.verdict)
            if outcome.rejected_alternatives:
                error = outcome.rejected_alternatives[0].error
                reason_text = f": {error.hint or error.message}" if error else ""
                notes.append(f"{entry.preset.name}: another way is taken here{reason_text}")
            probes.append(outcome.probe)
    fresh, repeated = split_duplicates(probes, armed_probes)
    return list(fresh), [*notes, *map(duplicate_note, repeated)]


def _typed(planner: Planner, text: str) -> Armable:
    """Parse and check a typed specification. Raises ProbeRefused."""
    verdict = check_specification(text, planner)
    if not verdict.ok:
        raise ProbeRefused(verdict)
    return parse_armable(text)


def check_specification(text: str, planner: Planner) -> Verdict:
    """Return whether a specification can be armed, lowered where the kernel lacks a feature; not the kernel's own
    verdict.
    """
    try:
        checked = planner.check(parse_armable(text)).verdict
        if checked.error is not None and checked.error.code == "not_traceable":
            planner.info.symbols.load()  # the symbols show whether the name is an alias of a traceable function
            checked = planner.check(parse_armable(text)).verdict
    except ParseError as error:
        checked = Verdict(" ".join(text.split()), error.refusal)
    if checked.ok:
        return checked
    verdict = planner.check(text).verdict
    return checked if verdict.ok else verdict


def arm_on_host(watch: Watch, order: ArmRequest) -> ArmResult:
    """Arm an entire request on one host, or none of it.

    Raises ProbeRefused, PresetError, TooFast, TargetUnusable, TargetLost; already armed probes of the request are
    disarmed then.
    """
    if not order.specifications:
        return ArmResult(notes=tuple(_add_trigger(watch, text) for text in order.triggers))
    probes, notes = probes_for(watch.planner, order, [armed.plan.probe for armed in watch.armed.probes])
    armed_now = []
    together = not watch.armed.probes  # else the armed probes would miss events meanwhile
    try:
        if together:
            watch.armed.hold_recording()
        for probe in probes:
            armed = watch.armed.arm(probe, at_any_rate=order.at_any_rate, mode=order.mode, triggers=order.triggers)
            armed_now.append(armed)
            notes += [*armed.plan.losses, *trigger_notes(armed.plan, order.triggers)]
            notes += text_note(watch.info.target, armed)
    except BaseException as error:
        for armed in reversed(armed_now):
            with contextlib.suppress(KernelError):  # a lost connection is reported by itself
                watch.armed.disarm(armed)
        if isinstance(error, CannotLower):
            raise ProbeRefused(Verdict(str(probe), error.refusal)) from None
        raise
    finally:
        with contextlib.suppress(KernelError):  # a lost connection is reported by itself
            if together:
                watch.armed.record_together()
    # Plan.lines has no line for an event that already exists in the kernel.
    lines = tuple(line for armed in armed_now for line in armed.plan.lines)
    return ArmResult(lines, tuple(dict.fromkeys(notes)))


def _add_trigger(watch: Watch, text: str) -> str:
    """Add a trigger to each armed event that supports it; return a line about that.

    Raises ProbeRefused if no event supports it, TargetUnusable if no probe is armed, and as `Watch.add_trigger` does.
    """
    if not watch.armed.probes:
        raise TargetUnusable(f"no probe is armed here that could take the trigger {text}")
    verdicts = {
        (armed, event): watch.planner.trigger_verdict(armed.plan, event, text)
        for armed in watch.armed.probes
        for event in armed.plan.events
    }
    takers = [place for place, verdict in verdicts.items() if verdict.ok]
    if not takers:
        raise ProbeRefused(next(iter(verdicts.values())))
    for armed, event in takers:
        watch.armed.add_trigger(armed, event, text)
    return f"{text} on {', '.join(event.event for _, event in takers)}"
