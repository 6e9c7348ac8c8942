"""Name the file descriptors in a store's events: read those that tell of descriptors as far as a name is asked for.

A name is certain where every event that could change it is recorded (`events.descriptors.sources.coverage`): from the
first event on that shows all of these probes to be armed, up to the first one that was taken away or changed, and not
across a loss. Everything else has no name.
"""

from __future__ import annotations

import time
from array import array
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from events.descriptors.calls import CLONE_FILES
from events.descriptors.columns import DescriptorStep, steps_of
from events.descriptors.sources import Coverage, DescriptorRole, DescriptorSource, coverage
from events.descriptors.tracker import CallEntry, Tracker
from events.descriptors.wide_tasks import WideTasks
from events.store.columns import PIECE

if TYPE_CHECKING:
    from events.decode import Value
    from events.record import Record
    from events.store.columns import FormatTable
    from events.store.store import Store

_SETTLING: Final = 100_000_000
"""Nanoseconds after a loss in which a task may still be in a call that began before it."""
_AT_ONCE: Final = 1 << 12
"""Rows whose reading no screen notices: 90 ms where each opens or closes a file, 2 ms as a rule."""
_MOST_FACTS: Final = 1 << 18
"""Facts after which those are dropped that no row needs."""


class Known(NamedTuple):
    """Answer of where descriptors come from, in a watch."""

    sources: Mapping[str, DescriptorSource]
    """Sources by the path of their event."""
    orders: Mapping[str, int]
    """Place among the armed probes of every event, by path."""


