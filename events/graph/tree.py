"""The calls of all tasks as rows, in the order in which they began: of one task that is its tree, from top to bottom.

Built as events come, by columns. A row is a call, an interrupt, a time off the CPU, or an event between the calls;
everything inside of it are the rows of its task up to `after`. Nothing is nested across a gap, and what has only one
end is marked and counted: see `Flag`.
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import WITHOUT_ROW, Brackets, Deeper, Edge, Ints, Mask, What, by_depth
from events.graph.call_columns import DTYPES, CallColumns
from events.graph.nesting import Nesting, Places, nest
from events.graph.open_calls import GivenUp, OpenCalls, counted

LIMIT: Final = 1 << 20
"""Rows that are kept (some 90 bytes each)."""
OPEN_END: Final = 1 << 62
"""`after` of a row whose end is not known yet."""
_MAX_ERRNO: Final = 4095


class Flag(enum.IntFlag):
    """What is true of a row; the value in `CallTree.flags`."""

    OPEN = 1
    """It has not returned yet."""
    NO_ENTRY = 2
    """Only its end was seen: it began before, or the begin was missed. It has no rows inside."""
    NO_EXIT = 4
    """What came after shows it to be over; its end was not seen."""
    LOST = 8
    """Events were lost while it was open."""
    RETVAL = 16
    """It has a return value."""
    FAILED = 32
    """That looks like an error, by the guess that the kernel makes (trace_functions_graph.c, print_graph_retval)."""


@dataclass(frozen=True)
class Row:
    """One row; plain numbers."""

    row: int
    seq: int
    """Sequence number of its first event; of its only one where that is an end."""
    leave: int
    """Of its last one; -1: not seen."""
    ts: int
    """Time stamp of the first event (of an end without a begin: of that)."""
    duration: int
    """Nanoseconds; -1: not known."""
    own: int
    """Nanoseconds that were not spent in the rows inside; -1: not known."""
    function: int
    """Address of the function; see `What` for the others."""
    parent: int
    """Row around it; -1: none that is kept."""
    after: int
    """First row that is not inside any more; `OPEN_END`: not known yet."""
    retval: int
    task: int
    cpu: int
    level: int
    """Rows that are around it."""
    what: What
    flags: Flag


class CallTree:
    """See the module. `take` belongs to one thread."""

    def __init__(self, deeper: Deeper = by_depth, limit: int = LIMIT) -> None:
        """Take what proves a nesting, and the most rows to keep."""
        self.columns = CallColumns()
        self.counts: Counter[Flag] = Counter()
        """Calls with one end only, by the reason; interrupts and task switches do not count."""
        self.ended: Counter[What] = Counter()
        """Calls, interrupts and softirqs of which both ends were seen."""
        self.left_out = 0
        """Calls that were dropped, the oldest; without those whose end was missed, or seen alone and untimed."""
        self.latest = 0
        """Youngest time stamp."""
        self.changed = 0
        """Oldest row that is another one since this was last set to `next`: it has ended."""
        self._deeper = deeper
        self._limit = limit
        self._open = OpenCalls()

    @property
    def first(self) -> int:
        """Oldest row that is kept."""
        return self.columns.first

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self.columns.next

    @property
    def closed(self) -> int:
        """Calls of which both ends were seen."""
        return self.ended[What.CALL]

    @property
    def begins(self) -> Brackets | None:
        """Begins of what is open; None as long as nothing was."""
        return self._open.begins

    @property
    def open(self) -> int:
        """Calls that have begun and not ended yet."""
        return self._open.count

    def row(self, row: int) -> Row:
        """A row. Raises IndexError where it was dropped, or there is none yet."""
        if not self.first <= row < self.next:
            raise IndexError(row)
        at = row - self.first
        one = {name: self.columns.column(name)[at].item() for name in _TAKEN}
        spent, duration = self.columns.column("inside")[at].item(), one["duration"]
        one["own"] = max(duration - spent, 0) if duration >= 0 else -1
        one["parent"] = one["parent"] if one["parent"] >= self.first else -1
        one["what"], one["flags"] = What(one["what"]), Flag(one["flags"])
        return Row(row=row, **one)

    def gap(self) -> None:
        """Events went by unseen: what is open stays so for ever."""
        self._give_up(self._open.give_up(), Flag.LOST, self.next)

    def take(self, events: Brackets, broken: Mask | None = None) -> None:
        """Take events, which follow those that came before.

        Args:
            events: in order of time.
            broken: where events may have been lost just before one; None: nowhere.
        """
        if not events.size:
            return
        segments: Ints = np.zeros(events.size, np.int64)
        if broken is not None:
            segments += np.cumsum(broken)
        if broken is not None and broken[0]:
            self.gap()
            segments -= 1
        waiting = self._open.of(events.task)
        held = int(waiting.sum())
        both = self._open.before(events, waiting)
        segments = np.append(np.zeros(held, np.int64), segments)
        found = nest(both, (segments << 32) + (both.task.astype(np.int64) & 0xFFFFFFFF), self._deeper)
        rows, before = self._number(both, found, held, self._open.rows[waiting])
        self._append(both, found, rows, held)
        self._close(both, found, rows, before)
        self._miss(both, found, rows, before)
        self._go_on(both, found, rows, before, segments, waiting)
        self.latest = max(self.latest, int(events.ts.max()))
        if len(self.columns) > self._limit:
            self._drop(len(self.columns) - self._limit)

    def let_go(self, before: int) -> None:
        """Drop the rows before one, which nobody asks for any more: they are not counted as left out."""
        self.columns.drop(max(before - self.first, 0))

    def _drop(self, count: int) -> None:
        """Drop the oldest rows."""
        what, duration, flags = (self.columns.column(name)[:count] for name in ("what", "duration", "flags"))
        self.left_out += int(((what == What.CALL) & ((duration >= 0) | (flags & Flag.OPEN != 0))).sum())
        self.columns.drop(count)

    def _number(self, both: Brackets, found: Nesting, held: int, held_rows: Ints) -> tuple[Ints, Ints]:
        """The row of each event, and the row that comes next at its time; the first ones have theirs already."""
        alone = (found.partner < 0) & (both.what != What.SWITCH)  # a thread that comes for the first time we see
        is_row = np.where(both.edge == Edge.END, alone, ~WITHOUT_ROW[both.edge])
        is_row[:held] = False
        count = np.cumsum(is_row)
        before = self.next + count - is_row
        rows = np.where(is_row, before, -1)
        rows[:held] = held_rows
        return rows, before

    def _append(self, both: Brackets, found: Nesting, rows: Ints, held: int) -> None:
        """Add the rows of the events, as if none had an end."""
        at = np.flatnonzero(rows[held:] >= 0) + held
        edge = both.edge[at]
        begin, end = edge == Edge.BEGIN, edge == Edge.END
        parent = found.parent[at]
        flags = begin * np.uint8(Flag.OPEN) | end * np.uint8(Flag.NO_ENTRY) | self._returned(both, at) * end
        self.columns.append(
            {
                "seq": both.seq[at],
                "leave": np.where(end, both.seq[at], -1),
                "ts": both.ts[at],
                "duration": np.where(end, both.duration[at], -1),
                "function": both.function[at],
                "parent": np.where(parent >= 0, rows[parent], -1),
                "after": np.where(begin, OPEN_END, rows[at] + 1),
                "retval": both.retval[at],
                "task": both.task[at],
                "cpu": both.cpu[at],
                "level": found.level[at],
                "what": both.what[at],
                "flags": flags,
            }
        )
        self.counts[Flag.NO_ENTRY] += int((end & (both.what[at] == What.CALL)).sum())
        self.counts[Flag.NO_ENTRY] += int(((both.edge == Edge.LATE_END) & (found.partner < 0)).sum())

    @staticmethod
    def _returned(both: Brackets, at: Places) -> NDArray[np.uint8]:
        """Flags about the return value of ends."""
        value = both.retval[at]
        # An int in a wide register has no sign there.
        narrow = (value >> 31) == 1
        value = np.where(narrow, value - (1 << 32), value)
        failed = (value < 0) & (value >= -_MAX_ERRNO)
        has: NDArray[np.uint8] = both.has_retval[at] * (np.uint8(Flag.RETVAL) | failed * np.uint8(Flag.FAILED))
        return has

    def _close(self, both: Brackets, found: Nesting, rows: Ints, before: Ints) -> None:
        """Fill in the ends of rows that have one."""
        begins = np.flatnonzero((both.edge == Edge.BEGIN) & (found.partner >= 0))
        ends = found.partner[begins]
        for what in (What.CALL, What.IRQ, What.SOFTIRQ):
            self.ended[what] += int((both.what[begins] == what).sum())
        duration = both.duration[ends]
        duration = np.where(duration >= 0, duration, both.ts[ends] - both.ts[begins])
        self._spend(rows[begins], duration, both.what[begins] < What.SWITCH)
        self._set(
            rows[begins],
            {
                "leave": both.seq[ends],
                "duration": duration,
                "after": before[ends],
                "retval": both.retval[ends],
                "flags": self._returned(both, ends),
            },
        )

    def _spend(self, rows: Ints, duration: Ints, wanted: Mask) -> None:
        """Time that was spent inside of what is around rows."""
        wanted &= rows >= self.first
        around = self.columns.column("parent")[rows[wanted] - self.first] - self.first
        np.add.at(self.columns.column("inside"), around[around >= 0], duration[wanted][around >= 0])

    def _miss(self, both: Brackets, found: Nesting, rows: Ints, before: Ints) -> None:
        """Calls that are over, whose end was not seen."""
        missed = np.flatnonzero(found.over >= 0)
        if len(missed):
            self.counts[Flag.NO_EXIT] += counted(both.of(missed))
            self._end(rows[missed], before[found.over[missed]], Flag.NO_EXIT)

    def _go_on(self, both: Brackets, found: Nesting, rows: Ints, before: Ints, segments: Ints, waiting: Mask) -> None:
        """What is open after these events."""
        is_open = (both.edge == Edge.BEGIN) & (found.partner < 0) & (found.over < 0)
        last = int(segments[-1])
        if last:  # gaps: what was open at one stays open for ever
            lost = np.flatnonzero(is_open & (segments < last))
            starts = np.searchsorted(segments, segments[lost] + 1)
            self.counts[Flag.LOST] += counted(both.of(lost))
            self._end(rows[lost], before[starts], Flag.LOST)
            is_open &= segments == last
            self._give_up(self._open.give_up(~waiting), Flag.LOST, before[int(np.searchsorted(segments, 1))])
            waiting = np.ones(len(self._open.rows), np.bool_)
        self._open.exchange(waiting, both.of(is_open), rows[is_open])
        if (still := self._open.still()) is not None:
            self._give_up(self._open.give_up(still), Flag.NO_EXIT, self.next)

    def _give_up(self, gone: GivenUp | None, why: Flag, after: int) -> None:
        """Expect no end of calls any more."""
        if gone is not None:
            self.counts[why] += gone.counted
            self._end(gone.rows, np.full(len(gone.rows), after), why)

    def _end(self, rows: Ints, after: Ints, why: Flag) -> None:
        """Rows whose end was not seen."""
        self._set(rows, {"after": after, "flags": np.full(len(rows), why, np.uint8)})

    def _set(self, rows: Ints, values: dict[str, NDArray[Any]]) -> None:
        """Change rows, those that are kept."""
        if not len(rows):
            return
        at = rows - self.first
        kept = at >= 0
        every = bool(kept.all())
        self.changed = min(self.changed, int(rows.min()))
        for name, column in values.items():
            self.columns.column(name)[at if every else at[kept]] = column if every else column[kept]


_TAKEN = tuple(name for name in DTYPES if name != "inside")
