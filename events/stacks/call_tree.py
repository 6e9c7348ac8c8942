"""Merge paths of frames into a tree, add up weights in it, compare two of them, and find the weight behind a name.

A tree holds no weights: those of its nodes are lists, so that one tree serves before and after, and all that comes.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from events.stacks.stack_paths import Path, PathFrame

ROOT: Final = 0
"""Node of all stacks, which has no frame."""

Weights = list[int]
"""Weight of each node."""


class Cell(NamedTuple):
    """Node in a line of a picture."""

    node: int
    start: int
    """First column."""
    after: int
    """Column after the last one."""


class StackTree:
    """Nodes by number; a node has a higher number than its parent."""

    def __init__(self) -> None:
        self.frames: list[PathFrame] = [PathFrame("")]
        self.parents: list[int] = [-1]
        self.children: list[list[int]] = [[]]
        """Children of each node in order of their names."""
        self._found: dict[tuple[int, PathFrame], int] = {}

    def __len__(self) -> int:
        return len(self.frames)

    def add(self, path: Path) -> int:
        """Return the node of a path, which is added if it is new; the empty path is the root."""
        node = ROOT
        for frame in path:
            child = self._found.get((node, frame))
            if child is None:
                child = self._found[node, frame] = len(self.frames)
                self.frames.append(frame)
                self.parents.append(node)
                self.children.append([])
                insort(self.children[node], child, key=lambda one: self.frames[one].name)
            node = child
        return node

    def find(self, path: Path) -> int | None:
        """Return the node of a path; None: there is none."""
        node = ROOT
        for frame in path:
            child = self._found.get((node, frame))
            if child is None:
                return None
            node = child
        return node

    def path(self, node: int) -> Path:
        """Return the frames from the root to a node."""
        found = []
        while node != ROOT:
            found.append(self.frames[node])
            node = self.parents[node]
        return tuple(reversed(found))

    def line(self, node: int) -> list[int]:
        """Return the nodes from the root to a node, both included."""
        found = [node]
        while found[-1] != ROOT:
            found.append(self.parents[found[-1]])
        return found[::-1]

    def totals(self, own: Sequence[int]) -> Weights:
        """Return the weight of each node with all below it.

        Args:
            own: weights of the paths that end at each node; those of the last nodes may be missing.
        """
        found = [*own, *[0] * (len(self) - len(own))]
        for node in range(len(self) - 1, ROOT, -1):
            found[self.parents[node]] += found[node]
        return found

    def matched(self, totals: Sequence[int], matches: Callable[[PathFrame], bool]) -> int:
        """Return the weight of the paths that have a frame for which `matches` is true."""
        weight, rest = 0, [ROOT]
        while rest:
            for child in self.children[rest.pop()]:
                if totals[child] and matches(self.frames[child]):
                    weight += totals[child]
                elif totals[child]:
                    rest.append(child)
        return weight

    def cells(self, widths: Sequence[int], root: int, columns: int) -> list[list[Cell]]:
        """Return the nodes from `root` down that get a column, by level: each within its parent, beside its siblings.

        Args:
            widths: weight of each node with all below it, which its columns are in proportion to.
            root: node that gets all columns.
            columns: number of columns.
        """
        total = widths[root]
        if columns < 1 or total < 1:
            return []
        levels = [[(Cell(root, 0, columns), 0)]]
        while levels[-1]:
            levels.append(
                [found for cell, at in levels[-1] for found in self._below(cell, at, widths, total, columns)]
            )
        return [[cell for cell, _ in level] for level in levels[:-1]]

    def _below(
        self, cell: Cell, at: int, widths: Sequence[int], total: int, columns: int
    ) -> Iterator[tuple[Cell, int]]:
        for child in self.children[cell.node]:
            after = at + widths[child]
            start, end = at * columns // total, after * columns // total
            if end > start:
                yield Cell(child, start, end), at
            at = after


class TreeComparison(NamedTuple):
    """Weights of the nodes of one tree before and after a moment."""

    before: Weights
    after: Weights

    @property
    def widths(self) -> Weights:
        """Sums of both shares in common units: what is in one of the two only has a width as well."""
        before, after = self.before[ROOT], self.after[ROOT]
        if not (before and after):
            return [old + new for old, new in zip(self.before, self.after, strict=True)]
        return [old * after + new * before for old, new in zip(self.before, self.after, strict=True)]

    def change(self, node: int) -> float:
        """Return the share of a node after, minus that before: -1.0 to 1.0; 0.0 while one of the two is empty."""
        before, after = self.before[ROOT], self.after[ROOT]
        if not (before and after):
            return 0.0
        return self.after[node] / after - self.before[node] / before
