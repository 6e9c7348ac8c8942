"""Yield events in order, each with its part in a call, although the extent of a span is known only later.

An entry waits until its exit proves it, and holds back later events, so that spans are nested. Waiting is bounded: if
too many events wait, the entry is skipped (`SpanPart.LATE`) and output again together with its exit.
"""

from __future__ import annotations

import enum
from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from events.calls.call_ends import end_from_record
from events.calls.call_values import Call, End, UnpairedReason
from events.calls.pairing import Pairing
from events.export.source import ExportSource
from events.graph.record_ends import EVENTS, graph_end
from events.record import Record
from events.store.gaps import LossReader


class SpanPart(enum.Enum):
    """Part of an event in a call."""

    EVENT = "event"
    """Event outside any call, or of an unproven one."""
    BEGIN = "begin"
    """Entry of a call whose exit follows."""
    END = "end"
    """Exit of the task's youngest call that has begun, disregarding `LATE` ones."""
    LATE = "late"
    """Entry that may turn out to be a `CALL` or an `EVENT`; output again as such."""
    CALL = "call"
    """Both ends of a call that was `LATE`, at the position of its exit."""
    CROSSING = "crossing call"
    """Both ends of a call that ended before a call begun inside it: the latter is of another probe on the same
    function."""


class SpanItem(NamedTuple):
    """Event at its position in the output."""

    part: SpanPart
    record: Record
    """Event; for a `CALL` its entry."""
    leave: Record | None = None
    """Exit of a `CALL`."""
    unpaired_reason: str = ""
    """Reason why an end of a call has no partner."""
    passes: bool = True
    """True if the event passes the filter; both ends of a call pass if either does. Undefined for `LATE`."""


MOST_WAITING = 1 << 12
"""Default for the number of events held back."""
MOST_OPEN = 1 << 13
"""Maximum number of open calls, whose entries are kept."""
NOT_OVER = "it had not ended"
"""Reason why an entry has no partner at the end of the export."""


class Spans:
    """Assignment of events to spans. Holds back at most `waiting` events, and the entries of at most `MOST_OPEN`
    calls.
    """

    def __init__(self, source: ExportSource, waiting: int = MOST_WAITING) -> None:
        """Take the source of the events."""
        self._source = source
        self._failing: set[int] = set()
        """Sequence numbers of events that do not pass, neither themselves nor through their calls."""
        self._losses = losses = LossReader(source.loss_spans_at)
        self._pairing = Pairing(
            losses.may_lack_ends, MOST_OPEN, events_lost=losses.may_lack_events, newest_task=losses.newest_task
        )
        self._pairing.judge(source.ends, source.missed)
        self._max_waiting = waiting
        self._queue: deque[Record] = deque()
        self._undecided: set[int] = set()
        self._outcomes: dict[int, tuple[SpanPart, str]] = {}
        """Outcome of each end in the queue, by sequence number."""
        self._late: dict[int, Record] = {}
        self._exits_output: set[int] = set()
        """Exits that were output before their call was known."""
        self._entry_of: dict[int, Record] = {}
        """Entry that was late, by sequence number of its exit in the queue."""

    def take(self, record: Record) -> Iterator[SpanItem]:
        """Add an event; yield the items that are ready."""
        self._queue.append(record)
        if self._source.passes is not None and not self._source.passes(record):
            self._failing.add(record.seq)
        if self._losses.go_to(record.seq):  # no call survives a reboot
            yield from self._place(self._pairing.forget(-1))
            self._pairing.starts.begin_anew()
        end = self._end(record)
        if end is not None:
            self._undecided.add(record.seq)
            yield from self._place(self._pairing.take(end), end)
        yield from self._ready()

    def _place(self, calls: Iterable[Call], end: End | None = None) -> Iterator[SpanItem]:
        """Decide the parts of the ends of calls that are over; `end`: the one that showed it."""
        for call in calls:
            alone = call.unpaired_reason.value if call.unpaired_reason else ""
            if call.entry is not None and call.exit is not None:
                crosses = (
                    end is not None and call.exit == end.seq and self._pairing.has_open_after(end.task, call.entry)
                )
                yield from self._pair(call.entry, call.exit, crosses=crosses)
            elif call.exit in self._exits_output:
                self._exits_output.discard(call.exit)
            elif call.exit is not None:
                self._decide(call.exit, SpanPart.EVENT, alone)
            elif call.entry is not None:
                yield from self._mark_unproven(call.entry, alone)

    def _end(self, record: Record) -> End | None:
        if record.event in EVENTS:
            return graph_end(record)
        end_of_call = self._source.ends.get(record.event)
        return end_from_record(record, end_of_call) if end_of_call else None

    def finish(self) -> Iterator[SpanItem]:
        """Yield the items held back; waiting entries have no partner."""
        for seq in sorted(self._late):
            yield from self._mark_unproven(seq, NOT_OVER)
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
        if leave in self._exits_output:
            self._exits_output.discard(leave)
            yield from self._mark_unproven(entry, UnpairedReason.UNKNOWN.value)
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
        self._outcomes[seq] = (part, alone)

    def _mark_unproven(self, entry: int, alone: str) -> Iterator[SpanItem]:
        late = self._late.pop(entry, None)
        if late is not None:
            yield SpanItem(SpanPart.EVENT, late, unpaired_reason=alone, passes=self._is_passing(entry))
        else:
            self._decide(entry, SpanPart.EVENT, alone)

    def _is_passing(self, *seqs: int) -> bool:
        """Return whether any of the events passes; forget the events, which are output now."""
        passes = not self._failing.issuperset(seqs)
        self._failing.difference_update(seqs)
        return passes

    def _ready(self) -> Iterator[SpanItem]:
        queue = self._queue
        while queue:
            record = queue[0]
            if record.seq in self._undecided:
                if len(queue) <= self._max_waiting:
                    return
                self._undecided.discard(record.seq)
                queue.popleft()
                if self._is_exit(record):
                    self._exits_output.add(record.seq)
                    yield SpanItem(
                        SpanPart.EVENT,
                        record,
                        unpaired_reason=UnpairedReason.UNKNOWN.value,
                        passes=self._is_passing(record.seq),
                    )
                    continue
                self._late[record.seq] = record
                yield SpanItem(SpanPart.LATE, record)
                continue
            queue.popleft()
            part, alone = self._outcomes.pop(record.seq, (SpanPart.EVENT, ""))
            if part is SpanPart.LATE:
                yield SpanItem(part, record)
            elif part in (SpanPart.CALL, SpanPart.CROSSING):
                entry = self._entry_of.pop(record.seq)
                yield SpanItem(part, entry, record, passes=self._is_passing(entry.seq, record.seq))
            else:
                yield SpanItem(part, record, unpaired_reason=alone, passes=self._is_passing(record.seq))
