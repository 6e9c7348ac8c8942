"""Find the most frequent values of one field of one event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from events.decode import Value
from events.format import Field
from events.record import Record
from events.store.columns import StoreColumns, is_number
from events.summary.frequent import FrequentValues
from events.summary.keys import KeyColumns, field_keys, number_from_key, value_keys


class TopValue(NamedTuple):
    """Count of one value."""

    value: Value
    hits: int
    """Lower bound of the number of occurrences."""
    error: int
    """Maximum error: there were at most this many more occurrences; 0: the count is exact."""


class FieldValues:
    """Counts of the values of a field; takes events piece by piece."""

    def __init__(self, event: str, field: str, limit: int = 4096) -> None:
        """Take the path of the event, the name of its field, and the number of distinct values to keep."""
        self.event = event
        self.field = field
        self.frequent = FrequentValues(limit)
        self._field: Field | None = None
        """Field in the event's most recent format."""
        self._mixed = False
        """True if formats of the event differ in the field: then a key alone does not determine its value."""
        self._values: dict[int, Value] = {}
        self._boots: set[int] = set()

    @property
    def boot(self) -> int | None:
        """Boot in which all counted events were recorded; None: several, in which an address has no common name."""
        return next(iter(self._boots)) if len(self._boots) == 1 else None

    @property
    def of_numbers(self) -> Field | None:
        """Field whose values are numbers; None for texts, arrays, differing formats, and before the first event."""
        field = self._field
        return field if field is not None and is_number(field) and not self._mixed else None

    def take(self, columns: StoreColumns, texts: Iterable[Record]) -> None:
        """Count the values in a range of events, and in those of them received as text."""
        for table in columns.tables.values():
            field = next((field for field in table.layout.format.fields if field.name == self.field), None)
            # A format without the field is of an earlier probe of this name.
            if table.layout.format.path == self.event and field is not None:
                self._learn(field)
                self._boots.add(table.layout.format.boot)
                self._add(field_keys(table, field))
        if values := [r.values[self.field] for r in texts if r.event == self.event and self.field in r.values]:
            self._add(value_keys(values))

    def _learn(self, field: Field) -> None:
        """Set the field's current format; values counted so far keep their meaning."""
        before, self._field = self.of_numbers, field
        if before is not None and (before.kind, before.signed) != (field.kind, field.signed):
            self._values |= {
                count.key: number_from_key(count.key, before) for count in self.frequent.top(len(self.frequent))
            }
            self._mixed = True
        elif before is None and is_number(field) and len(self.frequent):
            self._mixed = True

    def _add(self, found: KeyColumns) -> None:
        new = self.frequent.add(found.keys)
        self._values |= found.values(new)
        if self._mixed and self._field is not None and is_number(self._field):
            self._values |= {key: number_from_key(key, self._field) for key in new.tolist()}
        if len(self._values) > 4 * self.frequent.limit:
            self._values = {key: value for key, value in self._values.items() if key in self.frequent}

    def top(self, number: int) -> list[TopValue]:
        """Return the most frequent values in descending order; equally frequent numbers by key, other values by
        text.
        """
        if number_field := self.of_numbers:
            return [
                TopValue(number_from_key(key, number_field), hits, error)
                for key, hits, error in self.frequent.top(number)
            ]
        # The keys of texts have random weights: their order would differ in each process.
        counts = self.frequent.top(len(self.frequent))
        least = counts[:number][-1].hits if counts[:number] else 0
        found = [
            TopValue(self._values.get(count.key), count.hits, count.error) for count in counts if count.hits >= least
        ]
        return sorted(found, key=lambda count: (-count.hits, str(count.value)))[:number]
