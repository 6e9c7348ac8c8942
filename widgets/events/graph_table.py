"""Table of the tree of calls: fold, unfold, go to slow calls."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip

from foreign.count_text import counted
from widgets.events.graph_rows import GraphRows, GraphTree
from widgets.lists.tail_table import TailTable


class GraphTable(TailTable):
    """Table with keys to fold, unfold, and go to slow calls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("left", "fold(True)", "Fold", id="graph.fold", tooltip="Fold the call; again: go out"),
        Binding("right", "fold(False)", "Unfold", id="graph.unfold", tooltip="Unfold the call; again: go in"),
        *(
            Binding(
                str(n),
                f"levels({n})",
                f"{counted(n, 'level')}",
                show=False,
                id=f"graph.levels{n}",
                tooltip="Unfold N levels",
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

    def _calls(self, *, at_cursor: bool) -> GraphTree | None:
        """Return the source; `at_cursor`: hold the picture first, and return None if the cursor is on no row."""
        if at_cursor and self.rows.next > self.rows.first:
            self.follower.stand()
        if not isinstance(self.source, GraphRows) or (at_cursor and not self.window.has(self.cursor)):
            return None
        return self.source.source

    def news(self, changed: bool) -> None:
        """Show new rows; `changed`: rows drawn before may look different."""
        if changed:
            self.source.forget()
            self._painter.forget()
            if self.follow.following:
                self.refresh()
        self.tick()

    def render_lines(self, crop: Region) -> list[Strip]:
        """Format the visible rows first: bars are scaled to the longest duration."""
        first = max(self.window.top, self.source.first)
        if self.source.prepare(first, min(first + self.window.page, self.source.next)):
            self._painter.forget()
            if crop.height < self.size.height:  # else all rows are drawn now
                self.refresh()
        return super(TailTable, self).render_lines(crop)

    def _is_drawn(self, row: int) -> bool:
        return self.window.has(row)  # rows fold and unfold, so that new ones have no fixed place

    def show_changed(self, place: int, *, keeps_following: bool = False) -> None:
        """Show changed rows, with the cursor at a place; `keeps_following`: unless the newest rows are followed."""
        self.source.forget()
        self._painter.forget()
        if keeps_following and self.follow.following:
            self.follower.resume()
            return
        self.follow.fold(self.rows.first, self.rows.next)
        self.sync_extent()
        self.move_to(place)
        self.refresh()

    def action_fold(self, folded: bool) -> None:
        """Fold or unfold the row under the cursor."""
        if (calls := self._calls(at_cursor=True)) is not None:
            self.show_changed(calls.fold(self.cursor, folded))

    def clicked(self, row: int, column: int, times: int) -> None:
        """Fold or unfold a call whose arrow was clicked; the first column has the mark of the cursor."""
        source = self.source
        at = source.arrow(row, self.window.columns - 1) if isinstance(source, GraphRows) else None
        folds = isinstance(source, GraphRows) and at is not None and 0 <= column - 1 - at <= 1
        super().clicked(row, column, 1 if folds else times)
        if folds and isinstance(source, GraphRows):
            self.action_fold(not source.source.text(self.cursor).folded)

    def action_levels(self, levels: int) -> None:
        """Show `levels` levels; 0: all."""
        if (calls := self._calls(at_cursor=False)) is not None:
            self.show_changed(calls.unfold_to(self.cursor, levels), keeps_following=True)

    def action_task(self) -> None:
        """Show only one task, or all."""
        if (calls := self._calls(at_cursor=True)) is not None:
            self.show_changed(calls.only_task(self.cursor))

    def action_slow(self, direction: int) -> None:
        """Go to the next slow call."""
        if (calls := self._calls(at_cursor=True)) is not None:
            place = calls.next_slow(self.cursor, direction)
            if place is None:
                self.post_message(self.NothingSlow().set_sender(self))
            else:
                self.show_changed(place)
                self.go_to(place)

    def go_to(self, row: int) -> None:
        """Go to a row, which may have been unfolded for this."""
        self.follow.see(self.rows.first, self.rows.next)
        self.source.forget()
        self._painter.forget()
        self.sync_extent()
        super().go_to(row)
        self.refresh()
