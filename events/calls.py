"""The calls that a store's events belong to, as rows in the order in which they ended.

Rows of the store are paired when somebody looks at calls, in bounded steps. Most calls end before their task begins
another one: those are found by columns (0.2 us an event); what is left goes through `events.pairing`, which says what
proves a pair.
"""

from __future__ import annotations

import time
from array import array
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.call_ends import Ends, ends_among
from events.columns import Columns
from events.pairing import STACK_BITS, Alone, Call, End, EndOf, Pairing

if TYPE_CHECKING:
    from events.store import Store

Places = NDArray[np.intp]

_NONE = -1
_LEAST = np.iinfo(np.int64).min
_REASONS = tuple(Alone)
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

    @property
    def last(self) -> NDArray[np.int64]:
        """Sequence numbers of their last events."""
        return np.maximum(self.entries, self.exits)


_ONE_BY_ONE = 256
"""Ends that go through `events.pairing` where some were lost among them; of more, each half is asked about."""

Row = tuple[int, int, int, int, int]
"""Entry, exit, number of the reason; of a pair its function and its nanoseconds too."""


class Timed(NamedTuple):
    """Proven calls; both arrays have one length."""

    functions: NDArray[np.int64]
    """As `EndOf.function`."""
    took: NDArray[np.int64]
    """Nanoseconds from entry to exit."""


