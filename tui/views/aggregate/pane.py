"""Pane of the table by key: what its keys ask for, and the events behind a row."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.binding import Binding, BindingType

from tui.messages import EventsWanted
from widgets.aggregates.group_pane import GroupPane
from widgets.aggregates.group_table import GroupTable
from widgets.lists.sortable_pane import SORT


class AggregatePane(GroupPane):
    """Pane with the keys of the table: its groups, its values, since when."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Y", "choose", "Keys, values", id="aggregate.choose", tooltip="Choose keys and values of the table"),
        Binding("z", "since", "Since now", tooltip="Count only what comes from now on; again: all"),
        SORT,
    ]

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.since: Callable[[], None] = lambda: None
        """Counts what comes from now on, or all again."""
        self.condition: Callable[[int], str] = lambda _: ""
        """Returns the condition for the events of a row; empty: there is none."""
        self.open_row: Callable[[int], bool] = lambda _: False
        """Shows a row that has details of its own; returns False for another one."""
        self.shows_calls: Callable[[], bool] = lambda: False
        """Tells whether the rows are of calls."""

    def action_since(self) -> None:
        """Count what comes from now on, or all again."""
        self.since()

    @on(GroupTable.RowOpened)
    def _row_opened(self, event: GroupTable.RowOpened) -> None:
        event.stop()
        if self.open_row(event.row):
            return
        if condition := self.condition(event.row):
            self.post_message(EventsWanted(condition, "calls" if self.shows_calls() else "events"))
        else:
            self.notify("no condition can be made of this", markup=False)
