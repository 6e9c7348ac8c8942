"""Notifications as lines for the foot of a screen, where they cover no content."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final, NamedTuple

from textual.content import Content

from widgets.safe_text import cut, safe_lines

MOST_LINES: Final = 3
"""Lines for all notifications together; the newest has priority."""


class Notice(NamedTuple):
    """Notification."""

    text: str
    """Foreign text; may have several lines."""
    title: str = ""
    urgent: bool = False
    """True for an error."""
    topic: str = ""
    """Topic; a later notification of the same topic replaces this one."""


def lines(said: Sequence[Notice], columns: int) -> list[Content]:
    """Return the newest notifications that fit, each in full if possible, the oldest of them on top."""
    found: list[Content] = []
    for notice in reversed(said):
        room = MOST_LINES - len(found)
        if room <= 0:
            break
        found = [*_lines(notice, columns, room), *found]
    return found


def _lines(notice: Notice, columns: int, room: int) -> list[Content]:
    mark = "! " if notice.urgent else "• "
    title = f"{notice.title}: " if notice.title else ""
    text = " ".join(line for line in safe_lines(title + notice.text) if line)
    rows = textwrap.wrap(text, max(20, columns - len(mark) - 1), break_on_hyphens=False) or [""]
    if len(rows) > room:
        rows = [*rows[: room - 1], f"{rows[room - 1]} …"]
    style = "bold $text-error" if notice.urgent else "$text-accent"
    return [
        Content.assemble(
            (mark if n == 0 else "  ", style), (cut(row, columns - len(mark)), "bold" if notice.urgent else "")
        )
        for n, row in enumerate(rows)
    ]
