"""Details of an event: name, value, type, offset and bytes of every field."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from widgets.columns import TableColumns
from widgets.events.values import DetailField
from widgets.lists.line_list import LineList
from widgets.rows import Piece
from widgets.safe_content import safe_content
from widgets.safe_text import fit, safe

_TITLES = ("name", "value", "type", "offset", "size", "bytes")
_LOOKS = {0: "name", 2: "type", 3: "dim", 4: "dim", 5: "dim"}
_BYTES = 16
"""Bytes in a row; the line below shows all."""

_LEAST = {0: 20}
"""Minimum columns of a name, as `entry: __probe_ip`."""
_READABLE = 20
"""Minimum columns of a value: below, its bytes are hidden, which the line below shows in any case, then its place,
then its type.
"""
_COUNTS = (6, 5, 3, 2)
"""Numbers of columns that are tried, the most first."""


class _DetailRows:
    first = 0

    def __init__(self, fields: Sequence[DetailField]) -> None:
        self.fields = tuple(fields)
        self.next = len(self.fields)
        self._cells = [_cells(field) for field in self.fields]
        self._columns = [TableColumns(_TITLES[:count], _LEAST) for count in _COUNTS]
        for cells in self._cells:
            for one in self._columns:
                one.see(cells[: len(one.titles)])

    def header(self, columns: int) -> Iterable[Piece]:
        table = zip(_TITLES, self._widths(columns), strict=False)
        return [Piece(("  " if n else " ") + fit(title, size, 3 <= n <= 4)) for n, (title, size) in enumerate(table)]

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        table = zip(self._cells[row], self._widths(columns), strict=False)
        for n, (cell, size) in enumerate(table):
            yield Piece(("  " if n else "") + fit(cell, size, 3 <= n <= 4), _LOOKS.get(n, ""))

    def _widths(self, columns: int) -> list[int]:
        """Return the widths of the visible columns: without bytes, offsets and sizes, and types, where values would
        be unreadably short.
        """
        least = min(self._columns[-1].widths(columns)[1], _READABLE)
        widths = (one.widths(columns) for one in self._columns)
        return next(found for found in widths if found[1] >= least or len(found) == _COUNTS[-1])


class _DetailList(LineList):
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Back", show=False)]

    def header(self, columns: int) -> Iterable[Piece]:
        """Return the titles above their columns."""
        return self.rows.header(columns - 1) if isinstance(self.rows, _DetailRows) else ()


class EventDetail(Vertical):
    """List of fields; below it the whole value and all bytes of the current field."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "close", "Back", id="detail.close", tooltip="Back to the events"),
        Binding("enter", "close", "Back", show=False, id="detail.done", tooltip="Back to the events"),
    ]

    DEFAULT_CSS = """
    EventDetail {
        background: $surface;
        & LineList { height: 1fr; }
        & .whole { height: auto; max-height: 8; width: 1fr; padding: 0 1; border-top: solid $foreground 30%; }
    }
    """

    class Closed(Message):
        """Sent when the user closes the details."""

    def __init__(self, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self._list = _DetailList(header=True)
        self._list.cursor_scope = self
        self._whole = Static("", classes="whole", markup=False)

    def compose(self) -> ComposeResult:
        """Yield the list and the whole value."""
        yield self._list
        yield self._whole

    def show(self, title: str, fields: Sequence[DetailField]) -> None:
        """Show another event; the cursor stays on the same row if it exists."""
        cursor = self._list.cursor
        self.border_title = safe_content(title)
        self._list.rows = _DetailRows(fields)
        self._list.move_to(cursor)
        if not fields:
            self._whole.update("this event has no fields")

    @property
    def fields(self) -> tuple[DetailField, ...]:
        """Fields of the event that is shown."""
        return self._list.rows.fields if isinstance(self._list.rows, _DetailRows) else ()

    def focus_fields(self) -> None:
        """Focus the list."""
        self.screen.set_focus(self._list)

    def action_close(self) -> None:
        """Close the details."""
        self.post_message(self.Closed())

    @on(LineList.Highlighted)
    def _show_whole(self, event: LineList.Highlighted) -> None:
        event.stop()
        rows = self._list.rows
        if isinstance(rows, _DetailRows):
            field = rows.fields[event.row]
            parts = [Content.assemble((safe(field.name), "bold"), " = ", safe(field.value))]
            if field.raw:
                parts.append(Content.styled(_hex(field.raw), "dim"))
            self._whole.update(Content("\n").join(parts))

    @on(LineList.Selected)
    def _selected(self, event: LineList.Selected) -> None:
        event.stop()
        self.action_close()


def _cells(field: DetailField) -> tuple[str, ...]:
    more = " …" if len(field.raw) > _BYTES else ""
    place = (str(field.offset), str(field.size)) if field.offset >= 0 else ("", "")
    return (safe(field.name), safe(field.value), safe(field.type), *place, _hex(field.raw[:_BYTES]) + more)


def _hex(raw: bytes) -> str:
    return raw[:512].hex(" ") + (" …" if len(raw) > 512 else "")
