"""Descriptor tables of processes over time, as far as they are known: the file of a number at a row, or none.

A fact holds from one row on. What was done by other tasks that share a table, or may share it, may have happened at
any time between the rows before and after it, so what depends on their order is not known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final, NamedTuple

NEVER: Final = 1 << 62


class OpenFile(NamedTuple):
    """File behind a descriptor."""

    name: str
    closes: bool | None = False
    """True if the descriptor is closed when the task starts a program; None: not known."""
    by_function: bool = False
    """True if only a probe on a function of the kernel recorded that it was opened: a 32-bit program may be the
    opener, whose other system calls have no events."""


class _NumberFiles:
    """Files of one number over time."""

    __slots__ = ("files", "rows")

    def __init__(self) -> None:
        self.rows: list[int] = []
        self.files: list[OpenFile | None] = []

    def set(self, row: int, file: OpenFile | None) -> None:
        self.rows.append(row)
        self.files.append(file)

    def before(self, row: int) -> tuple[int, OpenFile | None]:
        """Return the latest fact before a row and its row; -1: there is none."""
        at = bisect_left(self.rows, row) - 1
        return (self.rows[at], self.files[at]) if at >= 0 else (-1, None)

    def forget(self, before: int) -> int:
        """Drop facts that no row from `before` on needs, and return the number of those left."""
        at = bisect_left(self.rows, before) - 1
        if at >= 0:
            keep = at if self.files[at] is not None else at + 1
            del self.rows[:keep], self.files[:keep]
        return len(self.rows)


class Table:
    """Descriptor table of one process, or of tasks of which is not known whether they share one (`is_old`)."""

    def __init__(self, is_old: bool = False) -> None:
        self.is_old = is_old
        """True for a task that existed before its first event: tasks of this kind may share one table."""
        self.is_shared = False
        """True if several tasks have used it."""
        self.blind_from = NEVER
        """Row from which on nothing is known: descriptors change without events."""
        self.slots: dict[int, _NumberFiles] = {}

    def slot(self, fd: int) -> _NumberFiles:
        """Return the slot of a number, made where there is none."""
        return self.slots.setdefault(fd, _NumberFiles())


class _Removals:
    """Removals of descriptors in tables that several tasks may share. Each takes place between its begin and end."""

    def __init__(self) -> None:
        self._begun: dict[int, list[int]] = {}
        """Rows at which removals of a descriptor began."""
        self._ended: dict[int, list[tuple[int, int]]] = {}
        """Row and task of removals of a descriptor that ended."""
        self._begun_ranges: list[tuple[int, int, int]] = []
        """Row, first and last descriptor of removals of several."""
        self._ended_ranges: list[tuple[int, int, int, int]] = []
        """Row, task, first and last descriptor of such as ended."""
        self._going: dict[int, tuple[int, int]] = {}
        """First and last descriptor that a task is removing now."""
        self._tasks: dict[int, set[int]] = {}
        """Tasks that are removing a single descriptor now."""
        self._wide: set[int] = set()
        """Tasks that are removing several."""
        self._known_from = -1
        """Row before which removals were dropped."""

    def add(self, row: int, task: int, first: int, last: int) -> None:
        """Take a removal that begins; it goes on until `finish`."""
        self._going[task] = first, last
        if first == last:
            self._begun.setdefault(first, []).append(row)
            self._tasks.setdefault(first, set()).add(task)
        else:
            self._begun_ranges.append((row, first, last))
            self._wide.add(task)

    def finish(self, row: int, task: int) -> None:
        """Note that a removal of a task is over."""
        if (going := self._going.pop(task, None)) is None:
            return
        if task in self._wide:
            self._wide.discard(task)
            self._ended_ranges.append((row, task, *going))
        else:
            self._tasks[going[0]].discard(task)
            self._ended.setdefault(going[0], []).append((row, task))

    def between(self, fd: int, start: int, stop: int) -> bool:
        """Return whether a removal of a descriptor began after row `start` and before row `stop`."""
        rows = self._begun.get(fd, [])
        at = bisect_left(rows, stop) - 1
        return (at >= 0 and rows[at] > start) or any(
            start < row < stop and first <= fd <= last for row, first, last in self._begun_ranges
        )

    def by_others(self, fd: int, since: int, task: int) -> bool:
        """Return whether another task may have removed a descriptor since a row, up to now."""
        ended = self._ended.get(fd, [])
        return (
            since < self._known_from
            or any(one != task for _, one in ended[bisect_left(ended, (since + 1, -1)) :])
            or bool(self._tasks.get(fd, set()) - {task})
            or any(
                row > since and one != task and first <= fd <= last for row, one, first, last in self._ended_ranges
            )
            or any(one != task and self._going[one][0] <= fd <= self._going[one][1] for one in self._wide)
        )

    def forget(self, before: int) -> None:
        """Drop removals that began before a row."""
        self._known_from = before
        self._begun = {fd: kept for fd, rows in self._begun.items() if (kept := [r for r in rows if r >= before])}
        ends = {fd: [one for one in own if one[0] >= before] for fd, own in self._ended.items()}
        self._ended = {fd: own for fd, own in ends.items() if own}
        self._begun_ranges = [one for one in self._begun_ranges if one[0] >= before]
        self._ended_ranges = [one for one in self._ended_ranges if one[0] >= before]


class Tables:
    """Descriptor tables of all tasks."""

    def __init__(self) -> None:
        self.facts = 0
        """Number of facts taken since the last `forget`."""
        self.settled_from = -1
        """Row from which on no task is in a call any more that began before the last loss; `NEVER`: not yet."""
        self._resets = [-1]
        """Rows from which on nothing of before counts."""
        self._histories: dict[int, tuple[list[int], list[Table]]] = {}
        """Tables of a task with the rows from which on it has them."""
        self._removals = _Removals()
        self._old_blind_from = NEVER
        """Row from which on nothing is known of old tables, one of which may be any other."""

    def reset(self, row: int) -> None:
        """Forget what holds now: events before a row are missing."""
        if row > self._resets[-1]:
            self._resets.append(row)
            self._removals = _Removals()
            self.settled_from = NEVER

    def table(self, task: int, row: int) -> Table:
        """Return the table that a task has at a row, the latest there is; unknown tasks get one of their own."""
        rows, tables = self._histories.setdefault(task, ([], []))
        if not rows or rows[-1] < self._resets[-1]:
            rows.append(max(row - 1, self._resets[-1]))
            tables.append(Table(is_old=True))
        return tables[-1]

    def assign(self, task: int, row: int, table: Table) -> None:
        """Give a task a table from a row on."""
        rows, tables = self._histories.setdefault(task, ([], []))
        rows.append(row)
        tables.append(table)
        self._removals.finish(row, task)
        self.facts += 1

    def remove(self, row: int, task: int, first: int, last: int) -> None:
        """Note that a task begins to remove the descriptors `first` to `last`."""
        table = self.table(task, row)
        for fd in [first] if first == last else [fd for fd in table.slots if first <= fd <= last]:
            if fd in table.slots:
                table.slots[fd].set(row, None)
                self.facts += 1
        if table.is_old or table.is_shared:
            self._removals.add(row, task, first, last)

    def note_change(self, row: int, task: int, fd: int) -> None:
        """Note that a task begins to change a descriptor: what others know of it meanwhile may be of before."""
        table = self.table(task, row)
        if table.is_old or table.is_shared:
            self._removals.add(row, task, fd, fd)

    def finish(self, row: int, task: int) -> None:
        """Note that a task does no system call any more that it began before."""
        self._removals.finish(row, task)

    def install(self, row: int, task: int, fd: int, file: OpenFile | None, since: int, *, replaces: bool) -> None:
        """Note that a task got a descriptor between the rows `since` and `row`.

        `replaces`: the number may have been another file's. Where it was and must not, closing is not seen here.
        """
        table = self.table(task, row)
        own = table.is_old or table.is_shared
        at, before = table.slot(fd).before(row)
        is_held = before is not None and at >= self._resets[-1] and not (own and self._removals.between(fd, at, row))
        if is_held and at <= since and not replaces:
            self.blind(row, task)
        if own and (since < self.settled_from or self._removals.by_others(fd, since, task)):
            file = None
        table.slot(fd).set(row, file)
        self.facts += 1

    def blind(self, row: int, task: int) -> None:
        """Note that the descriptors of a task change without events from a row on."""
        table = self.table(task, row)
        table.blind_from = min(table.blind_from, row)
        if table.is_old:
            self._old_blind_from = min(self._old_blind_from, row)

    def _is_blind(self, table: Table, row: int) -> bool:
        return table.blind_from < row or (table.is_old and self._old_blind_from < row)

    def current(self, row: int, task: int, fd: int, since: int) -> OpenFile | None:
        """Return the file of a descriptor that holds at any time between the rows `since` and `row`."""
        table = self.table(task, row)
        slot = table.slots.get(fd)
        at, file = slot.before(row) if slot is not None else (-1, None)
        if file is None or at < self._resets[-1] or self._is_blind(table, row):
            return None
        if not (table.is_old or table.is_shared):
            return file
        is_sure = at <= since and not self._removals.by_others(fd, since, task)
        return file if is_sure and not (table.is_old and self._removals.between(fd, at, row)) else None

    def copy(self, row: int, task: int, since: int) -> Iterator[tuple[int, OpenFile]]:
        """Yield the descriptors that a copy of a task's table has that is made between the rows `since` and `row`."""
        for fd in self.table(task, row).slots:
            if (file := self.current(row, task, fd, since)) is not None:
                yield fd, file

    def at(self, task: int, fd: int, row: int) -> OpenFile | None:
        """Return the file of a task's descriptor right before a row; None: it is not known."""
        reset = self._resets[bisect_left(self._resets, row + 1) - 1]
        rows, tables = self._histories.get(task, ([], []))
        at = bisect_left(rows, row) - 1
        if at < 0 or rows[at] < reset:
            return None
        table = tables[at]
        slot = table.slots.get(fd)
        if slot is None or self._is_blind(table, row):
            return None
        since, file = slot.before(row)
        if file is None or since < reset or (table.is_old and self._removals.between(fd, since, row)):
            return None
        return file

    def forget(self, before: int, most_tasks: int = 1 << 16) -> None:
        """Drop the facts that no row from `before` on needs; of more tasks than `most_tasks` all."""
        self.facts = 0
        left = {} if len(self._histories) > most_tasks else self._histories
        tables = {id(table): table for _, own in left.values() for table in own}
        for table in tables.values():
            for fd, slot in table.slots.items():
                at, file = slot.before(before)
                if file is not None and table.is_old and self._removals.between(fd, at, before):
                    slot.files[slot.rows.index(at)] = None
            table.slots = {fd: slot for fd, slot in table.slots.items() if slot.forget(before)}
        self._histories = {task: _since(history, before) for task, history in left.items()}
        self._removals.forget(before)


def _since(history: tuple[list[int], list[Table]], before: int) -> tuple[list[int], list[Table]]:
    """Return the part of a task's history that rows from `before` on need."""
    rows, tables = history
    at = max(bisect_left(rows, before) - 1, 0)
    return rows[at:], tables[at:]
