"""References of the objects of a store, for the screen, the command line and recordings. Imports no screen code."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from events.clocks.boots import task_key
from events.references.reference import (
    NAME,
    OBJECT,
    Reference,
    ReferenceEvent,
    Role,
    counts_of,
    object_address,
    parse_event_name,
)
from events.references.tracker import FAULTS, ReferenceTracker, State
from events.stacks.stack import KERNEL_STACKS, recorded_stack, stack_frames

if TYPE_CHECKING:
    from events.record import Record
    from events.references.tracked_object import TrackedObject
    from events.references.tracker import Judgement
    from events.store.store import Store
    from kernel.watch.watch import Watch

TASK_ENDS: Final = "sched/sched_process_exit"
_PIECE: Final = 256
"""Events between two looks at the clock."""
_IN_INTERRUPT: Final = 0x08 | 0x10 | 0x40
"""Flags TRACE_FLAG_HARDIRQ, _SOFTIRQ and _NMI of `common_flags`: what is done there is of no task."""
_FLAGS: Final = 2
"""Offset of `common_flags` in a record."""
_NO_TASK: Final = -1
_MOST_STACKS: Final = 1 << 14
_FAULT: Final = "(fault)"


class ReferenceModel:
    """Objects of a store with their references; `tick` must always be called from the same thread."""

    def __init__(self, watch: Watch, store: Store, keepers: frozenset[str] = frozenset()) -> None:
        """Take the events of a store; `keepers` as for `ReferenceTracker`."""
        self.watch = watch
        self.store = store
        self.tracker = ReferenceTracker(_MadeKinds(store), self._lost_between, keepers)
        self.events = 0
        """Number of events that took or dropped references, made or freed objects."""
        self.skipped = 0
        """Number of events that were dropped before they were looked at."""
        self.has_missed = False
        """True if a probe missed calls: nothing is proven then."""
        self._next = store.first_seq
        self._boot = store.boots.of(self._next)
        """Boot that the objects are of."""
        self._boot_row = self._next
        """Row of that boot."""
        self._formats = 0
        self._events: frozenset[ReferenceEvent] = frozenset()
        """Events of references that are recorded by now."""
        self._complete_since = 0
        """Time from which on all of these were."""
        self._stacks: dict[tuple[int, tuple[int, ...] | str], tuple[str, ...]] = {}
        """Functions of the stacks by boot and addresses: few places take most references."""
        self._names: dict[int, ReferenceEvent | str | None] = {}
        """Meaning of events by format id; None: another event."""

    @property
    def has_events(self) -> bool:
        """True if events of references are recorded."""
        return any(parse_event_name(fmt.path) for fmt in self.store.decoder.formats.values())

    def tick(self, budget: float) -> bool:
        """Process new events for about `budget` seconds; return True if more remain."""
        self._see_probes()
        store, deadline = self.store, time.monotonic() + budget
        self.has_missed = any(store.missed_calls.get(path) for path in store.missed_calls)
        while self._next < store.next_seq:
            if self._next < store.first_seq:
                self.skipped += store.first_seq - self._next
                self._next = store.first_seq
            stop = min(self._next + _PIECE, store.next_seq)
            for seq in range(self._next, stop):
                self._take(seq)
            self._next = stop
            if budget and time.monotonic() >= deadline:
                break
        if self._next >= store.next_seq:
            self._see_boot(store.boots.latest, self._next)
        return self._next < store.next_seq

    def _see_probes(self) -> None:
        """Note when a function is probed that was not in this boot: until then its gets and puts are missing."""
        formats = self.store.decoder.formats
        if len(formats) == self._formats:
            return
        self._formats = len(formats)
        paths = (fmt.path for fmt in formats.values() if fmt.boot == self._boot)
        events = frozenset(filter(None, map(parse_event_name, paths)))
        if events - self._events:
            self._complete_since = self.tracker.latest + 1 if self._events else 0
            self._events |= events

    def _see_boot(self, boot: int, seq: int) -> None:
        """Note the boot that events are of from a row on, and what it records: times before are of another clock."""
        if boot != self._boot:
            self._boot, self._boot_row = boot, seq
            self.tracker.begin_anew()
            self._events, self._complete_since, self._formats = frozenset(), 0, 0
            self._see_probes()

    def judged(self) -> Iterator[tuple[TrackedObject, Judgement]]:
        """Yield the objects that are not balanced, the faults first."""
        return self.tracker.judged()

    def states(self) -> Counter[State]:
        """Return the number of objects in each state but `BALANCED`."""
        return Counter(judgement.state for _, judgement in self.judged())

    def faults(self) -> int:
        """Return the number of objects with a fault."""
        return sum(number for state, number in self.states().items() if state in FAULTS)

    def task_text(self, reference: Reference) -> str:
        """Return name and number of the task of an event, `cat-812`."""
        if reference.task == _NO_TASK:
            return "interrupt"
        return f"{self.store.task_names.name(reference.task)}-{reference.task & 0xFFFFFFFF}"

    def _take(self, seq: int) -> None:
        try:
            number = self.store.row(seq).id
            event = self._names[number] if number in self._names else self._meaning(number)
            if event is None:
                return
            record = self.store.record(seq)
        except IndexError:
            self.skipped += 1
            return
        self._see_boot(record.boot, seq)
        task = task_key(record.pid, record.boot)
        if isinstance(event, str):
            self.tracker.end_task(task, record.ts)
        elif address := object_address(record.values.get(OBJECT)):
            self.events += 1
            self.tracker.take(self._reference(record, event, address, task))

    def _meaning(self, number: int) -> ReferenceEvent | str | None:
        path = self.store.event(number)
        found = TASK_ENDS if path.endswith(TASK_ENDS.rpartition("/")[2]) else parse_event_name(path)
        self._names[number] = found
        return found

    def _reference(self, record: Record, event: ReferenceEvent, address: int, task: int) -> Reference:
        before, after = counts_of(event.role, record.values)
        if len(record.raw) > _FLAGS and record.raw[_FLAGS] & _IN_INTERRUPT:
            task = _NO_TASK
        frames = self._frames(record)
        is_own = bool(frames) and frames[0].partition("+")[0] == event.function
        stack = frames[1:] if is_own else frames
        name = str(record.values.get(NAME, ""))
        label = "" if name == _FAULT else name
        return Reference(
            record.ts, record.seq, event.kind, event.role, event.function, address, task, before, after, stack, label
        )

    def _frames(self, record: Record) -> tuple[str, ...]:
        """Return the functions of the stack of an event, the innermost first; empty: none was recorded."""
        stack = next((one for one in record.stacks if one.event in KERNEL_STACKS), None)
        if stack is None:
            return ()
        key = record.boot, recorded_stack(stack)
        frames = self._stacks.get(key)
        if frames is None:
            if len(self._stacks) >= _MOST_STACKS:
                self._stacks.clear()
            symbols = self.watch.info.symbols.loaded_of(record.boot)
            frames = self._stacks[key] = tuple(frame.text for frame in stack_frames(key[1], symbols))
        return frames

    def _lost_between(self, start: int, end: int) -> bool:
        """Return whether events may have been lost, or were missed, between two times."""
        is_partial = start < self._complete_since or self.store.loss_spans.at(self._boot_row).may_lack_ends(
            start, end
        )
        return is_partial or bool(self.skipped) or self.has_missed


class _MadeKinds:
    """Kinds of objects whose making is recorded."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def __contains__(self, kind: object) -> bool:
        """Return whether an event of a store makes objects of a kind."""
        found = (parse_event_name(fmt.path) for fmt in self._store.decoder.formats.values())
        return any(event is not None and event.role is Role.NEW and event.kind == kind for event in found)