class Calls:
    """Rows `first` to `next - 1`; a row is dropped when its last event is."""

    def __init__(self, store: Store, limit: int = 1 << 16) -> None:
        """Pair the rows of a store; at most `limit` calls are open at once."""
        self.first = 0
        self.alone: Counter[Alone] = Counter()
        """Ends without a partner, by the reason."""
        self.paired = 0
        """Proven pairs."""
        self.unseen = store.first_seq
        """Events that the store dropped before they were looked at."""
        self._store = store
        self._pairing = Pairing(store.lost_between, limit)
        self._ends: Mapping[str, EndOf] = {}
        self._at = store.first_seq
        self._entries = array("q")
        self._exits = array("q")
        self._reasons = bytearray()
        self._functions = array("q")
        self._took = array("q")

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self.first + len(self._entries)

    @property
    def open(self) -> int:
        """Calls that have begun and not ended yet."""
        return self._pairing.open

    @property
    def behind(self) -> int:
        """Events that were not looked at yet."""
        return self._store.next_seq - max(self._at, self._store.first_seq)

    def use(self, ends: Mapping[str, EndOf]) -> None:
        """Take what the events are, by their `group/name`."""
        self._ends = ends

    def tick(self, budget: float = 0.01) -> int:
        """Look at events that came, for about so many seconds; gives the number of new rows."""
        before = self.next
        deadline = time.monotonic() + budget
        while self.behind:
            start = max(self._at, self._store.first_seq)
            self.take(self._store.columns(start, min(start + _PIECE, self._store.next_seq)))
            if time.monotonic() >= deadline:
                break
        new = self.next - before
        self.drop()
        return new

    def take(self, columns: Columns) -> None:
        """Look at rows that are there as columns already; they follow what was looked at."""
        if self._at < columns.first:  # some were dropped before they were looked at
            self._add(_rows(self._pairing.forget()))
            self.unseen += columns.first - self._at
        ends, at = ends_among(self._store, columns, self._ends), 0
        self._at = columns.first + len(columns)
        for boot in self._store.anew:
            if columns.first <= boot < self._at:  # no call outlives it
                until = int(np.searchsorted(ends.seqs, boot))
                self._take(Ends._make(column[at:until] for column in ends))
                self._add(_rows(self._pairing.forget()))
                at = until
        self._take(Ends._make(column[at:] for column in ends))

    def call(self, row: int) -> Call:
        """What a row is. Raises IndexError where it was dropped, or there is none yet."""
        if not self.first <= row < self.next:
            raise IndexError(row)
        at = row - self.first
        entry, leave, reason = self._entries[at], self._exits[at], self._reasons[at]
        return Call(
            None if entry == _NONE else entry,
            None if leave == _NONE else leave,
            _REASONS[reason - 1] if reason else None,
        )

    def numbers(self, start: int, stop: int) -> Numbers:
        """Of the rows from `start` to before `stop`, as far as they are kept, what they are."""
        part = slice(max(start - self.first, 0), max(stop - self.first, 0))
        paired = np.frombuffer(bytes(self._reasons[part]), np.uint8) == 0
        entries, exits, took = (
            np.array(column[part], np.int64) for column in (self._entries, self._exits, self._took)
        )
        return Numbers(entries, exits, took, paired)

    def timed(self, start: int, stop: int) -> Timed:
        """Of the rows from `start` to before `stop` those that are pairs, also where their events were dropped."""
        part = slice(max(start - self.first, 0), max(stop - self.first, 0))
        paired = np.frombuffer(self._reasons[part], np.uint8) == 0
        functions, took = (np.array(column[part], np.int64)[paired] for column in (self._functions, self._took))
        return Timed(functions, took)

    def _take(self, ends: Ends) -> None:
        size = len(ends.seqs)
        if not size:
            return
        if not self._store.lost_between(int(ends.stamps[0]), int(ends.stamps[-1])):
            entries, exits, rest = matched(ends)
        elif size > _ONE_BY_ONE:
            for half in (slice(size // 2), slice(size // 2, size)):
                self._take(Ends._make(column[half] for column in ends))
            return
        else:
            entries = exits = np.empty(0, np.intp)
            rest = np.arange(size)
        # Behind the event that showed a call to be over, in the order of those.
        took = ends.stamps[exits] - ends.stamps[entries]
        pairs = np.stack((ends.seqs[entries], ends.seqs[exits], 0 * exits, ends.functions[exits], took), axis=1)
        shown_by: list[int] = []
        others: list[Row] = []
        between = _between(ends, entries, rest, self._pairing.has_open)
        places = np.sort(np.concatenate((rest, between)))
        for end, went_by in zip(_one_by_one(ends, places), np.isin(places, between).tolist(), strict=True):
            for call in self._pairing.went_by(end) if went_by else self._pairing.take(end):
                shown_by.append(end.seq)
                others.append(_row(call, end.function, self._pairing.took))
        order = np.argsort(np.concatenate((ends.seqs[exits], np.array(shown_by, np.int64))), kind="stable")
        self._add(np.concatenate((pairs, _table(others)))[order])

    def _add(self, rows: NDArray[np.int64]) -> None:
        """Add rows, a `Row` each."""
        self._entries.frombytes(np.ascontiguousarray(rows[:, 0]).tobytes())
        self._exits.frombytes(np.ascontiguousarray(rows[:, 1]).tobytes())
        self._reasons += rows[:, 2].astype(np.uint8).tobytes()
        self._functions.frombytes(np.ascontiguousarray(rows[:, 3]).tobytes())
        self._took.frombytes(np.ascontiguousarray(rows[:, 4]).tobytes())
        counts = np.bincount(rows[:, 2], minlength=len(_REASONS) + 1).tolist()
        self.paired += counts[0]
        self.alone.update({reason: count for reason, count in zip(_REASONS, counts[1:], strict=True) if count})

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
        del self._entries[:gone], self._exits[:gone], self._reasons[:gone]
        del self._functions[:gone], self._took[:gone]
        self.first += gone


def _rows(calls: list[Call]) -> NDArray[np.int64]:
    return _table([_row(call) for call in calls])


def _table(rows: list[Row]) -> NDArray[np.int64]:
    return np.array(rows, np.int64).reshape(-1, 5)


def _row(call: Call, function: int = _NONE, took: int = 0) -> Row:
    return (
        _NONE if call.entry is None else call.entry,
        _NONE if call.exit is None else call.exit,
        0 if call.alone is None else _REASONS.index(call.alone) + 1,
        function,
        took,
    )


def matched(ends: Ends) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Where an exit follows its entry in its task with nothing between them but such pairs.

    Gives the places of the entries, of the exits, and of all that is left, in order.
    """
    left = order = np.argsort(ends.tasks, kind="stable")
    entries: list[NDArray[np.intp]] = []
    exits: list[NDArray[np.intp]] = []
    while len(left) > 1:
        one, other = left[:-1], left[1:]
        pairs = np.flatnonzero(
            ~ends.at_exit[one]
            & ends.at_exit[other]
            & (ends.tasks[one] == ends.tasks[other])
            & (ends.functions[one] == ends.functions[other])
            & (ends.proofs[one] == ends.proofs[other])
        )
        pairs = pairs[_holds(ends, order, left[pairs], left[pairs + 1])]
        if not len(pairs):
            break
        entries.append(left[pairs])
        exits.append(left[pairs + 1])
        left = np.delete(left, np.concatenate((pairs, pairs + 1)))
    nothing = np.empty(0, np.intp)
    return np.concatenate([nothing, *entries]), np.concatenate([nothing, *exits]), np.sort(left)


def _holds(ends: Ends, order: Places, entries: Places, exits: Places) -> NDArray[np.bool_]:
    """Which pairs have nothing between them that may show their entry to be over before; see `events.pairing`."""
    where = np.empty(len(order), np.intp)
    where[order] = np.arange(len(order))
    bounds = np.stack((where[entries] + 1, where[exits]), axis=1)
    if (bounds[:, 0] == bounds[:, 1]).all():
        return np.ones(len(entries), np.bool_)
    begun = np.where(ends.at_exit, _LEAST, np.minimum(ends.frames, 0))[order]
    highest = np.maximum.reduceat(begun, bounds.ravel())[::2]
    holds: NDArray[np.bool_] = (bounds[:, 0] == bounds[:, 1]) | (ends.frames[entries] >= 0)
    return holds | (highest < ends.frames[entries])


def _between(ends: Ends, entries: Places, rest: Places, has_open: Callable[[int], bool]) -> Places:
    """Entries of pairs that may show a call to be over that is none: of each task, function and stack the highest
    between two of the ends that are left.
    """
    entries = entries[ends.frames[entries] < 0]
    left = set(ends.tasks[rest].tolist())
    tasks = [task for task in np.unique(ends.tasks[entries]).tolist() if task in left or has_open(task)]
    entries, rest = (places[np.isin(ends.tasks[places], tasks)] for places in (entries, rest))
    if not len(entries):
        return entries
    places = np.concatenate((entries, rest))
    order = np.lexsort((places, ends.tasks[places]))
    places, is_rest = places[order], (order >= len(entries))
    piece, places = np.cumsum(is_rest)[~is_rest], places[~is_rest]
    keys = (ends.frames[places] >> STACK_BITS, ends.functions[places], piece, ends.tasks[places])
    order = np.lexsort((ends.frames[places], *keys))
    last = np.ones(len(order), np.bool_)
    last[:-1] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    found: Places = places[order[last]]
    return found


def _one_by_one(ends: Ends, places: NDArray[np.intp]) -> list[End]:
    columns = (ends.seqs, ends.stamps, ends.tasks, ends.functions, ends.at_exit, ends.proofs, ends.frames)
    return [End(*row) for row in zip(*(column[places].tolist() for column in columns), strict=True)]
