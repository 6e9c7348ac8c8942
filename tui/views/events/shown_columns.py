"""Columns of the table of events: those that a person chose, of one kind of events where kinds are mixed.

They do not change while the cursor moves: all rows would look different. A key that is about a column of the event
under the cursor gives them to its kind (`give_to`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tui.views.events.event_kinds import EventKinds
from widgets.events.column_choice import ColumnChoice


class ShownColumns:
    """The choice of columns; a change is shown at once."""

    def __init__(self, show: Callable[[bool], None], sorted_by: Callable[[], str]) -> None:
        """Take the function that shows the columns, with True where only the current one is another, and that which
        returns the name of the column that the rows are sorted by.
        """
        self.choice = ColumnChoice()
        self.kinds = EventKinds()
        self._show = show
        self._sorted_by = sorted_by

    @property
    def current(self) -> int:
        """Number of the current column among those that are shown; -1: none is."""
        shown = self.choice.shown
        return shown.index(self.choice.current) if self.choice.current in shown else -1

    def change(self, choice: ColumnChoice) -> None:
        """Show another choice."""
        same = (choice.shown, choice.rest) == (self.choice.shown, self.choice.rest)
        self.choice = choice
        self._show(same)

    def use_kinds(self, fields: Mapping[str, frozenset[str]]) -> None:
        """Take the fields of each kind of events, by the paths of the events."""
        self.change(self.kinds.use(self.choice, fields))

    def show_kind(self, event: str) -> None:
        """Give columns to the fields of one kind of events, of an event by its path, where kinds are mixed."""
        self.change(self.kinds.at(self.choice, event, self._sorted_by()))

    def prefer(self, first: Sequence[str], hidden: Sequence[str]) -> None:
        """Show some fields before all others, and hide some until all columns are requested."""
        self.change(self.choice.preferring(first, hidden))

    def give_to(self, event: str) -> None:
        """Give columns to the fields of an event, by its path, if some have none."""
        if not self.choice.rest.isdisjoint(self.kinds.fields.get(event, ())):
            self.show_kind(event)

    def turn(self, step: int) -> None:
        """Make another column current."""
        self.change(self.choice.turned(step))

    def show_all(self, event: str) -> None:
        """Show all hidden columns; where none is hidden, those of all kinds of events, or of that of one again."""
        if self.choice.hidden or not self.kinds.mixed:
            self.change(self.choice.with_all())
        else:
            self.change(self.kinds.toggle(self.choice, event))
