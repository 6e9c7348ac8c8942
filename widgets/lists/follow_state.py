"""State of a growing list: the rows that are there, and whether the newest are shown. Pure, apart from the widget."""

from __future__ import annotations


class FollowState:
    """Extent of the rows as of the last look, and the place that one stopped to follow at."""

    def __init__(self, first: int, after: int, *, following: bool = True) -> None:
        self.following = following
        """True while the newest rows are shown."""
        self.first = first
        self.after = after
        """Number of the row that comes next."""
        self.keeps_room = False
        """The picture was left with room below its rows, which stays free until one goes to what is new."""
        self._left_at = 0

    @property
    def left_at(self) -> int:
        """Row that came next when one stopped to follow."""
        return self.after if self.following else self._left_at

    @property
    def new(self) -> int:
        """Number of rows that came since one stopped to follow."""
        return self.after - self.left_at

    def see(self, first: int, after: int) -> bool:
        """Take the extent of the rows; False: it is the same."""
        changed = (first, after) != (self.first, self.after)
        self.first, self.after = first, after
        return changed

    def top(self, page: int) -> int:
        """Return the first row of the page that ends with the newest row."""
        return max(self.first, self.after - page)

    def stop(self) -> int:
        """Follow no more; return the newest row, for the cursor."""
        self._left_at = self.after
        self.following = False
        return max(self.after - 1, self.first)

    def resume(self, first: int, after: int) -> None:
        """Follow rows of this extent."""
        self.keeps_room = False
        self.see(first, after)
        self.following = True

    def reach(self, row: int) -> bool:
        """Take a move of the cursor; True: it came to a new row, so that room is kept no longer."""
        reached = self.keeps_room and row >= self._left_at
        self.keeps_room &= not reached
        return reached

    def hold(self, cursor: int, left_at: int) -> None:
        """Take another place that one stopped at; room is kept where the cursor is before it."""
        self._left_at = min(left_at, self.after)
        self.keeps_room = cursor < self._left_at

    def fold(self, first: int, after: int) -> None:
        """Take the extent of rows of which some may have been folded away."""
        self.see(first, after)
        self._left_at = min(self._left_at, after)

    def is_held_back(self, row: int, top: int) -> bool:
        """Return whether a row is new and its place stays free; `top`: first row on the screen."""
        return self.keeps_room and row >= self._left_at and top <= self.first
