"""List of the argument tree: tick boxes, types, offsets; opened level by level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.message import Message

from widgets.fields.field_tree import FieldTree, TreeRow
from widgets.highlight import highlighted, matched
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_text import ELLIPSIS, cut, fit, safe, width


class FieldTick(NamedTuple):
    """State of a field in the probe."""

    sign: str
    """Sign: `x`: ticked; `*`: included in `$$args`; blank: not ticked."""
    type: str = ""
    """Type chosen in the probe; empty: the field's own."""


Ticks = Callable[[TreeRow], FieldTick]

_INDENT = 2
_OFFSET = 6
_TYPE = 7
_MIN_C_TYPE = 10
_MAX_C_TYPE = 44
_MIN_LABEL = 16
_ROOM_FOR_OFFSET = 56


class FieldRows:
    """Rows of a tree, or the rows that match a query."""

    first = 0

    def __init__(self, rows: Sequence[TreeRow], ticks: Ticks, query: str | None = None) -> None:
        self.rows = rows
        self.next = len(rows)
        self._ticks = ticks
        self._query = query
        self._widest = (0, 0)

    def changed(self, rows: Sequence[TreeRow]) -> None:
        """Set the rows after one was opened or closed."""
        self.rows, self.next, self._widest = rows, len(rows), (0, 0)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return number, arrow, box and label; C type, kernel type and offset as far as they fit."""
        entry = self.rows[row]
        node, tick = entry.node, self._ticks(entry)
        labels, c_type, kind, offset = self._layout(columns)
        look = "dim" if node.fetcharg is None and not node.expandable else ""
        lead, box = self._lead(entry), self.box(entry, tick)
        room = max(1, labels - width(lead) - 4)
        named = self._label(entry)
        label = cut(safe(named), room)
        skipped = len(named) - len(entry.name)
        runs = [
            (a + skipped, b + skipped) for a, b in matched(label.removesuffix(ELLIPSIS)[skipped:], self._query or "")
        ]
        yield Piece(lead, "dim")
        yield Piece(box + " ", "mark" if tick.sign.strip() else look)
        yield from highlighted(label, runs, "name" if tick.sign.strip() and not look else look)
        yield Piece(" " * (room - width(label)))
        if c_type:
            yield Piece(" " + fit(safe(node.c_type), c_type), look or "type")
        yield Piece(" " + fit(safe(tick.type or node.kernel_type), kind), look or "number")
        if offset:
            yield Piece(" " + fit("" if node.offset is None else f"+{node.offset}", offset, right=True), "dim")

    def _label(self, entry: TreeRow) -> str:
        """Return the label; a search result names its structure, which is not the row above it."""
        return entry.node.label if self._query is None else entry.path

    def box(self, entry: TreeRow, tick: FieldTick) -> str:
        """Return `[x]`, or blanks if the row can't be ticked."""
        return f"[{tick.sign}]" if entry.node.fetcharg is not None else "   "

    def _lead(self, entry: TreeRow) -> str:
        number = str(entry.number) if 0 < entry.number <= 9 else " "
        depth = entry.depth if self._query is None else min(entry.depth, 1)
        arrow = " " if not entry.node.expandable else ("▾" if entry.opened and self._query is None else "▸")
        return f"{number} {' ' * (_INDENT * depth)}{arrow} "

    def _layout(self, columns: int) -> tuple[int, int, int, int]:
        """Return the columns of label (with indent and box), C type, kernel type, offset; 0: hidden."""
        if not self._widest[0]:
            labels = (len(self._lead(entry)) + 4 + len(self._label(entry)) for entry in self.rows)
            c_types = (len(entry.node.c_type) for entry in self.rows)
            self._widest = max(labels, default=1), min(max(c_types, default=1), _MAX_C_TYPE)
        offset = _OFFSET if columns >= _ROOM_FOR_OFFSET else 0
        room = columns - 1 - _TYPE - (1 + offset if offset else 0)
        if room < _MIN_LABEL + _MIN_C_TYPE:
            return room, 0, _TYPE, offset
        c_type = max(_MIN_C_TYPE, min(self._widest[1], room - 1 - self._widest[0]))
        return min(max(self._widest[0], _MIN_LABEL), room - 1 - c_type), c_type, _TYPE, offset


