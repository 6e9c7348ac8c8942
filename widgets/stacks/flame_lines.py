"""Lines of a flame graph for one width of the screen, the root on top, and the ways from frame to frame in it.

Pure: no Textual; `widgets.stacks.flame_graph` draws the lines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from events.stacks.call_tree import ROOT, Cell, StackTree, Weights
from widgets.safe_text import cut, width

EDGE = "▏"
"""Stands in the first column of a frame, so that frames are apart without colour too."""
CURSOR_EDGE = "▌"
_LEAST_NAME = 3
"""Columns from which a part of a name says something."""


class FlamePicture(NamedTuple):
    """Tree with the widths of its nodes and their texts."""

    tree: StackTree
    widths: Weights
    name: Callable[[int], str]
    """Function that returns the safe text of a node."""
    share: Callable[[int], str]
    """Function that returns what is written behind the name, where there is room."""
    change: Callable[[int], str]
    """Function that returns what is written before the name in any case; empty: nothing."""
    look: Callable[[int], str]
    """Function that returns the style of a node, a key of `flame_graph.LOOKS`."""


class FlameLines:
    """Frames by line: those around the one that is zoomed into, each a whole line, then the tree below it."""

    def __init__(self, picture: FlamePicture, zoom: int, columns: int) -> None:
        self.picture = picture
        self.zoom = zoom
        around = picture.tree.line(zoom)[:-1]
        below = picture.tree.cells(picture.widths, zoom, columns) or [[Cell(zoom, 0, columns)]]
        self.lines: list[list[Cell]] = [*([Cell(node, 0, columns)] for node in around), *below]
        self.line_of = {cell.node: number for number, cells in enumerate(self.lines) for cell in cells}
        """Line of each frame that has a column."""

    def visible(self, node: int) -> int:
        """Return a node, or the nearest one around it that has a column."""
        while node not in self.line_of and node != ROOT:
            node = self.picture.tree.parents[node]
        return node

    def at(self, line: int, column: int) -> int | None:
        """Return the frame at a place; None: there is none."""
        cells = self.lines[line] if 0 <= line < len(self.lines) else ()
        return next((cell.node for cell in cells if cell.start <= column < cell.after), None)

    def beside(self, node: int, step: int) -> int:
        """Return the next frame of the same line to the right (`step` 1) or left (-1); the last one is its own."""
        nodes = [cell.node for cell in self.lines[self.line_of[node]]]
        return nodes[min(max(0, nodes.index(node) + step), len(nodes) - 1)]

    def widest_below(self, node: int) -> int:
        """Return the widest child that has a column, the first of several; a node without one is its own."""
        children = [child for child in self.picture.tree.children[node] if child in self.line_of]
        return max(children, key=self.picture.widths.__getitem__, default=node)

    def in_order(self) -> list[int]:
        """Return the frames that have a column, from the top down and from left to right."""
        return list(self.line_of)

    def text(self, cell: Cell, *, is_cursor: bool = False) -> str:
        """Return a frame in exactly its columns."""
        room = cell.after - cell.start - 1
        picture = self.picture
        change = picture.change(cell.node)
        text = f"{change} {picture.name(cell.node)}" if change else picture.name(cell.node)
        share = picture.share(cell.node)
        if change and room < len(change):
            text = change[:1]  # its sign
        elif room < _LEAST_NAME:
            text = ""
        elif share and width(text) + 1 + len(share) <= room:
            text = f"{text} {share}"
        text = cut(text, room)
        return (CURSOR_EDGE if is_cursor else EDGE) + text + " " * (room - width(text))
