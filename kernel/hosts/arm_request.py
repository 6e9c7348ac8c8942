"""What is to be armed on every host, and what one host makes of it: kernels differ."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass

from kernel.connection.planner import Connection
from kernel.connection.text_note import text_note
from kernel.errors import KernelError, ProbeRefused, TargetUnusable
from kernel.session.arm_steps import Mode
from kernel.watch.watch import Watch
from probes.check import armable
from probes.command import Armable
from probes.hist.unfiltered import trigger_notes
from probes.plans.duplicates import apart, told_again
from probes.presets.judge import judge
from probes.presets.schema import PresetChoice
from probes.refusal import CannotLower
from probes.syntax.parse_error import ParseError
from probes.verdict import Verdict


@dataclass(frozen=True)
class ArmRequest:
    """The same for all hosts."""

    wanted: tuple[PresetChoice | str, ...]
    """Presets, and specifications as they were typed; empty: the triggers are for what is armed already."""
    at_any_rate: bool = False
    mode: Mode = Mode.RECORD
    triggers: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """In a few words."""
        return ", ".join(one if isinstance(one, str) else one.preset.name for one in self.wanted or self.triggers)


@dataclass(frozen=True)
class ArmResult:
    """What became of an order on one host."""

    lines: tuple[str, ...] = ()
    """What was written there."""
    notes: tuple[str, ...] = ()
    """What this kernel could not give, or gives in another way."""


def probes_for(
    connection: Connection, order: ArmRequest, there: Iterable[Armable] = ()
) -> tuple[list[Armable], list[str]]:
    """The probes this kernel takes that are not `there` yet, and what is to be said of all; nothing is written.

    Raises:
        ProbeRefused: it takes one of them in no way.
        PresetError: a value of a preset is missing or none.
    """
    probes: list[Armable] = []
    notes: list[str] = []
    for one in order.wanted:
        if isinstance(one, str):
            probes.append(_typed(connection, one))
            continue
        for judged in judge(one.preset, one.given, connection.check, connection.facts.machine).probes:
            if judged.plan is None:
                raise ProbeRefused(judged.verdict)
            if judged.refused:
                why = judged.refused[0].error
                told = f": {why.hint or why.message}" if why else ""
                notes.append(f"{one.preset.name}: another way is taken here{told}")
            probes.append(judged.probe)
    fresh, again = apart(probes, there)
    return list(fresh), [*notes, *map(told_again, again)]


def _typed(connection: Connection, text: str) -> Armable:
    """Raises ProbeRefused."""
    verdict = judged(text, connection)
    if not verdict.ok:
        raise ProbeRefused(verdict)
    return armable(text)


def judged(text: str, connection: Connection) -> Verdict:
    """Whether a text can be armed. Not the kernel's verdict on it: what it lacks is lowered."""
    try:
        checked = connection.check(armable(text)).verdict
        if checked.error is not None and checked.error.code == "not_traceable":
            connection.load_symbols()  # they tell whether it is another name of a function that is
            checked = connection.check(armable(text)).verdict
    except ParseError as error:
        checked = Verdict(" ".join(text.split()), error.refusal)
    if checked.ok:
        return checked
    verdict = connection.check(text).verdict
    return checked if verdict.ok else verdict


def carry_out(watch: Watch, order: ArmRequest) -> ArmResult:
    """Arm all of it on one host, or nothing of it.

    Raises ProbeRefused, PresetError, TooFast, TargetUnusable, TargetLost; what was armed of it is taken away then.
    """
    if not order.wanted:
        return ArmResult(notes=tuple(_give_trigger(watch, text) for text in order.triggers))
    probes, notes = probes_for(watch.connection, order, [armed.plan.probe for armed in watch.armed])
    done = []
    together = not watch.armed  # else those that are armed would miss what happens meanwhile
    try:
        if together:
            watch.hold_recording()
        for probe in probes:
            armed = watch.arm(probe, at_any_rate=order.at_any_rate, mode=order.mode, triggers=order.triggers)
            done.append(armed)
            notes += [*armed.plan.losses, *trigger_notes(armed.plan, order.triggers)]
            notes += text_note(watch.connection.target, armed)
    except BaseException as error:
        for armed in reversed(done):
            with contextlib.suppress(KernelError):  # a line that is gone says so by itself
                watch.disarm(armed)
        if isinstance(error, CannotLower):
            raise ProbeRefused(Verdict(str(probe), error.refusal)) from None
        raise
    finally:
        with contextlib.suppress(KernelError):  # a line that is gone says so by itself
            if together:
                watch.record_together()
    # Plan.lines: an event that the kernel has already is made by none.
    lines = tuple(line for armed in done for line in armed.plan.lines)
    return ArmResult(lines, tuple(dict.fromkeys(notes)))


def _give_trigger(watch: Watch, text: str) -> str:
    """Give a trigger to each event of what is armed that takes it; gives a line about it.

    Raises ProbeRefused where none takes it, TargetUnusable where none is armed, and what `Watch.add_trigger` does.
    """
    if not watch.armed:
        raise TargetUnusable(f"no probe is armed here that could take the trigger {text}")
    verdicts = {
        (armed, event): watch.connection.trigger_verdict(armed.plan, event, text)
        for armed in watch.armed
        for event in armed.plan.events
    }
    takers = [place for place, verdict in verdicts.items() if verdict.ok]
    if not takers:
        raise ProbeRefused(next(iter(verdicts.values())))
    for armed, event in takers:
        watch.add_trigger(armed, event, text)
    return f"{text} on {', '.join(event.event for _, event in takers)}"
