"""The calls that a store's events belong to, as rows in the order in which they ended.

Between them stand the marks of a cut line, and where the ring buffer lost events: what came before is no call with
what came after a cut, nor where something was lost that may have belonged to it.
Rows of the store are paired when somebody looks at calls, in bounded steps.
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

from events.calls.call_matching import CallMatching, Ended
from events.calls.pairing import Alone, Call, EndOf
from events.losses import Loss
from events.store.columns import Columns
from events.store.outage_mark import EVENT

if TYPE_CHECKING:
    from events.store.store import Store

_NONE = -1
_REASONS = (None, *Alone)
_MARK = len(_REASONS)
_LOSS = _MARK + 1
"""In the place of a reason."""
_PIECE = 1 << 13
"""Events between two looks at the clock."""


class Numbers(NamedTuple):
    """Calls; all arrays have one length."""

    entries: NDArray[np.int64]
    """Sequence numbers of their entries; -1: not seen."""
    exits: NDArray[np.int64]
    """Those of their exits."""
    took: NDArray[np.int64]
    """Nanoseconds from entry to exit, of pairs."""
    paired: NDArray[np.bool_]
    """Whether they are proven."""
    marks: NDArray[np.bool_]
    """Those that are marks of a cut line or of lost events, and no calls."""

    @property
    def last(self) -> NDArray[np.int64]:
        """Sequence numbers of their last events."""
        return np.maximum(self.entries, self.exits)


class Mark(NamedTuple):
    """A row that is no call."""

    seq: int
    """Event that says that a line was cut, or the first one behind lost events."""
    loss: Loss | None = None


class Calls:
    """Rows `first` to `next - 1`; a row is dropped when its last event is."""

    def __init__(self, store: Store, limit: int = 1 << 16) -> None:
        """Pair the rows of a store; at most `limit` calls are open at once."""
        self.first = 0
        self._store = store
        self._matching = CallMatching(store, limit)
        self._from = store.first_seq
        """Row before which nothing is shown, nor what was lost there."""
        self._entries = array("q")
        self._exits = array("q")
        self._reasons = bytearray()
        self._took = array("q")
        self._marks: list[int] = []
        """Rows of marks."""
        self._losses: dict[int, Loss] = {}
        """Those of them that stand for lost events."""
        self._read = 0
        """Losses of the store that are rows by now, or wait."""
        self._waiting: deque[Loss] = deque()
        """Losses behind which no event was looked at yet, in the order in which they were read."""

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self.first + len(self._entries)

    @property
    def paired(self) -> int:
        """Proven pairs."""
        return self._matching.paired

    @property
    def alone(self) -> Counter[Alone]:
        """Ends without a partner, by the reason."""
        return self._matching.alone

    @property
    def unseen(self) -> int:
        """Events that the store dropped before they were looked at."""
        return self._matching.unseen

    @property
    def open(self) -> int:
        """Calls that have begun and not ended yet."""
        return self._matching.open

    @property
    def waiting(self) -> int:
        """Exits of which it is not known yet whether others follow at once; see `events.calls.pairing`."""
        return self._matching.waiting

    @property
    def open_entries(self) -> list[int]:
        """Sequence numbers of their entries."""
        return self._matching.open_entries

    @property
    def behind(self) -> int:
        """Events that were not looked at yet."""
        return self._store.next_seq - max(self._matching.at, self._store.first_seq)

    def use(self, ends: Mapping[str, EndOf]) -> None:
        """Take what the events are, by their `group/name`."""
        self._matching.use(ends)

    def tick(self, budget: float = 0.01) -> int:
        """Look at events that came, for about so many seconds; gives the number of new rows."""
        before = self.next
        deadline = time.monotonic() + budget
        while self.behind:
            start = max(self._matching.at, self._store.first_seq)
            self.take(self._store.columns(start, min(start + _PIECE, self._store.next_seq)))
            if time.monotonic() >= deadline:
                break
        new = self.next - before
        self.drop()
        return new

    def take(self, columns: Columns) -> None:
        """Look at rows that are there as columns already; they follow what was looked at."""
        marks = [Mark(seq) for seq in _marks_among(self._store, columns)]
        marks = sorted([*marks, *self._losses_among(columns)], key=lambda mark: mark.seq)
        for ended in self._matching.take(columns):
            last = max((*ended.shown_by, *ended.exits.tolist()), default=_NONE)
            self._add(ended, [mark for mark in marks if mark.seq <= last])
            marks = [mark for mark in marks if mark.seq > last]
        if marks:
            none = np.empty(0, np.int64)
            self._add(Ended(none, none, none, none, none, [], []), marks)

    def _losses_among(self, columns: Columns) -> list[Mark]:
        """Return the losses that stand before one of some rows: the first that is not older."""
        self._waiting += (loss for loss in self._store.losses.after(self._read) if loss.seq >= self._from)
        self._read = self._store.losses.next
        stamps = columns.run.stamps
        if not self._waiting or not len(stamps):
            return []
        first, latest = columns.first, int(stamps.max())
        found, waiting = list[Mark](), list[Loss]()
        while self._waiting and self._waiting[0].seq < first + len(stamps):
            loss = self._waiting.popleft()
            at = max(loss.seq - first, 0)
            behind = np.flatnonzero(stamps[at:] >= loss.ts) if loss.ts <= latest else stamps[:0]
            if len(behind):
                found.append(Mark(first + at + int(behind[0]), loss))
            elif loss.seq < self._store.first_seq or any(
                loss.seq < boot < first + len(stamps) for boot in self._store.anew
            ):
                found.append(Mark(first + at, loss))  # the event behind it has no row, or times have begun again
            else:
                waiting.append(loss)
        self._waiting.extendleft(reversed(waiting))
        return found

    def marks_before(self, row: int) -> int:
        """Return how many of the rows before one are marks, of a cut line or of losses, of those that are kept."""
        return bisect_left(self._marks, row)

    @property
    def losses(self) -> int:
        """Rows that stand for lost events."""
        return len(self._losses)

    def call(self, row: int) -> Call:
        """What a row is. Raises IndexError where it was dropped, or there is none yet."""
        if not self.first <= row < self.next:
            raise IndexError(row)
        at = row - self.first
        entry, leave, reason = self._entries[at], self._exits[at], self._reasons[at]
        return Call(
            None if entry == _NONE else entry,
            None if leave == _NONE else leave,
            None if reason >= _MARK else _REASONS[reason],
            self._losses.get(row),
        )

    def numbers(self, start: int, stop: int) -> Numbers:
        """Of the rows from `start` to before `stop`, as far as they are kept, what they are."""
        part = slice(max(start - self.first, 0), max(stop - self.first, 0))
        reasons = np.frombuffer(bytes(self._reasons[part]), np.uint8)
        entries, exits, took = (
            np.array(column[part], np.int64) for column in (self._entries, self._exits, self._took)
        )
        return Numbers(entries, exits, took, reasons == 0, reasons >= _MARK)

    def _add(self, ended: Ended, marks: list[Mark]) -> None:
        """Add rows behind the event that showed a call to be over, in the order of those, and marks."""
        rows_of_marks = [(_NONE, mark.seq, _LOSS if mark.loss else _MARK) for mark in marks]
        others = np.array([*map(_row, ended.alone), *rows_of_marks], np.int64).reshape(-1, 3)
        # What an exit shows to be alone comes before the call that it ends.
        # A loss comes before all that the event behind it shows.
        shown_by = np.array(ended.shown_by, np.int64) * 2 + 1
        of_marks = np.array([2 * mark.seq + (mark.loss is None) for mark in marks], np.int64)
        order = np.argsort(np.concatenate((shown_by, of_marks, ended.exits * 2 + 1)), kind="stable")
        paired = np.zeros(len(ended.took), np.int64)
        rows = (
            (others[:, 0], ended.entries),
            (others[:, 1], ended.exits),
            (others[:, 2], paired),
            (0 * others[:, 0], ended.took),
        )
        entries, exits, reasons, took = (np.concatenate(both)[order] for both in rows)
        self._marks += (self.next + np.flatnonzero(reasons >= _MARK)).tolist()
        of_losses = (self.next + np.flatnonzero(reasons == _LOSS)).tolist()
        self._losses |= zip(of_losses, (mark.loss for mark in marks if mark.loss), strict=True)
        self._entries.frombytes(entries.tobytes())
        self._exits.frombytes(exits.tobytes())
        self._reasons += reasons.astype(np.uint8).tobytes()
        self._took.frombytes(took.tobytes())

    def drop(self) -> None:
        """Drop rows whose events are gone."""
        oldest = self._store.first_seq
        gone = 0
        while gone < len(self._entries):
            part = slice(gone, gone + _PIECE)
            last = np.maximum(np.array(self._entries[part], np.int64), np.array(self._exits[part], np.int64))
            kept = np.flatnonzero(last >= oldest)
            gone += int(kept[0]) if len(kept) else len(last)
            if len(kept):
                break
        del self._entries[:gone], self._exits[:gone], self._reasons[:gone], self._took[:gone]
        self.first += gone
        for row in self._marks[: self.marks_before(self.first)]:
            self._losses.pop(row, None)
        del self._marks[: self.marks_before(self.first)]


def _row(call: Call) -> tuple[int, int, int]:
    """Entry, exit, number of the reason, of an end that stays alone."""
    return (
        _NONE if call.entry is None else call.entry,
        _NONE if call.exit is None else call.exit,
        _REASONS.index(call.alone),
    )


def _marks_among(store: Store, columns: Columns) -> list[int]:
    """Return the sequence numbers of the marks of a cut line among some rows."""
    places = np.flatnonzero(columns.is_text)
    if not len(places):
        return []
    numbers = columns.run.ids[places]
    marks = [number for number in np.unique(numbers).tolist() if store.event(number) == EVENT]
    found: list[int] = (places[np.isin(numbers, marks)] + columns.first).tolist()
    return found
