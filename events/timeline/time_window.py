"""Divide an interval of time into cells, one a column of the screen, and zoom it around a place. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from events.store.columns import Ints

_MOST: Final = (1 << 63) - 1


class TimeWindow(NamedTuple):
    """Interval in nanoseconds of a `events.timeline.axis.TimeAxis`, in cells that differ by 1 ns at most."""

    start: int
    span: int
    """Nanoseconds; at least one a cell."""
    cells: int

    @property
    def end(self) -> int:
        """First place after the window."""
        return self.start + self.span

    @classmethod
    def of(cls, start: int, end: int, cells: int) -> TimeWindow:
        """Return the window from a place to before another; longer, if it has less than a nanosecond for a cell."""
        return cls(start, max(end - start, cells), cells)

    def edge(self, cell: int) -> int:
        """Return the first place of a cell."""
        return self.start + cell * self.span // self.cells

    @property
    def edges(self) -> Ints:
        """First places of all cells, and the end of the last one."""
        import numpy as np

        if self.span < _MOST // (self.cells + 1) and self.end <= _MOST:
            return self.start + np.arange(self.cells + 1, dtype=np.int64) * self.span // self.cells
        # A damaged recording has any times.
        return np.array([min(self.edge(cell), _MOST) for cell in range(self.cells + 1)], np.int64)

    def cell(self, place: int) -> int:
        """Return the cell of a place; below 0 or at least `cells`: it is not in the window."""
        return ((place - self.start + 1) * self.cells - 1) // self.span

    def has(self, place: int) -> bool:
        """Return whether a place is in the window."""
        return self.start <= place < self.end

    def within(self, start: int, end: int) -> TimeWindow:
        """Return the window moved into an interval, and no longer than that."""
        span = max(min(self.span, end - start), self.cells)
        return TimeWindow(max(start, min(self.start, end - span)), span, self.cells)

    def zoomed(self, part: float, place: int) -> TimeWindow:
        """Return a window of a part of the span, in which a place of this window stays in its cell."""
        span = max(round(self.span * part), self.cells)
        cell = min(max(self.cell(place), 0), self.cells - 1)
        return TimeWindow(place - cell * span // self.cells, span, self.cells)

    def moved(self, nanoseconds: int) -> TimeWindow:
        """Return the window later by some time."""
        return self._replace(start=self.start + nanoseconds)

    def with_cells(self, cells: int) -> TimeWindow:
        """Return the same interval in another number of cells."""
        return TimeWindow.of(self.start, self.end, cells)
