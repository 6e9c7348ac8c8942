"""Find the rows of each kind of event, CPU, task or function without a search: 8 bytes a row, added as they arrive.

The number of rows of a lane in any interval is then two binary searches, however many rows there are.
"""

from __future__ import annotations

import enum
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from events.clocks.boots import task_key
from events.format import EventFormat, Field
from events.store.columns import PIECE, Ints, Mask, StoreColumns, is_number
from events.store.outage_mark import is_mark

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store

_FEW: Final = 8
"""Lanes in a piece up to which each is searched for by itself, which costs less than to sort the rows."""
_TRACER: Final = ("ftrace/funcgraph_", "ftrace/fgraph_")
"""Beginnings of the paths of the function_graph tracer's calls."""
_BOOT_SHIFT: Final = 48
_ADDRESS: Final = (1 << 64) - 1
_LEAST: Final = 64
"""Numbers that a new array has room for."""


class LaneKind(enum.StrEnum):
    """Property by which events are in lanes."""

    EVENT = "event"
    CPU = "CPU"
    TASK = "task"
    FUNCTION = "function"
    """Function whose address an event has (probes on several functions, the tracer's calls); else the event."""

    @property
    def after(self) -> LaneKind:
        """Next kind in the order in which a key cycles through them."""
        kinds = list(LaneKind)
        return kinds[(kinds.index(self) + 1) % len(kinds)]


class RisingNumbers:
    """Rising numbers in one array: appended at the end, dropped at the beginning."""

    __slots__ = ("_begin", "_numbers", "_stop")

    def __init__(self) -> None:
        self._numbers: Ints = np.empty(_LEAST, np.int64)
        self._begin = self._stop = 0

    @property
    def view(self) -> Ints:
        """All numbers; read-only, valid until the next change."""
        return self._numbers[self._begin : self._stop]

    def add(self, numbers: Ints) -> None:
        """Append numbers that are greater than all before."""
        stop = self._stop + len(numbers)
        if stop > len(self._numbers):
            view = self.view
            room = np.empty(max(_LEAST, 2 * (len(view) + len(numbers))), np.int64)
            room[: len(view)] = view
            self._numbers, self._begin, self._stop = room, 0, len(view)
            stop = len(view) + len(numbers)
        self._numbers[self._stop : stop] = numbers
        self._stop = stop

    def drop_before(self, oldest: int) -> bool:
        """Drop the numbers less than `oldest`; return whether any is left."""
        self._begin += int(np.searchsorted(self.view, oldest))
        return self._begin < self._stop

    def counts(self, rows: Ints) -> Ints:
        """Return how many numbers are between each of some rising rows and the next one."""
        return np.diff(np.searchsorted(self.view, rows))


