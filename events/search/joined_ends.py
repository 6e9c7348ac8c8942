"""Find exits of calls for which a condition holds only on both ends taken together.

`count > 4096 && ret < 0` holds for no single event if `count` is recorded at the entry and `ret` at the exit, and no
event has `latency`. For a proven pair, a field is read from the exit if the exit has it, otherwise from the entry;
`latency` is the time between the two. The exit represents the call, as the call is known by then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from events.calls.call_matching import CallMatching
from events.conditions.comparison import LATENCY, Comparison, NumberComparison
from events.conditions.condition import COMMON_FIELDS
from events.conditions.errno_comparison import ErrnoComparison
from events.conditions.function_comparison import FunctionComparison
from events.store.columns import PIECE, Ints, Mask, StoreColumns

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping

    from events.calls.call_values import EndRole
    from events.conditions.condition import Condition
    from events.format import EventFormat
    from events.store.store import Store


class JoinedEnds:
    """Stepwise pairing of a store's rows, which tests the condition on each pair whose ends both fail it
    separately.
    """

    def __init__(self, store: Store, condition: Condition, ends: Callable[[], Mapping[str, EndRole]]) -> None:
        """Take the condition, and a function that returns the roles of events by `group/name`."""
        self.condition = condition
        self._store = store
        self._ends = ends
        self._matching = CallMatching(store)

    def exits(self, columns: StoreColumns, alone: Callable[[Ints], Mask]) -> Ints:
        """Return the sequence numbers of exits that pass on behalf of their calls.

        Args:
            columns: rows that follow those of the previous call.
            alone: function that returns a mask of the events that satisfy the condition separately.
        """
        self._matching.use(self._ends())
        found = [np.empty(0, np.int64)]
        for finished in self._matching.take(columns):
            unsettled = ~(alone(finished.entries) | alone(finished.exits))
            entries, exits, took = (
                finished.entries[unsettled],
                finished.exits[unsettled],
                finished.durations[unsettled],
            )
            if len(exits):
                found.append(exits[self._holds(entries, exits, took)])
        return np.concatenate(found)

    def _holds(self, entries: Ints, exits: Ints, took: Ints) -> Mask:
        """Return a mask of the pairs that satisfy the condition."""
        seqs = np.unique(np.concatenate((entries, exits)))
        seqs = seqs[seqs >= self._store.first_seq]
        parts = [part for part in self.condition.term.parts() if part.field != LATENCY]
        results = {part: (np.zeros(len(seqs), np.bool_), np.zeros(len(seqs), np.bool_)) for part in parts}
        for part, places, has, holds in self._evaluate_parts(parts, seqs):
            results[part][0][places], results[part][1][places] = has, holds

        def of(part: Comparison) -> Mask:
            if part.field == LATENCY:
                if not isinstance(part, NumberComparison):
                    return np.zeros(len(took), np.bool_)
                return part.compare(took)
            has_field, holds = results[part]
            at_exit, at_entry = _places(seqs, exits), _places(seqs, entries)
            by_exit = _take_or_false(has_field, at_exit)
            return np.where(by_exit, _take_or_false(holds, at_exit), _take_or_false(holds, at_entry))

        return self.condition.term.rows(of)

    def _evaluate_parts(
        self, parts: list[Comparison], seqs: Ints
    ) -> Iterator[tuple[Comparison, Ints, bool | list[bool], Mask | list[bool]]]:
        """Yield results of each comparison for some indexes into `seqs`: whether the events have the field, and
        whether the comparison holds.
        """
        at = 0
        while at < len(seqs):
            start = int(seqs[at])
            stop = int(np.searchsorted(seqs, start + PIECE))
            columns = self._store.columns(start, int(seqs[stop - 1]) + 1)
            for table in columns.tables.values():
                inside = np.flatnonzero(np.isin(table.seqs, seqs[at:stop]))
                places = np.searchsorted(seqs, table.seqs[inside])
                fmt = table.layout.format
                for part in parts:
                    has = _has_field(part, fmt.names, fmt.path, fmt)
                    yield part, places, has, part.of_table(table, self.condition.comm)[inside]
            text = np.flatnonzero(columns.is_text & np.isin(np.arange(start, start + len(columns)), seqs[at:stop]))
            records = [self._store.record(start + place) for place in text.tolist()]
            for part in parts if records else ():
                has_it = [_has_field(part, record.values, record.event, record.format) for record in records]
                yield (
                    part,
                    np.searchsorted(seqs, text + start),
                    has_it,
                    [part.of_record(record) for record in records],
                )
            at = stop


def _has_field(part: Comparison, names: Container[str], path: str, fmt: EventFormat | None) -> bool:
    """Return whether an event has what is compared."""
    is_known = part.field in names or part.field in COMMON_FIELDS
    if isinstance(part, ErrnoComparison):
        return is_known or part.has(fmt)
    return is_known or (isinstance(part, FunctionComparison) and part.has(path))


def _places(seqs: Ints, wanted: Ints) -> Ints:
    """Return the index of each wanted number in a sorted array; -1: absent."""
    at = np.minimum(np.searchsorted(seqs, wanted), max(len(seqs) - 1, 0))
    return np.where(seqs[at] == wanted, at, -1) if len(seqs) else np.full(len(wanted), -1)


def _take_or_false(values: Mask, places: Ints) -> Mask:
    """Return the values at some indexes; False at -1."""
    return (places >= 0) & values[places] if len(values) else np.zeros(len(places), np.bool_)
