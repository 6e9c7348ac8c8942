"""The exits of calls that a condition holds of only when both ends are taken together.

`count > 4096 && ret < 0` holds of no event where `count` is recorded at the entry and `ret` at the exit, and
`latency` is of no event at all. Of a proven pair a field is that of the exit, where the exit has such a field, else
that of the entry; `latency` is the time between them. The exit stands for the call: it comes when the call is known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from events.calls.call_matching import CallMatching
from events.search.comparison import LATENCY, Comparison, NumberComparison
from events.search.condition import OF_ALL
from events.store.columns import PIECE, Columns, Ints, Mask

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from events.calls.call_values import EndRole
    from events.search.condition import Condition
    from events.store.store import Store


class JoinedEnds:
    """Pairs the rows of a store piece by piece, and judges each pair of which neither end passes alone."""

    def __init__(self, store: Store, condition: Condition, ends: Callable[[], Mapping[str, EndRole]]) -> None:
        """Take what gives the events that are ends of calls, by their `group/name`."""
        self.condition = condition
        self._store = store
        self._ends = ends
        self._matching = CallMatching(store)

    def exits(self, columns: Columns, alone: Callable[[Ints], Mask]) -> Ints:
        """Return the sequence numbers of exits that pass for their calls.

        Args:
            columns: rows that follow those of the last time.
            alone: whether the condition holds of events alone.
        """
        self._matching.use(self._ends())
        found = [np.empty(0, np.int64)]
        for ended in self._matching.take(columns):
            left = ~(alone(ended.entries) | alone(ended.exits))
            entries, exits, took = ended.entries[left], ended.exits[left], ended.took[left]
            if len(exits):
                found.append(exits[self._holds(entries, exits, took)])
        return np.concatenate(found)

    def _holds(self, entries: Ints, exits: Ints, took: Ints) -> Mask:
        """Of which pairs the condition holds."""
        seqs = np.unique(np.concatenate((entries, exits)))
        seqs = seqs[seqs >= self._store.first_seq]
        parts = [part for part in self.condition.term.parts() if part.field != LATENCY]
        known = {part: (np.zeros(len(seqs), np.bool_), np.zeros(len(seqs), np.bool_)) for part in parts}
        for part, places, has, holds in self._of_events(parts, seqs):
            known[part][0][places], known[part][1][places] = has, holds

        def of(part: Comparison) -> Mask:
            if part.field == LATENCY:
                if not isinstance(part, NumberComparison):
                    return np.zeros(len(took), np.bool_)
                return part.compare(took)
            has, holds = known[part]
            at_exit, at_entry = _places(seqs, exits), _places(seqs, entries)
            by_exit = _taken(has, at_exit)
            return np.where(by_exit, _taken(holds, at_exit), _taken(holds, at_entry))

        return self.condition.term.rows(of)

    def _of_events(
        self, parts: list[Comparison], seqs: Ints
    ) -> Iterator[tuple[Comparison, Ints, bool | list[bool], Mask | list[bool]]]:
        """For each comparison and some places in `seqs`: whether the events have the field, and of which it holds."""
        at = 0
        while at < len(seqs):
            start = int(seqs[at])
            stop = int(np.searchsorted(seqs, start + PIECE))
            columns = self._store.columns(start, int(seqs[stop - 1]) + 1)
            for table in columns.tables.values():
                inside = np.flatnonzero(np.isin(table.seqs, seqs[at:stop]))
                places = np.searchsorted(seqs, table.seqs[inside])
                names = {field.name for field in table.layout.format.fields}
                for part in parts:
                    has = part.field in names or part.field in OF_ALL
                    yield part, places, has, part.of_table(table, self.condition.comm)[inside]
            text = np.flatnonzero(columns.is_text & np.isin(np.arange(start, start + len(columns)), seqs[at:stop]))
            records = [self._store.record(start + place) for place in text.tolist()]
            for part in parts if records else ():
                has_it = [part.field in record.values or part.field in OF_ALL for record in records]
                yield part, np.searchsorted(seqs, text + start), has_it, [part.of_record(one) for one in records]
            at = stop


def _places(seqs: Ints, wanted: Ints) -> Ints:
    """Where each number is in a list that is in order; -1: nowhere."""
    at = np.minimum(np.searchsorted(seqs, wanted), max(len(seqs) - 1, 0))
    return np.where(seqs[at] == wanted, at, -1) if len(seqs) else np.full(len(wanted), -1)


def _taken(values: Mask, places: Ints) -> Mask:
    """The values at some places, False at -1."""
    return (places >= 0) & values[places] if len(values) else np.zeros(len(places), np.bool_)