class LaneIndex:
    """Rows of a store by lane; those that do not pass a filter, and the marks of outages, are in none."""

    def __init__(self, store: Store, kind: LaneKind, passing: FilteredRows | None = None) -> None:
        """Take the store, the property that makes the lanes, and the events that pass a filter; None: all do."""
        self.store = store
        self.kind = kind
        self.passing = passing
        self.lanes: dict[int, RisingNumbers] = {}
        """Rows by format id, CPU, `events.clocks.boots.task_key`, or a key of `functions`."""
        self.functions: dict[int, tuple[int, int]] = {}
        """Address of each function and the boot that it is of, by key."""
        self.marks: list[int] = []
        """Rows of the marks of outages."""
        self.text_names: dict[int, str] = {}
        """Names of tasks by key that are known only from events received as text."""
        self.looked = store.first_seq
        """Row before which all rows have been added."""
        self._all = RisingNumbers() if passing is not None else None
        """Rows that are in any lane; None: all but the marks are."""
        self._oldest = store.first_seq

    @property
    def backlog(self) -> int:
        """Number of rows that were not added yet."""
        return self.store.next_seq - max(self.looked, self.store.first_seq)

    def tick(self, budget: float) -> None:
        """Add new rows for about `budget` seconds (one step at least), and drop those that the store has dropped."""
        deadline = time.monotonic() + budget
        if self.passing is not None:
            self.passing.tick(budget / 2)
        while self._step() and time.monotonic() < deadline:
            pass
        if self.store.first_seq != self._oldest:
            self._oldest = self.store.first_seq
            self.lanes = {key: rows for key, rows in self.lanes.items() if rows.drop_before(self._oldest)}
            self.marks = [seq for seq in self.marks if seq >= self._oldest]
            if self._all is not None:
                self._all.drop_before(self._oldest)

    def _step(self) -> bool:
        start = max(self.looked, self.store.first_seq)
        end = self.store.next_seq if self.passing is None else min(self.store.next_seq, self.passing.looked)
        stop = min(start + PIECE, end)
        if start >= stop:
            return False
        self.looked = stop
        columns = self.store.columns(start, stop)
        wanted: Mask = np.ones(len(columns), np.bool_)
        if self.passing is not None:
            wanted = self.passing.has(np.arange(columns.first, stop))
        keys = self._keys(columns, wanted)
        places = np.flatnonzero(wanted)
        if self._all is not None:
            self._all.add(places + columns.first)
        for key, own in _grouped(keys[places]):
            self.lanes.setdefault(key, RisingNumbers()).add(places[own] + columns.first)
        return True

    def _keys(self, columns: StoreColumns, wanted: Mask) -> Ints:
        """Return the key of each row; marks of outages are taken out of `wanted`."""
        if self.kind is LaneKind.TASK:
            keys = np.full(len(columns), -1, np.int64)
            for table in columns.tables.values():
                keys[table.places] = table.task_keys
        elif self.kind is LaneKind.CPU:
            keys = columns.cpus.take(columns.slabs).astype(np.int64)
        else:
            keys = columns.run.ids.astype(np.int64)
            if self.kind is LaneKind.FUNCTION:
                self._set_functions(columns, keys)
        for place in np.flatnonzero(columns.is_text).tolist():
            record = self.store.record(columns.first + place)
            if is_mark(record):
                wanted[place] = False
                self.marks.append(record.seq)
            elif self.kind is LaneKind.CPU:
                keys[place] = record.cpu
            elif self.kind is LaneKind.TASK:
                keys[place] = task_key(record.pid, self.store.boots.of(record.seq))
                self.text_names[int(keys[place])] = record.comm
        return keys

    def _set_functions(self, columns: StoreColumns, keys: Ints) -> None:
        """Replace the format ids of rows that have the address of a function by its key."""
        for table in columns.tables.values():
            if (field := _function_field(table.layout.format)) is None:
                continue
            boot = table.layout.format.boot
            values, missing = table.column(field)
            # Addresses of kernels have their upper bits alike: those of boots differ, and from format ids, too.
            found = values.astype(np.int64) ^ (boot << _BOOT_SHIFT)
            there = np.ones(len(found), np.bool_) if missing is None else ~missing
            keys[table.places[there]] = found[there]
            for key in np.unique(found[there]).tolist():
                self.functions.setdefault(key, ((key ^ boot << _BOOT_SHIFT) & _ADDRESS, boot))

    # -- what is between rows ----------------------------------------------------------------------------------------

    def totals(self, rows: Ints) -> Ints:
        """Return the number of events in all lanes between each of some rising rows and the next one."""
        rows = np.minimum(rows, self.looked)
        if self._all is not None:
            return self._all.counts(rows)
        marks = np.searchsorted(np.array(self.marks, np.int64), rows)
        return np.diff(rows - marks)

    def counts(self, keys: Iterable[int], rows: Ints) -> Ints:
        """Return the number of events in some lanes between each of some rising rows and the next one."""
        found = np.zeros(max(0, len(rows) - 1), np.int64)
        for key in keys:
            if (numbers := self.lanes.get(key)) is not None:
                found += numbers.counts(rows)
        return found

    def seqs(self, keys: Iterable[int] | None, start: int, stop: int) -> Ints:
        """Return the rows from `start` to before `stop` of some lanes, or of all (None), in order."""
        if keys is None and self._all is None:
            rows = np.arange(start, max(start, min(stop, self.looked)), dtype=np.int64)
            return rows[~np.isin(rows, self.marks)] if self.marks else rows
        if keys is None:
            found = [self._all] if self._all is not None else []
        else:
            found = [self.lanes[key] for key in keys if key in self.lanes]
        views = [one.view for one in found]
        parts = [view[slice(*np.searchsorted(view, (start, stop)).tolist())] for view in views]
        return np.sort(np.concatenate(parts)) if len(parts) > 1 else parts[0] if parts else np.empty(0, np.int64)

    def first(self, keys: Iterable[int] | None, start: int, stop: int) -> int | None:
        """Return the first row from `start` to before `stop` of some lanes, or of all (None); None: there is none."""
        if keys is None and self._all is None:
            seq = max(start, self.store.first_seq)
            while seq in self.marks:
                seq += 1
            return seq if seq < min(stop, self.looked) else None
        found = [self._all] if keys is None else [self.lanes.get(key) for key in keys]
        return _extreme(min, (_next(one.view, start) for one in found if one is not None), lambda seq: seq < stop)

    def last_before(self, keys: Iterable[int] | None, start: int) -> int | None:
        """Return the last row before `start` of some lanes, or of all (None); None: there is none."""
        if keys is None and self._all is None:
            seq = min(start, self.looked) - 1
            while seq in self.marks:
                seq -= 1
            return seq if seq >= self.store.first_seq else None
        found = [self._all] if keys is None else [self.lanes.get(key) for key in keys]
        return _extreme(max, (_before(one.view, start) for one in found if one is not None), lambda _: True)


def _function_field(fmt: EventFormat) -> Field | None:
    """Return the field with the function's address; None: the event is on one function, or on none."""
    if fmt.function is not None or not fmt.path.startswith(_TRACER):
        return fmt.function
    return next((field for field in fmt.fields if field.name == "func" and is_number(field)), None)


def _next(view: Ints, start: int) -> int | None:
    at = int(np.searchsorted(view, start))
    return int(view[at]) if at < len(view) else None


def _before(view: Ints, start: int) -> int | None:
    at = int(np.searchsorted(view, start))
    return int(view[at - 1]) if at else None


def _extreme(pick: Callable[..., Any], found: Iterable[int | None], holds: Callable[[int], bool]) -> int | None:
    rows = [seq for seq in found if seq is not None and holds(seq)]
    return int(pick(rows)) if rows else None


def _grouped(keys: Ints) -> Iterable[tuple[int, Any]]:
    """Yield each different key with the places, or the slice, where it is."""
    if not len(keys):
        return
    if keys[0] == keys[-1] and (keys == keys[0]).all():
        yield int(keys[0]), slice(None)
        return
    low, high = int(keys.min()), int(keys.max())
    if high - low < len(keys):
        present = np.flatnonzero(np.bincount(keys - low)).tolist()
        if len(present) <= _FEW:
            for key in present:
                yield key + low, np.flatnonzero(keys == key + low)
            return
    order = np.argsort(keys, kind="stable")
    sorted_keys = keys[order]
    begins = np.flatnonzero(np.diff(sorted_keys)) + 1
    for begin, stop in zip([0, *begins.tolist()], [*begins.tolist(), len(keys)], strict=True):
        yield int(sorted_keys[begin]), order[begin:stop]
