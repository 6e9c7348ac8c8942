"""Probes in the words of another tool on the command line: put into ours and told, or refused."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import NamedTuple

from probes.presets.errors import PresetError
from probes.translation.translate import translate
from tui.cli.output import plain


class InOurWords(NamedTuple):
    """Words of a command line, those of other tools translated."""

    words: tuple[str, ...]
    triggers: tuple[str, ...] = ()


def quoted(words: Sequence[str]) -> str:
    """Return probes as they are typed behind a command."""
    return ", ".join(f"'{word}'" for word in words)


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


def in_our_words(words: list[str], targets: Sequence[str] = ()) -> InOurWords:
    """Translate what is another tool's, and say so. Raises PresetError where something of it can't be."""
    ours: list[str] = []
    triggers: list[str] = []
    for word in words:
        found = translate(word, machine_of(targets))
        if found is None:
            ours.append(word)
            continue
        said = quoted(found.probes)
        if not found.whole:
            what = f"what can be said of it: {said}" if said else "nothing of it is a probe"
            raise PresetError(f"this is {found.tool}'s; {found.told}; {what}")
        told = f"; {found.told}" if found.told else ""
        print(f"probewright: {plain(f'{found.tool}, in our words: {said}{told}')}", file=sys.stderr)
        ours += found.probes
        triggers += found.triggers
    if triggers and len(ours) > 1:
        raise PresetError(f"a trigger is for one probe: run them apart, with --trigger '{triggers[0]}'")
    return InOurWords(tuple(ours), tuple(triggers))
