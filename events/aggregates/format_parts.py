"""Make columns of keys and values of the rows of one format: those that have all keys, and one of the values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from events.aggregates.event_columns import (
    EventColumns,
    KeyKind,
    KeySource,
    ValueSource,
    field_of,
    key_source,
    property_kind,
    value_source,
)
from events.aggregates.groups import Mask, ValueColumn
from events.aggregates.table_columns import key_column, value_columns
from events.summary.keys import KeyColumns

if TYPE_CHECKING:
    from events.aggregates.request import AggregateRequest
    from events.record import Record
    from events.store.columns import FormatTable
    from events.store.store import Store


class FormatRows(NamedTuple):
    """Keys and values of some rows."""

    sources: tuple[KeySource, ...]
    keys: tuple[KeyColumns, ...]
    """Columns of the keys, each with one element per row."""
    values: tuple[Sequence[ValueColumn], ...]
    """Columns of each value."""
    size: int
    """Number of rows."""


class FormatSources(NamedTuple):
    """Meaning of the requested names in the events of one format; None: they have no such thing."""

    keys: tuple[KeySource | None, ...]
    values: tuple[ValueSource | None, ...]


class FormatParts:
    """Columns of the requested keys and values, by format."""

    def __init__(self, store: Store, request: AggregateRequest, columns_of: Callable[[str], EventColumns]) -> None:
        self.request = request
        self._store = store
        self._columns_of = columns_of
        self._sources: dict[int, FormatSources] = {}

    def forget(self) -> None:
        """Look up the meaning of names again."""
        self._sources.clear()

    def sources(self, number: int) -> FormatSources:
        """Return the meaning of the names in a format, given by its number in the store."""
        if number not in self._sources:
            fmt = self._store.decoder.layout(number).format
            columns = self._columns_of(fmt.path)
            self._sources[number] = FormatSources(
                tuple(key_source(name, fmt, columns) for name in self.request.keys),
                tuple(value_source(name, fmt, columns) for name in self.request.values),
            )
        return self._sources[number]

    def text_sources(self, record: Record) -> tuple[KeySource, ...]:
        """Return the sources of the keys of an event received as text; the format only of those that are fields."""
        columns, fmt, path = self._columns_of(record.event), record.format, record.event
        found = []
        for name in self.request.keys:
            field = field_of(name, fmt, columns) if fmt is not None else None
            kind = KeyKind.FIELD if field is not None else property_kind(name, columns) or KeyKind.FIELD
            found.append(KeySource(kind, fmt if field is not None else None, field, path))
        return tuple(found)

    def parts(self, number: int, table: FormatTable) -> Iterator[FormatRows]:
        """Yield the rows of a table that have all keys and one of the values."""
        found = self.sources(number)
        keys = tuple(source for source in found.keys if source is not None)
        if len(keys) < len(found.keys) or (found.values and not any(found.values)):
            return
        columns = [self.key(source, table) for source in keys]
        values = [self.values(source, table) for source in found.values]
        present = _all_of([mask for _, mask in columns])
        if found.values:
            present = _both(present, _any_of(values))
        if present is not None and not present.all():
            rows = np.flatnonzero(present)
            if not len(rows):
                return
            columns = [(column.taken(rows), None) for column, _ in columns]
            values = [[_value_rows(one, rows) for one in several] for several in values]
            yield FormatRows(keys, tuple(column for column, _ in columns), tuple(values), len(rows))
            return
        yield FormatRows(keys, tuple(column for column, _ in columns), tuple(values), len(table))

    def key(self, source: KeySource, table: FormatTable) -> tuple[KeyColumns, Mask | None]:
        """Return the key of each event of a table, and a mask of the events that have it; None: all do."""
        column, missing = key_column(source, table, self._store)
        return column, None if missing is None else ~missing

    def values(self, source: ValueSource | None, table: FormatTable) -> list[ValueColumn]:
        """Return the values of the events of a table; empty: they have no such value."""
        return [] if source is None else value_columns(source, table)


def _value_rows(column: ValueColumn, rows: np.ndarray[tuple[int], np.dtype[np.intp]]) -> ValueColumn:
    return ValueColumn(column.values[rows], None if column.present is None else column.present[rows])


def _both(first: Mask | None, second: Mask | None) -> Mask | None:
    return second if first is None else first if second is None else first & second


def _all_of(masks: Sequence[Mask | None]) -> Mask | None:
    found: Mask | None = None
    for mask in masks:
        found = _both(found, mask)
    return found


def _any_of(values: Sequence[Sequence[ValueColumn]]) -> Mask | None:
    """Return a mask of the rows that have one of the values; None: all have one."""
    found: Mask | None = None
    for column in (one for several in values for one in several):
        if column.present is None:
            return None
        found = column.present if found is None else found | column.present
    return found
