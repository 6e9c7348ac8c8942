"""Aggregate the rows of a store by keys: events, or calls where a value is of both ends, in bounded steps.

Rows are processed as columns, each once; rows that were counted remain counted when the store drops them. The names
that keys stand for are looked up when a table is made, as those of tasks may become known later.
"""

from __future__ import annotations

import time
from collections.abc import Container, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.aggregates.event_columns import KeySource
from events.aggregates.format_parts import FormatParts, FormatRows
from events.aggregates.groups import Groups, Mask, ValueColumn
from events.aggregates.joined_parts import JoinedParts
from events.aggregates.request import AggregateRequest
from events.aggregates.table_columns import key_value, text_keys, text_value
from events.calls.call_matching import CallMatching
from events.calls.pairing import MOST_OPEN
from events.decode import Value
from events.stacks.events_beside import is_counted
from events.store.columns import PIECE, StoreColumns
from events.store.outage_mark import is_mark
from events.summary.keys import value_keys

if TYPE_CHECKING:
    from collections.abc import Callable

    from events.aggregates.event_columns import EventColumns
    from events.calls.call_values import EndRole
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store

MOST_GROUPS: Final = 1 << 14
"""Default limit of groups; each takes some 100 bytes, and for each value whose powers of two are counted 528 more."""


class GroupKey(NamedTuple):
    """Key of a group."""

    source: KeySource
    value: Value
    """See `events.aggregates.table_columns.key_value`."""


