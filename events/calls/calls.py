"""List the calls of a store's events as rows, in the order in which the calls ended.

The rows also include the marks of outages and of ring-buffer losses: no call is paired across an outage, nor across a
loss that may have included its ends. Rows of the store are paired in bounded steps when calls are displayed.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.call_matching import CallMatching, FinishedCalls
from events.calls.call_values import Call, EndRole, UnpairedReason
from events.losses import Loss
from events.store.columns import StoreColumns
from events.store.outage_mark import OUTAGE_EVENT

if TYPE_CHECKING:
    from events.store.store import Store

_NONE = -1
_REASONS = (None, *UnpairedReason)
_OUTAGE = len(_REASONS)
_LOSS = _OUTAGE + 1
"""Row codes after the reasons: mark of an outage, mark of lost events."""
_PIECE = 1 << 13
"""Events processed between two checks of the time."""


class CallNumbers(NamedTuple):
    """Columns of call rows; all arrays have the same length."""

    entries: NDArray[np.int64]
    """Sequence numbers of the entries; -1: unknown."""
    exits: NDArray[np.int64]
    """Sequence numbers of the exits; -1: unknown."""
    durations: NDArray[np.int64]
    """Nanoseconds from entry to exit, for pairs."""
    paired: NDArray[np.bool_]
    """Mask of the proven pairs."""
    marks: NDArray[np.bool_]
    """Mask of the rows that are marks of an outage or of lost events instead of calls."""

    @property
    def last(self) -> NDArray[np.int64]:
        """Sequence number of each row's last event."""
        return np.maximum(self.entries, self.exits)


class NonCallRow(NamedTuple):
    """Row that is not a call."""

    seq: int
    """Sequence number of the mark of an outage, or of the first event after lost ones."""
    loss: Loss | None = None


