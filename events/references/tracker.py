"""Track the references of all objects, and judge each: leaked, freed while held, used after its end, or open."""

from __future__ import annotations

import enum
from collections.abc import Callable, Container, Iterator
from typing import Final, NamedTuple

from events.references.matching import PlacePairs
from events.references.reference import Reference, Role
from events.references.tracked_object import CACHED_KINDS, TrackedObject

MOST_OBJECTS: Final = 1 << 16
"""Objects that are kept; then those seen longest ago without a held reference are forgotten."""


class State(enum.Enum):
    """Judgement on an object."""

    LEAKED = "leaked"
    """A reference is held whose taker has ended, and did not hand it on to a keeper or a cache."""
    HELD_AT_FREE = "freed while held"
    """References were held when it was freed."""
    USED_AFTER_END = "used after end"
    """Taken or dropped after its last put or its free."""
    UNPROVEN = "not provable"
    """Events were lost that may disprove one of the states above."""
    OPEN = "open"
    """References are held, by tasks that live or that are unknown: taken by a get that was not seen, by the count."""
    BALANCED = "balanced"
    """Each recorded get may have its put."""


FAULTS: Final = frozenset({State.LEAKED, State.HELD_AT_FREE, State.USED_AFTER_END})


class Judgement(NamedTuple):
    """State of an object with its proof."""

    state: State
    leaked: int = 0
    """Number of references held for sure whose takers have all ended."""
    unmatched: tuple[Reference, ...] = ()
    """Gets without a put, those that are leaked first."""
    is_ambiguous: bool = False
    """True if other gets than these may be the ones without a put."""


