"""Which rows of a tree are on the list: by task, least duration, the filter, and what is folded.

A list of row numbers in their order, by columns: 1,000,000 rows take some 10 ms once, and what is new is added as it
comes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from events.graph.begin_end_columns import Ints, Mask
from events.graph.context_rows import OutsideCalls, outside_calls
from events.graph.tree import CallRowFlag, CallTree


class VisibleOptions(NamedTuple):
    """What a person wants to see."""

    task: int | None = None
    """Thread id as in the tree; None: all."""
    least: int = 0
    """Nanoseconds; calls that took less are left out, with what is inside of them."""
    levels: int = 1 << 16
    """Levels that are unfolded."""


class VisibleRows:
    """Places 0 to `len() - 1`, each a row of the tree."""

    def __init__(
        self, tree: CallTree, wanted: VisibleOptions | None = None, passing: Callable[[slice], Mask] | None = None
    ) -> None:
        """Take the tree, and which of some rows of its columns pass the filter; None: all do."""
        self.tree = tree
        self._passing = passing
        self.dropped = 0
        """Places whose rows the tree has dropped: those before are gone."""
        self._wanted = wanted or VisibleOptions()
        self._turned: set[int] = set()
        """Rows that are folded though their level is not, or the other way round."""
        self._room = np.empty(1 << 12, np.int64)
        self._size = 0
        self._upto = tree.first
        self.tick()

    def __len__(self) -> int:
        return self._size

    @property
    def rows(self) -> Ints:
        """Rows of the places, in order."""
        return self._room[: self._size]

    @property
    def wanted(self) -> VisibleOptions:
        """What is on the list."""
        return self._wanted

    def want(self, wanted: VisibleOptions) -> None:
        """Show something else; folding by hand is forgotten where other levels are unfolded."""
        if wanted.levels != self._wanted.levels:
            self._turned.clear()
        self._wanted = wanted
        self.renew()

    def renew(self, row: int = 0) -> None:
        """Look at the rows from one on again."""
        row = max(row, self.tree.first)
        self._size = int(np.searchsorted(self.rows, row))
        self._upto = min(self._upto, row)
        self.tick()

    def tick(self, settled: bool = True) -> None:
        """Add what came; `settled`: and leave out what is known to be too short by now."""
        tree = self.tree
        changed = tree.changed
        if settled:  # else it is looked at when it is
            tree.changed = tree.next
        if settled and (self._wanted.least or self._passing) and changed < self._upto:
            self.renew(changed)
            return
        start = max(self._upto, tree.first)
        if start < tree.next:
            outside = outside_calls(tree.columns, start, tree.next)
            around = self._left_out_around(outside.busy, start)
            if around is not None:
                self.renew(around)
                return
            self._append(np.flatnonzero(self._seen(start, tree.next, outside)) + start)
            self._upto = tree.next
        gone = int(np.searchsorted(self.rows, tree.first))
        if gone:
            self._room[: self._size - gone] = self._room[gone : self._size].copy()
            self._size -= gone
            self.dropped += gone
            self._turned = {row for row in self._turned if row >= tree.first}

    def place(self, row: int) -> int:
        """Place of a row, or of the one before that is on the list; 0 where there is none."""
        return max(int(np.searchsorted(self.rows, row, "right")) - 1, 0)

    def folded(self, row: int) -> bool:
        """Whether what is inside of a row is left out."""
        level = int(self.tree.columns.column("level")[row - self.tree.first])
        return (level + 1 >= self._wanted.levels) != (row in self._turned)

    def fold(self, row: int, folded: bool) -> None:
        """Leave out what is inside of a row, or show it."""
        if self.folded(row) != folded:
            self._turned ^= {row}
            self.renew(row)

    def reveal(self, row: int) -> None:
        """Unfold what is around a row; where it is too short or of another task, want less."""
        one = self.tree.row(row)
        if self._wanted.task not in (None, one.task):
            self._wanted = self._wanted._replace(task=one.task)
        if one.duration < self._wanted.least and not one.flags & CallRowFlag.OPEN:
            self._wanted = self._wanted._replace(least=0)
        parent = one.parent
        while parent >= 0:
            if self.folded(parent):
                self._turned ^= {parent}
            parent = self.tree.row(parent).parent
        self.renew()

    def has_inside(self, row: int) -> bool:
        """Whether there are rows inside of a row."""
        tree = self.tree
        at = row - tree.first
        tasks, levels = tree.columns.column("task"), tree.columns.column("level")
        after = int(tree.columns.column("after")[at])
        stop = min(after, tree.next) - tree.first
        step = 64
        begin = at + 1
        while begin < stop:
            part = slice(begin, min(begin + step, stop))
            same = np.flatnonzero(tasks[part] == tasks[at])
            if len(same):
                return bool(levels[begin + same[0]] > levels[at])
            begin, step = begin + step, step * 8
        return False

    def _seen(self, start: int, stop: int, outside: OutsideCalls) -> Mask:
        """Which rows from `start` to before `stop` are on the list."""
        tree, wanted = self.tree, self._wanted
        part = slice(start - tree.first, stop - tree.first)
        level = tree.columns.column("level")[part]
        seen = level < wanted.levels
        seen &= ~outside.idle
        for row in sorted(self._turned):
            self._turn(seen, row, start, stop)
        if wanted.task is not None:
            seen &= tree.columns.column("task")[part] == wanted.task
        if wanted.least:
            open_ = (tree.columns.column("flags")[part] & CallRowFlag.OPEN) != 0
            seen &= open_ | (tree.columns.column("duration")[part] >= wanted.least)
        if self._passing is not None:
            seen &= self._passing(part)
        return seen

    def _turn(self, seen: Mask, row: int, start: int, stop: int) -> None:
        """Fold or unfold one row; those around it were looked at before."""
        tree = self.tree
        if row < tree.first:
            return
        task, level, after = (int(tree.columns.column(name)[row - tree.first]) for name in ("task", "level", "after"))
        first, after = max(row + 1, start), min(after, stop)
        if first >= after:
            return
        inside = slice(first - tree.first, after - tree.first)
        here = slice(first - start, after - start)
        own = tree.columns.column("task")[inside] == task
        if level + 1 < self._wanted.levels:
            seen[here] &= ~own
        elif self._shown(row, seen, start):
            seen[here] |= own & (tree.columns.column("level")[inside] == level + 1)

    def _shown(self, row: int, seen: Mask, start: int) -> bool:
        """Whether nothing around a row is folded."""
        if row >= start:
            return bool(seen[row - start])
        parent = self.tree.row(row).parent
        while parent >= 0:
            if self.folded(parent):
                return False
            parent = self.tree.row(parent).parent
        return True

    def _left_out_around(self, around: Ints, start: int) -> int | None:
        """Return the first of some rows that is before `start` and was left out; None: there is none."""
        columns, first = self.tree.columns, self.tree.first
        around = around[around < start]
        if self._wanted.task is not None:
            around = around[columns.column("task")[around - first] == self._wanted.task]
        if not len(around):  # as most often: the list is not looked at
            return None
        rows = np.append(self.rows, -1)
        around = around[rows[np.searchsorted(self.rows, around)] != around]
        return int(around.min()) if len(around) else None

    def _append(self, rows: Ints) -> None:
        size = self._size + len(rows)
        if size > len(self._room):
            larger = np.empty(max(size, 2 * len(self._room)), np.int64)
            larger[: self._size] = self.rows
            self._room = larger
        self._room[self._size : size] = rows
        self._size = size