class Calls:
    """List of calls as rows `first` to `next - 1`; a row is dropped together with its last event."""

    def __init__(self, store: Store, limit: int = 1 << 16) -> None:
        """Pair the rows of a store. At most `limit` calls are open at the same time."""
        self.first = 0
        self._store = store
        self._matching = CallMatching(store, limit)
        self._first_seq = store.first_seq
        """Sequence number before which neither rows nor losses are displayed."""
        self._entries = array("q")
        self._exits = array("q")
        self._reasons = bytearray()
        self._took = array("q")
        self._marks: list[int] = []
        """Rows that are marks."""
        self._losses: dict[int, Loss] = {}
        """Loss by row, for marks of lost events."""
        self._losses_read = 0
        """Number of losses taken from the store, each of which has a row or waits."""
        self._waiting: deque[Loss] = deque()
        """Losses in the order read, for which no later event has been processed yet."""

    @property
    def next(self) -> int:
        """Number that the next row will get."""
        return self.first + len(self._entries)

    @property
    def paired(self) -> int:
        """Number of proven pairs."""
        return self._matching.paired

    @property
    def unpaired_counts(self) -> Counter[UnpairedReason]:
        """Number of ends without a partner, by reason."""
        return self._matching.unpaired_counts

    @property
    def skipped_events(self) -> int:
        """Number of events that the store dropped before they were processed."""
        return self._matching.skipped_events

    @property
    def open(self) -> int:
        """Number of calls that have begun and not ended yet."""
        return self._matching.open

    @property
    def waiting(self) -> int:
        """Number of exits held back until it is known whether more exits follow directly; see
        `events.calls.pairing`.
        """
        return self._matching.waiting

    @property
    def open_entries(self) -> list[int]:
        """Sequence numbers of the entries of open calls."""
        return self._matching.open_entries

    @property
    def backlog(self) -> int:
        """Number of events not processed yet."""
        return self._store.next_seq - max(self._matching.at, self._store.first_seq)

    def use(self, ends: Mapping[str, EndRole]) -> None:
        """Set the roles of events by `group/name`."""
        self._matching.use(ends)

    def tick(self, budget: float = 0.01) -> int:
        """Process new events for about `budget` seconds and return the number of new rows."""
        before = self.next
        deadline = time.monotonic() + budget
        while self.backlog:
            start = max(self._matching.at, self._store.first_seq)
            self.take(self._store.columns(start, min(start + _PIECE, self._store.next_seq)))
            if time.monotonic() >= deadline:
                break
        new = self.next - before
        self.drop()
        return new

    def take(self, columns: StoreColumns) -> None:
        """Process rows given as columns, which follow those already processed."""
        marks = [NonCallRow(seq) for seq in _marks_among(self._store, columns)]
        marks = sorted([*marks, *self._losses_among(columns)], key=lambda mark: mark.seq)
        for finished in self._matching.take(columns):
            last = max((*finished.unpaired_proofs, *finished.exits.tolist()), default=_NONE)
            self._add(finished, [mark for mark in marks if mark.seq <= last])
            marks = [mark for mark in marks if mark.seq > last]
        if marks:
            empty = np.empty(0, np.int64)
            self._add(FinishedCalls(empty, empty, empty, empty, empty, [], []), marks)

    def _losses_among(self, columns: StoreColumns) -> list[NonCallRow]:
        """Return the losses placed within some rows, each at the first row that is not older."""
        self._waiting += (loss for loss in self._store.losses.after(self._losses_read) if loss.seq >= self._first_seq)
        self._losses_read = self._store.losses.next
        stamps = columns.run.stamps
        if not self._waiting or not len(stamps):
            return []
        first, latest = columns.first, int(stamps.max())
        found, waiting = list[NonCallRow](), list[Loss]()
        while self._waiting and self._waiting[0].seq < first + len(stamps):
            loss = self._waiting.popleft()
            at = max(loss.seq - first, 0)
            following = np.flatnonzero(stamps[at:] >= loss.ts) if loss.ts <= latest else stamps[:0]
            if len(following):
                found.append(NonCallRow(first + at + int(following[0]), loss))
            elif loss.seq < self._store.first_seq or any(
                loss.seq < boot < first + len(stamps) for boot in self._store.boots.starts
            ):
                found.append(NonCallRow(first + at, loss))  # the next event has no row, or the trace clock was reset
            else:
                waiting.append(loss)
        self._waiting.extendleft(reversed(waiting))
        return found

    def marks_before(self, row: int) -> int:
        """Return the number of retained marks, of outages and of losses, before a row."""
        return bisect_left(self._marks, row)

    @property
    def losses(self) -> int:
        """Number of rows that stand for lost events."""
        return len(self._losses)

    def call(self, row: int) -> Call:
        """Return the call of a row.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        if not self.first <= row < self.next:
            raise IndexError(row)
        at = row - self.first
        entry, leave, reason = self._entries[at], self._exits[at], self._reasons[at]
        return Call(
            None if entry == _NONE else entry,
            None if leave == _NONE else leave,
            None if reason >= _OUTAGE else _REASONS[reason],
            self._losses.get(row),
        )

    def numbers(self, start: int, stop: int) -> CallNumbers:
        """Return columns of the rows from `start` to before `stop` that are retained."""
        part = slice(max(start - self.first, 0), max(stop - self.first, 0))
        reasons = np.frombuffer(bytes(self._reasons[part]), np.uint8)
        entries, exits, took = (
            np.array(column[part], np.int64) for column in (self._entries, self._exits, self._took)
        )
        return CallNumbers(entries, exits, took, reasons == 0, reasons >= _OUTAGE)

    def ended_after(self, ts: int) -> NDArray[np.bool_]:
        """Return a mask of all rows: True for a last event not older than a time in nanoseconds.

        Rows are in the order in which calls were known to have ended: an exit without entry stands a little later.
        """
        return self.numbers(self.first, self.next).last >= self._store.at_time(ts)

    def _add(self, finished: FinishedCalls, marks: list[NonCallRow]) -> None:
        """Add rows for finished calls and marks, sorted by the event that showed each call to be over."""
        rows_of_marks = [(_NONE, mark.seq, _LOSS if mark.loss else _OUTAGE) for mark in marks]
        others = np.array([*map(_row, finished.unpaired), *rows_of_marks], np.int64).reshape(-1, 3)
        # An end that an exit proves to be unpaired precedes the call that the exit ends. A loss precedes everything
        # that the event after it proves.
        shown_by = np.array(finished.unpaired_proofs, np.int64) * 2 + 1
        mark_keys = np.array([2 * mark.seq + (mark.loss is None) for mark in marks], np.int64)
        order = np.argsort(np.concatenate((shown_by, mark_keys, finished.exits * 2 + 1)), kind="stable")
        paired = np.zeros(len(finished.durations), np.int64)
        rows = (
            (others[:, 0], finished.entries),
            (others[:, 1], finished.exits),
            (others[:, 2], paired),
            (0 * others[:, 0], finished.durations),
        )
        entries, exits, reasons, took = (np.concatenate(parts)[order] for parts in rows)
        self._marks += (self.next + np.flatnonzero(reasons >= _OUTAGE)).tolist()
        loss_rows = (self.next + np.flatnonzero(reasons == _LOSS)).tolist()
        self._losses |= zip(loss_rows, (mark.loss for mark in marks if mark.loss), strict=True)
        self._entries.frombytes(entries.tobytes())
        self._exits.frombytes(exits.tobytes())
        self._reasons += reasons.astype(np.uint8).tobytes()
        self._took.frombytes(took.tobytes())

    def drop(self) -> None:
        """Drop the rows whose events were dropped from the store."""
        oldest = self._store.first_seq
        dropped = 0
        while dropped < len(self._entries):
            part = slice(dropped, dropped + _PIECE)
            last = np.maximum(np.array(self._entries[part], np.int64), np.array(self._exits[part], np.int64))
            retained = np.flatnonzero(last >= oldest)
            dropped += int(retained[0]) if len(retained) else len(last)
            if len(retained):
                break
        del self._entries[:dropped], self._exits[:dropped], self._reasons[:dropped], self._took[:dropped]
        self.first += dropped
        for row in self._marks[: self.marks_before(self.first)]:
            self._losses.pop(row, None)
        del self._marks[: self.marks_before(self.first)]


def _row(call: Call) -> tuple[int, int, int]:
    """Return entry, exit and reason code of an end without a partner."""
    return (
        _NONE if call.entry is None else call.entry,
        _NONE if call.exit is None else call.exit,
        _REASONS.index(call.unpaired_reason),
    )


def _marks_among(store: Store, columns: StoreColumns) -> list[int]:
    """Return the sequence numbers of the marks of outages among some rows."""
    places = np.flatnonzero(columns.is_text)
    if not len(places):
        return []
    numbers = columns.run.ids[places]
    marks = [number for number in np.unique(numbers).tolist() if store.event(number) == OUTAGE_EVENT]
    found: list[int] = (places[np.isin(numbers, marks)] + columns.first).tolist()
    return found