class ReferenceTracker:
    """Objects by address, each from its first event to its free, and those freed with a fault."""

    def __init__(
        self,
        made_kinds: Container[str] = (),
        lost_between: Callable[[int, int], bool] | None = None,
        keepers: frozenset[str] = frozenset(),
    ) -> None:
        """Set what is recorded.

        Args:
            made_kinds: kinds of objects whose making is recorded always: an event of a freed one is a use after free.
            lost_between: returns whether events may have been lost between two times in ns; None: none were.
            keepers: functions that hand references on to what outlives their task, as a list or a cache: those taken
                by them, or inside them, are not leaked when the task ends.
        """
        self.made_kinds = made_kinds
        self.objects: dict[int, TrackedObject] = {}
        """Objects by address, in the order of their first events; freed ones until another has their address."""
        self.faulty: list[TrackedObject] = []
        """Objects with a fault whose address has another one by now."""
        self.seen = 0
        """Number of objects."""
        self.balanced = 0
        """Number of objects freed without a fault."""
        self.forgotten = 0
        """Number of objects forgotten for others, or whose address another one got before their free was seen."""
        self._settled: list[tuple[TrackedObject, Judgement]] = []
        """Objects of earlier boots with a fault, or one that is not provable, as judged at the end of the boot."""
        self.pairs = PlacePairs()
        self._lost_between = lost_between or (lambda _start, _end: False)
        self._keepers = keepers
        self._ended: dict[int, int] = {}
        """Time of the end of each task."""
        self.latest = 0
        """Time of the latest event."""

    def take(self, reference: Reference) -> None:
        """Add an event; they come in order of time."""
        self.latest = max(self.latest, reference.ts)
        tracked = self.objects.get(reference.address)
        if tracked is not None and self._begins_anew(tracked, reference):
            self._drop(tracked)
            tracked = None
        if tracked is None:
            if len(self.objects) >= MOST_OBJECTS:
                self._forget()
            tracked = self.objects[reference.address] = TrackedObject(
                reference, is_made=reference.kind in self.made_kinds
            )
            self.seen += 1
        was_freed = tracked.freed is not None
        tracked.take(reference, self.pairs)
        if tracked.freed is not None and not was_freed and not tracked.freed_count and not tracked.uses_after_end:
            self.balanced += 1

    def begin_anew(self) -> None:
        """Handle a reboot: no object survives it, and the clock begins again."""
        found = list(self.judged())
        self._settled = [(one, judgement) for one, judgement in found if judgement.state is not State.OPEN]
        self.forgotten += len(found) - len(self._settled)
        self.objects.clear()
        self.faulty.clear()
        self.latest = 0

    def end_task(self, task: int, ts: int) -> None:
        """Note the end of a task."""
        self.latest = max(self.latest, ts)
        self._ended[task] = ts

    def judge(self, tracked: TrackedObject) -> Judgement:
        """Return the judgement on an object, as of now."""
        if tracked.uses_after_end:
            return self._proven(tracked, Judgement(State.USED_AFTER_END))
        if tracked.freed is not None:
            held = tracked.freed_count
            if not held:
                return Judgement(State.BALANCED)
            found = self._sorted(tracked.unmatched(self.pairs))
            return self._proven(tracked, Judgement(State.HELD_AT_FREE, 0, found, tracked.is_ambiguous(self.pairs)))
        certain = tracked.certain if tracked.count is None else min(tracked.certain, max(0, tracked.count))
        if not certain:  # the count tells of references that no recorded get took
            is_held = tracked.is_new and (tracked.count or 0) > 0
            return Judgement(State.OPEN if is_held else State.BALANCED)
        unmatched = self._sorted(tracked.unmatched(self.pairs))
        leaked = max(0, certain - sum(not self._is_abandoned(one) for one in tracked.held))
        is_ambiguous = tracked.is_ambiguous(self.pairs)
        state = State.LEAKED if leaked else State.OPEN
        return self._proven(tracked, Judgement(state, leaked, unmatched, is_ambiguous))

    def judged(self) -> Iterator[tuple[TrackedObject, Judgement]]:
        """Yield the objects that are not balanced, each with its judgement; the faults first, then by references."""
        present = [(one, self.judge(one)) for one in (*self.faulty, *self.objects.values())]
        found = [*self._settled, *present]
        order = list(State)
        yield from sorted(
            ((one, judgement) for one, judgement in found if judgement.state is not State.BALANCED),
            key=lambda pair: (order.index(pair[1].state), -pair[0].certain, pair[0].first.ts),
        )

    def has_ended(self, reference: Reference) -> bool:
        """Return whether the task that took a reference has ended since."""
        return self._ended.get(reference.task, -1) >= reference.ts

    def _is_abandoned(self, reference: Reference) -> bool:
        """Return whether the taker of a reference has ended, and was the one to drop it."""
        if reference.role is Role.NEW and reference.kind in CACHED_KINDS:
            return False
        functions = (reference.function, *(frame.partition("+")[0] for frame in reference.stack))
        return self.has_ended(reference) and self._keepers.isdisjoint(functions)

    def _proven(self, tracked: TrackedObject, judgement: Judgement) -> Judgement:
        """Return a judgement, or that it is not provable where events of the object may have been lost."""
        is_lossy = tracked.is_out_of_order or self._lost_between(tracked.first.ts, self.latest)
        if judgement.state in FAULTS and is_lossy:
            return judgement._replace(state=State.UNPROVEN, leaked=0)
        return judgement

    def _sorted(self, gets: tuple[Reference, ...]) -> tuple[Reference, ...]:
        return tuple(sorted(gets, key=lambda one: (not self._is_abandoned(one), one.ts)))

    def _begins_anew(self, tracked: TrackedObject, reference: Reference) -> bool:
        """Return whether an event is the first of another object at the address of one."""
        if reference.role is Role.NEW or tracked.kind != reference.kind:
            return True
        if tracked.freed is None:
            return False
        if reference.before is not None and reference.before > 0:
            return True  # it has references again: its making was not recorded
        is_first_get = reference.role is Role.GET and reference.before == 0
        return (reference.before is None or is_first_get) and reference.kind not in self.made_kinds

    def _drop(self, tracked: TrackedObject) -> None:
        """Drop an object whose address has another one; keep those with a fault."""
        if tracked.freed is None:  # freed unseen: whether references were held is unknown
            self.forgotten += 1
        elif self.judge(tracked).state is not State.BALANCED:
            self.faulty.append(tracked)

    def _forget(self) -> None:
        """Forget some objects without held references; if all have some, the one with the oldest event."""
        at_rest = [one for one in self.objects.values() if not one.certain and not one.uses_after_end]
        chosen = sorted(at_rest, key=lambda one: one.last.ts)[: MOST_OBJECTS // 4] or [
            min(self.objects.values(), key=lambda one: one.last.ts)
        ]
        for one in chosen:
            self.forgotten += one.freed is None
            del self.objects[one.address]
