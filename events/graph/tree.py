"""Build the call tree of all tasks: rows in the order in which the calls began, which for one task is pre-order.

The tree grows with new events, by column operations. A row is a call, an interrupt, a time off the CPU, or an event
between the calls; the rows of its task up to `after` are inside it. Nothing is nested across a gap, and rows with
only one end are flagged and counted: see `CallRowFlag`.
"""

from __future__ import annotations

import enum
from collections import Counter
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from events.graph.begin_end_columns import (
    WITHOUT_ROW,
    BeginEndColumns,
    Deeper,
    Edge,
    Ints,
    Mask,
    Nesting,
    Places,
    RowKind,
    by_depth,
)
from events.graph.call_columns import DTYPES, CallColumns
from events.graph.nesting import nest
from events.graph.open_calls import AbandonedCalls, OpenCalls, counted
from events.names.errnos import MAX_ERRNO

LIMIT: Final = 1 << 20
"""Maximum number of rows (about 90 bytes each)."""
OPEN_END: Final = 1 << 62
"""Value of `after` for a row whose end is not known yet."""


class CallRowFlag(enum.IntFlag):
    """Flags of a row; values of `CallTree.flags`."""

    OPEN = 1
    """The call has not returned yet."""
    NO_ENTRY = 2
    """Only the end was recorded: the call began earlier, or the begin was missed. No rows are inside it."""
    NO_EXIT = 4
    """A later event proves the call to be over; its end was not recorded."""
    LOST = 8
    """Events were lost while the call was open."""
    RETVAL = 16
    """The row has a return value."""
    FAILED = 32
    """The return value looks like an error, by the kernel's heuristic (trace_functions_graph.c,
    print_graph_retval)."""


@dataclass(frozen=True)
class CallRow:
    """Row of the tree, as plain numbers."""

    row: int
    seq: int
    """Sequence number of the first event; of the end if only the end was recorded."""
    leave: int
    """Sequence number of the last event; -1: not recorded."""
    ts: int
    """Time stamp of the first event (of the end if only the end was recorded)."""
    duration: int
    """Nanoseconds; -1: unknown."""
    self_time: int
    """Nanoseconds outside the enclosed rows; -1: unknown."""
    function: int
    """Address of the function; see `RowKind` for other kinds."""
    parent: int
    """Enclosing row; -1: none, or dropped."""
    after: int
    """First row that is not inside this one; `OPEN_END`: not known yet."""
    retval: int
    task: int
    cpu: int
    level: int
    """Number of enclosing rows."""
    kind: RowKind
    flags: CallRowFlag