class FieldList(LineList):
    """List that requests ticks by message; it knows no probe."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "tick", "Tick", id="fields.tick", tooltip="Capture the field under the cursor, or stop it"),
        Binding("right", "open", "Open", show=False, id="fields.open", tooltip="Open the structure behind the field"),
        Binding(
            "left",
            "close",
            "Close",
            show=False,
            id="fields.close",
            tooltip="Close the structure; again: up to the parent",
        ),
        Binding(
            "enter",
            "arm",
            "Arm",
            key_display="enter",
            id="fields.arm",
            tooltip="Write the probe to the kernel and watch it",
        ),
    ]

    class Ticked(Message):
        """Request to tick or untick a field."""

        def __init__(self, row: TreeRow) -> None:
            super().__init__()
            self.row = row

    class Arm(Message):
        """Request to arm the probe."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._tree = FieldTree(())
        self._ticks: Ticks = lambda row: FieldTick(" ")  # noqa: ARG005 - nothing is ticked yet

    def show(self, tree: FieldTree, ticks: Ticks) -> None:
        """Show another function."""
        self._tree, self._ticks = tree, ticks
        self.rows = FieldRows(tree.rows, ticks)

    def show_found(self, found: Sequence[TreeRow], query: str) -> None:
        """Show search results instead of the tree."""
        self.rows = FieldRows(found, self._ticks, query)

    def show_tree(self, row: TreeRow) -> None:
        """Show the tree again, open down to a row, with the cursor on the row."""
        if row.parent is not None:
            self._tree.open(row.parent)
        self.rows = FieldRows(self._tree.rows, self._ticks)
        self.move_to(self._tree.index(row))

    @property
    def current(self) -> TreeRow | None:
        """Row under the cursor."""
        rows = self.rows
        return rows.rows[self.cursor] if isinstance(rows, FieldRows) and self.cursor < rows.next else None

    def action_arm(self) -> None:
        """Request to arm the probe, wherever the cursor is."""
        self.post_message(self.Arm())

    def action_tick(self) -> None:
        """Request to tick the row under the cursor."""
        if self.current is not None:
            self.post_message(self.Ticked(self.current))

    def action_open(self) -> None:
        """Open the row under the cursor; if it is open, go to its first field."""
        row = self.current
        if row is None or not row.node.expandable:
            return
        if row.opened:
            self.action_move(1)
        else:
            self._tree.open(row)
            self._changed()

    def action_close(self) -> None:
        """Close the row under the cursor, else go to its parent."""
        row = self.current
        if row is not None and row.opened:
            self._tree.close(row)
            self._changed()
        elif row is not None and row.parent is not None:
            self.move_to(self._tree.index(row.parent))

    def clicked(self, row: int, column: int, times: int) -> None:
        """Open or close a clicked arrow; tick a clicked box, or a row clicked twice: a mouse arms nothing."""
        rows = self.rows
        if not isinstance(rows, FieldRows):
            return
        entry = rows.rows[row]
        arrow = 1 + 2 + _INDENT * entry.depth
        if entry.node.expandable and column in (arrow, arrow + 1):
            (self.action_close if entry.opened else self.action_open)()
        elif arrow + 2 <= column <= arrow + 4:
            self.action_tick()
        if times == 2:
            self.action_tick()

    def _changed(self) -> None:
        rows = self.rows
        if isinstance(rows, FieldRows):
            rows.changed(self._tree.rows)
            self.rows_changed()
            self.post_message(self.Highlighted(self, self.cursor))
