"""Track the cgroup of each task over time, from lookups in /proc and from fork and move events.

`/proc/TID/cgroup` covers tasks that exist at the moment of the lookup. For tasks that exited earlier, the kernel's
own events are used where they are recorded (the preset `containers`): a task begins in the cgroup of its parent,
which `sched_process_fork` names, and `cgroup_attach_task` names the cgroup it moves to. Without either source the
cgroup is unknown.
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from events.record import Record

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from events.store.columns import Ints

FORK: Final = "sched/sched_process_fork"
MOVE: Final = "cgroup/cgroup_attach_task"
CGROUP_EVENTS: Final = frozenset((FORK, MOVE))
"""Paths of the events that report forks and cgroup moves of tasks."""
_ALWAYS: Final = -(1 << 62)
_MOST_TASKS: Final = 1 << 17
"""Maximum number of tasks; beyond it the oldest entries are dropped. Also the maximum number of cgroup paths; beyond
it the paths of new cgroups are unknown."""
_MOST_CHANGES: Final = 256
"""Maximum number of changes stored per thread id; the oldest are dropped, so the cgroup before them is unknown."""
_MAX_ANCESTORS: Final = 256
"""Maximum number of ancestors visited to resolve a cgroup."""
_NO_ROW_LIMIT: Final = 1 << 62
"""Sequence number greater than that of any row."""
_IDLE: Final = 0
"""Thread id of the idle tasks, which are always in the root cgroup."""


class TaskCgroup(NamedTuple):
    """Cgroup of a task, as read from /proc."""

    path: str
    hierarchy: int = 0
    """Hierarchy number as in /proc/cgroups; 0 for cgroup v2."""


def parse_task_cgroup(text: str) -> TaskCgroup | None:
    """Parse `/proc/TID/cgroup`: lines `HIERARCHY:CONTROLLERS:PATH` (kernel/cgroup/cgroup.c, proc_cgroup_show).

    If there are several hierarchies, prefer cgroup v2 where it is in use (path other than `/`), then the one named
    `name=systemd`, then the one with the longest path. Return None if there is no hierarchy.
    """
    best: tuple[tuple[bool, bool, int], TaskCgroup] | None = None
    for line in text.splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if not (number.isascii() and number.isdecimal() and len(number) < 10 and path.startswith("/")):
            continue
        path = path.removesuffix(" (deleted)")
        rank = (number == "0" and path != "/", controllers == "name=systemd", len(path))
        if best is None or rank > best[0]:
            best = rank, TaskCgroup(path, int(number))
    return best[1] if best else None


def matches_cgroup(path: str, text: str) -> bool:
    """Return whether a cgroup path matches a text: an absolute path matches itself and its descendants, other text
    any path that contains it.
    """
    if text.startswith("/"):
        return path == text or path.startswith(f"{text.rstrip('/')}/")
    return text in path


class _CgroupChange(NamedTuple):
    """Cgroup of a task from a point in time on."""

    ts: int
    """Nanoseconds."""
    cgroup: int
    """Index into `Cgroups.paths`; -1: the parent's cgroup at that time."""
    parent: int = -1
    """Thread id of the parent, if the task was forked at that time; else -1."""


class _Boot(NamedTuple):
    """Cgroup changes recorded during one boot; thread ids and time stamps start again at the next boot."""

    first: int
    """Sequence number of the boot's first row in the store."""
    tasks: dict[int, list[_CgroupChange]]
    """Changes by thread id, the oldest first."""


