"""The events one by one."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, ClassVar

from events.comparison import why_none
from tui.shown import ShownEvents, detail_of, note_of
from tui.views.view import TableView
from widgets.event_detail import DetailField
from widgets.event_rows import EventRows

if TYPE_CHECKING:
    from events.record import Record
    from events.store import Store
    from kernel.watch import Watch


class EventsView(TableView):
    """A table over the store."""

    name: ClassVar[str] = "events"
    label: ClassVar[str] = "events"

    def __init__(self) -> None:
        super().__init__()
        self._shown: ShownEvents | None = None
        self._fields: tuple[str, ...] = ()
        self.pane.why_none = lambda text: why_none(text, self._fields)

    def tick(self, watching: Watch, store: Store, fields: tuple[str, ...]) -> bool:
        """Rows are decoded when they are drawn."""
        if self._shown is None or fields != self._fields:
            self._fields = fields
            self._shown = ShownEvents(watching, store)
            self.table.show(EventRows(self._shown, fields, self._shown.cells))
        self.table.tick()
        return False

    def forget(self) -> None:
        """Show nothing."""
        self._shown, self._fields = None, ()
        super().forget()

    def note(self, watching: Watch) -> str:
        """Recording, ended, disarmed."""
        return note_of(watching)

    def detail(self, watching: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:
        """Every field of the event. Raises IndexError where it was dropped."""
        if watching.store is None:
            raise IndexError(row)
        record = watching.store.record(row)
        return f"{record.event} of {record.comm}-{record.pid} on CPU {record.cpu}", detail_of(watching, record)

    def record_under_cursor(self, store: Store) -> Record | None:
        """The event of the row."""
        if not self.table.following:
            with contextlib.suppress(IndexError):
                return store.record(self.table.cursor)
        return None
