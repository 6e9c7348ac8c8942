"""Dialog for several pasted lines, each with its verdict: accepted ones are armed together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType

from foreign.count_text import counted
from widgets.dialogs.pick_list import PickList
from widgets.lists.line_list import LineList
from widgets.spec.spec_editor import left_out


class PastedLine(NamedTuple):
    """Pasted line."""

    text: str
    refused: str
    """Reason why it can't be armed; empty: it can."""
    triggers: tuple[str, ...] = ()
    """Triggers to arm it with."""


class _Lines(LineList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Arm all ✓", key_display="enter")]


class PastedProbes(PickList):
    """Dialog that returns a number for Enter: arm all accepted lines; None for Escape."""

    ROWS: ClassVar[type[LineList]] = _Lines

    def __init__(self, lines: Sequence[PastedLine], without_probe: int) -> None:
        """Set the lines; `without_probe` is the number of comments and empty lines left out."""
        good = sum(not line.refused for line in lines)
        rows = [row for line in lines for row in _rows(line)]
        said = left_out(without_probe)
        asked = f"arm {good} of {counted(len(lines), 'probe')}?" if good else "none of these can be armed"
        super().__init__(asked, [*rows, said] if said else rows)


def _rows(line: PastedLine) -> tuple[str, ...]:
    if line.refused:
        return (f"✗ {line.text}", f"    {line.refused}")
    return (f"✓ {line.text}", *(f"    with {one}" for one in line.triggers))
