"""A table with a search line: `/` asks for a text, `n` and `N` go to the rows that have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.timer import Timer
from textual.widgets import Input, Label

from widgets.lists.tail_table import TailTable
from widgets.number_format import grouped
from widgets.safe_content import safe_content
from widgets.search_line import FindLine

_STEP: Final = 0.012
"""Seconds that one step of a search may take; between two the screen goes on."""


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
        self.why_none: Callable[[str], str] = lambda _: ""
        """Says why a text can't be found, where that is known."""
        self._query = FindLine("text, or count > 4096 among events; Enter: the newest before, n next, N before")
        self._found = Label("", classes="found", markup=False)
        self._step_timer: Timer | None = None

    def compose(self) -> ComposeResult:
        """Yield the table, and below it the search line, hidden until it is asked for."""
        yield self.table
        with Horizontal(classes="search"):
            yield Label("/ ", classes="prompt", markup=False)
            yield self._query
            yield self._found

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Hits are there while something is searched."""
        return self.has_class("-searching") if action in ("hit", "leave") else True

    def action_search(self) -> None:
        """Ask for a text."""
        self.add_class("-searching")
        self.screen.set_focus(self._query)

    def action_leave(self) -> None:
        """Search nothing more."""
        self._stop()
        self.remove_class("-searching")
        self._query.value = ""
        self.screen.set_focus(self.table)
        self.refresh_bindings()  # where the table had the keyboard before, nothing else asks for them

    def action_hit(self, direction: int) -> None:
        """Go to the next row with the text."""
        table, text = self.table, self._query.value
        if text and table.rows.next > table.rows.first:
            self._stop()
            newest = table.rows.next - 1
            self._go_on(text, newest if table.following else table.cursor + direction, direction)

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        self._stop()
        self.table.search = event.value

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        event.stop()
        self.screen.set_focus(self.table)
        self.action_hit(-1)

    def _go_on(self, text: str, start: int, direction: int) -> None:
        found = self.table.find(text, start, direction, _STEP)
        if not found.done:
            self._found.update(f"at {grouped(found.next)}")
            soon = 0.001 if found.next != start else 0.05  # rows that are not there yet can't be searched
            self._step_timer = self.set_timer(soon, lambda: self._go_on(text, found.next, direction))
        elif found.seq is None:
            none = "none before" if direction < 0 else "none after"
            self._found.update(safe_content(self.why_none(text) or none))
        else:
            self._found.update("")
            self.table.go_to(found.seq)

    def _stop(self) -> None:
        self._found.update("")
        if self._step_timer is not None:
            self._step_timer.stop()
            self._step_timer = None
