"""Rows of a `LineList`: numbered, each with a few pieces of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Piece(NamedTuple):
    """Run of safe text (see `safe_text`) with the name of its style."""

    text: str
    look: str = ""
    """Key of `line_paint.LOOKS`; empty: plain."""


class Rows(Protocol):
    """Source of rows: numbers `first` to `next - 1`.

    A source that drops its oldest rows raises `first`; no row ever changes its number.
    """

    @property
    def first(self) -> int:
        """Number of the oldest row in memory."""

    @property
    def next(self) -> int:
        """Number after the youngest row."""

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return the row for a line of that many columns; a longer one is cropped, a shorter one filled."""


class NoRows:
    """Empty source of rows."""

    first = 0
    next = 0

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:  # noqa: ARG002 - by the protocol
        """Return no pieces; never called."""
        return ()
