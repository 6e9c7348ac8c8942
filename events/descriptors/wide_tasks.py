"""Tell which tasks run 64-bit programs: a 32-bit program has no events of single system calls (`syscalls/…`).

Its calls have numbers of their own in those of all calls (`raw_syscalls`): it closes and copies descriptors unseen.
"""

from __future__ import annotations

from bisect import bisect_left

_MOST_TASKS = 1 << 16
"""Tasks after which those are forgotten that did nothing for long."""


class WideTasks:
    """Tasks whose program was seen to be of 64 bits, over time."""

    def __init__(self) -> None:
        self._changes: dict[int, tuple[list[int], list[bool]]] = {}
        """Rows by task from which on it was seen to be so, or is not known any more."""
        self._resets = [-1]
        """Rows from which on nothing of before counts."""

    def reset(self, row: int) -> None:
        """Forget what holds now: events before a row are missing."""
        self._resets.append(row)

    def see(self, row: int, task: int) -> None:
        """Take an event of a single system call of a task."""
        self._set(row, task, is_wide=True)

    def execute(self, row: int, task: int) -> None:
        """Take the start of a program, which may be of either kind."""
        self._set(row, task, is_wide=False)

    def copy(self, row: int, parent: int, child: int) -> None:
        """Take the start of a task, which runs the program of its parent."""
        self._set(row, child, is_wide=self.before(row, parent))

    def before(self, row: int, task: int) -> bool:
        """Return whether a task was seen to run a 64-bit program right before a row."""
        rows, states = self._changes.get(task, ([], []))
        at, reset = bisect_left(rows, row) - 1, self._resets[bisect_left(self._resets, row + 1) - 1]
        return at >= 0 and states[at] and rows[at] >= reset

    def forget(self, before: int) -> None:
        """Drop what no row from `before` on needs."""
        if len(self._changes) > _MOST_TASKS:
            self._changes = {task: one for task, one in self._changes.items() if one[0][-1] >= before}
        for rows, states in self._changes.values():
            at = max(bisect_left(rows, before) - 1, 0)
            del rows[:at], states[:at]

    def _set(self, row: int, task: int, *, is_wide: bool) -> None:
        rows, states = self._changes.setdefault(task, ([], []))
        if not states or states[-1] != is_wide or rows[-1] < self._resets[-1]:
            rows.append(row)
            states.append(is_wide)
