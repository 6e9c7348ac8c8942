"""What the application says in passing, as lines for the foot of a screen: nothing that one looks at is covered."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple

from textual.content import Content

from widgets.safe_text import cut, safe_lines

MOST_LINES: Final = 3
"""Of all that is said at a time; the newest goes before the older ones."""


class Notice(NamedTuple):
    """One message."""

    text: str
    """Foreign; may have several lines."""
    title: str = ""
    urgent: bool = False
    """Something went wrong."""
    topic: str = ""
    """What is said of the same thing later takes its place."""


def lines(said: Sequence[Notice], columns: int) -> list[Content]:
    """The newest messages, as many as have room, each whole where that is possible; the oldest of them is on top."""
    found: list[Content] = []
    for one in reversed(said):
        room = MOST_LINES - len(found)
        if room <= 0:
            break
        found = [*_lines(one, columns, room), *found]
    return found


def _lines(one: Notice, columns: int, room: int) -> list[Content]:
    mark = "! " if one.urgent else "• "
    title = f"{one.title}: " if one.title else ""
    text = " ".join(line for line in safe_lines(title + one.text) if line)
    rows = textwrap.wrap(text, max(20, columns - len(mark) - 1), break_on_hyphens=False) or [""]
    if len(rows) > room:
        rows = [*rows[: room - 1], f"{rows[room - 1]} …"]
    style = "bold $text-error" if one.urgent else "$text-accent"
    return [
        Content.assemble(
            (mark if n == 0 else "  ", style), (cut(row, columns - len(mark)), "bold" if one.urgent else "")
        )
        for n, row in enumerate(rows)
    ]
