"""Options and commands that a message names are there: in the parser of the command that it names, else in some."""

from __future__ import annotations

import argparse
import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tui.cli.args.parser import COMMANDS, parsers

ROOT = Path(__file__).parents[3]
OF_OTHERS = (
    "probes/export/",
    "probes/translation/",
    "kernel/lab/build.py",
    "kernel/lab/needs.py",
    "kernel/lab/userland.py",
)
"""Folders and files with the options of other tools."""
APT = {
    *("--allow-releaseinfo-change", "--compare-versions", "--format", "--fsys-tarfile", "--no-recommends"),
    *("--no-suggests", "--print-uris", "--simulate"),
}
ANSIBLE, LAB = {"--list"}, {"--append", "--no-python"}
NAMED = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z][0-9]?")
COMMANDED = re.compile(r"probewright ([a-z]+)\b([^;`]*)")


def of(parser: argparse.ArgumentParser) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The commands of a parser, also those within commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield name, inner
                yield from of(inner)


def options(parser: argparse.ArgumentParser) -> set[str]:
    return {word for action in parser._actions for word in action.option_strings}


def messages() -> Iterator[tuple[str, str]]:
    """Strings of modules that are no docstrings, the parts of one put together."""
    for folder in ("tui", "widgets", "kernel", "probes", "events"):
        for path in (ROOT / folder).rglob("*.py"):
            name = str(path.relative_to(ROOT))
            if name.startswith(OF_OTHERS):
                continue
            tree = ast.parse(path.read_text())
            aside = {
                id(node.value)
                for node in ast.walk(tree)
                if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            }
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in aside:
                    yield name, node.value


def test_each_option_that_is_named_is_there() -> None:
    application, commands = parsers()
    every = options(application) | {word for _, inner in of(commands) for word in options(inner)}
    found = {(name, word) for name, text in messages() for word in NAMED.findall(text)}
    wrong = {(name, word) for name, word in found if word not in every | APT | ANSIBLE | LAB and word != "--rotate"}
    assert not wrong


def test_each_command_that_is_named_has_the_options_named_with_it() -> None:
    application, commands = parsers()
    inner = dict(of(commands))
    wrong = []
    for name, text in messages():
        for command, rest in COMMANDED.findall(text):
            if command in COMMANDS and command in inner:
                known = options(inner[command])
                wrong += [(name, text) for word in NAMED.findall(rest) if word not in known | options(application)]
    assert not wrong
