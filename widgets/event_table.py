"""Live events as a table: one column for each field, found hits highlighted."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region
from textual.message import Message
from textual.reactive import reactive
from textual.strip import Strip

from widgets.event_rows import Cells, EventRows, EventStore, NoEvents
from widgets.figures import grouped
from widgets.rows import Piece
from widgets.safe_text import width
from widgets.tail_list import TailList


class EventTable(TailList):
    """A table over an `EventStore`, addressed by sequence numbers."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "enter",
            "select",
            "Details",
            key_display="enter",
            id="events.details",
            tooltip="Every field of the event under the cursor",
        ),
        Binding("left", "sideways(-8)", "Left", show=False, id="events.left", tooltip="Columns to the left"),
        Binding("right", "sideways(8)", "Right", show=False, id="events.right", tooltip="Columns to the right"),
    ]

    DEFAULT_CSS = """
    EventTable { overflow-x: auto; }
    """

    search: reactive[str] = reactive("", repaint=False)
    """Text that is highlighted."""

    class DetailRequested(Message):
        """Every field of an event is wanted."""

        def __init__(self, seq: int) -> None:
            super().__init__()
            self.seq = seq

    def __init__(
        self,
        *,
        name: str | None = None,
        id: str | None = None,  # noqa: A002 - Textual's name
        classes: str | None = None,
    ) -> None:
        self._events = EventRows(NoEvents(), (), lambda event: {})  # noqa: ARG005 - there is none
        super().__init__(self._events, header=True, name=name, id=id, classes=classes)

    def show(self, store: EventStore, fields: Sequence[str], cells: Cells) -> None:
        """Show another store, or other columns; follows."""
        self._events = EventRows(store, fields, cells)
        self._events.search = self.search
        self.rows = self._events

    @property
    def store(self) -> EventStore:
        """What is shown."""
        return self._events.store

    def names_changed(self) -> None:
        """Tasks got names: format rows anew."""
        self._events.forget()
        self._painter.forget()
        self.refresh()

    def wanted_columns(self) -> int:
        """What the columns take, with the mark of the cursor."""
        return 1 + self._events.columns.total(self.columns - 1)

    def header(self, columns: int) -> Iterable[Piece]:
        """Titles, and what came since one stopped to follow."""
        note = f" +{grouped(self.new)} new (end) " if self.new > 0 else ""
        pieces = [Piece(" "), *self._events.header(columns - 1)]
        if not note:
            return pieces
        room = self.scroll_offset.x + self.columns - width(note)
        line = "".join(piece.text for piece in pieces)
        return [Piece(line[:room].ljust(room)), Piece(note, "match")]

    def render_lines(self, crop: Region) -> list[Strip]:
        """Format what will be seen first: it may need wider columns."""
        first = max(self.top, self._events.first)
        if self._events.prepare(first, min(first + self.page, self._events.next)):
            self._painter.forget()
            self.refresh()
        return super().render_lines(crop)

    def watch_search(self, search: str) -> None:
        """Highlight it where it is on the screen."""
        self._events.search = search
        self._painter.forget()
        self.refresh()

    def action_select(self) -> None:
        """Ask for the details of the event under the cursor, or of the newest."""
        if self.following and self._shown[1] > self._shown[0]:
            self._stop(self.top)
        if self._has(self.cursor):
            self.post_message(self.DetailRequested(self.cursor).set_sender(self))

    def action_sideways(self, step: int) -> None:
        """Other columns."""
        self.scroll_to(x=self.scroll_offset.x + step, animate=False, force=True)
