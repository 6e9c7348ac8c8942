"""Find the most frequent values of one field of one event."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from events.decode import Value
from events.format import Field
from events.record import Record
from events.store.columns import StoreColumns, is_number
from events.summary.frequent import FrequentValues
from events.summary.keys import KeyColumns, field_keys, lacks_number, number_from_key, value_keys


class TopValue(NamedTuple):
    """Count of one value."""

    value: Value
    hits: int
    """Lower bound of the number of occurrences."""
    error: int
    """Maximum error: there were at most this many more occurrences; 0: the count is exact."""


class BootValues:
    """Counts of the values that a field had in one boot."""

    def __init__(self, limit: int = 4096) -> None:
        """Take the number of distinct values to keep."""
        self.frequent = FrequentValues(limit)
        self._field: Field | None = None
        """Field in the event's most recent format."""
        self._mixed = False
        """True if formats of the event differ in the field: then a key alone does not determine its value."""
        self._values: dict[int, Value] = {}

    @property
    def of_numbers(self) -> Field | None:
        """Field whose values are numbers; None for texts, arrays, differing formats, and before the first event."""
        field = self._field
        return field if field is not None and is_number(field) and not self._mixed else None

    def learn(self, field: Field) -> None:
        """Set the field's current format; values counted so far keep their meaning."""
        before, self._field = self.of_numbers, field
        if before is not None and (before.kind, before.signed) != (field.kind, field.signed):
            self._values |= {
                count.key: number_from_key(count.key, before) for count in self.frequent.top(len(self.frequent))
            }
            self._mixed = True
        elif before is None and is_number(field) and len(self.frequent):
            self._mixed = True

    def add(self, found: KeyColumns) -> None:
        """Count values, given as their keys."""
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


class FieldValues:
    """Counts of the values of a field by boot, as addresses have other names in each; takes events piece by piece."""

    def __init__(self, event: str, field: str, limit: int = 4096) -> None:
        """Take the path of the event, the name of its field, and the number of distinct values to keep of a boot."""
        self.event = event
        self.field = field
        self.boots: dict[int, BootValues] = {}
        self._limit = limit

    @property
    def total(self) -> int:
        """Number of all values."""
        return sum(values.frequent.total for values in self.boots.values())

    @property
    def exact(self) -> bool:
        """True if no count was dropped."""
        return all(values.frequent.exact for values in self.boots.values())

    def take(self, columns: StoreColumns, texts: Iterable[Record]) -> None:
        """Count the values in a range of events, and in those of them received as text."""
        for table in columns.tables.values():
            field = next((field for field in table.layout.format.fields if field.name == self.field), None)
            # A format without the field is of an earlier probe of this name.
            if table.layout.format.path == self.event and field is not None:
                values = self.of_boot(table.layout.format.boot)
                values.learn(field)
                values.add(field_keys(table, field))
        every = [record for record in texts if record.event == self.event and self.field in record.values]
        own = [record for record in every if not lacks_number(record, self.field)]
        for boot in dict.fromkeys(record.boot for record in own):
            found = value_keys([record.values[self.field] for record in own if record.boot == boot])
            self.of_boot(boot).add(found)

    def of_boot(self, boot: int) -> BootValues:
        """Return the values of one boot."""
        return self.boots.setdefault(boot, BootValues(self._limit))
