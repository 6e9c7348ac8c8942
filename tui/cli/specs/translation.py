"""Translate probes of another tool on the command line into ours, and print the translation, or refuse them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from probes.presets.errors import PresetError
from probes.translation.translate import translate
from tui.cli.console.output import plain


class TranslatedWords(NamedTuple):
    """Words of a command line, with those of other tools translated."""

    words: tuple[str, ...]
    counting: Mapping[str, tuple[str, ...]] = {}
    """Hist triggers, by the word that they belong to."""


def quoted(words: Sequence[str]) -> str:
    """Return probes as they are typed after a command."""
    return ", ".join(f"'{word}'" for word in words)


def with_triggers(counting: Mapping[str, tuple[str, ...]]) -> str:
    """Return probes with their triggers, as they are typed after a command."""
    return ", ".join(
        " ".join((quoted([word]), *(f"--trigger {quoted([one])}" for one in triggers)))
        for word, triggers in counting.items()
    )


def targets_of(arguments: argparse.Namespace) -> Sequence[str]:
    """Return the targets of a command, as they were typed."""
    return getattr(arguments, "targets", ()) or (getattr(arguments, "target", ""),)


def machine_of(targets: Sequence[str]) -> str:
    """Return the machine (`uname -m`) that target names imply before any target is opened; empty: unknown."""
    import platform

    def machine(target: str) -> str:
        if target == "local":
            return platform.machine()
        kind, _, kernel = target.partition(":")
        return ("aarch64" if kernel.startswith("arm64") else "x86_64") if kind == "lab" and "/" not in kernel else ""

    found = set(map(machine, targets))
    return found.pop() if len(found) == 1 else ""


def translate_words(words: list[str], targets: Sequence[str] = ()) -> TranslatedWords:
    """Translate words in another tool's syntax, and print the translation. Raises PresetError if a part is
    untranslatable.
    """
    ours: list[str] = []
    counting: dict[str, tuple[str, ...]] = {}
    for word in words:
        found = translate(word, machine_of(targets))
        if found is None:
            ours.append(word)
            continue
        triggers_by_probe = found.triggers_by_probe
        translated = with_triggers(triggers_by_probe)
        if not found.whole:
            what = f"what can be said of it: {translated}" if translated else "nothing of it is a probe"
            raise PresetError(f"this is {found.tool}'s; {found.notes}; {what}")
        notes = f"; {found.notes}" if found.notes else ""
        print(f"probewright: {plain(f'{found.tool}, in our words: {translated}{notes}')}", file=sys.stderr)
        ours += found.probes
        counting |= {word: triggers for word, triggers in triggers_by_probe.items() if triggers}
    return TranslatedWords(tuple(ours), counting)
