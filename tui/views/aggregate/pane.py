"""Pane of the table of groups, with its head and its keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import Label

from tui.messages import EventsWanted
from widgets.aggregates.group_table import GroupTable
from widgets.lists.sortable_pane import SORT
from widgets.lists.table_pane import TablePane
from widgets.safe_content import safe_content
from widgets.safe_text import cut_parts, safe


class AggregatePane(TablePane):
    """Pane of a `GroupTable`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("Y", "choose", "Keys, values", id="aggregate.choose", tooltip="Choose keys and values of the table"),
        Binding("z", "since", "Since now", tooltip="Count only what comes from now on; again: all"),
        SORT,
    ]

    DEFAULT_CSS = """
    AggregatePane {
        & .head { height: 1; width: 1fr; color: $text-muted; padding: 0 1; }
    }
    """

    def __init__(self, id: str) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.groups = GroupTable()
        self.table = self.groups
        self.choose: Callable[[], None] = lambda: None
        """Asks for keys and values."""
        self.since: Callable[[], None] = lambda: None
        """Counts what comes from now on, or all again."""
        self.sort: Callable[[], None] = lambda: None
        """Reverses the order."""
        self.sort_by: Callable[[int], None] = lambda _: None
        """Sorts by a column; by the same again: reverses the order."""
        self.condition: Callable[[int], str] = lambda _: ""
        """Returns the condition for the events of a row; empty: there is none."""
        self.open_row: Callable[[int], bool] = lambda _: False
        """Shows a row that has details of its own; returns False for another one."""
        self.shows_calls: Callable[[], bool] = lambda: False
        """Tells whether the rows are of calls."""
        self._head = Label("", classes="head", markup=False)
        self._text = ""

    def compose(self) -> ComposeResult:
        """Yield the head, the table, and the search line."""
        yield self._head
        yield from super().compose()

    def show_head(self, text: str) -> None:
        """Show what is counted, foreign text."""
        self._text = text
        self._head.update(safe_content(cut_parts(safe(text), max(0, self.size.width - 2))))

    def on_resize(self) -> None:
        """Fit the head to the screen."""
        self.show_head(self._text)

    def action_choose(self) -> None:
        """Ask for keys and values."""
        self.choose()

    def action_since(self) -> None:
        """Count what comes from now on, or all again."""
        self.since()

    def action_sort(self) -> None:
        """Reverse the order."""
        self.sort()

    @on(GroupTable.HeadingClicked)
    def _heading_clicked(self, event: GroupTable.HeadingClicked) -> None:
        event.stop()
        self.sort_by(event.column)

    @on(GroupTable.Wanted)
    def _wanted(self, event: GroupTable.Wanted) -> None:
        event.stop()
        if self.open_row(event.row):
            return
        if condition := self.condition(event.row):
            self.post_message(EventsWanted(condition, "calls" if self.shows_calls() else "events"))
        else:
            self.notify("no condition can be made of this", markup=False)
