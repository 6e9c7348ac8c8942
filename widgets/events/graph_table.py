"""Table of the tree of calls: fold, unfold, go to slow calls."""

from __future__ import annotations

from typing import ClassVar, Protocol

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from widgets.events.graph_rows import GraphRows, GraphSource
from widgets.lists.tail_table import TailTable


class GraphTree(GraphSource, Protocol):
    """Source whose lines can be folded and selected; each method returns the new place of the cursor."""

    def fold(self, place: int, folded: bool) -> int:
        """Fold or unfold a line; if it already is, go to its parent, or to its first child."""

    def unfold_to(self, place: int, levels: int) -> int:
        """Show `levels` levels; 0: all."""

    def only_task(self, place: int) -> int:
        """Show only the task of a line, or all again."""

    def next_slow(self, place: int, direction: int) -> int | None:
        """Return the next slow line; None: there is none."""


class GraphTable(TailTable):
    """Table with keys to fold, unfold, and go to slow calls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "fold(True)", "Fold", id="graph.fold", tooltip="Fold the call; again: go out"),
        Binding("right", "fold(False)", "Unfold", id="graph.unfold", tooltip="Unfold the call; again: go in"),
        *(
            Binding(
                str(n), f"levels({n})", f"{n} levels", show=False, id=f"graph.levels{n}", tooltip="Unfold N levels"
            )
            for n in range(1, 10)
        ),
        Binding("0", "levels(0)", "All levels", show=False, id="graph.levels", tooltip="Unfold everything"),
        Binding(
            "right_square_bracket",
            "slow(1)",
            "Next slow",
            key_display="]",
            id="graph.next_slow",
            tooltip="To the next slow call (the slowest 1 %, or set with =)",
        ),
        Binding(
            "left_square_bracket",
            "slow(-1)",
            "Slow before",
            key_display="[",
            show=False,
            id="graph.slow_before",
            tooltip="To the previous slow call",
        ),
        Binding(
            "a", "task", "Task", id="graph.task", tooltip="Only the task of the row under the cursor, or all again"
        ),
    ]

    class NothingSlow(Message):
        """Sent if there is no slow call in the requested direction."""

    @property
    def calls(self) -> GraphTree | None:
        """Source of the rows."""
        rows = self._table
        return rows.source if isinstance(rows, GraphRows) else None  # type: ignore[return-value]

    def news(self, changed: bool) -> None:
        """Show new rows; `changed`: rows drawn before may look different."""
        if changed:
            self._table.forget()
            self._painter.forget()
            if self.following:
                self.refresh()
        self.tick()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Format the visible rows first: bars are scaled to the longest duration."""
        first = max(self.top, self._table.first)
        if self._table.prepare(first, min(first + self.page, self._table.next)):
            self._painter.forget()
            if crop.height < self.size.height:  # else all rows are drawn now
                self.refresh()
        return super(TailTable, self).render_lines(crop)

    def _is_drawn(self, row: int) -> bool:
        return self._has(row)  # rows fold and unfold, so that new ones have no fixed place

    def turned(self, place: int) -> None:
        """Show changed rows, with the cursor at a place."""
        self.follow.fold(self._rows.first, self._rows.next)
        self._table.forget()
        self._painter.forget()
        self.sync_extent()
        self.move_to(place)
        self.refresh()

    def action_fold(self, folded: bool) -> None:
        """Fold or unfold the row under the cursor."""
        self._stand()
        if self.calls and self._has(self.cursor):
            self.turned(self.calls.fold(self.cursor, folded))

    def turned_all(self, place: int) -> None:
        """Show changed rows as `turned` does, but keep following."""
        if not self.following:
            self.turned(place)
            return
        self._table.forget()
        self._painter.forget()
        self._resume()

    def action_levels(self, levels: int) -> None:
        """Show `levels` levels; 0: all."""
        if self.calls:
            self.turned_all(self.calls.unfold_to(self.cursor, levels))

    def action_task(self) -> None:
        """Show only one task, or all."""
        self._stand()
        if self.calls and self._has(self.cursor):
            self.turned(self.calls.only_task(self.cursor))

    def action_slow(self, direction: int) -> None:
        """Go to the next slow call."""
        self._stand()
        if self.calls and self._has(self.cursor):
            place = self.calls.next_slow(self.cursor, direction)
            if place is None:
                self.post_message(self.NothingSlow().set_sender(self))
            else:
                self.turned(place)
                self.go_to(place)

    def go_to(self, row: int) -> None:
        """Go to a row, which may have been unfolded for this."""
        self.follow.see(self._rows.first, self._rows.next)
        self._table.forget()
        self._painter.forget()
        self.sync_extent()
        super().go_to(row)
        self.refresh()

    def _stand(self) -> None:
        if self.following and self._rows.next > self._rows.first:
            self._stop(self.top)