class DescriptorIndex:
    """Index of the descriptors of a store."""

    def __init__(self, store: Store, known: Known, machine: str) -> None:
        """Take the store, the sources, and `uname -m` of the kernel."""
        self._store = store
        self._known = known
        self._machine = machine
        self.coverage: Coverage = coverage(known.sources, machine)
        """Knowledge that the sources give."""
        self._tracker = Tracker(follows_exec=self.coverage.follows_exec)
        self._wide_tasks = WideTasks()
        self._at = store.first_seq
        self._rows, self._stamps = array("q"), array("q")
        """Rows read that tell something, with their times."""
        self._turns: list[int] = []
        """Rows at which names begin to be certain and cease to be, in turns."""
        self._has_ended = False
        """True if names will not be certain again."""
        self._settles = 0
        """Time from which on calls are over that began before the last loss."""
        self._functions = [path for path, one in known.sources.items() if one.role in _BY_FUNCTION]

    def file(self, record: Record, fd: int) -> str | None:
        """Return the file of a descriptor of an event's task at that time; None: it is not certain."""
        if self.coverage.missing or not self._has(record, fd):
            return None
        return self._file(record.pid, fd, record.seq, record.ts, record.event)

    def files(self, table: FormatTable, values: Sequence[int]) -> list[Value]:
        """Return the file of the descriptor of each event of a table, or the number where that is not certain."""
        path, rows = table.layout.format.path, zip(table.pids.tolist(), values, table.seqs.tolist(), strict=True)
        found = [
            self._file(task, fd, row, ts, path) if fd >= 0 else None
            for (task, fd, row), ts in zip(rows, table.stamps.tolist(), strict=True)
        ]
        return [fd if name is None else name for fd, name in zip(values, found, strict=True)]

    def _file(self, task: int, fd: int, row: int, now: int, path: str) -> str | None:
        """Return the file of a task's descriptor at a row, which is of a time and an event's path."""
        self._read_to(row)
        if not bisect_left(self._turns, row + 1) % 2:
            return None
        found = self._tracker.file(task, fd, row)
        if found is None or (found.by_function and not self._trusts_functions(path)):
            return None
        if not path.startswith(_SINGLE_CALLS) and not self._wide_tasks.before(row, task):
            return None
        at = bisect_left(self._rows, row) - 1
        if at < 0 or self._may_miss(row, self._stamps[at], now):
            return None
        return found.name

    def opened(self, record: Record, fd: int) -> str:
        """Return the path that an event's task opened last with a descriptor, which may be closed since; or empty."""
        if not self._has(record, fd):
            return ""
        self._read_to(record.seq)
        return self._tracker.opened(record.pid, fd, record.seq)

    def may_show(self, text: str) -> bool:
        """Return whether a text may stand in that of a descriptor with its file, `3</etc/passwd>`."""
        if self.coverage.missing:
            return False
        self._read_to(self._store.next_seq - 1)
        longest = max(text.lower().strip("0123456789abcdefx<").rstrip(">").split("<"), key=len)
        return any(longest in name.lower() for name in self._tracker.names)

    def _has(self, record: Record, fd: int) -> bool:
        """Return whether an event is a row of this store, and a number may be a descriptor."""
        store = self._store
        if not (fd >= 0 <= record.pid and record.raw and store.first_seq <= record.seq < store.next_seq):
            return False
        return store.row(record.seq).ts == record.ts

    def _trusts_functions(self, path: str) -> bool:
        """Return whether an event is of a 64-bit program, and no function was missed."""
        missed = self._store.missed_calls
        return path.startswith(_SINGLE_CALLS) and not any(missed.get(one) for one in self._functions)

    def _may_miss(self, row: int, since: int, now: int) -> bool:
        """Return whether events may be missing between two times before a row, or a probe was taken away."""
        spans = self._store.loss_spans.at(row)
        return spans.may_lack_ends(since, now) or (bool(spans.removals) and spans.removals[0] <= now)

    def is_near(self, row: int) -> bool:
        """Return whether a name at a row is known, or known as soon as it is asked for."""
        return row < max(self._at, self._store.first_seq) + _AT_ONCE

    def read_on(self, seconds: float) -> bool:
        """Read more events, one piece at least, for about so many seconds of CPU time; return True if more remain."""
        store, deadline = self._store, time.thread_time() + seconds
        while self._at < store.next_seq:
            self._read_to(min(max(self._at, store.first_seq) + _AT_ONCE, store.next_seq) - 1, _AT_ONCE)
            if time.thread_time() >= deadline:
                break
        return self._at < store.next_seq

    def _read_to(self, row: int, piece: int = PIECE) -> None:
        """Read the events up to a row, which exists, and some behind it."""
        store = self._store
        if self._at < store.first_seq:
            self._lose(store.first_seq, store.row(store.first_seq).ts if len(store) else 0)
            self._at = store.first_seq
        while self._at <= row:
            stop = min(self._at + piece, store.next_seq)
            self._read(self._at, stop)
            self._at = stop
        if self._tracker.tables.facts > _MOST_FACTS:
            self._tracker.forget(store.first_seq)
            self._wide_tasks.forget(store.first_seq)
            gone = bisect_left(self._rows, store.first_seq) - 1
            if gone > 0:
                del self._rows[:gone], self._stamps[:gone]

    def _read(self, start: int, stop: int) -> None:
        """Read the events from row `start` to before row `stop`."""
        store = self._store
        formats = store.decoder.formats
        ids = np.unique(store.format_ids(start, stop)).tolist()
        paths = {number: formats[number].path for number in ids if number in formats}
        sources = {number: known for number, path in paths.items() if (known := self._known.sources.get(path))}
        shows = [number for number, path in paths.items() if self._known.orders.get(path, -1) >= self.coverage.order]
        if not (sources or (shows and self._lacks_proof) or len(paths) < len(ids) or store.boots.starts):
            return
        columns = store.columns(start, stop)
        breaks = [one for one in store.boots.starts if start <= one < stop]
        breaks += (np.flatnonzero(columns.is_text)[:1] + columns.first).tolist()
        steps = list(steps_of(columns, sources, self._machine))
        if self._lacks_proof:
            tables = [columns.tables[number] for number in shows if number in columns.tables]
            steps += [DescriptorStep(int(one.seqs[0]), int(one.stamps[0]), -1) for one in tables]
        for step in sorted(steps, key=_ROW):
            if breaks and step.row >= min(breaks):
                break
            self._take(step)
        if breaks:
            self._end_certainty(min(breaks))
            self._has_ended = True

    @property
    def _lacks_proof(self) -> bool:
        """True if an event is yet to show that all needed probes are armed."""
        return not (len(self._turns) % 2 or self._has_ended)

    def _end_certainty(self, row: int) -> None:
        if len(self._turns) % 2:
            self._turns.append(row)

    def _lose(self, row: int, ts: int) -> None:
        """Forget what holds now: events before a row, which is of a time, are missing."""
        self._tracker.reset(row)
        self._wide_tasks.reset(row)
        self._settles = ts + _SETTLING

    def _take(self, step: DescriptorStep) -> None:
        """Take an event that tells something."""
        row, ts, spans, tracker = step.row, step.ts, self._store.loss_spans.at(step.row), self._tracker
        before = self._stamps[-1] if len(self._stamps) else ts
        if (len(spans.changes) or before > ts) and spans.changes.between(before, ts):
            self._end_certainty(row)
        if spans.may_lack_events(before, ts):
            self._lose(row, ts)
        source = step.source
        if self._lacks_proof and (source is None or source.order >= self.coverage.order):
            self._turns.append(row)
            self._lose(row, ts)
        if ts >= self._settles:
            tracker.tables.settled_from = min(tracker.tables.settled_from, row)
        self._rows.append(row)
        self._stamps.append(ts)
        if source is not None:
            _TELL[source.role](tracker, step)
            self._see_program(step, source.role)

    def _see_program(self, step: DescriptorStep, role: DescriptorRole) -> None:
        """Note which program a task runs after an event that tells something."""
        if role in (DescriptorRole.ENTER, DescriptorRole.LEAVE):
            self._wide_tasks.see(step.row, step.task)
        elif role is DescriptorRole.EXEC:
            self._wide_tasks.execute(step.row, step.task)
        elif role is DescriptorRole.NEW_TASK and "pid" in step.arguments:
            self._wide_tasks.copy(step.row, step.task, step.arguments["pid"])


