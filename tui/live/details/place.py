"""Decide where the pane of details stands, by the size of the screen. Pure."""

from __future__ import annotations

import enum
from typing import Final

LEAST_COLUMNS: Final = 120
"""Columns of a screen from which on there is a pane."""
_BESIDE: Final = 150
"""Columns from which on a table has enough of them with the pane beside it."""
_BELOW: Final = 30
"""Rows from which on a table has enough of them with the pane below it."""
_SHARE: Final = 0.34
"""Share of the screen's columns, or rows, that the pane takes."""
_LEAST_WIDTH: Final = 46
"""Columns of a pane beside the table: a name of 20 and an address need 44."""
_MOST_COLUMNS: Final = 76
_MOST_ROWS: Final = 14


class PanePlace(enum.Enum):
    """Place of the pane of details."""

    NONE = ""
    BESIDE = "-beside"
    BELOW = "-below"


def place_of(columns: int, rows: int) -> PanePlace:
    """Return the place on a screen of a size: below the table where that needs the columns and has the rows."""
    if columns < LEAST_COLUMNS:
        return PanePlace.NONE
    return PanePlace.BESIDE if columns >= _BESIDE or rows < _BELOW else PanePlace.BELOW


def size_of(place: PanePlace, columns: int, rows: int) -> int:
    """Return the columns of a pane beside the table, or the rows of one below."""
    if place is PanePlace.BESIDE:
        return min(_MOST_COLUMNS, max(_LEAST_WIDTH, round(columns * _SHARE)))
    return min(_MOST_ROWS, round(rows * _SHARE)) if place is PanePlace.BELOW else 0
