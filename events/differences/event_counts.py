"""Count the events of one recording for a comparison: by event and keys, with the values of each field and durations.

Rows are processed as columns, in bounded steps, as the store gets them; what was counted remains when the store drops
its rows.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from events.aggregates.aggregate import GroupKey
from events.aggregates.event_columns import EVENT, EventColumns, KeySource, ValueSource, key_source, value_source
from events.aggregates.format_parts import FormatParts
from events.aggregates.request import AggregateRequest
from events.aggregates.table_columns import key_value, text_keys, text_value, value_columns
from events.calls.call_matching import CallMatching
from events.calls.pairing import MOST_OPEN
from events.conditions.comparison import LATENCY
from events.conditions.function_comparison import FUNC
from events.decode import Value
from events.differences.group_counts import FieldRoom, GroupCounts
from events.differences.recorded_time import RecordedTime
from events.differences.row_groups import RowGroups
from events.format import PROBE_FIELDS, EventFormat, Field
from events.stacks.events_beside import is_counted
from events.store.columns import PIECE, FormatTable, Ints, Mask, StoreColumns, is_number, is_string
from events.store.outage_mark import is_mark
from events.summary.keys import field_keys, value_keys

if TYPE_CHECKING:
    from events.calls.call_values import EndRole
    from events.record import Record
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store

MOST_GROUPS: Final = 1000
"""Greatest number of groups; events of further ones are counted together."""
OTHERS: Final = ("others",)
"""Labels of the group of all events beyond `MOST_GROUPS`."""

Labels = tuple[str, ...]
_Place = tuple[int, tuple[int, ...]]
"""Number of a format, and keys."""
_IDENTITIES: Final = re.compile(r"(?:.*_)?(?:pid|tgid|tid|ppid|ino|inode)")
"""Names of numbers that only tell things of one boot apart."""


class _CountedColumns(NamedTuple):
    """Keys and values in the events of one format."""

    keys: tuple[KeySource, ...] | None
    """Keys; None: the events lack one."""
    fields: tuple[tuple[Field, ValueSource | None], ...]
    """Fields whose values are counted; None: texts."""
    duration: ValueSource | None
    """Duration of a call, where the event itself has it."""


class EventCounts:
    """Counts of the events in a store, by the labels of their keys."""

    def __init__(
        self,
        store: Store,
        columns_of: Callable[[str], EventColumns],
        label_of: Callable[[GroupKey], str],
        *,
        keys: tuple[str, ...] = (),
        ends: Mapping[str, EndRole],
        passing: FilteredRows | None = None,
        piece: int = PIECE,
        most_open: int = MOST_OPEN,
    ) -> None:
        """Count the rows of a store.

        Args:
            store: the rows.
            columns_of: returns the meaning of the fields of an event, by its path.
            label_of: returns the name of a key.
            keys: keys beside the event; none: the function, where the event has one.
            ends: roles of events by path, for the durations of calls.
            passing: the events that pass a filter; only these count, and calls with such an end. None: all events.
            piece: number of rows per step.
            most_open: maximum number of open calls.
        """
        self.groups: dict[Labels, GroupCounts] = {}
        """Groups by event path and labels of the keys."""
        self.at = store.first_seq
        """Row up to which all have been processed."""
        self.counted = 0
        """Number of events in the groups."""
        self.left_out = 0
        """Number of events that pass the filter and lack a key."""
        self.skipped = store.evicted
        """Number of events that the store dropped before they were counted."""
        self.time = RecordedTime()
        """Time from the first to the last row, whether it passes or not."""
        self.room = FieldRoom()
        """Room for the values of fields."""
        self._store = store
        self._columns_of = columns_of
        self._label_of = label_of
        self._keys = keys
        self._passing = passing
        self._piece = piece
        self._parts = FormatParts(store, AggregateRequest(), columns_of)
        self._calls = CallMatching(store, most_open)
        self._calls.use(ends)
        self._meanings: dict[int, _CountedColumns] = {}
        self._labels: dict[_Place, GroupCounts] = {}
        """Groups by format and keys."""
        self._rows = RowGroups[GroupCounts]()

    @property
    def backlog(self) -> int:
        """Number of events not processed yet."""
        return self._store.next_seq - max(self.at, self._store.first_seq)

    def tick(self, budget: float = 0.01) -> None:
        """Process new rows for about `budget` seconds."""
        deadline = time.monotonic() + budget
        if self._passing is not None:
            self._passing.tick(budget / 2)
        while self._step() and time.monotonic() < deadline:
            pass

    def _step(self) -> bool:
        """Process one piece, which no clock reset divides; return False if there is none."""
        store = self._store
        if self.at < store.first_seq:
            self.skipped += store.first_seq - self.at
            self.at = store.first_seq
        resets = [row for row in store.boots.starts if row > self.at]
        end = store.next_seq if self._passing is None else min(store.next_seq, self._passing.looked)
        stop = min(self.at + self._piece, end, *resets)
        if self.at >= stop:
            return False
        if self.at in store.boots.starts:
            self.time.begin_anew()
        columns = store.columns(self.at, stop)
        self.time.take(columns.run.stamps)
        passes = (
            np.ones(len(columns), np.bool_) if self._passing is None else self._passing.has(np.arange(self.at, stop))
        )
        self._rows.begin(self.at, len(columns), store.first_seq)
        for number, table in columns.tables.items():
            if is_counted(table.layout.format.path, None):
                self._take_table(number, table, passes[table.places])
        for place in np.flatnonzero(columns.is_text).tolist():
            record = store.record(columns.first + place)
            if is_counted(record.event, None) and not is_mark(record):
                self._take_text(record, place, passes=bool(passes[place]))
        self._take_calls(columns)
        self.at = stop
        return True

    def _take_table(self, number: int, table: FormatTable, passes: Mask) -> None:
        meaning = self._meaning(number, table.layout.format)
        if meaning.keys is None:
            self.left_out += int(passes.sum())
            return
        columns = [self._parts.key(source, table) for source in meaning.keys]
        has_keys = np.ones(len(table), np.bool_)
        for _, present in columns:
            has_keys &= True if present is None else present
        self.left_out += int((passes & ~has_keys).sum())
        rows = np.flatnonzero(has_keys)
        if not len(rows):
            return
        keys = np.stack([column.keys[rows] for column, _ in columns], axis=1)
        distinct, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        for place, key in enumerate(distinct.tolist()):
            own = rows[inverse.reshape(-1) == place]
            at = (number, tuple(key))
            if at not in self._labels:
                texts = [column.values(column.keys[rows[first[place]]][None]) for column, _ in columns]
                self._learn(at, meaning.keys, texts, table.layout.format.path)
            group = self._labels[at]
            self._rows.set(table.places[own], group)
            own = own[passes[own]]
            group.count += len(own)
            self.counted += len(own)
            self._add_values(group, meaning, table, own)

    def _learn(self, at: _Place, sources: tuple[KeySource, ...], texts: list[dict[int, Value]], path: str) -> None:
        """Find the group of new keys."""
        if len(self._labels) > 8 * MOST_GROUPS:
            self._labels.clear()
        found = zip(sources, at[1], texts, strict=True)
        labels = tuple(self._label_of(GroupKey(one, key_value(one, key, text))) for one, key, text in found)
        self._labels[at] = self._group(path, labels[1:])

    def _group(self, path: str, labels: Labels) -> GroupCounts:
        whole = (path, *labels)
        if whole not in self.groups and len(self.groups) >= MOST_GROUPS:
            whole, path = OTHERS, ""
        if whole not in self.groups:
            self.groups[whole] = GroupCounts(path, self.room)
        return self.groups[whole]

    def _meaning(self, number: int, fmt: EventFormat) -> _CountedColumns:
        if number not in self._meanings:
            columns = self._columns_of(fmt.path)
            names = self._keys or ((FUNC,) if key_source(FUNC, fmt, columns) is not None else ())
            sources = [key_source(name, fmt, columns) for name in (EVENT, *names)]
            keys = tuple(one for one in sources if one is not None)
            skipped = {one.field.name for one in keys if one.field is not None} | {FUNC, *PROBE_FIELDS}
            fields = [one for one in fmt.arguments if one.name not in columns.hidden | skipped]
            self._meanings[number] = _CountedColumns(
                keys if len(keys) == len(sources) else None,
                tuple(
                    (one, value_source(one.name, fmt, columns) if is_number(one) else None)
                    for one in fields
                    if (is_number(one) and not is_identity(one)) or is_string(one)
                ),
                None if LATENCY in fmt.names else value_source(LATENCY, fmt, columns),
            )
        return self._meanings[number]

    def _add_values(self, group: GroupCounts, meaning: _CountedColumns, table: FormatTable, rows: Ints) -> None:
        if not len(rows):
            return
        for field, source in meaning.fields:
            if source is None:
                group.add_texts(field.name, field_keys(table, field).taken(rows))
                continue
            for column in value_columns(source, table):
                own = rows if column.present is None else rows[column.present[rows]]
                group.add_numbers(field, table.layout.format.boot, column.values[own])
        for column in value_columns(meaning.duration, table) if meaning.duration is not None else ():
            own = rows if column.present is None else rows[column.present[rows]]
            group.add_durations(column.values[own])

    def _take_text(self, record: Record, place: int, *, passes: bool) -> None:
        """Count an event received as text."""
        columns, fmt = self._columns_of(record.event), record.format
        names = self._keys or ((FUNC,) if fmt is not None and key_source(FUNC, fmt, columns) is not None else ())
        keys = text_keys(names, record, columns, self._store)
        if keys is None:
            self.left_out += passes
            return
        sources = FormatParts(self._store, AggregateRequest(names), self._columns_of).text_sources(record)
        labels = tuple(self._label_of(GroupKey(*one)) for one in zip(sources, keys, strict=True))
        group = self._group(record.event, labels)
        self._rows.set(np.array([place]), group)
        if not passes:
            return
        group.count += 1
        self.counted += 1
        fields = {field.name: field for field in fmt.arguments} if fmt is not None else {}
        for name, value in record.values.items():
            if name in columns.hidden or name in names or name not in fields:
                continue
            if isinstance(value, str):
                group.add_texts(name, value_keys([value]))
            elif (number := text_value(name, record, columns)) is not None:
                column = np.array([number], np.int64 if number < 1 << 63 else np.uint64)
                group.add_numbers(fields[name], record.boot, column)

    def _take_calls(self, columns: StoreColumns) -> None:
        for finished in self._calls.take(columns):
            passes = np.ones(len(finished.exits), np.bool_)
            if self._passing is not None:
                passes = self._passing.has(finished.entries) | self._passing.has(finished.exits)
            for group, own in self._rows.of_calls(finished.entries, finished.exits):
                group.add_durations(finished.durations[own & passes])


def is_identity(field: Field) -> bool:
    """Return whether the numbers of a field only tell tasks or files apart, and are others in each boot."""
    return field.type == "pid_t" or _IDENTITIES.fullmatch(field.name) is not None