class CallTree:
    """Call tree of all tasks. `take` must always be called from the same thread."""

    def __init__(self, deeper: Deeper = by_depth, limit: int = LIMIT) -> None:
        """Take the function that proves nesting, and the maximum number of rows."""
        self.columns = CallColumns()
        self.counts: Counter[CallRowFlag] = Counter()
        """Number of calls with only one end, by reason, without interrupts and task switches."""
        self.ended: Counter[RowKind] = Counter()
        """Number of calls, interrupts and softirqs with both ends."""
        self.dropped_calls = 0
        """Number of dropped calls, the oldest, without those that have only one end and no duration."""
        self.latest = 0
        """Latest time stamp."""
        self.changed = 0
        """Oldest row whose end was set since a caller last set this to `next`."""
        self._deeper = deeper
        self._limit = limit
        self._open = OpenCalls()

    @property
    def first(self) -> int:
        """Oldest row that is retained."""
        return self.columns.first

    @property
    def next(self) -> int:
        """Number that the next row will get."""
        return self.columns.next

    @property
    def closed(self) -> int:
        """Number of calls with both ends."""
        return self.ended[RowKind.CALL]

    @property
    def begins(self) -> BeginEndColumns | None:
        """Begins of the open calls; None until a call was open."""
        return self._open.begins

    @property
    def open(self) -> int:
        """Number of calls that have begun and not ended yet."""
        return self._open.count

    def row(self, row: int) -> CallRow:
        """Return a row.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        if not self.first <= row < self.next:
            raise IndexError(row)
        at = row - self.first
        values = {name: self.columns.column(name)[at].item() for name in _ROW_COLUMNS}
        inside, duration = self.columns.column("inside")[at].item(), values["duration"]
        values["self_time"] = max(duration - inside, 0) if duration >= 0 else -1
        values["parent"] = values["parent"] if values["parent"] >= self.first else -1
        values["kind"], values["flags"] = RowKind(values["kind"]), CallRowFlag(values["flags"])
        return CallRow(row=row, **values)

    def gap(self) -> None:
        """Handle missed events: open calls will never get an end."""
        self._abandon(self._open.give_up(), CallRowFlag.LOST, self.next)

    def take(self, events: BeginEndColumns, broken: Mask | None = None) -> None:
        """Add events, which follow the previous ones.

        Args:
            events: in order of time.
            broken: mask of the events just before which events may have been lost; None: no losses.
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
        open_count = int(waiting.sum())
        merged = self._open.before(events, waiting)
        segments = np.append(np.zeros(open_count, np.int64), segments)
        found = nest(merged, (segments << 32) + (merged.task.astype(np.int64) & 0xFFFFFFFF), self._deeper)
        rows, before = self._number(merged, found, open_count, self._open.rows[waiting])
        self._append(merged, found, rows, open_count)
        self._close(merged, found, rows, before)
        self._mark_missed(merged, found, rows, before)
        self._update_open(merged, found, rows, before, segments, waiting)
        self.latest = max(self.latest, int(events.ts.max()))
        if len(self.columns) > self._limit:
            self._drop(len(self.columns) - self._limit)

    def let_go(self, before: int) -> None:
        """Drop the rows before a number, which are no longer needed, without counting them in `dropped_calls`."""
        self.columns.drop(max(before - self.first, 0))

    def _drop(self, count: int) -> None:
        """Drop the oldest rows."""
        what, duration, flags = (self.columns.column(name)[:count] for name in ("kind", "duration", "flags"))
        self.dropped_calls += int(
            ((what == RowKind.CALL) & ((duration >= 0) | (flags & CallRowFlag.OPEN != 0))).sum()
        )
        self.columns.drop(count)

    def _number(self, events: BeginEndColumns, found: Nesting, open_count: int, held_rows: Ints) -> tuple[Ints, Ints]:
        """Return the row of each event, and the next row number at its time; the first `open_count` events already
        have rows.
        """
        # a thread that is switched in for the first time gets no row
        unpaired = (found.partner < 0) & (events.kind != RowKind.SWITCH)
        is_row = np.where(events.edge == Edge.END, unpaired, ~WITHOUT_ROW[events.edge])
        is_row[:open_count] = False
        count = np.cumsum(is_row)
        before = self.next + count - is_row
        rows = np.where(is_row, before, -1)
        rows[:open_count] = held_rows
        return rows, before

    def _append(self, events: BeginEndColumns, found: Nesting, rows: Ints, open_count: int) -> None:
        """Append rows for the events, all without an end."""
        at = np.flatnonzero(rows[open_count:] >= 0) + open_count
        edge = events.edge[at]
        begin, end = edge == Edge.BEGIN, edge == Edge.END
        parent = found.parent[at]
        flags = (
            begin * np.uint8(CallRowFlag.OPEN)
            | end * np.uint8(CallRowFlag.NO_ENTRY)
            | self._retval_flags(events, at) * end
        )
        self.columns.append(
            {
                "seq": events.seq[at],
                "leave": np.where(end, events.seq[at], -1),
                "ts": events.ts[at],
                "duration": np.where(end, events.duration[at], -1),
                "function": events.function[at],
                "parent": np.where(parent >= 0, rows[parent], -1),
                "after": np.where(begin, OPEN_END, rows[at] + 1),
                "retval": events.retval[at],
                "task": events.task[at],
                "cpu": events.cpu[at],
                "level": found.level[at],
                "kind": events.kind[at],
                "flags": flags,
            }
        )
        self.counts[CallRowFlag.NO_ENTRY] += int((end & (events.kind[at] == RowKind.CALL)).sum())
        self.counts[CallRowFlag.NO_ENTRY] += int(((events.edge == Edge.LATE_END) & (found.partner < 0)).sum())

    @staticmethod
    def _retval_flags(events: BeginEndColumns, at: Places) -> NDArray[np.uint8]:
        """Return the flags for the return value of ends."""
        value = events.retval[at]
        # A 32-bit value in a 64-bit register is not sign-extended.
        narrow = (value >> 31) == 1
        value = np.where(narrow, value - (1 << 32), value)
        failed = (value < 0) & (value >= -MAX_ERRNO)
        has: NDArray[np.uint8] = events.has_retval[at] * (
            np.uint8(CallRowFlag.RETVAL) | failed * np.uint8(CallRowFlag.FAILED)
        )
        return has

    def _close(self, events: BeginEndColumns, found: Nesting, rows: Ints, before: Ints) -> None:
        """Fill in the ends of rows that have one."""
        begins = np.flatnonzero((events.edge == Edge.BEGIN) & (found.partner >= 0))
        ends = found.partner[begins]
        for what in (RowKind.CALL, RowKind.IRQ, RowKind.SOFTIRQ):
            self.ended[what] += int((events.kind[begins] == what).sum())
        duration = events.duration[ends]
        duration = np.where(duration >= 0, duration, events.ts[ends] - events.ts[begins])
        self._add_inside(rows[begins], duration, events.kind[begins] < RowKind.SWITCH)
        self._set(
            rows[begins],
            {
                "leave": events.seq[ends],
                "duration": duration,
                "after": before[ends],
                "retval": events.retval[ends],
                "flags": self._retval_flags(events, ends),
            },
        )

    def _add_inside(self, rows: Ints, duration: Ints, wanted: Mask) -> None:
        """Add durations of rows to the time spent inside the rows that enclose them."""
        wanted &= rows >= self.first
        parents = self.columns.column("parent")[rows[wanted] - self.first] - self.first
        np.add.at(self.columns.column("inside"), parents[parents >= 0], duration[wanted][parents >= 0])

    def _mark_missed(self, events: BeginEndColumns, found: Nesting, rows: Ints, before: Ints) -> None:
        """Mark the calls that are over without a recorded end."""
        missed = np.flatnonzero(found.over >= 0)
        if len(missed):
            self.counts[CallRowFlag.NO_EXIT] += counted(events.of(missed))
            self._set_over(rows[missed], before[found.over[missed]], CallRowFlag.NO_EXIT)

    def _update_open(
        self, events: BeginEndColumns, found: Nesting, rows: Ints, before: Ints, segments: Ints, waiting: Mask
    ) -> None:
        """Update the open calls after these events."""
        is_open = (events.edge == Edge.BEGIN) & (found.partner < 0) & (found.over < 0)
        last = int(segments[-1])
        if last:  # after a gap, calls that were open never get an end
            lost = np.flatnonzero(is_open & (segments < last))
            starts = np.searchsorted(segments, segments[lost] + 1)
            self.counts[CallRowFlag.LOST] += counted(events.of(lost))
            self._set_over(rows[lost], before[starts], CallRowFlag.LOST)
            is_open &= segments == last
            self._abandon(self._open.give_up(~waiting), CallRowFlag.LOST, before[int(np.searchsorted(segments, 1))])
            waiting = np.ones(len(self._open.rows), np.bool_)
        self._open.exchange(waiting, events.of(is_open), rows[is_open])
        if (inactive := self._open.stale()) is not None:
            self._abandon(self._open.give_up(inactive), CallRowFlag.NO_EXIT, self.next)

    def _abandon(self, calls: AbandonedCalls | None, why: CallRowFlag, after: int) -> None:
        """Mark calls as abandoned."""
        if calls is not None:
            self.counts[why] += calls.counted
            self._set_over(calls.rows, np.full(len(calls.rows), after), why)

    def _set_over(self, rows: Ints, after: Ints, why: CallRowFlag) -> None:
        """Set `after` and flags of rows without a recorded end."""
        self._set(rows, {"after": after, "flags": np.full(len(rows), why, np.uint8)})

    def _set(self, rows: Ints, values: dict[str, NDArray[Any]]) -> None:
        """Change values of the rows that are retained."""
        if not len(rows):
            return
        at = rows - self.first
        retained = at >= 0
        every = bool(retained.all())
        self.changed = min(self.changed, int(rows.min()))
        for name, column in values.items():
            self.columns.column(name)[at if every else at[retained]] = column if every else column[retained]


_ROW_COLUMNS = tuple(name for name in DTYPES if name != "inside")
