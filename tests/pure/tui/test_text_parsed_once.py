"""A text that is typed is parsed once a key: its verdict, its lines and its ticked fields are made from one value."""

from __future__ import annotations

import sys

import pytest

from kernel.connection.planner import Planner
from probes.command import CommandText, parse_command
from probes.syntax.parse import parse_probe
from tui.compose import specification

TEXTS = [
    "f vfs_read file->f_pos",
    "f vfs_read file",
    "f vfs_read",
    "p vfs_read%return $retval",
    "p vfs_read+4",
    "t sched_switch prev->comm",
    "e sched/sched_switch prev_pid",
    "f vfs_raed",
    "f",
    "-:a/b",
    "p /bin/true:0x10",
]


@pytest.fixture
def parsed(planner: Planner, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that gets each text that is parsed, by whatever module."""
    specification.typed(planner, CommandText.parse(TEXTS[0]))  # all modules are imported now
    texts: list[str] = []
    for parse in (parse_command, parse_probe):

        def count(text: str, parse=parse) -> object:  # type: ignore[no-untyped-def]
            texts.append(text)
            return parse(text)

        for name, module in list(sys.modules.items()):
            # `probes.command` itself calls `parse_probe` for `parse_command`: one parse.
            if name.startswith(("probes.", "kernel.", "tui.")) and (name, parse) != ("probes.command", parse_probe):
                for attribute in [a for a, value in vars(module).items() if value is parse]:
                    monkeypatch.setattr(module, attribute, count)
    return texts


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_parsed_once(planner: Planner, parsed: list[str], text: str) -> None:
    read = CommandText.parse(text)
    specification.unchecked(planner.info, read)
    specification.asks_target(read)
    specification.typed(planner, read)
    assert parsed.count(text) == 1


def test_a_second_parse_is_seen(planner: Planner, parsed: list[str]) -> None:
    specification.typed(planner, CommandText.parse(TEXTS[0]))
    specification.counted_by(planner.info, TEXTS[0])
    planner.check_typed(TEXTS[0])
    assert parsed.count(TEXTS[0]) == 2
