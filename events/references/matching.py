"""Match the puts of an object with its gets: by places that belong together, then by task, then the latest get."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from events.references.reference import Reference, Role

Place = tuple[str, ...]


class PlacePairs:
    """Numbers of references that were taken in one place and dropped in another, where that is certain: an object
    had no other one.
    """

    def __init__(self) -> None:
        self._counts: Counter[tuple[Place, Place]] = Counter()
        self._exact: Counter[tuple[Place, Place]] = Counter()

    def add(self, get: Reference, put: Reference) -> None:
        """Count a pair."""
        self._counts[get.place[:1], put.place[:1]] += 1
        self._exact[get.place, put.place] += 1

    def rank(self, get: Reference, put: Reference) -> tuple[int, int]:
        """Return how well a get and a put fit each other: by places with callers, then by functions."""
        return self._exact[get.place, put.place], self._counts[get.place[:1], put.place[:1]]


class Matched(NamedTuple):
    """Gets without a put."""

    unmatched: tuple[Reference, ...]
    is_ambiguous: bool
    """True if a put fits gets of several places or tasks equally well."""


def match(changes: Sequence[Reference], pairs: PlacePairs) -> Matched:
    """Return the gets without a put, among gets and puts of one object in order of time."""
    held: list[Reference] = []
    is_ambiguous = False
    for one in changes:
        if one.role is not Role.PUT:
            held.append(one)
        elif held:
            ranks = [(*pairs.rank(get, one), get.task == one.task) for get in held]
            best = max(ranks)
            fitting = [place for place, rank in enumerate(ranks) if rank == best]
            is_ambiguous |= len({(held[place].place, held[place].task) for place in fitting}) > 1
            del held[fitting[-1]]
    return Matched(tuple(held), is_ambiguous)
