"""Table of events with commands for columns, sorting, colours and marks."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType
from textual.message import Message

from tui.views.events.cursor_question import CursorQuestion
from tui.views.events.filtered_pane import FilteredPane
from tui.views.events.preview_rows import preview_rows
from tui.views.events.shown_columns import ShownColumns
from tui.views.pause_position import Place
from widgets.events.event_rows import EventRows
from widgets.lists.sortable_pane import SORT
from widgets.lists.tail_table import TailTable

if TYPE_CHECKING:
    from events.record import Record
    from tui.present.first_row import FirstRows
    from tui.views.events.model import EventItems
    from tui.views.filtered_table import FilteredTable

_HUES: Final = ("", "task", "event")
_MOST_CHECKED: Final = 1 << 14
"""Newest events among which the events of a probe are searched."""


class EventsPane(FilteredPane):
    """Pane of events with columns, sorting, colours and marks."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("full_stop", "only(True)", "Only this", key_display=".", tooltip="Only events with this value"),
        Binding(
            "exclamation_mark",
            "only(False)",
            "Not this",
            key_display="!",
            show=False,
            tooltip="Only events without this value",
        ),
        Binding("K", "in_kernel", "In kernel", show=False, tooltip="Record only events with this value from now on"),
        Binding("W", "watch_memory", "Watch", show=False, tooltip="Set a watchpoint at the address in this column"),
        SORT,
        Binding("H", "hide", "Hide", show=False, tooltip="Hide this column"),
        Binding(
            "A",
            "show_all",
            "All columns",
            show=False,
            tooltip="Show hidden columns again; else those of all kinds of events, or of one",
        ),
        Binding(
            "less_than_sign", "move_column(-1)", "Move", key_display="<", show=False, tooltip="Column to the left"
        ),
        Binding(
            "greater_than_sign", "move_column(1)", "", key_display=">", show=False, tooltip="Column to the right"
        ),
        Binding("m", "mark", "Mark", show=False, tooltip="Mark or unmark this event"),
        Binding("apostrophe", "next_mark", "Next mark", key_display="'", show=False, tooltip="To the next mark"),
        Binding("C", "hue", "Colours", show=False, tooltip="A colour for each task, each event, or none"),
    ]

    shown: FilteredTable[EventItems] | None

    class KernelFilterWanted(Message):
        """Request that the kernel records only events with a value, of the probe of the event under the cursor."""

        def __init__(self, clause: str) -> None:
            super().__init__()
            self.clause = clause
            """Clause for the kernel's filter."""

    class WatchpointWanted(Message):
        """Request for a watchpoint at an address that an event has."""

        def __init__(self, address: int, event: str, column: str) -> None:
            super().__init__()
            self.address = address
            self.event = event
            """Path of the event."""
            self.column = column
            """Name of the field with the address."""

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.columns = ShownColumns(self._show_columns, self._sorted_by)
        self.marks: set[int] = set()
        """Sequence numbers of marked events."""
        self._rows: EventRows | None = None
        self._previews = False
        """True while the rows on the screen are not those of the store."""
        self._decided_for = ""
        """Condition whose rows decided whose fields have columns."""
        self._hue = 0
        self.table.turn = self._turn
        self._question = CursorQuestion(self, self.columns)

    # -- called by the view --------------------------------------------------------------------------------------

    def show(self, shown: FilteredTable[EventItems] | None, fields: tuple[str, ...]) -> None:
        """Show another store, or one that has other fields."""
        same = shown is not None and self.shown is not None and shown.store is self.shown.store
        if shown is not None:  # without rows the columns are unknown
            self.columns.choice = self.columns.choice.with_fields(fields)
        if not same:
            self.marks.clear()
        if shown is not None and (self._previews or (same and not self._sorted_by())):  # the same rows are there
            self.table.follower.replace(lambda: self.fill(shown))
        else:
            self._rows = None
            self.fill(shown)

    def preview(self, rows: FirstRows) -> None:
        """Show rows that are not in a store yet."""
        kinds = self.columns.kinds
        choice = kinds.use(self.columns.choice.with_fields(rows.fields), rows.kinds)
        self.columns.choice = choice = kinds.at(choice, rows.rows[-1].event if rows.rows else "")
        self._rows, self._previews = preview_rows(rows, choice.shown, choice.fields), True
        self.table.show(self._rows)

    def tick(self) -> bool:
        """Show new rows; once another condition chose them, the columns are those of the newest one's kind."""
        more = super().tick()
        shown = self.shown
        if shown is not None and shown.next > shown.first and not more:
            is_new, self._decided_for = self.condition != self._decided_for, self.condition
            if self.columns.kinds.is_undecided or (is_new and self.table.follow.following):
                with suppress(IndexError):  # it was dropped
                    self.columns.show_kind(shown.item(shown.next - 1).event)
        return more

    @property
    def record(self) -> Record | None:
        """Event under the cursor; None: there is no cursor, or the event was dropped."""
        if self.shown is None or self.table.follow.following:
            return None
        try:
            return self.shown.item(self.table.cursor)
        except IndexError:
            return None

    def refill(self) -> None:
        """Replace the rows, or their columns."""
        if self.shown is None:
            return
        items, choice = self.shown.items, self.columns.choice
        rows = EventRows(
            *(self.shown, choice.shown, items.cells, self.marks),
            fields=choice.fields,
            owners=items.owners,
            kinds=self.columns.kinds.fields,
        )
        rows.stamp = self.stamp
        rows.colour_property = _HUES[self._hue]
        rows.current = self.columns.current
        if (order := self.shown.order) is not None and order[0] in choice.shown:
            rows.columns.order = choice.shown.index(order[0]), order[1]
        self._rows, self._previews = rows, False
        self.table.show(rows)
        if self.shown.order is not None:
            self.table.move_to(0)

    # -- columns ------------------------------------------------------------------------------------------------

    def _sorted_by(self) -> str:
        """Return the name of the column that the rows are sorted by; empty: they are in order of time."""
        return self.shown.order[0].name if self.shown is not None and self.shown.order is not None else ""

    def _show_columns(self, same: bool) -> None:
        """Show the columns that were chosen; `same`: only the current one is another."""
        table, current = self.table, self.columns.current
        if self._rows is None:
            return
        if same:
            self._rows.current = current
            table.refresh()
        else:
            table.follower.replace(self.refill)
        if current >= 0:
            table.window.show_columns(*self._rows.span(current, table.window.columns - 1))

    def _turn(self, step: int) -> None:
        """Make another column current, of the kind of the event under the cursor."""
        if self.record is not None:
            self.columns.give_to(self.record.event)
        self.columns.turn(step)

    def action_move_column(self, step: int) -> None:
        """Move the column by `step`."""
        self.columns.change(self.columns.choice.moved(step))

    def action_hide(self) -> None:
        """Hide the current column."""
        self.columns.change(self.columns.choice.without_current())

    def action_show_all(self) -> None:
        """Show all hidden columns; where none is hidden, those of all kinds of events, or of one kind again."""
        self.columns.show_all(self.record.event if self.record is not None else "")

    def action_hue(self) -> None:
        """Switch to the next colouring: by task, by event, or none."""
        self._hue = (self._hue + 1) % len(_HUES)
        self.table.follower.replace(self.refill)
        self.notify(f"a colour for each {_HUES[self._hue]}" if _HUES[self._hue] else "no colours", markup=False)

    # -- depending on the value under the cursor ------------------------------------------------------------------

    def action_only(self, same: bool) -> None:
        """Filter by the value under the cursor: only events with that value, or only others."""
        from events.conditions.condition_parser import and_condition
        from tui.views.events.clauses import clause_of

        record, column = self.record, self.columns.choice.current
        if record is None or column is None:
            self._question.ask_value(record, lambda: self.action_only(same))
            return
        fields, cells = (self.shown.sorts, self.shown.items.cells(record)) if self.shown else ({}, {})
        try:
            clause = clause_of(record, column, same, fields, cells)
        except ValueError as error:
            self.notify(f"no condition can be made of {error}", markup=False)
            return
        self.only(and_condition(self.condition, clause))

    def action_in_kernel(self) -> None:
        """Let the kernel record only events with the value under the cursor."""
        from tui.views.events.clauses import kernel_clause_of

        record, column = self.record, self.columns.choice.current
        if record is None or column is None:
            self._question.ask_value(record, self.action_in_kernel)
            return
        try:
            self.post_message(self.KernelFilterWanted(kernel_clause_of(record, column)))
        except ValueError as error:
            self.notify(f"no filter can be made of {error}", markup=False)

    def action_watch_memory(self) -> None:
        """Ask for a watchpoint at the address under the cursor."""
        from tui.views.events.clauses import kernel_address_of

        record, column = self.record, self.columns.choice.current
        if record is None or column is None:
            self._question.ask_value(record, self.action_watch_memory)
        elif (address := kernel_address_of(record, column)) is None:
            self.notify(f"{column.name}: this event has no address of the kernel there", markup=False)
        else:
            self.post_message(self.WatchpointWanted(address, record.event, column.name))

    @on(TailTable.HeadingClicked)
    def _heading_clicked(self, event: TailTable.HeadingClicked) -> None:
        event.stop()
        if self.shown is not None and event.column < len(self.columns.choice.shown):
            self.columns.change(self.columns.choice.at(event.column))
            self.action_sort()

    def action_sort(self) -> None:
        """Cycle the order of the current column: ascending, descending, by time."""
        column = self.columns.choice.current
        if self.shown is None:
            return
        if column is None:
            self._question.ask_column(self.action_sort)
            return
        by, descending = self.shown.order or (None, False)
        if by == column and descending:
            self.shown.unsort()
        else:
            self.shown.sort(column, by == column)
        self.refill()

    def go_to_newest(self, events: Collection[str]) -> bool:
        """Put the cursor on the newest event with one of these paths; return False if there is none in the list."""
        shown = self.shown
        if shown is None:
            return False
        for row in range(shown.next - 1, max(shown.first, shown.next - _MOST_CHECKED) - 1, -1):
            if shown.item(row).event in events:
                self.table.go_to(row)
                return True
        return False

    def go_to_event(self, seq: int) -> bool:
        """Put the cursor on an event, in the order of time, at once or as soon as the filter has found it.

        Returns:
            False: it is hidden by the filter, or was dropped.
        """
        shown = self.shown
        if shown is None:
            return False
        if shown.order is not None:
            shown.unsort()
            self.refill()
        row = shown.row_of(seq)
        if row is not None:
            self.table.go_to(row)
        elif shown.backlog:
            self.table.follower.stand()
            self._position.wanted = Place(seq, seq, self.table.window.page // 3)
            self._continue()
        return row is not None or bool(shown.backlog)

    # -- marks --------------------------------------------------------------------------------------------------

    def action_mark(self) -> None:
        """Mark the event under the cursor, or remove its mark."""
        record = self.record
        if record is None or self._rows is None:
            self._question.ask_event(self.action_mark)
            return
        self.marks ^= {record.seq}
        self._rows.forget()
        self.table.repaint_row(self.table.cursor)

    def action_next_mark(self) -> None:
        """Go to the next marked event; after the last, to the first."""
        record = self.record
        if self.shown is None or self.shown.order or not self.marks:
            self.notify(
                "nothing is marked (m)" if not self.marks else "marks are in the order of time: S", markup=False
            )
            return
        here = record.seq if record else -1
        after = sorted(self.marks, key=lambda seq: (seq <= here, seq))
        row = next((row for seq in after if (row := self.shown.row_of(seq)) is not None), None)
        if row is None:
            self.notify("no marked event is among these", markup=False)
        else:
            self.table.go_to(row)
