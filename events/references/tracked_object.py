"""Keep the references of one object from its first event to its free: balance, changes that were not recorded, and
the taken references that were not dropped.

References have no name of their own: a put drops one of those that are held, and which one is known only if there is
one. What is proven needs no matching (`certain`); which get has no put is then the likeliest (`unmatched`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final

from events.references.matching import PlacePairs, match
from events.references.reference import Reference, Role

_MOST_HELD: Final = 512
"""Gets and puts since no reference was held that are kept; then those that match are forgotten."""
CACHED_KINDS: Final = frozenset({"dentry", "inode"})
"""Kinds of objects that are kept without references, to be taken again."""
_MOST_EVENTS: Final = 256
"""Latest events of an object that are kept to be looked at."""


class TrackedObject:
    """References of one object since its first event."""

    def __init__(self, first: Reference, *, is_made: bool = True) -> None:
        """Take the first event; `is_made`: the making of each object of the kind is recorded."""
        self._is_made = is_made
        self.address = first.address
        self.kind = first.kind
        self.first = first
        self.last = first
        self.name = ""
        """Name by the latest event that has one; empty: none has."""
        self.is_new = first.role is Role.NEW
        """True if its making was recorded; else it may have had references before."""
        self.gets = 0
        self.puts = 0
        self.unseen_gets = 0
        """References taken, but for those dropped meanwhile, that no event tells of: the counts do."""
        self.unseen_puts = 0
        self.count: int | None = None
        """References by the last event that has their number; None: none has."""
        self.certain = 0
        """Number of the recorded gets that have no put for sure, whichever references the puts dropped."""
        self.is_out_of_order = False
        """True if an event came after a younger one."""
        self.freed: Reference | None = None
        self.uses_after_end: list[Reference] = []
        """Gets and puts of an object without references, or after its free: the first ones."""
        self.events: deque[Reference] = deque(maxlen=_MOST_EVENTS)
        """Latest events, in order of time."""
        self._changes: list[Reference] = []
        """Gets and puts since no recorded get was held."""

    @property
    def balance(self) -> int:
        """Recorded gets less recorded puts."""
        return self.gets - self.puts

    @property
    def freed_count(self) -> int:
        """References that were held when it was freed, by the counts; 0: none, or unknown."""
        before = self.freed.before if self.freed is not None else None
        return max(0, before) if before is not None else 0

    def take(self, reference: Reference, pairs: PlacePairs) -> None:
        """Add the next event of the object; a pair of places that is certain is added to `pairs`."""
        self.is_out_of_order |= reference.ts < self.last.ts
        self.last = reference
        self.name = reference.name or self.name
        self.events.append(reference)
        if self.freed is not None or self._is_after_last_put(reference):
            if len(self.uses_after_end) < _MOST_EVENTS:
                self.uses_after_end.append(reference)
            return
        self._see_count(reference)
        if reference.role is Role.FREE:
            self.freed = reference
            return
        taken = reference.role is not Role.PUT
        self.gets += taken
        self.puts += not taken
        self.certain = self.certain + 1 if taken else max(0, self.certain - 1)
        self._changes.append(reference)
        if self.certain:
            if len(self._changes) > _MOST_HELD:
                self._changes = list(match(self._changes, pairs).unmatched)
            return
        if len(self._changes) == 2 and self._changes[0].role is not Role.PUT:
            pairs.add(*self._changes)
        self._changes.clear()

    def _is_after_last_put(self, reference: Reference) -> bool:
        """Return whether nobody had a reference when one was dropped, or taken without a cache that keeps objects."""
        if reference.before is None or reference.before > 0:
            return False
        if reference.role is Role.GET:  # where its making is not recorded, this may be it
            return self._is_made and self.kind not in CACHED_KINDS
        return reference.role is Role.PUT

    def _see_count(self, reference: Reference) -> None:
        """Compare the counts of two events: what lies between was not recorded."""
        if self.count is not None and reference.before is not None:
            unseen = max(0, reference.before) - self.count  # a dead count is far below zero
            self.unseen_gets += max(0, unseen)
            self.unseen_puts += max(0, -unseen)
            self.certain = max(0, self.certain - max(0, -unseen))
            if not self.certain:
                self._changes.clear()
        if reference.after is not None:
            self.count = max(0, reference.after)

    def unmatched(self, pairs: PlacePairs) -> tuple[Reference, ...]:
        """Return the gets that have no put, as likely as can be told; at most `certain` of them are proven."""
        return match(self._changes, pairs).unmatched if self.certain else ()

    def is_ambiguous(self, pairs: PlacePairs) -> bool:
        """Return whether other gets than `unmatched` may be those without a put."""
        return bool(self.certain) and match(self._changes, pairs).is_ambiguous

    @property
    def held(self) -> Iterator[Reference]:
        """All gets that may have no put."""
        return (one for one in self._changes if one.role is not Role.PUT)
