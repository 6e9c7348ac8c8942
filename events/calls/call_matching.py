"""Match the ends of calls, given as columns, and return the finished calls, in bounded steps.

Most calls end before their task begins another call: these are matched by column operations (80 ns per end). The rest
goes through `events.calls.pairing` (2 us per end), which defines when a pair is proven.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.call_ends import CallEnds, extract_ends
from events.calls.call_values import PROBE_MASK, Call, End, EndRole, UnpairedReason
from events.calls.pairing import Pairing
from events.calls.tail_calls import STACK_BITS
from events.store.columns import StoreColumns
from events.store.gaps import LossReader

if TYPE_CHECKING:
    from events.store.store import Store

Ints = NDArray[np.int64]
Places = NDArray[np.intp]
Mask = NDArray[np.bool_]

_INT64_MIN = np.iinfo(np.int64).min
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
_MAX_ONE_BY_ONE = 256
"""Maximum ends passed one by one to `events.calls.pairing` if events were lost among them; longer runs are halved
first."""


class FinishedCalls(NamedTuple):
    """Finished calls, in no order. The arrays describe the proven pairs and have the same length."""

    entries: Ints
    """Sequence numbers of the entries."""
    exits: Ints
    """Sequence numbers of the exits."""
    functions: Ints
    """Results of `events.calls.call_values.function_key`."""
    durations: Ints
    """Nanoseconds from entry to exit."""
    proofs: Ints
    """Sequence numbers of the events that proved the pairs: their exits, or later events of their tasks."""
    unpaired: list[Call]
    """Ends without a partner, in the order in which they were found to have none."""
    unpaired_proofs: list[int]
    """Sequence number, for each of `unpaired`, of the event that proved that it has no partner."""


class CallMatching:
    """Stepwise matching of the ends of calls among the rows of a store."""

    def __init__(self, store: Store, limit: int = 1 << 16, start: int | None = None) -> None:
        """Start with a row; None: the oldest. At most `limit` calls are open at the same time."""
        self.at = store.first_seq if start is None else start
        """Sequence number of the first row that has not been processed."""
        self.skipped_events = store.evicted
        """Number of events that the store dropped before they were processed."""
        self.paired = 0
        """Number of proven pairs."""
        self.unpaired_counts: Counter[UnpairedReason] = Counter()
        """Number of ends without a partner, by reason."""
        self._store = store
        self._losses = LossReader(store.loss_spans.at, self.at)
        losses = self._losses
        self._pairing = Pairing(
            losses.may_lack_ends, limit, events_lost=losses.may_lack_events, newest_task=losses.newest_task
        )
        if self.at > store.first_seq:
            self._pairing.starts.forget(store.row(self.at).ts)  # what is older is as if it was not there
        elif store.evicted:
            self._pairing.starts.forget(store.dropped_until)
        self._ends: Mapping[str, EndRole] = {}
        self._missed: Mapping[str, int | None] = {}

    @property
    def open(self) -> int:
        """Number of calls that have begun and not ended yet."""
        return self._pairing.open

    @property
    def waiting(self) -> int:
        """Number of exits held back until it is known whether more exits follow directly; see
        `events.calls.pairing`.
        """
        return self._pairing.waiting

    @property
    def open_entries(self) -> list[int]:
        """Sequence numbers of the entries of open calls."""
        return self._pairing.open_entries

    def use(self, ends: Mapping[str, EndRole]) -> None:
        """Set the roles of events by `group/name`."""
        self._ends = ends
        self._update_missing_exits()

    def _update_missing_exits(self) -> None:
        """Pass on which exits may be missing: left out by filters, or missed by the kernel."""
        self._missed = self._store.missed_calls
        self._pairing.judge(self._ends, self._missed)

    def take(self, columns: StoreColumns) -> list[FinishedCalls]:
        """Return the calls that finished within the given rows, which follow those already processed. Unfinished
        calls of rows dropped unprocessed come first.
        """
        if self._store.missed_calls is not self._missed:
            self._update_missing_exits()
        found = list(self._take_columns(columns))
        for finished in found:
            self.paired += len(finished.exits)
            reasons = [call.unpaired_reason for call in finished.unpaired]
            self.unpaired_counts.update(
                {reason: number for reason in UnpairedReason if (number := reasons.count(reason))}
            )
        return found

    def _take_columns(self, columns: StoreColumns) -> Iterator[FinishedCalls]:
        if self.at < columns.first:  # rows were dropped before they were processed
            self.skipped_events += columns.first - self.at
            yield self._abandon_open(columns.first)
        ends, begin = extract_ends(self._store, columns, self._ends), 0
        self.at = columns.first + len(columns)
        for boot in self._store.boots.starts:
            if columns.first <= boot < self.at:  # no call survives a reboot
                until = int(np.searchsorted(ends.seqs, boot))
                yield from self._match(ends.part(begin, until))
                yield self._abandon_open(boot)
                self._losses.go_to(boot)
                self._pairing.starts.begin_anew()
                begin = until
        yield from self._match(ends.part(begin, len(ends.seqs)))

    def _abandon_open(self, seq: int) -> FinishedCalls:
        """Return all open calls as ends without a partner, ended by row `seq`."""
        empty, calls = np.empty(0, np.int64), self._pairing.forget(self._store.dropped_until)
        return FinishedCalls(empty, empty, empty, empty, empty, calls, [seq] * len(calls))

    def _match(self, ends: CallEnds) -> Iterator[FinishedCalls]:
        size = len(ends.seqs)
        if not size:
            return
        if not self._losses.may_lack_ends(int(ends.stamps[0]), int(ends.stamps[-1])):
            unsure = self._pairing.starts.hides_of(ends)
            yield self._finish(ends, *match_columns(ends, self._pairing), unsure)
        elif size > _MAX_ONE_BY_ONE:
            for half in (ends.part(0, size // 2), ends.part(size // 2, size)):
                yield from self._match(half)
        else:
            empty = np.empty(0, np.intp)
            yield self._finish(ends, empty, empty, np.arange(size), np.zeros(size, np.bool_), by_columns=False)

    def _finish(
        self,
        ends: CallEnds,
        entries: Places,
        exits: Places,
        places: Places,
        went_by: Mask,
        unsure: Mask | None = None,
        *,
        by_columns: bool = True,
    ) -> FinishedCalls:
        """Return the pairs matched by column operations, and the results for the remaining ends.

        Args:
            ends: ends of calls in order of time.
            entries: indexes of the entries of matched pairs.
            exits: indexes of their exits.
            places: indexes of the ends to process one by one.
            went_by: mask of `places`: entries of matched pairs, which may prove that other calls ended.
            unsure: `End.unsure` of each end; None: False for all.
            by_columns: True if `unsure` was computed for all ends at once; else it is determined per end.
        """
        pairs: list[tuple[int, int, int, int, int]] = []
        alone: list[Call] = []
        shown_by: list[int] = []
        pairing = self._pairing
        take = pairing.take_known if by_columns else pairing.take
        if unsure is not None and (hidden := unsure[entries]).any():
            seqs = np.stack((ends.seqs[entries[hidden]], ends.seqs[exits[hidden]]), axis=1)
            for entry, leave in seqs.tolist():
                alone += (Call(entry, None, UnpairedReason.LOST), Call(None, leave, UnpairedReason.LOST))
                shown_by += (leave, leave)
            entries, exits = entries[~hidden], exits[~hidden]
        for end, is_paired in zip(_ends_at(ends, places, unsure), went_by.tolist(), strict=True):
            calls = pairing.went_by(end) if is_paired else take(end)
            others = [call for call in calls if call.unpaired_reason] if pairing.pairs else calls
            alone += others
            shown_by += [end.seq] * len(others)
            pairs += [
                (pair_entry.seq, pair_exit.seq, pair_entry.function, pair_exit.ts - pair_entry.ts, end.seq)
                for pair_entry, pair_exit in pairing.pairs
            ]
        stamps, seqs = ends.stamps, ends.seqs
        took, exit_seqs = stamps[exits] - stamps[entries], seqs[exits]
        found = np.stack((seqs[entries], exit_seqs, ends.functions[exits], took, exit_seqs))
        if pairs:
            found = np.concatenate((found, np.array(pairs, np.int64).T), axis=1)
        entry_seqs, exit_seqs, functions, took, known_at = found
        return FinishedCalls(entry_seqs, exit_seqs, functions, took, known_at, alone, shown_by)


def match_columns(ends: CallEnds, pairing: Pairing) -> tuple[Places, Places, Places, Mask]:
    """Match each exit that follows its entry in its task with only matched pairs in between.

    Return the indexes of the entries and of the exits, then the indexes of the ends that `events.calls.pairing` must
    process, in order, and a mask of these: True for the entry of a matched pair that may prove that an unmatched call
    ended. Tasks in which several calls may share one position on the stack are not matched here.
    """
    order = _order_by_task(ends.tasks)
    ends = ends.of(order)
    unmatched = np.arange(len(order))
    entries, exits = [unmatched[:0]], [unmatched[:0]]
    while len(unmatched) > 1:
        earlier, later = (unmatched[:-1], unmatched[1:]) if entries[1:] else (slice(-1), slice(1, None))
        pairs = np.flatnonzero(
            (ends.at_exit[later] > ends.at_exit[earlier])
            & (ends.tasks[earlier] == ends.tasks[later])
            & (ends.functions[earlier] == ends.functions[later])
            & (ends.proofs[earlier] == ends.proofs[later])
        )
        if entries[1:]:
            pairs = pairs[_undisturbed(ends, unmatched[pairs], unmatched[pairs + 1])]
        if not len(pairs):
            break
        entries.append(unmatched[pairs])
        exits.append(unmatched[pairs + 1])
        remains = np.ones(len(unmatched), np.bool_)
        remains[pairs] = remains[pairs + 1] = False
        unmatched = unmatched[remains]
    entry_places, exit_places = np.concatenate(entries), np.concatenate(exits)
    innermost = len(entries[1]) if entries[1:] else 0
    tasks = _ambiguous_tasks(ends, entry_places, exit_places, innermost, unmatched, pairing)
    if len(tasks):
        remains = ~np.isin(ends.tasks[entry_places], tasks)
        entry_places, exit_places = entry_places[remains], exit_places[remains]
        is_unmatched = np.ones(len(order), np.bool_)
        is_unmatched[entry_places] = is_unmatched[exit_places] = False
        unmatched = np.flatnonzero(is_unmatched)
    between = _entries_between(ends, entry_places, unmatched, pairing)
    places = np.concatenate((order[unmatched], order[between]))
    in_time = np.argsort(places)
    return order[entry_places], order[exit_places], places[in_time], in_time >= len(unmatched)


def _ambiguous_tasks(
    ends: CallEnds, entry_places: Places, exit_places: Places, innermost: int, unmatched: Places, pairing: Pairing
) -> NDArray[np.int64]:
    """Return the tasks in which the entry of a pair may belong to another call in the same position on the stack, or
    its exit proves that such a call is over; see `events.calls.pairing`.

    `innermost`: number of pairs, at the start of `entry_places`, that enclose no other pair.
    """
    tasks = [task for task in np.unique(ends.tasks).tolist() if pairing.has_open(task)]
    open_keys = [(task, frame) for task in tasks for frame in pairing.open_frames(task)]
    positions = _keys(ends.tasks, ends.frames.view(np.uint64))
    entry_keys = positions[unmatched[~ends.at_exit[unmatched]]]
    if open_keys:
        of_tasks, frames = zip(*open_keys, strict=True)
        entry_keys = np.append(entry_keys, _keys(np.array(of_tasks, np.int64), np.array(frames, np.uint64)))
    found = [np.array([task for task in tasks if pairing.is_waiting(task)], np.int64)]
    if len(entry_keys):
        found.append(ends.tasks[entry_places[np.isin(positions[entry_places], entry_keys)]])
    if len(entry_places) > innermost:
        keys = _keys(ends.tasks, ends.proofs)
        same = np.flatnonzero(np.isin(keys[entry_places], keys[entry_places[innermost:]]))
        same = same[np.lexsort((entry_places[same], keys[entry_places[same]]))]
        earlier, later = same[:-1], same[1:]
        inside = (keys[entry_places[earlier]] == keys[entry_places[later]]) & (
            entry_places[later] < exit_places[earlier]
        )
        found.append(ends.tasks[entry_places[earlier[inside]]])
    return np.unique(np.concatenate(found))


def _keys(tasks: NDArray[Any], proofs: NDArray[Any]) -> NDArray[np.uint64]:
    """Return a number for each task and proof that is equal where both are equal."""
    return proofs.astype(np.uint64) ^ (tasks.astype(np.int64).view(np.uint64) * _MULTIPLIER)


def _order_by_task(tasks: Ints) -> Places:
    """Return the indexes that sort the ends by task, stable. Sorts 16 bits at a time, as numpy uses radix sort for
    them.
    """
    order = np.argsort(tasks.astype(np.uint16), kind="stable")
    high = (tasks >> 16).astype(np.uint16)
    return order[np.argsort(high[order], kind="stable")] if high.any() else order


def _undisturbed(ends: CallEnds, entries: Places, exits: Places) -> Mask:
    """Return a mask of the pairs without an event in between that may prove that their entry's call had already
    ended.

    The ends are sorted by task; see `events.calls.pairing`.
    """
    holds: Mask = (entries + 1 == exits) | (ends.frames[entries] >= 0)
    if not holds.all():
        entry_frames = np.where(ends.at_exit, _INT64_MIN, np.minimum(ends.frames, 0))
        highest = np.maximum.reduceat(entry_frames, np.stack((entries + 1, exits), axis=1).ravel())[::2]
        holds |= highest < ends.frames[entries]
    return holds


def _entries_between(ends: CallEnds, entries: Places, unmatched: Places, pairing: Pairing) -> Places:
    """Return the entries of pairs that may prove that an unmatched call ended: between two unmatched ends the first
    one of each task, and for each task, function and stack the one with the highest frame. The ends are sorted by
    task.
    """
    begins = np.ones(len(ends.tasks), np.bool_)
    begins[1:] = ends.tasks[1:] != ends.tasks[:-1]
    task = np.cumsum(begins) - 1
    has_calls = np.array([pairing.has_open(number) for number in ends.tasks[begins].tolist()], np.bool_)
    has_calls[task[unmatched[~ends.at_exit[unmatched]]]] = True
    entries = np.sort(entries[has_calls[task[entries]]])
    if not len(entries):
        return entries
    begins[unmatched] = True
    piece = np.cumsum(begins)[entries]
    frames = ends.frames[entries]
    first = np.append(True, piece[1:] != piece[:-1])
    # In a program each position is a stack of its own, and only proves something for filters on return values.
    proving = np.flatnonzero((frames < 0) | _are_of(ends.functions[entries] & PROBE_MASK, pairing.result_filtered))
    stacks = np.where(frames < 0, frames >> STACK_BITS, frames)
    keys = [key[proving] for key in (stacks, ends.functions[entries], piece)]
    order = np.lexsort((frames[proving], *keys))
    last = np.ones(len(order), np.bool_)
    last[:-1] = np.any([key[order[1:]] != key[order[:-1]] for key in keys], axis=0)
    first[proving[order[last]]] = True
    found: Places = entries[first]
    return found


def _are_of(probes: Ints, wanted: Container[int]) -> Mask:
    """Return a mask of the probe numbers that are in a container."""
    return np.isin(probes, [probe for probe in np.unique(probes).tolist() if probe in wanted])


def _ends_at(ends: CallEnds, places: Places, unsure: Mask | None) -> Iterator[End]:
    columns = (ends.seqs, ends.stamps, ends.tasks, ends.functions, ends.at_exit, ends.proofs, ends.frames)
    plain = [column[places].tolist() for column in columns]
    plain.append([False] * len(places) if unsure is None else unsure[places].tolist())
    return map(partial(tuple.__new__, End), zip(*plain, strict=True))
