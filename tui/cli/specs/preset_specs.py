"""Expand the name of a preset to the specifications that the target accepts, with the way to show their events."""

from __future__ import annotations

import argparse
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kernel.connection.planner import Planner
from kernel.errors import ProbeRefused
from kernel.preset_files import Origin, Presets
from probes.command import parse_armable
from probes.objects.request import is_object, object_text
from probes.presets.errors import PresetError
from probes.presets.failure_request import only_traces
from probes.presets.judge import judge
from probes.presets.schema import Preset, PresetChoice, PresetView
from probes.presets.substitute import least_latency
from probes.presets.substitute import values_of as checked_values
from probes.sources.source import is_source
from probes.syntax.parse_error import ParseError
from tui.cli.console.output import plain
from tui.cli.specs.source_lines import with_places
from tui.cli.specs.translation import quoted, targets_of, translate_words


class ArmPlan(NamedTuple):
    """Specifications to arm, and the way to show their events."""

    specs: list[str]
    calls: bool = False
    """True: calls are shown, not the events at both of their ends."""
    min_durations: Mapping[str, int] = {}
    """Minimum duration of a shown call in nanoseconds, by function; a function without one shows all calls."""

    @property
    def longest_min_duration(self) -> int:
        """Longest of these durations, in nanoseconds."""
        return max(self.min_durations.values(), default=0)


def is_name(word: str) -> bool:
    """Tell whether a word may name a preset: a specification has at least a kind and a place."""
    return len(word.split()) == 1 and not is_source(word) and not is_object(word)


def requested_probes(arguments: argparse.Namespace) -> tuple[PresetChoice | str, ...]:
    """Return the requested presets and specifications, checked as far as possible without a target.

    Raises PresetError if there is no such preset, or a parameter's value is not valid.
    """
    values = values_of(arguments.parameters)
    words, counting = translate_words(_with_object_options(arguments), targets_of(arguments))
    if counting and not hasattr(arguments, "triggers"):
        all_triggers = ", ".join(one for triggers in counting.values() for one in triggers)
        raise PresetError(f"triggers are for run and record; without {all_triggers}: {quoted(words)}")
    arguments.counting = counting
    names = [word for word in words if is_name(word)]
    if names:
        print_skipped_presets(Presets())
    if values and len(names) != 1:
        raise PresetError("-p gives the values of one preset: name one")
    wanted = tuple(PresetChoice(_preset_for(word), values) if is_name(word) else word for word in words)
    for one in wanted:
        if isinstance(one, PresetChoice):
            if one.preset.view is PresetView.FAILURES:
                raise PresetError(only_traces(one.preset))
            checked_values(one.preset, one.values)
    return wanted


def _with_object_options(arguments: argparse.Namespace) -> list[str]:
    """Return the specifications, those of compiled objects with the options for them. Raises PresetError."""
    programs = tuple(name for name in getattr(arguments, "programs", "").split(",") if name)
    records = tuple(getattr(arguments, "record", ()))
    words = [shlex.quote(word) if is_object(word) and os.path.isfile(word) else word for word in arguments.specs]
    objects = [word for word in words if is_object(word)]
    if (programs or records) and len(objects) != 1:
        raise PresetError("--programs and --record are for one compiled object (FILE.bpf.o)")
    try:
        return [object_text(word, programs, records) if word in objects else word for word in words]
    except ParseError as error:
        raise PresetError(f"{error}: {quoted(arguments.specs)}") from None


def expand(wanted: Sequence[PresetChoice | str], planner: Planner) -> ArmPlan:
    """Replace each preset by its specifications.

    Raises:
        ProbeRefused: the target accepts no alternative of one of them.
        PresetError: a value is missing or not valid.
    """
    specs: list[str] = []
    calls, leasts = False, dict[str, int]()
    for one in wanted:
        if isinstance(one, str):
            specs += with_places([one], planner.info)
            continue
        own, least = _specs(one, planner), least_latency(*one)
        specs += own
        calls |= one.preset.view is PresetView.CALLS
        for subject in (parse_armable(spec).subject for spec in own):
            leasts[subject] = min(leasts.get(subject, least), least)
    return ArmPlan(specs, calls, leasts)


def any_duration_note(wanted: Sequence[PresetChoice | str]) -> str:
    """Return the note for an export, which has events without duration instead of calls; empty: none is needed."""
    names = [one.preset.name for one in wanted if isinstance(one, PresetChoice) and least_latency(*one)]
    if not names:
        return ""
    return f"{', '.join(names)}: min_latency is of calls that one host prints: here are those of any duration"


def _preset_for(word: str) -> Preset:
    try:
        return preset_named(word)
    except PresetError as error:
        raise PresetError(f"{error}; a probe has a kind and a place: 'f {ascii(word)[1:-1]}'") from None


def preset_named(word: str) -> Preset:
    """Return the preset of a name; print a note if a project's preset hides the shipped one. Raises PresetError."""
    entry = Presets().find(word)
    if entry.replaces_shipped and entry.origin is Origin.PROJECT:
        note = f"{entry.name} is the project's, instead of the one that comes along: {entry.path}"
        print(plain(f"probewright: {note}"), file=sys.stderr)
    assert entry.preset is not None  # noqa: S101 - find returns only entries with a preset
    return entry.preset


def print_skipped_presets(presets: Presets) -> None:
    """Print on standard error the preset files that were skipped because another user can change them."""
    for reason in presets.passed_over:
        print(plain(f"probewright: {reason}"), file=sys.stderr)


def values_of(words: Sequence[str]) -> dict[str, str]:
    """Parse words of the form NAME=VALUE, from `-p`. Raises PresetError."""
    values = {}
    for word in words:
        name, equals, value = word.partition("=")
        if not equals:
            raise PresetError(f"-p takes NAME=VALUE, not {ascii(word)[1:-1]}")
        values[name.strip()] = value
    return values


def _specs(choice: PresetChoice, planner: Planner) -> list[str]:
    judgement = judge(*choice, planner.check, planner.info.facts.machine)
    for one in judgement.probes:
        if one.plan is None:
            raise ProbeRefused(one.verdict)
        if one.rejected_alternatives:
            why = one.rejected_alternatives[0].error
            reason = f": {why.hint or why.message}" if why else ""
            print(plain(f"probewright: {choice.preset.name}: another way is taken here{reason}"), file=sys.stderr)
    return [one.text for one in judgement.probes]
