"""Events in their order, each with what it is of a call: where a span begins and ends is only known later.

An entry waits until its exit proves it, and holds back what comes behind it, so that spans come out nested. That is
bounded: when too much waits, the entry is passed by (`SpanPart.LATE`), and is given together with its exit when that
comes.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from events.calls.call_ends import end_of
from events.calls.call_values import End, EndRole, UnpairedReason
from events.calls.pairing import Pairing
from events.graph.record_ends import EVENTS, graph_end
from events.record import Record


class SpanPart(enum.Enum):
    """What an event is of a call."""

    EVENT = "event"
    """None of one, or of one that is not proven."""
    BEGIN = "begin"
    """The entry of a call whose exit comes."""
    END = "end"
    """The exit of the youngest call of its task that has begun, `LATE` ones aside."""
    LATE = "late"
    """An entry that may turn out to be a `CALL` or an `EVENT`; given again as what it turned out to be."""
    CALL = "call"
    """Both ends of a call that was `LATE`, in the place of its exit."""
    CROSSING = "crossing call"
    """As `CALL`, of a call that ended before one that began inside of it: of another probe on the same function."""


class SpanItem(NamedTuple):
    """One event in its place."""

    part: SpanPart
    record: Record
    """Of a `CALL` its entry."""
    leave: Record | None = None
    """Of a `CALL` its exit."""
    alone: str = ""
    """Why an end of a call has no other end."""
    passes: bool = True
    """Whether it passes the filter; both ends of a call do where one does. Nothing is known of a `LATE` one."""


MOST_WAITING = 1 << 12
"""Events that are held back, if nothing else is said."""
MOST_OPEN = 1 << 13
"""Calls that may be open at once, of which the entries are kept."""
NOT_OVER = "it had not ended"
"""Why an entry is alone at the end of what is given out."""


class Spans:
    """See the module. At most `waiting` events are held back, and the entries of `MOST_OPEN` calls."""

    def __init__(
        self,
        ends: Mapping[str, EndRole],
        lost_between: Callable[[int, int], bool],
        waiting: int = MOST_WAITING,
        passes: Callable[[Record], bool] | None = None,
        missed: Mapping[str, int | None] | None = None,
        events_lost: Callable[[int, int], bool] | None = None,
    ) -> None:
        """Take what the events are, by their `group/name`; and see `events.calls.pairing`.

        `passes`: whether an event passes the filter; None: all do. `missed`: see `events.store.store.Store.missed`.
        """
        self._ends = ends
        self._passes = passes
        self._failing: set[int] = set()
        """Sequence numbers of events that do not pass, neither alone nor for their calls."""
        self._pairing = Pairing(lost_between, MOST_OPEN, events_lost=events_lost)
        self._pairing.judge(ends, missed or {})
        self._most = waiting
        self._queue: deque[Record] = deque()
        self._undecided: set[int] = set()
        self._known: dict[int, tuple[SpanPart, str]] = {}
        """Sequence number of an end in the queue -> what it turned out to be."""
        self._late: dict[int, Record] = {}
        self._passed: set[int] = set()
        """Exits that were given out before it was known of which call they are."""
        self._entry_of: dict[int, Record] = {}
        """Exit in the queue -> its entry that was late."""

    def take(self, record: Record) -> Iterator[SpanItem]:
        """One event more; gives what is ready."""
        self._queue.append(record)
        if self._passes is not None and not self._passes(record):
            self._failing.add(record.seq)
        end = self._end(record)
        if end is not None:
            self._undecided.add(record.seq)
            for call in self._pairing.take(end):
                alone = call.alone.value if call.alone else ""
                if call.entry is not None and call.exit is not None:
                    crosses = call.exit == end.seq and self._pairing.has_open_after(end.task, call.entry)
                    yield from self._pair(call.entry, call.exit, crosses=crosses)
                elif call.exit in self._passed:
                    self._passed.discard(call.exit)
                elif call.exit is not None:
                    self._decide(call.exit, SpanPart.EVENT, alone)
                elif call.entry is not None:
                    yield from self._never_proven(call.entry, alone)
        yield from self._ready()

    def _end(self, record: Record) -> End | None:
        if record.event in EVENTS:
            return graph_end(record)
        end_of_call = self._ends.get(record.event)
        return end_of(record, end_of_call) if end_of_call else None

    def finish(self) -> Iterator[SpanItem]:
        """What is held back; entries that wait stay alone."""
        for seq in sorted(self._late):
            yield from self._never_proven(seq, NOT_OVER)
        for record in self._queue:
            if record.seq in self._undecided:
                self._decide(
                    record.seq, SpanPart.EVENT, UnpairedReason.UNKNOWN.value if self._is_exit(record) else NOT_OVER
                )
        yield from self._ready()

    def _is_exit(self, record: Record) -> bool:
        end = self._end(record)
        return end is not None and end.at_exit

    def _pair(self, entry: int, leave: int, *, crosses: bool) -> Iterator[SpanItem]:
        if leave in self._passed:
            self._passed.discard(leave)
            yield from self._never_proven(entry, UnpairedReason.UNKNOWN.value)
            return
        if not {entry, leave} <= self._failing:
            self._failing -= {entry, leave}
        late = self._late.pop(entry, None)
        if crosses and late is None:
            late = next(record for record in self._queue if record.seq == entry)
            self._decide(entry, SpanPart.LATE)
        if late is not None:
            self._decide(leave, SpanPart.CROSSING if crosses else SpanPart.CALL)
            self._entry_of[leave] = late
        else:
            self._decide(entry, SpanPart.BEGIN)
            self._decide(leave, SpanPart.END)

    def _decide(self, seq: int, part: SpanPart, alone: str = "") -> None:
        self._undecided.discard(seq)
        self._known[seq] = (part, alone)

    def _never_proven(self, entry: int, alone: str) -> Iterator[SpanItem]:
        late = self._late.pop(entry, None)
        if late is not None:
            yield SpanItem(SpanPart.EVENT, late, alone=alone, passes=self._is_passing(entry))
        else:
            self._decide(entry, SpanPart.EVENT, alone)

    def _is_passing(self, *seqs: int) -> bool:
        """Whether one of some events passes; they are given now, and not asked about again."""
        passes = not self._failing.issuperset(seqs)
        self._failing.difference_update(seqs)
        return passes

    def _ready(self) -> Iterator[SpanItem]:
        queue = self._queue
        while queue:
            record = queue[0]
            if record.seq in self._undecided:
                if len(queue) <= self._most:
                    return
                self._undecided.discard(record.seq)
                queue.popleft()
                if self._is_exit(record):
                    self._passed.add(record.seq)
                    yield SpanItem(
                        SpanPart.EVENT,
                        record,
                        alone=UnpairedReason.UNKNOWN.value,
                        passes=self._is_passing(record.seq),
                    )
                    continue
                self._late[record.seq] = record
                yield SpanItem(SpanPart.LATE, record)
                continue
            queue.popleft()
            part, alone = self._known.pop(record.seq, (SpanPart.EVENT, ""))
            if part is SpanPart.LATE:
                yield SpanItem(part, record)
            elif part in (SpanPart.CALL, SpanPart.CROSSING):
                entry = self._entry_of.pop(record.seq)
                yield SpanItem(part, entry, record, passes=self._is_passing(entry.seq, record.seq))
            else:
                yield SpanItem(part, record, alone=alone, passes=self._is_passing(record.seq))
