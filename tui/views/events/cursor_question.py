"""Ask which event or column a key is about, where the cursor is on none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from tui.dialogs import dialogs
from tui.views.events.filtered_pane import FilteredPane
from tui.views.events.shown_columns import ShownColumns

if TYPE_CHECKING:
    from events.record import Record

_NO_EVENT: Final = "no event is on the screen"
_DROPPED: Final = "this event is no longer among these"


class CursorQuestion:
    """The question for the pane of events."""

    def __init__(self, pane: FilteredPane, columns: ShownColumns) -> None:
        self._pane = pane
        self._columns = columns

    def ask_column(self, then: Callable[[], object]) -> None:
        """Have a column chosen, and call a function when it is current."""

        def use_column(number: int) -> None:
            self._columns.change(self._columns.choice.at(number))
            then()

        names = [column.name for column in self._columns.choice.shown]
        dialogs.pick(self._pane.app, "which column?", names, use_column)

    def ask_event(self, then: Callable[[], object]) -> None:
        """Have one of the events on the screen chosen, the newest first; call a function with the cursor on it."""
        pane, table = self._pane, self._pane.table
        shown, rows = pane.shown, table.rows
        seen = list(reversed(table.window.on_screen))
        if shown is None or not seen:
            pane.notify(_NO_EVENT, markup=False)
            return
        places = [shown.place(row) for row in seen]  # rows are renumbered once others are dropped
        texts = ["".join(piece.text for piece in rows.pieces(row, table.window.columns - 1)) for row in seen]

        def use_event(number: int) -> None:
            if (place := places[number]) is None or pane.shown is not shown:
                return
            if (row := shown.row_of(place)) is None:
                pane.notify(_DROPPED, markup=False)
                return
            table.move_to(row)
            then()

        dialogs.pick(pane.app, "which event?", texts, use_event)

    def ask_value(self, record: Record | None, then: Callable[[], object]) -> None:
        """Have an event chosen where the cursor is on none, else a column, and call a function."""
        if record is None:
            self.ask_event(then)
        else:
            self._columns.give_to(record.event)
            self.ask_column(then)
