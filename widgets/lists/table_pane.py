"""A table with a search line: `/` asks for a text, `n` and `N` go to the rows that have it."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.widgets import Input, Label

from widgets.lists.row_search import RowSearch
from widgets.lists.tail_table import TailTable
from widgets.search_line import FindLine


class TablePane(Vertical):
    """A `TailTable` (`.table`) and its search."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "slash",
            "search",
            "Search",
            key_display="/",
            id="events.search.search",
            tooltip="Find rows with a text, or count > 4096",
        ),
        Binding("n", "hit(1)", "Next hit", show=False, id="events.next_hit", tooltip="Next row with the text"),
        Binding(
            "N", "hit(-1)", "Hit before", show=False, id="events.hit_before", tooltip="Previous row with the text"
        ),
        Binding("escape", "leave", "End search", id="events.leave", tooltip="Clear the highlight"),
    ]

    DEFAULT_CSS = """
    TablePane {
        & TailTable { height: 1fr; }
        & .search { display: none; height: 1; background: $surface; }
        &.-searching .search { display: block; }
        & .search .prompt { width: 2; color: $text-accent; text-style: bold; }
        & .found { width: auto; padding: 0 0 0 1; color: $text-muted; }
    }
    """

    def __init__(
        self,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        super().__init__(id=id)
        self.table = TailTable()
        self._query = FindLine("text, or count > 4096 among events; Enter: the newest before, n next, N before")
        self._found = Label("", classes="found", markup=False)
        self.row_search = RowSearch(self._found)

    def compose(self) -> ComposeResult:
        """Yield the table, and below it the search line, hidden until it is asked for."""
        yield self.table
        with Horizontal(classes="search"):
            yield Label("/ ", classes="prompt", markup=False)
            yield self._query
            yield self._found

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Allow the keys for hits only during a search."""
        return self.has_class("-searching") if action in ("hit", "leave") else True

    def action_search(self) -> None:
        """Ask for a text."""
        self.add_class("-searching")
        self.screen.set_focus(self._query)

    def action_leave(self) -> None:
        """Search nothing more."""
        self.row_search.stop()
        self.remove_class("-searching")
        self._query.value = ""
        self.screen.set_focus(self.table)
        self.refresh_bindings()  # where the table had the keyboard before, nothing else asks for them

    def action_hit(self, direction: int) -> None:
        """Go to the next row with the text."""
        table, text = self.table, self._query.value
        if text and table.rows.next > table.rows.first:
            start = table.rows.next - 1 if table.follow.following else table.cursor + direction
            self.row_search.start(table, text, start, direction)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self.row_search.stop()
        self.table.search = event.value

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.set_focus(self.table)
        self.action_hit(-1)