def _enter(tracker: Tracker, step: DescriptorStep) -> None:
    known_by = frozenset((step.source.order if step.source is not None else -1,))
    tracker.enter(step.row, step.task, CallEntry(step.row, step.call, step.arguments, step.path, known_by))


def _leave(tracker: Tracker, step: DescriptorStep) -> None:
    tracker.leave(step.row, step.task, step.call, step.arguments.get("ret", -1))


def _enter_open(tracker: Tracker, step: DescriptorStep) -> None:
    tracker.enter_open(step.row, step.task, CallEntry(step.row, step.call, step.arguments, step.path))


def _leave_open(tracker: Tracker, step: DescriptorStep) -> None:
    own = CallEntry(step.row, step.call, step.arguments, step.path) if step.path is not None else None
    tracker.leave_open(step.row, step.task, step.arguments.get("ret", -1), own)


def _new_task(tracker: Tracker, step: DescriptorStep) -> None:
    if "pid" in step.arguments:
        tracker.new_task(step.row, step.task, step.arguments["pid"], step.arguments.get("clone_flags", CLONE_FILES))


def _execute(tracker: Tracker, step: DescriptorStep) -> None:
    tracker.execute(step.row, step.task, step.arguments.get("old_pid", step.task))


_TELL: Final[Mapping[DescriptorRole, Callable[[Tracker, DescriptorStep], None]]] = {
    DescriptorRole.ENTER: _enter,
    DescriptorRole.ANY_ENTER: _enter,
    DescriptorRole.LEAVE: _leave,
    DescriptorRole.ANY_LEAVE: _leave,
    DescriptorRole.OPEN_ENTER: _enter_open,
    DescriptorRole.OPEN_LEAVE: _leave_open,
    DescriptorRole.NEW_TASK: _new_task,
    DescriptorRole.EXEC: _execute,
}
_SINGLE_CALLS: Final = "syscalls/"
"""Beginning of the paths of events that 64-bit programs alone have."""
_BY_FUNCTION: Final = (DescriptorRole.OPEN_ENTER, DescriptorRole.OPEN_LEAVE)
_ROW: Final = attrgetter("row")
