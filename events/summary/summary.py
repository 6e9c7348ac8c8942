"""What the events of a store are in sum: how many when, of whom, which values, and how long calls took.

Rows are taken as columns, in bounded steps, when somebody looks; what was counted stays counted when the store drops
it. Whatever was dropped before it was counted is in `unseen`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Container, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from events.calls.call_matching import CallMatching
from events.calls.call_values import EndRole
from events.calls.pairing import MOST_OPEN
from events.record import Record
from events.store.columns import PIECE, Columns
from events.summary.distribution import Distribution
from events.summary.frequent import FrequentValues, Keys, ValueCount
from events.summary.timeline import Timeline
from events.summary.values import FieldValues

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store

Take = Callable[[Columns, list[Record]], None]
"""Takes rows as columns, and those that came as text as records."""


class StoreScan:
    """One pass over a store that goes on where it stopped."""

    def __init__(self, store: Store, take: Take) -> None:
        self.at = store.first_seq
        self.unseen = store.evicted
        """Rows that the store dropped before they were."""
        self._take = take

    def skip_to(self, first_seq: int) -> None:
        """Rows before this one are gone."""
        if self.at < first_seq:
            self.unseen += first_seq - self.at
            self.at = first_seq

    def take(self, columns: Columns, texts: list[Record]) -> None:
        """Take what begins at `at`."""
        self._take(columns, texts)
        self.at += len(columns)


class Summary:
    """Counts all events, the values of one field at a time, and the latencies of calls."""

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
            store: where they are.
            limit: how many values and processes are told apart at least.
            only: paths of the events to count; None: all.
            most_open: how many calls may be open at once.
            chosen: the events that pass a filter, and no others count; of calls those with such an end. None: all.
            piece: how many rows are counted at once, which bounds what they take meanwhile.
            most: events after which nothing is counted any more; 0: all are.
        """
        self.seen = 0
        """Events that were counted."""
        self.of = 0
        """Events of those paths that were looked at."""
        self.pairs = 0
        """Proven calls that were timed."""
        self.timeline = Timeline()
        """By path of the event."""
        self.tasks = FrequentValues(limit)
        """By thread id."""
        self.values: FieldValues | None = None
        """Of the field that was chosen."""
        self.calls = CallMatching(store, most_open)
        """Of the store's events; its counts say what has no pair."""
        self._latencies: dict[int, Distribution] = {}
        self._store = store
        self._limit = limit
        self._most_open = most_open
        self._piece = piece
        self._most = most
        self._end: int | None = None
        """Row behind the last event that is counted; None: not known yet."""
        self._only = only
        self._chosen = chosen
        self._events = StoreScan(store, self._count)
        self._anew_at = -1
        """Row from which on the clock had begun again, the last that was taken."""
        self._fields: StoreScan | None = None
        self._also: list[StoreScan] = []
        self._others: list[FieldValues] = []
        self._pairs: StoreScan | None = None
        self._ends: Mapping[str, EndRole] = {}

    @property
    def unseen(self) -> int:
        """Events that the store dropped before they were counted."""
        return self._events.unseen

    @property
    def behind(self) -> int:
        """Events that are to be looked at yet, by whoever is the farthest behind."""
        at = min(scan.at for scan in self._scans)
        return self._known - max(at, self._store.first_seq)

    @property
    def _known(self) -> int:
        """Row behind the last one that may be counted by now."""
        return self._store.next_seq if self._end is None else max(self._end, self._store.first_seq)

    @property
    def _scans(self) -> list[StoreScan]:
        return [scan for scan in (self._events, self._fields, self._pairs, *self._also) if scan]

    def use(self, ends: Mapping[str, EndRole]) -> None:
        """Take what the events are, by their `group/name`; `EndRole.function` tells latencies apart."""
        self._ends = {path: end for path, end in ends.items() if self._wants(path)}
        if self._ends and self._pairs is None:
            self.calls = CallMatching(self._store, self._most_open)
            self._pairs = StoreScan(self._store, self._time_calls)
        self.calls.use(self._ends)

    def choose(self, event: str, field: str) -> None:
        """Count the values of a field of an event; begins anew with what the store has."""
        chosen = FieldValues(event, field, self._limit)
        self.values, self._fields = chosen, StoreScan(self._store, chosen.take)

    def count_also(self, event: str, field: str) -> FieldValues:
        """Count the values of one more field, beside the one that was chosen."""
        counted = FieldValues(event, field, self._limit)
        self._others.append(counted)
        self._also.append(StoreScan(self._store, counted.take))
        return counted

    def rename(self, now: Callable[[str], str]) -> None:
        """Go on with events under other paths; what was counted of them stays."""
        self.timeline.rename(now)
        for counted in (self.values, *self._others):
            if counted is not None:
                counted.event = now(counted.event)

    def latencies(self, function: int) -> Distribution:
        """Nanoseconds that the proven calls of a function took."""
        return self._latencies.setdefault(function, Distribution())

    @property
    def functions(self) -> list[int]:
        """Those that have latencies."""
        return sorted(number for number, latencies in self._latencies.items() if latencies.count)

    def top_tasks(self, number: int) -> list[ValueCount]:
        """Thread ids with the most events."""
        return self.tasks.top(number)

    def tick(self, budget: float = 0.01) -> None:
        """Look at what came, for about so many seconds."""
        deadline = time.monotonic() + budget
        if self._chosen is not None:
            self._chosen.tick(budget / 2)
        while self._step() and time.monotonic() < deadline:
            pass

    def _step(self) -> bool:
        """Take one piece; False: there is none."""
        scans = self._scans
        for scan in scans:
            scan.skip_to(self._store.first_seq)
        at = min(scan.at for scan in scans)
        anew = self._store.anew
        known = self._known if self._chosen is None else min(self._known, self._chosen.looked)
        stop = min([at + self._piece, known, *(one for one in (*anew, *(s.at for s in scans)) if one > at)])
        if at >= stop:
            return False
        if self._events.at == at and (begun := max((one for one in anew if one <= at), default=-1)) > self._anew_at:
            self._anew_at = begun
            self.timeline.begin_anew()
        every = self._store.columns(at, stop)
        passing = np.ones(len(every), np.bool_) if self._chosen is None else self._chosen.has(np.arange(at, stop))
        wanted = self._wanted_in(every) if self._events.at == at else np.zeros(0, np.bool_)
        counted = np.flatnonzero(wanted & passing) if self._most and len(wanted) else wanted
        if self._most and len(counted) >= self._most - self.seen > 0:
            self._end = at + int(counted[self._most - self.seen - 1]) + 1
            if self._end < stop:
                return self._step()
        columns, rows = every, every.is_text
        if self._chosen is not None:
            columns, rows = every.only(passing), rows & passing
        texts = [self._store.record(at + place) for place in np.flatnonzero(rows).tolist()]
        if self._events.at == at:
            self.of += int(wanted.sum())
        for scan in scans:
            if scan.at == at:
                scan.take(every if scan is self._pairs else columns, texts)
        return True

    def _wanted_in(self, every: Columns) -> NDArray[np.bool_]:
        """Return which of some rows are events of those paths, whether they pass or not."""
        found = np.full(len(every), self._only is None)
        for table in every.tables.values() if self._only is not None else ():
            found[table.places] = self._wants(table.layout.format.path)
        for place in np.flatnonzero(every.is_text & ~found).tolist():
            found[place] = self._wants(self._store.record(every.first + place).event)
        return found

    def _wants(self, event: str) -> bool:
        return self._only is None or event in self._only

    def _count(self, columns: Columns, texts: list[Record]) -> None:
        tables = [table for table in columns.tables.values() if self._wants(table.layout.format.path)]
        if tables:
            stamps = columns.run.stamps
            place = self.timeline.place(int(stamps.min()), int(stamps.max()))
            for table in tables:
                path = table.layout.format.path
                if place is None:
                    self.timeline.add(path, table.stamps)
                else:
                    self.timeline.add_at(place, path, len(table))
                self.seen += len(table)
            self.tasks.add(_keys(np.concatenate([table.pids for table in tables])))
        wanted = [record for record in texts if self._wants(record.event)]
        for record in wanted:
            self.timeline.add(record.event, np.array([record.ts], np.int64))
        if wanted:
            self.tasks.add(_keys(np.array([record.pid for record in wanted], np.int32)))
            self.seen += len(wanted)

    def _time_calls(self, columns: Columns, _: list[Record]) -> None:
        for ended in self.calls.take(columns):
            functions, took = ended.functions, ended.took
            if self._chosen is not None:
                passing = self._chosen.has(ended.entries) | self._chosen.has(ended.exits)
                functions, took = functions[passing], took[passing]
            self.pairs += len(took)
            for function in np.flatnonzero(np.bincount(functions)).tolist():
                self.latencies(function).add(took[functions == function])


def _keys(pids: NDArray[np.int32]) -> Keys:
    return pids.view(np.uint32).astype(np.uint64)
