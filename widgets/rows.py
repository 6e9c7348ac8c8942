"""What a `LineList` shows: rows by number, each a few pieces of text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Piece(NamedTuple):
    """A run of safe text (see `safe_text`) and the name of its look."""

    text: str
    look: str = ""
    """One of `line_paint.LOOKS`; empty: plain."""


class Rows(Protocol):
    """Where rows come from: numbers `first` to `next - 1`.

    A source that drops its oldest rows raises `first`; no row ever changes its number.
    """

    @property
    def first(self) -> int:
        """Number of the oldest row that is there."""

    @property
    def next(self) -> int:
        """Number after the youngest row."""

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """The row for a line of that many columns; longer is cropped, shorter is filled."""


class NoRows:
    """Nothing to show."""

    first = 0
    next = 0

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:  # noqa: ARG002 - by the protocol
        """Never called."""
        return ()
