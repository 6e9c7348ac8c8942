"""Remember the group of each row that a store still holds: calls end long after their rows were counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from events.store.columns import Ints, Mask

Group = TypeVar("Group")


class RowGroups(Generic[Group]):
    """Groups of rows by sequence number: 4 bytes a row."""

    def __init__(self) -> None:
        self._first = 0
        """Sequence number of the first row that is remembered."""
        self._numbers: NDArray[np.int32] = np.empty(0, np.int32)
        self._begin = 0
        self._groups: list[Group] = []
        self._number_of: dict[int, int] = {}

    def begin(self, first: int, size: int, oldest: int) -> None:
        """Add rows without groups from `first` on, and forget those before `oldest`."""
        if first != self._first + len(self._numbers):
            self._first, self._numbers = first, self._numbers[:0]
        drop = min(max(0, oldest - self._first), len(self._numbers))
        self._numbers = np.concatenate((self._numbers[drop:], np.full(size, -1, np.int32)))
        self._first += drop
        self._begin = first

    def set(self, places: Ints, group: Group) -> None:
        """Set the group of rows, given by their positions among those added last."""
        number = self._number_of.get(id(group))
        if number is None:
            number = self._number_of[id(group)] = len(self._groups)
            self._groups.append(group)
        self._numbers[places + (self._begin - self._first)] = number

    def numbers(self, seqs: Ints) -> NDArray[np.int32]:
        """Return the numbers of the groups of rows, by sequence number; -1: a row has none, or is forgotten."""
        places = seqs - self._first
        known = (places >= 0) & (places < len(self._numbers))
        found = np.full(len(seqs), -1, np.int32)
        found[known] = self._numbers[places[known]]
        return found

    def of_calls(self, entries: Ints, exits: Ints) -> Iterator[tuple[Group, Mask]]:
        """Yield each group of some calls, that of the exit or else of the entry, with a mask of its calls."""
        numbers = self.numbers(exits)
        lacking = numbers < 0
        numbers[lacking] = self.numbers(entries)[lacking]
        for number in np.unique(numbers[numbers >= 0]).tolist():
            yield self._groups[number], numbers == number