class Cgroups:
    """Cgroup of each task over time. Not thread-safe: used by the thread that reads the store."""

    def __init__(
        self,
        recorded: Mapping[int, TaskCgroup] | None = None,
        most_tasks: int = _MOST_TASKS,
        most_changes: int = _MOST_CHANGES,
    ) -> None:
        """Start with lookups made while the events were recorded, which hold the last result of each thread.

        `most_tasks` limits the number of tasks and of cgroup paths, `most_changes` the number of moves stored per
        task.
        """
        self.paths: list[str] = []
        """Cgroup paths, indexed by the numbers that `numbers_of` returns."""
        self.unknown: set[int] = set()
        """Thread ids whose cgroup was requested but is unknown."""
        self.revision = 0
        """Counter that grows when the answer to an earlier query may have changed."""
        self.forgotten = 0
        """Number of tasks, moves and cgroup paths dropped for lack of room."""
        self._most_tasks = most_tasks
        self._most_changes = most_changes
        self._recorded = recorded or {}
        self._numbers: dict[str, int] = {}
        self._hierarchy = 0
        self._boots = [_Boot(0, {})]
        """Boots in order; the current one is last."""
        self.know(self._recorded, _ALWAYS)

    @property
    def _tasks(self) -> dict[int, list[_CgroupChange]]:
        """Changes of the current boot by thread id."""
        return self._boots[-1].tasks

    # -- updates ---------------------------------------------------------------------------------------------------

    def begin_anew(self, first: int, oldest: int) -> None:
        """Start a new boot: thread ids from row `first` on denote other tasks. Drop boots whose rows all precede
        `oldest`.
        """
        ends = [*(boot.first for boot in self._boots[1:]), first]
        remaining = [boot for boot, end in zip(self._boots, ends, strict=True) if end > oldest]
        self._boots = [*remaining, _Boot(first, {})]
        self.unknown.clear()
        self.know(self._recorded, _ALWAYS)

    def know(self, cgroups: Mapping[int, TaskCgroup], now: int) -> None:
        """Record the result of a lookup made at `now` (nanoseconds of the trace clock) or a little later."""
        for pid, cgroup in cgroups.items():
            if cgroup.path != "/":
                self._hierarchy = cgroup.hierarchy
            self._record_lookup(pid, now, self._number(cgroup.path))

    def _record_lookup(self, pid: int, now: int, cgroup: int) -> None:
        history = self._tasks.get(pid)
        if history is None:
            self._add_task(pid, [_CgroupChange(_ALWAYS, cgroup)])
            revised = pid in self.unknown
        else:
            last = history[-1]
            if (before := self._resolve(last)) == cgroup:
                return
            revised = last.parent >= 0
            if revised:
                # no move event was seen, so the task did not begin in its parent's cgroup (CLONE_INTO_CGROUP)
                history[-1] = last._replace(cgroup=cgroup)
            else:
                self._insert(history, _CgroupChange(max(now, last.ts), cgroup))
            revised = revised or before < 0
        if revised:
            self.unknown.clear()  # tasks with unknown cgroup may be children of this one
            self.revision += 1

    def learn(self, record: Record) -> None:
        """Update the history from one of the `CGROUP_EVENTS` events; fields of
        include/trace/events/{sched,cgroup}.h.
        """
        values = record.values
        if record.event == FORK:
            parent, child = values.get("parent_pid"), values.get("child_pid")
            if isinstance(parent, int) and isinstance(child, int):
                last = self._recorded.get(child)
                self._record_change(child, _CgroupChange(record.ts, self._number(last.path) if last else -1, parent))
        else:  # cgroup_attach_task names the first thread of a multithreaded process
            pid, path = values.get("pid"), values.get("dst_path")
            if isinstance(pid, int) and isinstance(path, str) and values.get("dst_root") == self._hierarchy:
                history = self._tasks.get(pid)
                # the lookup came after this move, so the cgroup found does not hold for the time before
                if history and history[-1].parent >= 0:
                    history[-1] = history[-1]._replace(cgroup=-1)
                self._record_change(pid, _CgroupChange(record.ts, self._number(path)))

    def _record_change(self, pid: int, change: _CgroupChange) -> None:
        history = self._tasks.get(pid)
        if history is None:
            self._add_task(pid, [change])
            return
        self._insert(history, change)

    def _insert(self, history: list[_CgroupChange], change: _CgroupChange) -> None:
        """Insert a change in order of time, after entries with an equal time: a lookup may be newer than an event
        read only now.
        """
        insort(history, change, key=lambda change: change.ts)
        if len(history) > self._most_changes:
            del history[0]
            self.forgotten += 1

    def _add_task(self, pid: int, history: list[_CgroupChange]) -> None:
        self._tasks[pid] = history
        while len(self._tasks) > self._most_tasks:
            del self._tasks[next(iter(self._tasks))]
            self.forgotten += 1

    def _number(self, path: str) -> int:
        """Return the number of a path, adding the path if it is new; -1: the limit of paths is reached."""
        if path not in self._numbers and len(self.paths) >= self._most_tasks:
            self.forgotten += 1
            return -1
        number = self._numbers.setdefault(path, len(self.paths))
        if number == len(self.paths):
            self.paths.append(path)
        return number

    # -- queries ---------------------------------------------------------------------------------------------------

    def path_of(self, pid: int, ts: int, seq: int = _NO_ROW_LIMIT) -> str | None:
        """Return the cgroup path of a thread at time `ts` (nanoseconds) for row `seq` of the store; None: unknown."""
        number = self.number_of(pid, ts, seq)
        return self.paths[number] if number >= 0 else None

    def number_of(self, pid: int, ts: int, seq: int = _NO_ROW_LIMIT, *, ask: bool = True) -> int:
        """Return the number of a thread's cgroup at time `ts` for row `seq`; -1: unknown, which adds it to `unknown`
        if `ask`.
        """
        if pid == _IDLE:
            return self._number("/")
        tasks = self._tasks_at(seq)
        for _ in range(_MAX_ANCESTORS):
            history = tasks.get(pid, [])
            at = bisect_right(history, ts, key=lambda change: change.ts) - 1
            if at < 0:
                break
            if history[at].cgroup >= 0:
                return history[at].cgroup
            pid, ts = history[at].parent, history[at].ts
        if ask and pid >= 0 and len(self.unknown) < self._most_tasks:
            self.unknown.add(pid)
        return -1

    def _tasks_at(self, seq: int) -> dict[int, list[_CgroupChange]]:
        return next((boot.tasks for boot in reversed(self._boots) if boot.first <= seq), {})

    def _resolve(self, change: _CgroupChange) -> int:
        """Return the number of the cgroup that a change leads to; -1: unknown."""
        return change.cgroup if change.cgroup >= 0 else self.number_of(change.parent, change.ts, ask=False)

    def numbers_of(self, pids: NDArray[np.int32], stamps: Ints, seqs: Ints) -> Ints:
        """Return the number of each thread's cgroup at its time stamp, for rows in order; -1: unknown."""
        import numpy as np

        bounds = np.searchsorted(seqs, [boot.first for boot in self._boots[1:]])
        parts = zip(*(np.split(column, bounds) for column in (pids, stamps, seqs)), strict=True)
        return np.concatenate([self._numbers_of(*part) for part in parts])

    def _numbers_of(self, pids: NDArray[np.int32], stamps: Ints, seqs: Ints) -> Ints:
        """Return cgroup numbers for rows of one boot."""
        import numpy as np

        if not len(seqs):
            return seqs
        seq = int(seqs[0])
        tasks = self._tasks_at(seq)
        pid_values, places = np.unique(pids, return_inverse=True)
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(pid_values)))
        found = np.empty(len(pids), np.int64)
        for pid, rows in zip(pid_values.tolist(), np.split(order, ends[:-1]), strict=True):
            changes = [change.ts for change in tasks.get(pid, []) if change.ts != _ALWAYS]
            if not changes:
                found[rows] = self.number_of(pid, int(stamps[rows[-1]]), seq)
                continue
            parts = np.searchsorted(changes, stamps[rows], "right")
            for part in np.unique(parts).tolist():
                own = rows[parts == part]
                found[own] = self.number_of(pid, int(stamps[own[0]]), seq)
        return found


# -- serialization in a recording ------------------------------------------------------------------------------


def pack(cgroups: Mapping[int, TaskCgroup]) -> bytes:
    """Serialize cgroups by thread id: one line `TID HIERARCHY PATH` each."""
    lines = (
        f"{pid} {cgroup.hierarchy} {cgroup.path}\n"
        for pid, cgroup in sorted(cgroups.items())
        if "\n" not in cgroup.path
    )
    return "".join(lines).encode("utf-8", "surrogateescape")


def unpack(data: bytes) -> dict[int, TaskCgroup]:
    """Parse the output of `pack`, of as many tasks as that writes; skip malformed lines."""
    cgroups: dict[int, TaskCgroup] = {}
    for line in data.decode("utf-8", "surrogateescape").split("\n", _MOST_TASKS)[:_MOST_TASKS]:
        pid, _, rest = line.partition(" ")
        hierarchy, _, path = rest.partition(" ")
        if all(word.isascii() and word.isdecimal() and len(word) < 10 for word in (pid, hierarchy)) and path:
            cgroups[int(pid)] = TaskCgroup(path, int(hierarchy))
    return cgroups
