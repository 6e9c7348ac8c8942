"""Begins and ends of calls out of our own probes at entry and exit, for the tree that the tracer's events make too.

Which are a pair, and which calls are over, is what `events.calls.call_matching` says, as everywhere; how deep a call
is, its stack pointer says. An exit that may be of several calls waits until that is decided, wherever a piece of rows
ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.calls.call_ends import Ends, ends_among
from events.calls.call_matching import CallMatching, Ended
from events.calls.chain_starts import PROBE
from events.calls.pairing import EndOf
from events.graph.begin_end_columns import Brackets, Edge, Ints, Mask, What, on_stack, together
from events.graph.open_calls import MOST_OPEN

if TYPE_CHECKING:
    from events.store.columns import Columns
    from events.store.store import Store


class Placed(NamedTuple):
    """Begins and ends, and where they stand in time."""

    events: Brackets
    """`function` is the number of the probe; `proof` the row of the entry, plus one."""
    in_time: Mask
    """Those that stand at their own time; others stand where something was known of them."""


class PairedEnds:
    """Takes the rows of a store piece by piece; what it gives does not depend on where pieces end."""

    def __init__(self, store: Store, ends: Mapping[str, EndOf]) -> None:
        """Take the events that are ends of calls, by `group/name`."""
        self._store = store
        self._ends = ends
        self._chosen = [end.function for end in ends.values() if end.chosen]
        self._matching = CallMatching(store, MOST_OPEN)
        self._matching.use(ends)
        self._waiting: Ends | None = None
        """Exits that may be of several calls."""

    def take(self, columns: Columns, begins: Brackets | None) -> Placed:
        """Return what is known by rows that follow those of before.

        Args:
            columns: the rows.
            begins: of calls that are open in the tree.
        """
        ends = ends_among(self._store, columns, self._ends)
        ended = _Known.of(self._matching.take(columns))
        both = ends if self._waiting is None else self._waiting.then(ends)
        decided, at = _found(ended.exits, both.seqs)
        known_at, entry = both.seqs.copy(), np.full(len(both.seqs), -1)
        known_at[decided], entry[decided] = ended.exit_known_at[at], ended.entry_of[at]
        stays = ~both.at_exit | decided
        self._waiting = both.of(np.flatnonzero(~stays))
        late = known_at > both.seqs
        edge = np.where(both.at_exit, np.where(late, Edge.LATE_END, Edge.END), Edge.BEGIN).astype(np.uint8)
        given = self._brackets(both, edge, np.where(both.at_exit, entry, both.seqs)).of(stays)
        late, known_at, entry = late[stays], known_at[stays], np.where(both.at_exit, entry, -2)[stays]
        over, over_at = self._over(ended, given, begins)
        events = together([given, over])
        entry = np.append(entry, over.seq)
        # Where one event shows several calls to be over, the youngest is the innermost. It comes behind them.
        order = np.lexsort((-entry, entry < 0, np.append(known_at, over_at)))
        return Placed(events.of(order), ~np.append(late, np.ones(over.size, np.bool_))[order])

    def _brackets(self, ends: Ends, edge: NDArray[np.uint8], entries: Ints) -> Brackets:
        size = len(ends.seqs)
        return Brackets(
            ends.stamps,
            ends.seqs,
            ends.tasks.astype(np.int32),
            ends.cpus.astype(np.int16),
            edge,
            np.full(size, What.CALL, np.uint8),
            ends.functions.astype(np.uint64),
            on_stack(ends.frames, np.isin(ends.functions & PROBE, self._chosen)),
            (entries + 1).astype(np.uint64),
            np.full(size, -1, np.int64),
            np.zeros(size, np.int64),
            np.zeros(size, np.bool_),
        )

    @staticmethod
    def _over(ended: _Known, given: Brackets, begins: Brackets | None) -> tuple[Brackets, Ints]:
        """Return what says that calls are over without an end, by their entries, and the rows that showed it."""
        known = given.of(given.edge == Edge.BEGIN)
        known = known if begins is None else together([begins, known])
        known = known.of(np.argsort(known.seq))
        is_there, at = _found(known.seq, ended.over)
        over = known.of(at)
        return over._replace(edge=np.full(over.size, Edge.OVER, np.uint8)), ended.over_known_at[is_there]


class _Known(NamedTuple):
    """What became of ends, with the rows that showed it."""

    exits: Ints
    """In order."""
    entry_of: Ints
    """Entries of those; -1: none."""
    exit_known_at: Ints
    over: Ints
    """Entries that have no exit."""
    over_known_at: Ints

    @classmethod
    def of(cls, ended: Sequence[Ended]) -> _Known:
        alone = [(call, at) for one in ended for call, at in zip(one.alone, one.shown_by, strict=True)]
        exits = [(call.exit, -1, at) for call, at in alone if call.exit is not None]
        over = np.array([(call.entry, at) for call, at in alone if call.exit is None], np.int64).reshape(-1, 2)
        parts = [np.array(exits, np.int64).reshape(-1, 3)]
        parts += [np.stack((one.exits, one.entries, one.known_at), axis=1) for one in ended]
        rows = np.concatenate(parts)
        rows = rows[np.argsort(rows[:, 0])]
        return cls(rows[:, 0], rows[:, 1], rows[:, 2], over[:, 0], over[:, 1])


def _found(among: Ints, wanted: Ints) -> tuple[Mask, NDArray[np.intp]]:
    """Return which numbers are among others, that are in order, and where those are."""
    at = np.searchsorted(among, wanted)
    is_there: Mask = at < len(among)
    is_there[is_there] = among[at[is_there]] == wanted[is_there]
    return is_there, at[is_there]
