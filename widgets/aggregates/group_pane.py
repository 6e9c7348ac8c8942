"""Pane of a table of groups: a head above it, keys that choose its content and its order."""

from __future__ import annotations

from collections.abc import Callable

from textual import on
from textual.app import ComposeResult
from textual.widgets import Label

from widgets.aggregates.group_order import GroupOrder
from widgets.aggregates.group_table import GroupTable
from widgets.lists.table_pane import TablePane
from widgets.safe_content import safe_content
from widgets.safe_text import cut_parts, safe


class GroupPane(TablePane):
    """Pane of a `GroupTable`, which a view fills."""

    DEFAULT_CSS = """
    GroupPane {
        & .head { height: 1; width: 1fr; color: $text-muted; padding: 0 1; }
    }
    """

    def __init__(self, id: str, *, has_events: bool = True) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id)
        self.groups = GroupTable(has_events=has_events)
        self.table = self.groups
        self.choose: Callable[[], None] = lambda: None
        """Asks for the content of the table."""
        self.order = GroupOrder(self.groups)
        self._head = Label("", classes="head", markup=False)
        self._text = ""

    def compose(self) -> ComposeResult:
        """Yield the head, the table, and the search line."""
        yield self._head
        yield from super().compose()

    def show_head(self, text: str) -> None:
        """Show what the table holds, foreign text."""
        self._text = text
        self._head.update(safe_content(cut_parts(safe(text), max(0, self.size.width - 2))))

    def on_resize(self) -> None:
        """Fit the head to the screen."""
        self.show_head(self._text)

    def action_choose(self) -> None:
        """Ask for the content of the table."""
        self.choose()

    def action_sort(self) -> None:
        """Reverse the order."""
        self.order.reverse()

    @on(GroupTable.HeadingClicked)
    def _heading_clicked(self, event: GroupTable.HeadingClicked) -> None:
        event.stop()
        self.order.sort_by(event.column)
