"""Kinds of events in one table: whose fields have columns. Pure.

Columns for the fields of all kinds would be empty for the most part; the fields of one kind have columns, rows of the
others show theirs as one text across these columns.
"""

from __future__ import annotations

from collections.abc import Mapping

from widgets.events.column_choice import ColumnChoice, is_mixed


class EventKinds:
    """Fields of each kind of events, and the kind that has the columns."""

    def __init__(self) -> None:
        self.mixed = False
        """True if the fields of all kinds are too different for columns of all."""
        self.fields: Mapping[str, frozenset[str]] = {}
        """Fields that are shown, by path of the event."""
        self._event = ""
        """Path of the event whose kind has the columns; empty: none was seen."""
        self._all = False
        """True if the user wants columns for the fields of all kinds."""

    def use(self, choice: ColumnChoice, fields: Mapping[str, frozenset[str]]) -> ColumnChoice:
        """Take the fields of each event by its path; return the columns for the kind that has them."""
        self.fields, self.mixed = fields, is_mixed(tuple(fields.values()))
        return self._chosen(choice)

    @property
    def is_undecided(self) -> bool:
        """True while kinds are mixed and none has the columns."""
        return self.mixed and self._event not in self.fields

    def at(self, choice: ColumnChoice, event: str, sorted_by: str = "") -> ColumnChoice:
        """Return the columns for the kind of an event; one without fields changes nothing.

        `sorted_by`: field that the rows are sorted by, which keeps its column; empty: none.
        """
        if event in self.fields:
            self._event = event
        return self._chosen(choice, sorted_by)

    def toggle(self, choice: ColumnChoice, event: str) -> ColumnChoice:
        """Return columns for the fields of all kinds, or those for one again."""
        self._all = not self._all
        return self.at(choice, event)

    def _chosen(self, choice: ColumnChoice, sorted_by: str = "") -> ColumnChoice:
        if not self.mixed or self._all:
            return choice.of_kind(None)
        named = self.fields.get(self._event, frozenset[str]())
        return choice.of_kind(named | {sorted_by} if sorted_by else named)
