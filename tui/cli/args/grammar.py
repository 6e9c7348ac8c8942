"""The command line as a value: which options, words and commands there are, read from the parser itself.

Completion of shells and the reference are made from it, so that nothing of them is written twice.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import NamedTuple

from events.export.catalogue import OF_EVENTS
from tui.cli.args.parser import parsers

TARGETS = ("auto", "local", "ssh://", "lab", "lab:6.1", "lab:6.12", "lab:7.2", "lab:arm64:6.12", "lab:full")
FILES, PRESETS = "files", "presets"
"""What `Option.values` says where files, or names of presets, may stand."""


class Option(NamedTuple):
    """An option, or a word that stands for itself."""

    names: tuple[str, ...]
    """`-t`, `--target`; empty: a positional word."""
    value: str
    """What stands behind it, as the help calls it; empty: nothing does."""
    values: tuple[str, ...]
    """What may stand there, as far as that is known; `FILES` and `PRESETS` alone for such."""
    help: str
    optional: bool = False
    """The value of an option, or the word, may be left out."""
    repeated: bool = False
    required: bool = False
    """Of an option: it must be given."""
    closed: bool = False
    """No other words than `values` may stand there."""

    @property
    def takes(self) -> bool:
        """The word behind it belongs to it, whatever it is."""
        return bool(self.names and self.value and not self.optional)


class CommandWord(NamedTuple):
    """A command, or one of its actions."""

    path: tuple[str, ...]
    """`("preset", "list")`; empty: none, the application itself."""
    help: str
    options: tuple[Option, ...]
    words: tuple[Option, ...]
    """What stands without a dash."""
    commands: tuple[str, ...]
    """The words that may follow as commands."""

    @property
    def usage(self) -> str:
        """`record [OPTION …] -o FILE.pwr SPEC …`."""
        needed = [f"{option.names[0]} {option.value}" for option in self.options if option.required]
        words = [f"{word.value} …" if word.repeated else word.value for word in self.words]
        optional = [f"[{text}]" if word.optional else text for text, word in zip(words, self.words, strict=True)]
        action = ["ACTION"] if self.commands and self.path else []
        return " ".join(["probewright", *self.path, "[OPTION …]", *needed, *optional, *action])


def commands() -> tuple[CommandWord, ...]:
    """The application, then every command, each before its actions."""
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
        tuple(str(one) for one in action.choices) if action.choices else _values(action, metavar) if takes else ()
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
    """As a person would call its value."""
    return action.dest.upper()


def _values(action: argparse.Action, metavar: str) -> tuple[str, ...]:
    """What may stand there, by the word that the help has for it."""
    if metavar == "TARGET":
        return (*TARGETS, FILES)
    if metavar.startswith("FORMAT"):
        return tuple(OF_EVENTS)
    if "PRESET" in metavar:
        return (PRESETS, FILES) if action.dest == "names" else (PRESETS,)
    if metavar == "KERNEL":
        return tuple(word.removeprefix("lab:") for word in TARGETS if word.startswith("lab:"))
    return (FILES,) if metavar.startswith(("FILE", "PATH")) else ()
