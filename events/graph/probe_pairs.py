"""Convert probe pairs at entry and exit to begins and ends of calls, for the same tree as the tracer's events.

`events.calls.call_matching` determines the pairs, and which calls are over, as everywhere; the stack pointer is the
measure of a call's depth. An exit that may be that of several calls waits until the pair is determined, so the tree
does not depend on where a piece of rows ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.call_ends import CallEnds, extract_ends
from events.calls.call_matching import CallMatching, FinishedCalls
from events.calls.call_values import PROBE_MASK, EndRole
from events.graph.begin_end_columns import BeginEndColumns, Edge, Ints, Mask, RowKind, concatenate_columns, on_stack
from events.graph.open_calls import MOST_OPEN

if TYPE_CHECKING:
    from events.store.columns import StoreColumns
    from events.store.store import Store


class PlacedEvents(NamedTuple):
    """Begins and ends in the order in which a tree takes them."""

    events: BeginEndColumns
    """Begins and ends; `function` is the probe number, `pair_key` the row of the entry plus one."""
    in_time: Mask
    """True for events placed at their own time; others are placed at the event that determined their partner."""


class PairedEnds:
    """Reads the probe pairs of a store piece by piece; the result does not depend on where pieces end."""

    def __init__(self, store: Store, ends: Mapping[str, EndRole]) -> None:
        """Take the roles of events by `group/name`."""
        self._store = store
        self._ends = ends
        self._chosen = [end.function for end in ends.values() if end.is_filtered_by_result]
        self._matching = CallMatching(store, MOST_OPEN)
        self._matching.use(ends)
        self._waiting: CallEnds | None = None
        """Exits that may be those of several calls."""

    def take(self, columns: StoreColumns, begins: BeginEndColumns | None) -> PlacedEvents:
        """Return the begins and ends that more rows determine.

        Args:
            columns: rows that follow those already processed.
            begins: begins of the calls that are open in the tree.
        """
        new = extract_ends(self._store, columns, self._ends)
        outcomes = _EndOutcomes.of(self._matching.take(columns))
        ends = new if self._waiting is None else self._waiting.then(new)
        is_determined, at = _places_in(outcomes.exits, ends.seqs)
        known_at, entry = ends.seqs.copy(), np.full(len(ends.seqs), -1)
        known_at[is_determined], entry[is_determined] = outcomes.exit_known_at[at], outcomes.entry_of[at]
        ready = ~ends.at_exit | is_determined
        self._waiting = ends.of(np.flatnonzero(~ready))
        late = known_at > ends.seqs
        edge = np.where(ends.at_exit, np.where(late, Edge.LATE_END, Edge.END), Edge.BEGIN).astype(np.uint8)
        events = self._begin_end_columns(ends, edge, np.where(ends.at_exit, entry, ends.seqs)).of(ready)
        late, known_at, entry = late[ready], known_at[ready], np.where(ends.at_exit, entry, -2)[ready]
        over, over_at = self._over(outcomes, events, begins)
        merged = concatenate_columns([events, over])
        entry = np.append(entry, over.seq)
        # One event may prove that several calls are over: the youngest is the innermost. The event comes after them.
        order = np.lexsort((-entry, entry < 0, np.append(known_at, over_at)))
        return PlacedEvents(merged.of(order), ~np.append(late, np.ones(over.size, np.bool_))[order])

    def _begin_end_columns(self, ends: CallEnds, edge: NDArray[np.uint8], entries: Ints) -> BeginEndColumns:
        size = len(ends.seqs)
        return BeginEndColumns(
            ends.stamps,
            ends.seqs,
            ends.tasks.astype(np.int32),
            ends.cpus.astype(np.int16),
            edge,
            np.full(size, RowKind.CALL, np.uint8),
            ends.functions.astype(np.uint64),
            on_stack(ends.frames, np.isin(ends.functions & PROBE_MASK, self._chosen)),
            (entries + 1).astype(np.uint64),
            np.full(size, -1, np.int64),
            ends.results,
            ends.has_result,
        )

    @staticmethod
    def _over(
        outcomes: _EndOutcomes, events: BeginEndColumns, begins: BeginEndColumns | None
    ) -> tuple[BeginEndColumns, Ints]:
        """Return an `Edge.OVER` for each call that is over without an end, and the rows that proved them."""
        entries = events.of(events.edge == Edge.BEGIN)
        entries = entries if begins is None else concatenate_columns([begins, entries])
        entries = entries.of(np.argsort(entries.seq))
        is_present, at = _places_in(entries.seq, outcomes.over)
        over = entries.of(at)
        return over._replace(edge=np.full(over.size, Edge.OVER, np.uint8)), outcomes.over_known_at[is_present]


class _EndOutcomes(NamedTuple):
    """Partners of ends, or their absence, with the rows that proved it."""

    exits: Ints
    """Sequence numbers of the exits, sorted."""
    entry_of: Ints
    """Entry of each exit; -1: none."""
    exit_known_at: Ints
    over: Ints
    """Entries without an exit."""
    over_known_at: Ints

    @classmethod
    def of(cls, finished: Sequence[FinishedCalls]) -> _EndOutcomes:
        alone = [
            (call, at) for calls in finished for call, at in zip(calls.unpaired, calls.unpaired_proofs, strict=True)
        ]
        exits = [(call.exit, -1, at) for call, at in alone if call.exit is not None]
        over = np.array([(call.entry, at) for call, at in alone if call.exit is None], np.int64).reshape(-1, 2)
        parts = [np.array(exits, np.int64).reshape(-1, 3)]
        parts += [np.stack((calls.exits, calls.entries, calls.proofs), axis=1) for calls in finished]
        rows = np.concatenate(parts)
        rows = rows[np.argsort(rows[:, 0])]
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], over[:, 0], over[:, 1])


def _places_in(numbers: Ints, wanted: Ints) -> tuple[Mask, NDArray[np.intp]]:
    """Return a mask of the wanted numbers that are among sorted numbers, and the places of those."""
    at = np.searchsorted(numbers, wanted)
    is_present: Mask = at < len(numbers)
    is_present[is_present] = numbers[at[is_present]] == wanted[is_present]
    return is_present, at[is_present]
