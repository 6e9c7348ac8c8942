"""Extend a call tree with new rows of a store, in bounded steps: from the tracer's events, or else from probe
pairs.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final

import numpy as np

from events.calls.call_values import EndRole
from events.graph.begin_end_columns import by_depth, by_stack, columns_from_graph
from events.graph.decode import is_graph, read_graph_ends
from events.graph.probe_pairs import PairedEnds, PlacedEvents
from events.graph.tree import LIMIT, CallTree
from events.store.columns import PIECE
from events.store.store import Store

_MUCH: Final = 1 << 18
_LEAST: Final = 1 << 11
"""Rows between two checks of the time, at first."""


class LiveTree:
    """Call tree that reads the rows of a store, starting with the oldest."""

    def __init__(self, store: Store, ends: Mapping[str, EndRole], limit: int = LIMIT) -> None:
        """Take the roles of events by `group/name`, which are used if the tracer did not run."""
        self.traced = has_graph(store)
        """True if the calls come from the function_graph tracer."""
        self.ends = ends
        self.tree = CallTree(by_depth if self.traced else by_stack, limit)
        self.skipped_events = store.evicted
        """Number of rows that the store dropped before they were processed."""
        self.held_before: int | None = None
        """Row from which on none is processed; None: all are."""
        self._store = store
        self._pairs = PairedEnds(store, ends)
        self._at = store.first_seq
        self._last = -1
        """Time of the previous row."""

    @property
    def backlog(self) -> int:
        """Number of rows that are to be processed."""
        return max(0, self._end - max(self._at, self._store.first_seq))

    @property
    def _end(self) -> int:
        end = self._store.next_seq
        return end if self.held_before is None else min(end, self.held_before)

    def hold(self) -> int:
        """Process no more rows; return that before which it stopped, for `held_before` of another tree."""
        self.held_before = self._at
        return self._at

    def tick(self, budget: float) -> bool:
        """Process new rows for about `budget` seconds; return whether there are more."""
        store = self._store
        if self._at < store.first_seq:  # rows were dropped before they were processed
            self.tree.gap()
            self.skipped_events += store.first_seq - self._at
            self._at = store.first_seq
        deadline = time.monotonic() + budget
        piece = PIECE if self.backlog > _MUCH else _LEAST
        while self._at < self._end:
            if self._at in store.boots.starts:  # no call survives a reboot
                self.tree.gap()
                self._last = -1
            stop = min(self._at + piece, self._end, *(boot for boot in store.boots.starts if boot > self._at))
            self._take(self._read(self._at, stop))
            self._at = stop
            if time.monotonic() >= deadline:
                break
            piece = min(2 * piece, PIECE)
        return self.backlog > 0

    def let_go(self, before: int) -> None:
        """Drop the tree's rows before a number, and their events, which are no longer needed."""
        self.tree.let_go(before)
        self._store.let_go(self.tree.row(self.tree.first).seq if len(self.tree.columns) else self._at)

    def _read(self, start: int, stop: int) -> PlacedEvents:
        if self.traced:
            events = columns_from_graph(read_graph_ends(self._store, start, stop))
            return PlacedEvents(events, np.ones(events.size, np.bool_))
        return self._pairs.take(self._store.columns(start, stop), self.tree.begins)

    def _take(self, read: PlacedEvents) -> None:
        broken = np.zeros(read.events.size, np.bool_)
        stamps = read.events.ts[read.in_time]
        if len(stamps):
            before = self._last if self._last >= 0 else int(stamps[0])
            spans = self._store.loss_spans.at(self._at)
            broken[read.in_time] = spans.lacks_ends_before(np.append(before, stamps))[1:]
            self._last = int(stamps[-1])
        self.tree.take(read.events, broken if broken.any() else None)


def has_graph(store: Store) -> bool:
    """Return whether the function_graph tracer writes into a store.

    The formats are checked, which are known before events: task switches and interrupts may precede the first call.
    """
    return any(map(is_graph, store.decoder.formats.values()))
