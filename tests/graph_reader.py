"""The ends of calls of a store, in pieces, as it grows."""

from __future__ import annotations

from events.graph.call_ends import GraphEnds
from events.graph.decode import read_graph_ends
from events.store.columns import PIECE
from events.store.store import Store


class GraphReader:
    """Reads a store from one row on, in pieces, as it grows."""

    def __init__(self, store: Store, start: int | None = None) -> None:
        """Begin at sequence number `start`; None: at the oldest row that is kept."""
        self.store = store
        self.next = store.first_seq if start is None else start
        """Sequence number of the row that comes next."""
        self.skipped = 0
        """Rows that the store dropped before they were read."""

    @property
    def behind(self) -> int:
        """Rows that wait."""
        return self.store.next_seq - max(self.next, self.store.first_seq)

    def read(self, most: int = PIECE) -> GraphEnds:
        """What comes next, at most so many rows; none: there is no more."""
        if self.next < self.store.first_seq:
            self.skipped += self.store.first_seq - self.next
            self.next = self.store.first_seq
        stop = min(self.next + most, self.store.next_seq)
        found = read_graph_ends(self.store, self.next, stop)
        self.next = max(self.next, stop)
        return found
