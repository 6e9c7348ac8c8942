"""Programs and maps of a compiled BPF object as rows of the list of functions, with marks at what is attached."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from foreign.count_text import counted
from widgets.rows import Piece
from widgets.safe_text import cut, cut_parts, safe, width

_MARK: Final = "✓ "


class ObjectRow(NamedTuple):
    """A program, or a map."""

    name: str
    note: str
    """Place of a program, or kind and types of a map."""
    reason: str = ""
    """Reason why a program can't be attached; empty: it can, or the row is a map."""
    is_program: bool = True

    @property
    def can_be_marked(self) -> bool:
        """True for a program that can be attached."""
        return self.is_program and not self.reason


class ObjectRows:
    """Rows of one object; a source for `LineList`."""

    first = 0

    def __init__(
        self, rows: Sequence[ObjectRow], marked: Iterable[str], text_of: Callable[[tuple[str, ...]], str]
    ) -> None:
        """Set the rows, the programs that are marked at first, and the text of the object with some programs."""
        self._rows = tuple(rows)
        self._text_of = text_of
        self._default = frozenset(marked)
        self.marked: set[str] = set(self._default)
        """Names of the programs to attach."""
        self.next = len(self._rows)

    @property
    def text(self) -> str:
        """Text of the object with the marked programs; with those that are marked at first they are not named."""
        names = tuple(row.name for row in self._rows if row.name in self.marked)
        return self._text_of(() if self.marked == self._default else names)

    @property
    def count(self) -> str:
        """Number of marked programs, of all."""
        return f"{len(self.marked)} of {counted(sum(row.is_program for row in self._rows), 'program')}"

    def name(self, row: int) -> str:
        """Return the name of a program or map."""
        return self._rows[row].name

    def details(self, row: int) -> str:
        """Return all that is known of a row."""
        one = self._rows[row]
        return f"{one.name}: {one.reason or one.note}"

    def toggle(self, row: int) -> None:
        """Mark a program that can be attached, or unmark it."""
        if self._rows[row].can_be_marked:
            self.marked ^= {self._rows[row].name}

    def toggle_all(self) -> None:
        """Mark all programs that can be attached, or unmark them where all are marked."""
        every = {row.name for row in self._rows if row.can_be_marked}
        self.marked = set() if self.marked == every else every

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return mark, name, and where a program is attached or what a map holds."""
        one = self._rows[row]
        yield Piece(_MARK if one.name in self.marked and one.is_program else "  ", "mark")
        name = cut(safe(one.name), max(8, columns // 2))
        yield Piece(name, "dim" if one.reason or not one.is_program else "")
        room = columns - len(_MARK) - width(name) - 2
        if room > 0:
            yield Piece("  " + cut_parts(safe(one.reason or one.note), room), "dim")
