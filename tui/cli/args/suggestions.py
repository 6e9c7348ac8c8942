"""Suggest the command or option that was probably meant by words that the parser does not know."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from tui.cli.args.fast_path import COMMANDS

RUNNING = ("run", "record", "errors", "refs")
"""Commands that run another command, behind `--`."""
_INSTEAD = {
    (
        "record",
        "--filter",
    ): "a recording keeps every event, and `FILE.pwr --export FORMAT --filter CONDITION` chooses",
    ("app", "--json"): "`--export jsonl` writes JSON lines, of the events or of the table of --by",
    ("graph", "--filter"): "a graph is filtered in the application, by f",
}
"""Advice for an option that this command does not have although another command has it."""


def unknown_arguments_message(
    parser: argparse.ArgumentParser, arguments: argparse.Namespace, first: str, unknown: Sequence[str]
) -> str:
    """Return an error message for unknown words, with the nearest command or option if there is one.

    Args:
        parser: the parser that read the words.
        arguments: namespace of the words that were understood.
        first: first word that is neither an option nor the value of one.
        unknown: words that the parser did not know.
    """
    import difflib  # imported only after an error: every command would wait for it

    if first and first not in COMMANDS and not _is_target(first):
        if near := difflib.get_close_matches(first, COMMANDS, 1):
            return f"{first}: no such command; did you mean {near[0]}?"
        # else the command stands behind an option that the application does not have
        if not any(word in COMMANDS for word in unknown):
            return f"{first}: no such command; commands are {', '.join(COMMANDS)}"
    message = f"unrecognized arguments: {' '.join(unknown)}"
    options = _options(parser, arguments)
    words = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    for word in words:
        if (instead := _INSTEAD.get((getattr(arguments, "command", ""), word))) is not None:
            return f"{message}; {instead}"
    names = [option.removeprefix("--") for option in options]  # the dashes alone make short options look alike
    nearest = [difflib.get_close_matches(word.removeprefix("--"), names, 1) for word in words]
    found = [f"--{name}" for some in nearest for name in some]
    if not found and getattr(arguments, "command", "") in RUNNING and not any(map(_is_option, unknown)):
        return f"{message}; a command to run stands behind --"
    return f"{message}; did you mean {', '.join(dict.fromkeys(found))}?" if found else message


def _is_option(word: str) -> bool:
    return word.startswith("-")


def _is_target(word: str) -> bool:
    """Tell whether a word looks like a target or an existing path: no command does."""
    return word in ("auto", "local") or any(sign in word for sign in ":/.") or os.path.exists(word)


def _options(parser: argparse.ArgumentParser, arguments: argparse.Namespace) -> list[str]:
    """Return the long options of the command, and of its action, that the parser recognized."""
    found: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            found += _options(action.choices[getattr(arguments, action.dest)], arguments)
        elif action.help != argparse.SUPPRESS:
            found += [name for name in action.option_strings if name.startswith("--")]
    return found
