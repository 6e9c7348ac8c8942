"""Probes in the words of another tool on the command line: put into ours and told, or refused."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from probes.presets.errors import PresetError
from probes.translation.translate import translate
from tui.cli.console.output import plain


class TranslatedWords(NamedTuple):
    """Words of a command line, those of other tools translated."""

    words: tuple[str, ...]
    counting: Mapping[str, tuple[str, ...]] = {}
    """Hist triggers by the word that they belong to."""


def quoted(words: Sequence[str]) -> str:
    """Return probes as they are typed behind a command."""
    return ", ".join(f"'{word}'" for word in words)


def with_triggers(counting: Mapping[str, tuple[str, ...]]) -> str:
    """Return probes with their triggers, as they are typed behind a command."""
    return ", ".join(
        " ".join((quoted([word]), *(f"--trigger {quoted([one])}" for one in triggers)))
        for word, triggers in counting.items()
    )


def targets_of(arguments: argparse.Namespace) -> Sequence[str]:
    """Return the targets of a command, as they were typed."""
    return getattr(arguments, "targets", ()) or (getattr(arguments, "target", ""),)


def machine_of(targets: Sequence[str]) -> str:
    """Return the machine (`uname -m`) that targets say they are of, before any is opened; empty: they don't."""
    import platform

    def machine(target: str) -> str:
        if target == "local":
            return platform.machine()
        kind, _, kernel = target.partition(":")
        return ("aarch64" if kernel.startswith("arm64") else "x86_64") if kind == "lab" and "/" not in kernel else ""

    found = set(map(machine, targets))
    return found.pop() if len(found) == 1 else ""


def in_our_words(words: list[str], targets: Sequence[str] = ()) -> TranslatedWords:
    """Translate what is another tool's, and say so. Raises PresetError where something of it can't be."""
    ours: list[str] = []
    counting: dict[str, tuple[str, ...]] = {}
    for word in words:
        found = translate(word, machine_of(targets))
        if found is None:
            ours.append(word)
            continue
        own = found.triggers_by_probe
        said = with_triggers(own)
        if not found.whole:
            what = f"what can be said of it: {said}" if said else "nothing of it is a probe"
            raise PresetError(f"this is {found.tool}'s; {found.notes}; {what}")
        told = f"; {found.notes}" if found.notes else ""
        print(f"probewright: {plain(f'{found.tool}, in our words: {said}{told}')}", file=sys.stderr)
        ours += found.probes
        counting |= {word: triggers for word, triggers in own.items() if triggers}
    return TranslatedWords(tuple(ours), counting)