class Aggregate:
    """Sums of the rows by group; see the module."""

    def __init__(
        self,
        store: Store,
        request: AggregateRequest,
        columns_of: Callable[[str], EventColumns],
        *,
        ends: Mapping[str, EndRole] | None = None,
        passing: FilteredRows | None = None,
        only: Container[str] | None = None,
        limit: int = MOST_GROUPS,
        most_open: int = MOST_OPEN,
        piece: int = PIECE,
        first: int = 0,
        end: int | None = None,
        most: int = 0,
    ) -> None:
        """Aggregate the rows of a store.

        Args:
            store: the rows.
            request: keys and statistics.
            columns_of: returns the meaning of the fields of an event, by its path.
            ends: roles of events by path: calls are aggregated; None: events are.
            passing: the events that pass a filter; only these count, and calls with such an end. None: all events.
            only: paths of the events to count; None: those of all probes.
            limit: maximum number of groups, see `events.aggregates.groups`.
            most_open: maximum number of open calls.
            piece: number of rows per step, which bounds the memory of a step.
            first: sequence number of the first row to count.
            end: sequence number after the last row to count; None: all that come are counted.
            most: number of events after which counting stops; 0: no limit.
        """
        self.request = request
        self.at = max(first, store.first_seq)
        """Row up to which all have been processed."""
        self.skipped_events = max(0, store.first_seq - first) if first else store.evicted
        """Number of events that the store dropped before they were processed."""
        self.of = 0
        """Number of events of the requested paths, or of calls, that were processed."""
        self.passing_count = 0
        """Number of those that pass the filter."""
        self.of_calls = ends is not None
        self.left_out_ends: frozenset[str] = frozenset()
        """Paths of events that are not counted: the other end of each call is."""
        with_powers = [value in request.histograms for value in request.values]
        self.groups = Groups(len(request.keys), with_powers, limit)
        self._store = store
        self._passing = passing
        self._only = only
        self._piece = piece
        self._most = most
        self._end = end
        self._columns_of = columns_of
        self._formats = FormatParts(store, request, columns_of)
        self._joined = JoinedParts(store, self._formats)
        self._matching = CallMatching(store, most_open)
        if ends is not None:
            self._matching.use(ends)
        self._sources: list[tuple[KeySource, ...]] = []
        self._source_numbers: dict[Any, int] = {}
        self._texts: list[tuple[dict[int, Value], ...]] = []
        """Values of the keys that are no numbers, for each source and key: a number of one is no text of another."""

    @property
    def counted(self) -> int:
        """Number of events or calls in the groups."""
        return int(self.groups.counts.sum())

    @property
    def left_out(self) -> int:
        """Number of events or calls that pass the filter, and lack a key or all values."""
        return self.passing_count - self.counted

    @property
    def backlog(self) -> int:
        """Number of events not processed yet."""
        return max(0, self._end_row - max(self.at, self._store.first_seq))

    @property
    def unpaired(self) -> int:
        """Number of ends of calls without a partner, which are no calls here."""
        return sum(self._matching.unpaired_counts.values())

    def end_here(self) -> int:
        """Count no further rows; return the sequence number of the first one that is not counted."""
        self._end = max(self.at, self._store.first_seq)
        return self._end

    def use(self, ends: Mapping[str, EndRole]) -> None:
        """Set the roles of events by path, if calls are aggregated."""
        if self.of_calls:
            self._matching.use(ends)

    def forget_formats(self) -> None:
        """Look up again what the fields of events mean: a probe was armed, or its events were renamed."""
        self._formats.forget()

    def keys_of(self, group: int) -> tuple[GroupKey, ...]:
        """Return the keys of a group; empty for `OTHERS`."""
        source = self.groups.sources[group]
        if source < 0:
            return ()
        keys = self.groups.keys[group].tolist()
        found = zip(self._sources[source], keys, self._texts[source], strict=True)
        return tuple(GroupKey(one, key_value(one, key, texts)) for one, key, texts in found)

    def tick(self, budget: float = 0.01) -> None:
        """Process new rows for about `budget` seconds."""
        deadline = time.monotonic() + budget
        if self._passing is not None:
            self._passing.tick(budget / 2)
        while self._step() and time.monotonic() < deadline:
            pass

    @property
    def _end_row(self) -> int:
        return self._store.next_seq if self._end is None else self._end

    def _step(self) -> bool:
        """Process one piece; return False if there is none."""
        store = self._store
        oldest = min(store.first_seq, self._end_row)
        if self.at < oldest:
            self.skipped_events += oldest - self.at
            self.at = oldest
        end = self._end_row if self._passing is None else min(self._end_row, self._passing.looked)
        stop = min(self.at + self._piece, end)
        if self.at >= stop:
            return False
        columns = store.columns(self.at, stop)
        wanted = self._wanted(columns)
        passes = wanted if self._passing is None else wanted & self._passing.has(np.arange(self.at, stop))
        if self._most and not self.of_calls:
            found = np.flatnonzero(passes)
            if len(found) >= (room := self._most - self.passing_count) > 0:
                self._end = self.at + int(found[room - 1]) + 1
                if self._end < stop:
                    return self._step()
        if self.of_calls:
            self._take_calls(columns)
        else:
            self.of += int(wanted.sum())
            self.passing_count += int(passes.sum())
            self._take_events(columns, passes)
        self.at = stop
        return True

    def _wanted(self, columns: StoreColumns) -> Mask:
        """Return a mask of the rows that are events of the requested paths."""
        found = np.zeros(len(columns), np.bool_)
        for table in columns.tables.values():
            found[table.places] = self._is_wanted(table.layout.format.path)
        for place in np.flatnonzero(columns.is_text).tolist():
            record = self._store.record(columns.first + place)
            found[place] = self._is_wanted(record.event) and not is_mark(record)
        return found

    def _is_wanted(self, path: str) -> bool:
        return is_counted(path, self._only) and path not in self.left_out_ends

    def _take_events(self, columns: StoreColumns, passes: Mask) -> None:
        own = columns if passes.all() else columns.only(passes)
        for number, table in own.tables.items():
            for part in self._formats.parts(number, table):
                self._add((number,), part)
        for place in np.flatnonzero(columns.is_text & passes).tolist():
            self._take_text(columns.first + place)

    def _take_calls(self, columns: StoreColumns) -> None:
        for finished in self._matching.take(columns):
            entries, exits, durations = finished.entries, finished.exits, finished.durations
            self.of += len(exits)
            if self._passing is not None:
                passes = self._passing.has(entries) | self._passing.has(exits)
                entries, exits, durations = entries[passes], exits[passes], durations[passes]
            if self._most and len(exits) >= (room := self._most - self.passing_count):
                first = np.sort(np.argsort(exits, kind="stable")[:room])
                entries, exits, durations = entries[first], exits[first], durations[first]
                self._end = columns.first + len(columns)
            self.passing_count += len(exits)
            for source, part in self._joined.parts(entries, exits, durations):
                self._add(source, part)

    def _take_text(self, seq: int) -> None:
        """Add an event received as text."""
        record = self._store.record(seq)
        columns = self._columns_of(record.event)
        keys = text_keys(self.request.keys, record, columns, self._store)
        values = [text_value(name, record, columns) for name in self.request.values]
        if keys is None or (values and all(value is None for value in values)):
            return
        sources = self._formats.text_sources(record)
        part = FormatRows(
            sources,
            tuple(value_keys([key]) for key in keys),
            tuple([] if value is None else [ValueColumn(_one(value))] for value in values),
            1,
        )
        self._add((record.event,), part)

    def _add(self, place: tuple[Any, ...], part: FormatRows) -> None:
        """Add rows; `place`: their formats, which tell what the keys are."""
        number = self._source_numbers.get(place)
        if number is None or self._sources[number] != part.sources:
            number = self._source_numbers[place] = len(self._sources)
            self._sources.append(part.sources)
            self._texts.append(tuple({} for _ in part.sources))
        before = len(self.groups)
        keys = np.empty((part.size, len(part.keys)), np.uint64)
        for n, column in enumerate(part.keys):
            keys[:, n] = column.keys
        self.groups.add(number, keys, part.values)
        if len(self.groups) > before:
            for n, column in enumerate(part.keys):
                self._texts[number][n].update(column.values(np.unique(self.groups.keys[before:, n])))


def _one(value: int) -> NDArray[np.int64 | np.uint64]:
    """Return one number as a column; text may have any."""
    if -(1 << 63) <= value < 1 << 63:
        return np.array([value], np.int64)
    return np.array([value & ((1 << 64) - 1)], np.uint64)
