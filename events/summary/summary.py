"""Summarize the events of a store: counts over time, by task and by value, and the duration of calls.

Rows are processed as columns, in bounded steps, on demand; rows that were counted remain counted when the store drops
them. Rows dropped before they were counted are in `skipped_events`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from events.calls.call_matching import CallMatching
from events.calls.call_values import CalledFunction, EndRole, probe_and_address
from events.calls.pairing import MOST_OPEN
from events.record import Record
from events.recording.lines_in_time import COMMAND_OUTPUT
from events.store.columns import PIECE, StoreColumns
from events.store.outage_mark import is_mark
from events.summary.distribution import Distribution
from events.summary.frequent import FrequentValues, Keys, ValueCount
from events.summary.timeline import Timeline
from events.summary.values import FieldValues

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store

_MOST_FUNCTIONS = 2000
"""Functions whose durations are counted each by itself; each takes 16 KB."""
Take = Callable[[StoreColumns, list[Record]], None]
"""Function that takes rows as columns, and the rows received as text as records."""


class StoreScan:
    """Pass over a store that continues where it stopped."""

    def __init__(self, store: Store, take: Take) -> None:
        self.at = store.first_seq
        self.skipped_events = store.evicted
        """Number of rows that the store dropped before they were processed."""
        self._take = take

    def skip_to(self, first_seq: int) -> None:
        """Skip the rows before `first_seq`, which have been dropped."""
        if self.at < first_seq:
            self.skipped_events += first_seq - self.at
            self.at = first_seq

    def take(self, columns: StoreColumns, texts: list[Record]) -> None:
        """Process rows that start at `at`."""
        self._take(columns, texts)
        self.at += len(columns)


class Summary:
    """Counts of all events, of the values of fields, and durations of calls."""

    def __init__(
        self,
        store: Store,
        limit: int = 4096,
        only: Container[str] | None = None,
        most_open: int = MOST_OPEN,
        chosen: FilteredRows | None = None,
        piece: int = PIECE,
        most: int = 0,
    ) -> None:
        """Count the rows of a store.

        Args:
            store: the rows.
            limit: minimum number of distinct values and tasks that are counted.
            only: paths of the events to count; None: all but lines of a command, also stacks whose event is unknown.
            most_open: maximum number of open calls.
            chosen: the events that pass a filter; only these count, and calls with such an end. None: all events.
            piece: number of rows per step, which bounds the memory of a step.
            most: number of events after which counting stops; 0: no limit.
        """
        self.counted = 0
        """Number of events counted."""
        self.of = 0
        """Number of events of the requested paths that were processed."""
        self.pairs = 0
        """Number of proven calls with a duration."""
        self.timeline = Timeline()
        """Counts over time by event path."""
        self.tasks = FrequentValues(limit)
        """Counts by `events.clocks.boots.task_key`."""
        self.values: FieldValues | None = None
        """Counts of the chosen field's values."""
        self.calls = CallMatching(store, most_open)
        """Calls of the store's events; its counters have the ends without a pair."""
        self._latencies: dict[CalledFunction, Distribution] = {}
        self._store = store
        self._limit = limit
        self._most_open = most_open
        self._piece = piece
        self._most = most
        self._end: int | None = None
        """Row after the last event to be counted; None: not known yet."""
        self._only = only
        self._chosen = chosen
        self._events = StoreScan(store, self._count)
        self._last_reset = -1
        """Last row processed at which the trace clock was reset."""
        self._fields: StoreScan | None = None
        self._also: list[StoreScan] = []
        self._others: list[FieldValues] = []
        self._pairs: StoreScan | None = None
        self._ends: Mapping[str, EndRole] = {}

    @property
    def skipped_events(self) -> int:
        """Number of events that the store dropped before they were counted."""
        return self._events.skipped_events

    @property
    def backlog(self) -> int:
        """Number of events not processed yet by the slowest of the scans."""
        at = min(scan.at for scan in self._scans)
        return self._end_row - max(at, self._store.first_seq)

    @property
    def _end_row(self) -> int:
        """Row after the last one that may be counted now."""
        return self._store.next_seq if self._end is None else max(self._end, self._store.first_seq)

    @property
    def _scans(self) -> list[StoreScan]:
        return [scan for scan in (self._events, self._fields, self._pairs, *self._also) if scan]

    def use(self, ends: Mapping[str, EndRole]) -> None:
        """Set the roles of events by `group/name`; durations are kept by `EndRole.function`."""
        self._ends = {path: end for path, end in ends.items() if self._is_requested(path)}
        if self._ends and self._pairs is None:
            self.calls = CallMatching(self._store, self._most_open)
            self._pairs = StoreScan(self._store, self._time_calls)
        self.calls.use(self._ends)

    def choose(self, event: str, field: str) -> None:
        """Count the values of a field of an event, starting with the oldest row in the store."""
        field_values = FieldValues(event, field, self._limit)
        self.values, self._fields = field_values, StoreScan(self._store, field_values.take)

    def count_also(self, event: str, field: str) -> FieldValues:
        """Count the values of one more field, in addition to the chosen one."""
        counted = FieldValues(event, field, self._limit)
        self._others.append(counted)
        self._also.append(StoreScan(self._store, counted.take))
        return counted

    def rename(self, now: Callable[[str], str]) -> None:
        """Continue with events under other paths; `now` maps old to new paths. Counts are retained."""
        self.timeline.rename(now)
        for counted in (self.values, *self._others):
            if counted is not None:
                counted.event = now(counted.event)

    @property
    def latencies(self) -> Mapping[CalledFunction, Distribution]:
        """Durations in nanoseconds of the proven calls, by function and boot.

        Beyond `_MOST_FUNCTIONS` a probe's further functions are counted together, under address 0.
        """
        return {function: counts for function, counts in self._latencies.items() if counts.count}

    def top_tasks(self, number: int) -> list[ValueCount]:
        """Return the `events.clocks.boots.task_key` of the tasks with the most events."""
        return self.tasks.top(number)

    def tick(self, budget: float = 0.01) -> None:
        """Process new rows for about `budget` seconds."""
        deadline = time.monotonic() + budget
        if self._chosen is not None:
            self._chosen.tick(budget / 2)
        while self._step() and time.monotonic() < deadline:
            pass

    def _step(self) -> bool:
        """Process one piece; return False if there is none."""
        scans = self._scans
        for scan in scans:
            scan.skip_to(self._store.first_seq)
        at = min(scan.at for scan in scans)
        resets = self._store.boots.starts
        end_row = self._end_row if self._chosen is None else min(self._end_row, self._chosen.looked)
        stop = min([at + self._piece, end_row, *(row for row in (*resets, *(s.at for s in scans)) if row > at)])
        if at >= stop:
            return False
        if (
            self._events.at == at
            and (reset := max((row for row in resets if row <= at), default=-1)) > self._last_reset
        ):
            self._last_reset = reset
            self.timeline.begin_anew()
        all_columns = self._store.columns(at, stop)
        passing = (
            np.ones(len(all_columns), np.bool_) if self._chosen is None else self._chosen.has(np.arange(at, stop))
        )
        wanted = self._requested_mask(all_columns) if self._events.at == at else np.zeros(0, np.bool_)
        counted = np.flatnonzero(wanted & passing) if self._most and len(wanted) else wanted
        if self._most and len(counted) >= self._most - self.counted > 0:
            self._end = at + int(counted[self._most - self.counted - 1]) + 1
            if self._end < stop:
                return self._step()
        columns, rows = all_columns, all_columns.is_text
        if self._chosen is not None:
            columns, rows = all_columns.only(passing), rows & passing
        texts = [self._store.record(at + place) for place in np.flatnonzero(rows).tolist()]
        if self._events.at == at:
            self.of += int(wanted.sum())
        for scan in scans:
            if scan.at == at:
                scan.take(all_columns if scan is self._pairs else columns, texts)
        return True

    def _requested_mask(self, columns: StoreColumns) -> NDArray[np.bool_]:
        """Return a mask of the rows that are events of the requested paths, whether they pass the filter or not."""
        found = np.ones(len(columns), np.bool_)
        for table in columns.tables.values():
            if not self._is_requested(table.layout.format.path):
                found[table.places] = False
        for place in np.flatnonzero(columns.is_text).tolist():
            record = self._store.record(columns.first + place)
            found[place] = self._is_requested(record.event) and not is_mark(record)
        return found

    def _is_requested(self, event: str) -> bool:
        return event in self._only if self._only is not None else event != COMMAND_OUTPUT

    def _count(self, columns: StoreColumns, texts: list[Record]) -> None:
        tables = [table for table in columns.tables.values() if self._is_requested(table.layout.format.path)]
        if tables:
            stamps = [table.stamps for table in tables]
            first, last = self.timeline.cover(min(int(s.min()) for s in stamps), max(int(s.max()) for s in stamps))
            for table in tables:
                path = table.layout.format.path
                if first < last:
                    self.timeline.add(path, table.stamps)
                else:
                    self.timeline.add_at(first, path, len(table))
                self.counted += len(table)
            self.tasks.add(_keys(np.concatenate([table.task_keys for table in tables])))
        wanted = [record for record in texts if self._is_requested(record.event) and not is_mark(record)]
        for record in wanted:
            self.timeline.add(record.event, np.array([record.ts], np.int64))
        if wanted:
            self.tasks.add(_keys(np.array([record.pid for record in wanted], np.int32)))
            self.counted += len(wanted)

    def _time_calls(self, columns: StoreColumns, _: list[Record]) -> None:
        for finished in self.calls.take(columns):
            functions, took = finished.functions, finished.durations
            if self._chosen is not None:
                passing = self._chosen.has(finished.entries) | self._chosen.has(finished.exits)
                functions, took = functions[passing], took[passing]
            self.pairs += len(took)
            order = np.argsort(functions, kind="stable")
            distinct, first = np.unique(functions[order], return_index=True)
            last = [*first[1:].tolist(), len(took)]
            boot = self._store.boots.of(columns.first)
            for function, start, stop in zip(distinct.tolist(), first.tolist(), last, strict=False):
                self._latency_counts(CalledFunction(function, boot)).add(took[order[start:stop]])

    def _latency_counts(self, function: CalledFunction) -> Distribution:
        if function not in self._latencies and len(self._latencies) >= _MOST_FUNCTIONS:
            function = CalledFunction(probe_and_address(function.function)[0], function.boot)
        return self._latencies.setdefault(function, Distribution())


def _keys(tasks: NDArray[Any]) -> Keys:
    """Return task keys, or thread ids, as keys; -1 is one of 32 bits."""
    return (tasks.view(np.uint32) if tasks.dtype == np.int32 else tasks).astype(np.uint64)
