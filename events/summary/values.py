"""The most frequent values of one field of one event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from events.columns import Columns, is_number
from events.decode import Value
from events.format import Field
from events.record import Record
from events.summary.frequent import Frequent
from events.summary.keys import Keyed, keyed, number_of, of_values


class Top(NamedTuple):
    """One value."""

    value: Value
    hits: int
    """It came at least so often."""
    error: int
    """It came at most so many times more; 0: the count is exact."""


class FieldValues:
    """Counts the values of a field; takes events in pieces."""

    def __init__(self, event: str, field: str, limit: int = 4096) -> None:
        """Take the path of the event, the name of its field, and how many values there is room for."""
        self.event = event
        self.field = field
        self.frequent = Frequent(limit)
        self._known: Field | None = None
        """As the last format of the event has it."""
        self._values: dict[int, Value] = {}

    @property
    def of_numbers(self) -> Field | None:
        """The field where its values are numbers; None for texts, arrays, and before the first event."""
        return self._known if self._known is not None and is_number(self._known) else None

    def take(self, columns: Columns, texts: Iterable[Record]) -> None:
        """Count the values of a range of events, and of those among them that came as text."""
        for table in columns.tables.values():
            field = next((field for field in table.layout.format.fields if field.name == self.field), None)
            # Without the field: a probe of this name recorded others before.
            if table.layout.format.path == self.event and field is not None:
                self._known = field
                self._add(keyed(table, field))
        if values := [r.values[self.field] for r in texts if r.event == self.event and self.field in r.values]:
            self._add(of_values(values))

    def _add(self, found: Keyed) -> None:
        self._values |= found.values(self.frequent.add(found.keys))
        if len(self._values) > 4 * self.frequent.limit:
            self._values = {key: value for key, value in self._values.items() if key in self.frequent}

    def top(self, number: int) -> list[Top]:
        """The most frequent first."""
        known = self.of_numbers
        return [
            Top(number_of(key, known) if known else self._values.get(key), hits, error)
            for key, hits, error in self.frequent.top(number)
        ]
