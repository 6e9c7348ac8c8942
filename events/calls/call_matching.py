"""Ends of calls as columns into the calls that are over, in bounded steps.

Most calls end before their task begins another one: those are found by columns (80 ns an end); what is left goes
through `events.calls.pairing` (2 us an end), which says what proves a pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.call_ends import Ends, ends_among
from events.calls.chain_starts import PROBE
from events.calls.pairing import PROBE_BITS, Alone, Call, End, EndOf, Pairing
from events.calls.tail_calls import STACK_BITS
from events.store.columns import Columns

if TYPE_CHECKING:
    from events.store.store import Store

Ints = NDArray[np.int64]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

_LEAST = np.iinfo(np.int64).min
_ODD = np.uint64(0x9E3779B97F4A7C15)
_ONE_BY_ONE = 256
"""Ends that go through `events.calls.pairing` where some were lost among them; of more, each half is asked about."""


class Ended(NamedTuple):
    """Calls that are over. Of proven pairs all arrays have one length; they are in no order."""

    entries: Ints
    """Sequence numbers of their entries."""
    exits: Ints
    """Those of their exits."""
    functions: Ints
    """Numbers of their probes, as `EndOf.function`."""
    took: Ints
    """Nanoseconds from entry to exit."""
    known_at: Ints
    """Sequence numbers of the events with which they were proven: their exits, or later events of their tasks."""
    alone: list[Call]
    """Ends without a partner, in the order in which that was known."""
    shown_by: list[int]
    """Sequence numbers of the events that showed each of them to be alone."""


class CallMatching:
    """Pairs the rows of a store, piece by piece."""

    def __init__(self, store: Store, limit: int = 1 << 16) -> None:
        """Begin with the oldest row; at most `limit` calls are open at once."""
        self.at = store.first_seq
        """Sequence number of the first row that was not looked at."""
        self.unseen = store.evicted
        """Events that the store dropped before they were looked at."""
        self.paired = 0
        """Proven pairs."""
        self.alone: Counter[Alone] = Counter()
        """Ends without a partner, by the reason."""
        self._store = store
        self._pairing = Pairing(store.lost_between, limit, events_lost=store.events_lost)
        if store.evicted:
            self._pairing.starts.forget()
        self._ends: Mapping[str, EndOf] = {}
        self._missed: Mapping[str, int | None] = {}

    @property
    def open(self) -> int:
        """Calls that have begun and not ended yet."""
        return self._pairing.open

    @property
    def waiting(self) -> int:
        """Exits of which it is not known yet whether others follow at once; see `events.calls.pairing`."""
        return self._pairing.waiting

    @property
    def open_entries(self) -> list[int]:
        """Sequence numbers of their entries."""
        return self._pairing.open_entries

    def use(self, ends: Mapping[str, EndOf]) -> None:
        """Take what the events are, by their `group/name`."""
        self._ends = ends
        self._judge()

    def _judge(self) -> None:
        """Take what is known of exits that are not there: left out by filters, or missed by the kernel."""
        self._missed = self._store.missed
        self._pairing.judge(self._ends, self._missed)

    def take(self, columns: Columns) -> list[Ended]:
        """The calls that are over by rows that follow what was looked at; those that rows show which are dropped by
        now come first.
        """
        if self._store.missed is not self._missed:
            self._judge()
        found = list(self._ended(columns))
        for ended in found:
            self.paired += len(ended.exits)
            reasons = [call.alone for call in ended.alone]
            self.alone.update({reason: number for reason in Alone if (number := reasons.count(reason))})
        return found

    def _ended(self, columns: Columns) -> Iterator[Ended]:
        if self.at < columns.first:  # some were dropped before they were looked at
            self.unseen += columns.first - self.at
            yield self._forgotten(columns.first)
        ends, begin = ends_among(self._store, columns, self._ends), 0
        self.at = columns.first + len(columns)
        for boot in self._store.anew:
            if columns.first <= boot < self.at:  # no call outlives it
                until = int(np.searchsorted(ends.seqs, boot))
                yield from self._matched(ends.part(begin, until))
                yield self._forgotten(boot)
                self._pairing.starts.begin_anew(self._store.row(boot)[0])
                begin = until
        yield from self._matched(ends.part(begin, len(ends.seqs)))

    def _forgotten(self, seq: int) -> Ended:
        """All that is open, from a row on."""
        none, calls = np.empty(0, np.int64), self._pairing.forget()
        return Ended(none, none, none, none, none, calls, [seq] * len(calls))

    def _matched(self, ends: Ends) -> Iterator[Ended]:
        size = len(ends.seqs)
        if not size:
            return
        if not self._store.lost_between(int(ends.stamps[0]), int(ends.stamps[-1])):
            unsure = self._pairing.starts.hides_of(ends)
            yield self._one_by_one(ends, *matched(ends, self._pairing), unsure)
        elif size > _ONE_BY_ONE:
            for half in (ends.part(0, size // 2), ends.part(size // 2, size)):
                yield from self._matched(half)
        else:
            none = np.empty(0, np.intp)
            yield self._one_by_one(ends, none, none, np.arange(size), np.zeros(size, np.bool_), by_columns=False)

    def _one_by_one(
        self,
        ends: Ends,
        entries: Places,
        exits: Places,
        places: Places,
        went_by: Mask,
        unsure: Mask | None = None,
        *,
        by_columns: bool = True,
    ) -> Ended:
        """Return the pairs that were found by columns, and the outcome of the other ends.

        `unsure`: `End.unsure` of each; None: of none. Where not `by_columns`, that is found out here.
        """
        pairs: list[tuple[int, int, int, int, int]] = []
        alone: list[Call] = []
        shown_by: list[int] = []
        pairing = self._pairing
        take = pairing.take_known if by_columns else pairing.take
        if unsure is not None and (hidden := unsure[entries]).any():
            seqs = np.stack((ends.seqs[entries[hidden]], ends.seqs[exits[hidden]]), axis=1)
            for entry, leave in seqs.tolist():
                alone += (Call(entry, None, Alone.LOST), Call(None, leave, Alone.LOST))
                shown_by += (leave, leave)
            entries, exits = entries[~hidden], exits[~hidden]
        for end, is_paired in zip(_ends_at(ends, places, unsure), went_by.tolist(), strict=True):
            calls = pairing.went_by(end) if is_paired else take(end)
            others = [call for call in calls if call.alone] if pairing.pairs else calls
            alone += others
            shown_by += [end.seq] * len(others)
            pairs += [(one.seq, two.seq, one.function, two.ts - one.ts, end.seq) for one, two in pairing.pairs]
        stamps, seqs = ends.stamps, ends.seqs
        took, left = stamps[exits] - stamps[entries], seqs[exits]
        found = np.stack((seqs[entries], left, ends.functions[exits], took, left))
        if pairs:
            found = np.concatenate((found, np.array(pairs, np.int64).T), axis=1)
        entered, left, functions, took, known_at = found
        return Ended(entered, left, functions & ((1 << PROBE_BITS) - 1), took, known_at, alone, shown_by)


def matched(ends: Ends, pairing: Pairing) -> tuple[Places, Places, Places, Mask]:
    """Where an exit follows its entry in its task with nothing between them but such pairs.

    Gives the places of the entries and of the exits, and those that `events.calls.pairing` has to look at, in order:
    the ends that are left, and entries that have their exit (the mask says which) but may show a call to be over that
    has none. Of a task of which several calls may have been in one place, nothing is paired here.
    """
    order = _by_task(ends.tasks)
    ends = ends.of(order)
    left = np.arange(len(order))
    entries, exits = [left[:0]], [left[:0]]
    while len(left) > 1:
        one, other = (left[:-1], left[1:]) if entries[1:] else (slice(-1), slice(1, None))
        pairs = np.flatnonzero(
            (ends.at_exit[other] > ends.at_exit[one])
            & (ends.tasks[one] == ends.tasks[other])
            & (ends.functions[one] == ends.functions[other])
            & (ends.proofs[one] == ends.proofs[other])
        )
        if entries[1:]:
            pairs = pairs[_holds(ends, left[pairs], left[pairs + 1])]
        if not len(pairs):
            break
        entries.append(left[pairs])
        exits.append(left[pairs + 1])
        stays = np.ones(len(left), np.bool_)
        stays[pairs] = stays[pairs + 1] = False
        left = left[stays]
    begun, ended = np.concatenate(entries), np.concatenate(exits)
    innermost = len(entries[1]) if entries[1:] else 0
    tasks = _ambiguous(ends, begun, ended, innermost, left, pairing)
    if len(tasks):
        stays = ~np.isin(ends.tasks[begun], tasks)
        begun, ended = begun[stays], ended[stays]
        is_left = np.ones(len(order), np.bool_)
        is_left[begun] = is_left[ended] = False
        left = np.flatnonzero(is_left)
    between = _between(ends, begun, left, pairing)
    places = np.concatenate((order[left], order[between]))
    in_time = np.argsort(places)
    return order[begun], order[ended], places[in_time], in_time >= len(left)


def _ambiguous(
    ends: Ends, begun: Places, ended: Places, innermost: int, left: Places, pairing: Pairing
) -> NDArray[np.int64]:
    """Tasks of which a pair's entry may be that of another call in the same place, or its exit shows such a call to
    be over; see `events.calls.pairing`.

    `innermost`: of the pairs those that come first, with none inside of them.
    """
    tasks = [task for task in np.unique(ends.tasks).tolist() if pairing.has_open(task)]
    opened = [(task, frame) for task in tasks for frame in pairing.open_frames(task)]
    places = _keys(ends.tasks, ends.frames.view(np.uint64))
    entered = places[left[~ends.at_exit[left]]]
    if opened:
        of_tasks, frames = zip(*opened, strict=True)
        entered = np.append(entered, _keys(np.array(of_tasks, np.int64), np.array(frames, np.uint64)))
    found = [np.array([task for task in tasks if pairing.is_waiting(task)], np.int64)]
    if len(entered):
        found.append(ends.tasks[begun[np.isin(places[begun], entered)]])
    if len(begun) > innermost:
        keys = _keys(ends.tasks, ends.proofs)
        same = np.flatnonzero(np.isin(keys[begun], keys[begun[innermost:]]))
        same = same[np.lexsort((begun[same], keys[begun[same]]))]
        one, other = same[:-1], same[1:]
        inside = (keys[begun[one]] == keys[begun[other]]) & (begun[other] < ended[one])
        found.append(ends.tasks[begun[one[inside]]])
    return np.unique(np.concatenate(found))


def _keys(tasks: NDArray[Any], proofs: NDArray[Any]) -> NDArray[np.uint64]:
    """Numbers that are the same where task and proof are."""
    return proofs.astype(np.uint64) ^ (tasks.astype(np.int64).view(np.uint64) * _ODD)


def _by_task(tasks: Ints) -> Places:
    """Places of the ends of each task together, in order: numbers of 16 bits are put in order by counting."""
    order = np.argsort(tasks.astype(np.uint16), kind="stable")
    high = (tasks >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def _holds(ends: Ends, entries: Places, exits: Places) -> Mask:
    """Which pairs have nothing between them that may show their entry to be over before; see `events.calls.pairing`.

    Ends are in the order of their tasks.
    """
    holds: Mask = (entries + 1 == exits) | (ends.frames[entries] >= 0)
    if not holds.all():
        begun = np.where(ends.at_exit, _LEAST, np.minimum(ends.frames, 0))
        highest = np.maximum.reduceat(begun, np.stack((entries + 1, exits), axis=1).ravel())[::2]
        holds |= highest < ends.frames[entries]
    return holds


def _between(ends: Ends, entries: Places, left: Places, pairing: Pairing) -> Places:
    """Entries of pairs that may show a call to be over that is none: between two of the ends that are left the first
    one of each task, and of each task, function and stack the highest. Ends are in the order of their tasks.
    """
    begins = np.ones(len(ends.tasks), np.bool_)
    begins[1:] = ends.tasks[1:] != ends.tasks[:-1]
    task = np.cumsum(begins) - 1
    has_calls = np.array([pairing.has_open(number) for number in ends.tasks[begins].tolist()], np.bool_)
    has_calls[task[left[~ends.at_exit[left]]]] = True
    entries = np.sort(entries[has_calls[task[entries]]])
    if not len(entries):
        return entries
    begins[left] = True
    piece = np.cumsum(begins)[entries]
    frames = ends.frames[entries]
    first = np.append(True, piece[1:] != piece[:-1])
    # In a program each place is a stack of its own, and only says something of filters on what is returned.
    says = np.flatnonzero((frames < 0) | _are_of(ends.functions[entries] & PROBE, pairing.chosen))
    stacks = np.where(frames < 0, frames >> STACK_BITS, frames)
    keys = [key[says] for key in (stacks, ends.functions[entries], piece)]
    order = np.lexsort((frames[says], *keys))
    last = np.ones(len(order), np.bool_)
    last[:-1] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    first[says[order[last]]] = True
    found: Places = entries[first]
    return found


def _are_of(probes: Ints, wanted: Container[int]) -> Mask:
    return np.isin(probes, [probe for probe in np.unique(probes).tolist() if probe in wanted])


def _ends_at(ends: Ends, places: Places, unsure: Mask | None) -> Iterator[End]:
    columns = (ends.seqs, ends.stamps, ends.tasks, ends.functions, ends.at_exit, ends.proofs, ends.frames)
    plain = [column[places].tolist() for column in columns]
    plain.append([False] * len(places) if unsure is None else unsure[places].tolist())
    return map(partial(tuple.__new__, End), zip(*plain, strict=True))
