"""What `run` makes of the name of a preset: the specifications this target takes, and how their events are shown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from events.record import Record
from kernel.connection.planner import Connection
from kernel.errors import ProbeRefused
from kernel.preset_files import Origin, Presets
from kernel.watch.watch import Watch
from probes.check import armable
from probes.presets.errors import PresetError
from probes.presets.judge import judge
from probes.presets.schema import Preset, PresetChoice, PresetView
from probes.presets.substitute import least_latency
from probes.presets.substitute import values_of as checked_values
from tui.cli.console.output import plain
from tui.cli.follow.call_printer import CallPrinter
from tui.cli.follow.translation import in_our_words, quoted, targets_of
from tui.present.event_times import ClockFace

Show = Callable[[Record], None]


class ArmPlan(NamedTuple):
    """What is armed, and how it is shown."""

    specs: list[str]
    calls: bool = False
    """Calls are shown, and not the events at both of their ends."""
    leasts: Mapping[str, int] = {}
    """By function the nanoseconds that a call takes to be shown; none: all are."""

    @property
    def least(self) -> int:
        """The most of these."""
        return max(self.leasts.values(), default=0)

    def calls_of(
        self,
        watch: Watch,
        show: Show,
        asked: Collection[str],
        *,
        as_json: bool,
        face: ClockFace = ClockFace.KERNEL,
        passes: Callable[[int], bool] | None = None,
        most: int = 0,
    ) -> CallPrinter | None:
        """Return the printer of calls, None: events are printed; for the arguments see
        `tui.cli.follow.call_printer.CallPrinter`.
        """
        if not self.calls:
            return None
        return CallPrinter(watch, show, asked, self.leasts, as_json=as_json, face=face, passes=passes, most=most)


def is_name(word: str) -> bool:
    """Whether it may name a preset: a specification has a kind and a place."""
    return len(word.split()) == 1


def asked_for(arguments: argparse.Namespace) -> tuple[PresetChoice | str, ...]:
    """Presets for their names, and specifications as they were typed; no target is needed to tell what is none.

    Raises PresetError: there is no such preset, or what was given for a parameter is no value.
    """
    given = values_of(arguments.parameters)
    words, counting = in_our_words(arguments.specs, targets_of(arguments))
    if counting and not hasattr(arguments, "triggers"):
        told = ", ".join(one for triggers in counting.values() for one in triggers)
        raise PresetError(f"triggers are for run and record; without {told}: {quoted(words)}")
    arguments.counting = counting
    names = [word for word in words if is_name(word)]
    if names:
        tell_passed_over(Presets())
    if given and len(names) != 1:
        raise PresetError("-p gives the values of one preset: name one")
    wanted = tuple(PresetChoice(_meant(word), given) if is_name(word) else word for word in words)
    for one in wanted:
        if isinstance(one, PresetChoice):
            checked_values(one.preset, one.given)
    return wanted


def expand(wanted: Sequence[PresetChoice | str], connection: Connection) -> ArmPlan:
    """Put a preset's specifications for it.

    Raises:
        ProbeRefused: the target takes one of them in no way.
        PresetError: a value is missing or none.
    """
    specs: list[str] = []
    calls, leasts = False, dict[str, int]()
    for one in wanted:
        if isinstance(one, str):
            specs.append(one)
            continue
        own, least = _specs(one, connection), least_latency(*one)
        specs += own
        calls |= one.preset.view is PresetView.CALLS
        for subject in (armable(spec).subject for spec in own):
            leasts[subject] = min(leasts.get(subject, least), least)
    return ArmPlan(specs, calls, leasts)


def of_any_duration(wanted: Sequence[PresetChoice | str]) -> str:
    """What is to be said where events are given out, which have no duration, and not calls; empty: nothing."""
    names = [one.preset.name for one in wanted if isinstance(one, PresetChoice) and least_latency(*one)]
    if not names:
        return ""
    return f"{', '.join(names)}: min_latency is of calls that one host prints: here are those of any duration"


def _meant(word: str) -> Preset:
    try:
        return found(word)
    except PresetError as error:
        raise PresetError(f"{error}; a probe has a kind and a place: 'f {ascii(word)[1:-1]}'") from None


def found(word: str) -> Preset:
    """The preset of a name; says where it is not the one that comes along. Raises PresetError."""
    entry = Presets().find(word)
    if entry.shadows and entry.origin is Origin.PROJECT:
        told = f"{entry.name} is the project's, instead of the one that comes along: {entry.path}"
        print(plain(f"probewright: {told}"), file=sys.stderr)
    assert entry.preset is not None  # noqa: S101 - find gives only those
    return entry.preset


def tell_passed_over(presets: Presets) -> None:
    """Say on standard error what another user can change, and is not looked into for that."""
    for told in presets.passed_over:
        print(plain(f"probewright: {told}"), file=sys.stderr)


def values_of(words: Sequence[str]) -> dict[str, str]:
    """`-p NAME=VALUE` each. Raises PresetError."""
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise PresetError(f"-p takes NAME=VALUE, not {ascii(word)[1:-1]}")
        values[name.strip()] = value
    return values


def _specs(chosen: PresetChoice, connection: Connection) -> list[str]:
    judgement = judge(*chosen, connection.check, connection.facts.machine)
    for one in judgement.probes:
        if one.plan is None:
            raise ProbeRefused(one.verdict)
        if one.refused:
            why = one.refused[0].error
            told = f": {why.hint or why.message}" if why else ""
            print(plain(f"probewright: {chosen.preset.name}: another way is taken here{told}"), file=sys.stderr)
    return [one.text for one in judgement.probes]
