"""Grammar of the command line as a value: commands, options and positional words, read from the argparse parsers.

Shell completion and the reference page are made from it, so that neither repeats the parser.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from events.export.catalogue import EVENT_FORMATS
from tui.cli.args.known_names import FUNCTIONS, PLACES, SPECIFICATIONS
from tui.cli.args.parser import parsers

TARGETS = (
    "auto",
    "local",
    "ssh://",
    "lab",
    "lab:6.1",
    "lab:6.12",
    "lab:7.2",
    "lab:arm64:6.12",
    "lab:riscv64:7.2",
    "lab:full",
)
FILES, PRESETS = "files", "presets"
"""Markers in `Option.values`: file names, or names of presets, may stand there."""
KNOWN = (FUNCTIONS, PLACES, SPECIFICATIONS)
"""Markers in `Option.values`: names of the target that was opened last may stand there."""


class Option(NamedTuple):
    """Option, or positional word."""

    names: tuple[str, ...]
    """Spellings, as `-t`, `--target`; empty for a positional word."""
    value: str
    """Name of the value in the help; empty: the option takes none."""
    values: tuple[str, ...]
    """Possible values, as far as they are known, with `FILES`, `PRESETS` or one of `KNOWN` where such may stand."""
    help: str
    optional: bool = False
    """True if the value of an option, or the positional word, may be left out."""
    repeated: bool = False
    required: bool = False
    """True if the option must be given."""
    closed: bool = False
    """True if no words other than `values` are accepted."""

    @property
    def takes(self) -> bool:
        """True if the next word always belongs to the option."""
        return bool(self.names and self.value and not self.optional)


class CommandWord(NamedTuple):
    """Command, or action of a command."""

    path: tuple[str, ...]
    """Words of the command, as `("preset", "list")`; empty: the application itself."""
    help: str
    options: tuple[Option, ...]
    words: tuple[Option, ...]
    """Positional words."""
    commands: tuple[str, ...]
    """Names of subcommands."""

    @property
    def usage(self) -> str:
        """Usage line, as `record [OPTION …] -o FILE.pwr SPEC …`."""
        needed = [f"{option.names[0]} {option.value}" for option in self.options if option.required]
        words = [f"{word.value} …" if word.repeated else word.value for word in self.words]
        optional = [f"[{text}]" if word.optional else text for text, word in zip(words, self.words, strict=True)]
        action = ["ACTION"] if self.commands and self.path else []
        return " ".join(["probewright", *self.path, "[OPTION …]", *needed, *optional, *action])


def commands() -> tuple[CommandWord, ...]:
    """Return the application, then every command, each before its actions."""
    application, rest = parsers()
    (first, *others) = list(_walk(rest, (), ""))
    mine = _command(application, (), application.description or "")
    return (mine._replace(commands=first.commands), *others)


def _walk(parser: argparse.ArgumentParser, path: tuple[str, ...], help_text: str) -> Iterator[CommandWord]:
    yield _command(parser, path, help_text)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            texts = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, sub in action.choices.items():
                yield from _walk(sub, (*path, name), texts.get(name, ""))


def _command(parser: argparse.ArgumentParser, path: tuple[str, ...], help_text: str) -> CommandWord:
    options: list[Option] = []
    words: list[Option] = []
    names: list[str] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            names += list(action.choices)
        elif action.help != argparse.SUPPRESS:
            (options if action.option_strings else words).append(_option(action))
    return CommandWord(path, help_text, tuple(options), tuple(words), tuple(names))


def _option(action: argparse.Action) -> Option:
    takes = action.nargs != 0
    metavar = action.metavar if isinstance(action.metavar, str) else _name_of(action) if takes else ""
    values = (
        tuple(str(value) for value in action.choices) if action.choices else _values(action, metavar) if takes else ()
    )
    text = (action.help or "") % {"default": action.default}
    return Option(
        tuple(action.option_strings),
        metavar if takes else "",
        values,
        text,
        optional=action.nargs in ("?", "*"),
        repeated=action.nargs in ("+", "*", 2),
        required=bool(action.option_strings) and action.required,
        closed=bool(action.choices),
    )


def _name_of(action: argparse.Action) -> str:
    """Return the name of an option's value where the parser names none: the destination in capitals."""
    return action.dest.upper()


def _values(action: argparse.Action, metavar: str) -> tuple[str, ...]:
    """Return the values that may stand for an option, derived from the name of the value in the help."""
    if metavar == "TARGET":
        return (*TARGETS, FILES)
    if metavar.startswith("FORMAT"):
        return tuple(EVENT_FORMATS)
    if "PRESET" in metavar:
        presets = (PRESETS, FILES) if action.dest == "names" else (PRESETS,)
        return (SPECIFICATIONS, *presets) if "SPEC" in metavar else presets
    if metavar == "SPEC":
        return (SPECIFICATIONS,)
    if metavar.startswith("FUNCTION|"):
        return (PLACES, FILES)
    if metavar in ("FUNCTION", "PATTERN"):
        return (FUNCTIONS if metavar == "FUNCTION" else PLACES,)
    if metavar == "KERNEL":
        return tuple(word.removeprefix("lab:") for word in TARGETS if word.startswith("lab:"))
    return (FILES,) if metavar.startswith(("FILE", "PATH")) or metavar.endswith(".pwr") else ()
