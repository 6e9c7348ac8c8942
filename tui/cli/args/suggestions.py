"""What may have been meant by words that the command line does not take."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from tui.cli.args.fast_path import COMMANDS

_INSTEAD = {
    (
        "record",
        "--filter",
    ): "a recording keeps every event, and `FILE.pwr --export FORMAT --filter CONDITION` chooses",
    ("graph", "--filter"): "a graph is filtered in the application, by f",
}
"""What to say of an option that a command does not have and another one has."""


def meant(parser: argparse.ArgumentParser, arguments: argparse.Namespace, first: str, unknown: Sequence[str]) -> str:
    """What is wrong, with the nearest command or option where there is one.

    Args:
        parser: that read the words.
        arguments: what it understood.
        first: the first word that is neither an option nor belongs to one.
        unknown: what it could not take.
    """
    import difflib  # not where nothing is wrong: each command waits for it

    if first and first not in COMMANDS and not _is_target(first):
        if near := difflib.get_close_matches(first, COMMANDS, 1):
            return f"{first}: no such command; did you mean {near[0]}?"
        if not any(word in COMMANDS for word in unknown):  # else it stands behind an option in front of the command
            return f"{first}: no such command; commands are {', '.join(COMMANDS)}"
    told = f"unrecognized arguments: {' '.join(unknown)}"
    options = _options(parser, arguments)
    words = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    for word in words:
        if (instead := _INSTEAD.get((getattr(arguments, "command", ""), word))) is not None:
            return f"{told}; {instead}"
    found = [near for word in words for near in difflib.get_close_matches(word, options, 1)]
    return f"{told}; did you mean {', '.join(dict.fromkeys(found))}?" if found else told


def _is_target(word: str) -> bool:
    """Whether a word names something to open, be it there or not: no command looks like that."""
    return word in ("auto", "local") or any(sign in word for sign in ":/.") or os.path.exists(word)


def _options(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> list[str]:
    """The long options of the command, and of its action, that was understood."""
    found: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += _options(action.choices[getattr(arguments, action.dest)], arguments)
        elif action.help != argparse.SUPPRESS:
            found += [name for name in action.option_strings if name.startswith("--")]
    return found
