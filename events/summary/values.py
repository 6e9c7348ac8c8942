"""The most frequent values of one field of one event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from events.decode import Value
from events.format import Field
from events.record import Record
from events.store.columns import Columns, is_number
from events.summary.frequent import FrequentValues
from events.summary.keys import KeyColumns, keyed, number_of, of_values


class TopValue(NamedTuple):
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
        self.frequent = FrequentValues(limit)
        self._known: Field | None = None
        """As the last format of the event has it."""
        self._mixed = False
        """Formats of the event differ in it: a key alone does not say what it stands for."""
        self._values: dict[int, Value] = {}

    @property
    def of_numbers(self) -> Field | None:
        """The field where its values are numbers; None for texts, arrays, what differs, before the first event."""
        known = self._known
        return known if known is not None and is_number(known) and not self._mixed else None

    def take(self, columns: Columns, texts: Iterable[Record]) -> None:
        """Count the values of a range of events, and of those among them that came as text."""
        for table in columns.tables.values():
            field = next((field for field in table.layout.format.fields if field.name == self.field), None)
            # Without the field: a probe of this name recorded others before.
            if table.layout.format.path == self.event and field is not None:
                self._learn(field)
                self._add(keyed(table, field))
        if values := [r.values[self.field] for r in texts if r.event == self.event and self.field in r.values]:
            self._add(of_values(values))

    def _learn(self, field: Field) -> None:
        """Its format from now on; what was counted stays what it was."""
        before, self._known = self.of_numbers, field
        if before is not None and (before.kind, before.signed) != (field.kind, field.signed):
            self._values |= {one.key: number_of(one.key, before) for one in self.frequent.top(len(self.frequent))}
            self._mixed = True
        elif before is None and is_number(field) and len(self.frequent):
            self._mixed = True

    def _add(self, found: KeyColumns) -> None:
        new = self.frequent.add(found.keys)
        self._values |= found.values(new)
        if self._mixed and self._known is not None and is_number(self._known):
            self._values |= {key: number_of(key, self._known) for key in new.tolist()}
        if len(self._values) > 4 * self.frequent.limit:
            self._values = {key: value for key, value in self._values.items() if key in self.frequent}

    def top(self, number: int) -> list[TopValue]:
        """Return the most frequent values first; of those that came equally often numbers by key, others by text."""
        if known := self.of_numbers:
            return [TopValue(number_of(key, known), hits, error) for key, hits, error in self.frequent.top(number)]
        # The keys of texts have random weights: by them, values would stand in another order at each start.
        counts = self.frequent.top(len(self.frequent))
        least = counts[:number][-1].hits if counts[:number] else 0
        found = [TopValue(self._values.get(one.key), one.hits, one.error) for one in counts if one.hits >= least]
        return sorted(found, key=lambda one: (-one.hits, str(one.value)))[:number]
