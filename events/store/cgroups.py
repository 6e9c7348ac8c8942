"""Which cgroup each task was in, and since when: what was looked up, and what events say of forks and moves.

`/proc/TID/cgroup` knows of the tasks that are there at the moment. Of those that were gone too soon, the kernel's own
events tell, where they are recorded (the preset `containers`): a task begins in the cgroup of its parent, of which
`sched_process_fork` has the name, and `cgroup_attach_task` says where to it went. What neither says is not known.
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
TELLING: Final = frozenset((FORK, MOVE))
"""Paths of the events that say what becomes of tasks."""
_ALWAYS: Final = -(1 << 62)
_MOST_TASKS: Final = 1 << 17
"""Of more, what came first is forgotten; of more cgroups, the path of those that come last is not known."""
_MOST_CHANGES: Final = 256
"""Of one thread id; where it was before those is not known any more."""
_FARTHEST: Final = 256
"""Parents of parents that are asked."""
_YOUNGEST: Final = 1 << 62
"""A row that comes behind all."""
_IDLE: Final = 0
"""Thread id of the idle tasks, which are in no cgroup but the first."""


class TaskCgroup(NamedTuple):
    """A task's cgroup, as it was looked up."""

    path: str
    hierarchy: int = 0
    """Its number in /proc/cgroups; 0: that of version 2."""


def parse_home(text: str) -> TaskCgroup | None:
    """Read `/proc/TID/cgroup`: lines `HIERARCHY:CONTROLLERS:PATH` (kernel/cgroup/cgroup.c, proc_cgroup_show).

    Of several hierarchies that of version 2 counts where it is used, else the one that systemd names, else the one
    with the longest path. None: there is none.
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


def is_within(path: str, text: str) -> bool:
    """Whether a cgroup is meant by a text: a path means it and what is inside, another text is a part of the path."""
    if text.startswith("/"):
        return path == text or path.startswith(f"{text.rstrip('/')}/")
    return text in path


class _Since(NamedTuple):
    """Where a task was from a time on."""

    ts: int
    """Nanoseconds."""
    cgroup: int
    """Number of the path; -1: where the parent was then."""
    parent: int = -1
    """Thread id of whom it was forked from at that time; -1: it was not."""


class _Boot(NamedTuple):
    """What was known of the tasks of one boot, whose ids and times begin anew at the next."""

    first: int
    """Sequence number of its first row in the store."""
    tasks: dict[int, list[_Since]]
    """By thread id, the oldest first."""


class Cgroups:
    """Belongs to the thread that reads the store."""

    def __init__(
        self,
        recorded: Mapping[int, TaskCgroup] | None = None,
        most_tasks: int = _MOST_TASKS,
        most_changes: int = _MOST_CHANGES,
    ) -> None:
        """Take what was looked up while the events were recorded, that is of each thread the last.

        At most so many tasks and cgroups are known, and so many moves of one task.
        """
        self.paths: list[str] = []
        """Those that are known, by the numbers that `numbers_of` gives."""
        self.unknown: set[int] = set()
        """Threads of which nothing is known, though it was asked for."""
        self.revision = 0
        """Grows when there is another answer to what was asked before."""
        self.forgotten = 0
        """Tasks, moves and paths of cgroups that there was no room for."""
        self._most_tasks = most_tasks
        self._most_changes = most_changes
        self._recorded = recorded or {}
        self._numbers: dict[str, int] = {}
        self._hierarchy = 0
        self._boots = [_Boot(0, {})]
        """The youngest is the last."""
        self.know(self._recorded, _ALWAYS)

    @property
    def _tasks(self) -> dict[int, list[_Since]]:
        """Of the boot that runs."""
        return self._boots[-1].tasks

    # -- what is known ----------------------------------------------------------------------------------------------

    def begin_anew(self, first: int, oldest: int) -> None:
        """The machine was booted: threads of the row `first` and later are others; rows before `oldest` are gone."""
        ends = [*(boot.first for boot in self._boots[1:]), first]
        kept = [boot for boot, end in zip(self._boots, ends, strict=True) if end > oldest]
        self._boots = [*kept, _Boot(first, {})]
        self.unknown.clear()
        self.know(self._recorded, _ALWAYS)

    def know(self, homes: Mapping[int, TaskCgroup], now: int) -> None:
        """Take what was looked up at a time in nanoseconds, or a little later."""
        for pid, home in homes.items():
            if home.path != "/":
                self._hierarchy = home.hierarchy
            self._look(pid, now, self._number(home.path))

    def _look(self, pid: int, now: int, cgroup: int) -> None:
        known = self._tasks.get(pid)
        if known is None:
            self._keep(pid, [_Since(_ALWAYS, cgroup)])
            again = pid in self.unknown
        else:
            last = known[-1]
            if (before := self._at(last)) == cgroup:
                return
            again = last.parent >= 0
            if again:  # no event told of a move: it did not begin where its parent was (CLONE_INTO_CGROUP)
                known[-1] = last._replace(cgroup=cgroup)
            else:
                self._insert(known, _Since(max(now, last.ts), cgroup))
            again = again or before < 0
        if again:
            self.unknown.clear()  # what was looked for may be known by this one, its parent
            self.revision += 1

    def learn(self, record: Record) -> None:
        """Take what an event says, one of `TELLING`; fields of include/trace/events/{sched,cgroup}.h."""
        values = record.values
        if record.event == FORK:
            parent, child = values.get("parent_pid"), values.get("child_pid")
            if isinstance(parent, int) and isinstance(child, int):
                last = self._recorded.get(child)
                self._happen(child, _Since(record.ts, self._number(last.path) if last else -1, parent))
        else:  # of a process with several threads the first one is named
            pid, path = values.get("pid"), values.get("dst_path")
            if isinstance(pid, int) and isinstance(path, str) and values.get("dst_root") == self._hierarchy:
                known = self._tasks.get(pid)
                if known and known[-1].parent >= 0:  # where it was looked up it came only now
                    known[-1] = known[-1]._replace(cgroup=-1)
                self._happen(pid, _Since(record.ts, self._number(path)))

    def _happen(self, pid: int, since: _Since) -> None:
        known = self._tasks.get(pid)
        if known is None:
            self._keep(pid, [since])
            return
        self._insert(known, since)

    def _insert(self, known: list[_Since], since: _Since) -> None:
        """Behind what is as old: a look may have been younger than what is read only now."""
        insort(known, since, key=lambda one: one.ts)
        if len(known) > self._most_changes:
            del known[0]
            self.forgotten += 1

    def _keep(self, pid: int, known: list[_Since]) -> None:
        self._tasks[pid] = known
        while len(self._tasks) > self._most_tasks:
            del self._tasks[next(iter(self._tasks))]
            self.forgotten += 1

    def _number(self, path: str) -> int:
        """Number of a path; -1: there are too many to know it."""
        if path not in self._numbers and len(self.paths) >= self._most_tasks:
            self.forgotten += 1
            return -1
        number = self._numbers.setdefault(path, len(self.paths))
        if number == len(self.paths):
            self.paths.append(path)
        return number

    # -- what is asked ----------------------------------------------------------------------------------------------

    def path_of(self, pid: int, ts: int, seq: int = _YOUNGEST) -> str | None:
        """The cgroup of a thread at a time in nanoseconds, for a row of the store; None: not known."""
        number = self.number_of(pid, ts, seq)
        return self.paths[number] if number >= 0 else None

    def number_of(self, pid: int, ts: int, seq: int = _YOUNGEST, *, ask: bool = True) -> int:
        """Number of the cgroup of a thread at a time, for a row; -1: not known, which is noted if `ask`."""
        if pid == _IDLE:
            return self._number("/")
        tasks = self._tasks_at(seq)
        for _ in range(_FARTHEST):
            known = tasks.get(pid, [])
            at = bisect_right(known, ts, key=lambda one: one.ts) - 1
            if at < 0:
                break
            if known[at].cgroup >= 0:
                return known[at].cgroup
            pid, ts = known[at].parent, known[at].ts
        if ask and pid >= 0 and len(self.unknown) < self._most_tasks:
            self.unknown.add(pid)
        return -1

    def _tasks_at(self, seq: int) -> dict[int, list[_Since]]:
        return next((boot.tasks for boot in reversed(self._boots) if boot.first <= seq), {})

    def _at(self, since: _Since) -> int:
        """Number of the cgroup; -1: not known."""
        return since.cgroup if since.cgroup >= 0 else self.number_of(since.parent, since.ts, ask=False)

    def numbers_of(self, pids: NDArray[np.int32], stamps: Ints, seqs: Ints) -> Ints:
        """Number of the cgroup of each thread at its time, for rows in order; -1: not known."""
        import numpy as np

        bounds = np.searchsorted(seqs, [boot.first for boot in self._boots[1:]])
        parts = zip(*(np.split(column, bounds) for column in (pids, stamps, seqs)), strict=True)
        return np.concatenate([self._numbers_of(*part) for part in parts])

    def _numbers_of(self, pids: NDArray[np.int32], stamps: Ints, seqs: Ints) -> Ints:
        """Of rows of one boot."""
        import numpy as np

        if not len(seqs):
            return seqs
        seq = int(seqs[0])
        known = self._tasks_at(seq)
        tasks, places = np.unique(pids, return_inverse=True)
        order = np.argsort(places, kind="stable")
        ends = np.cumsum(np.bincount(places, minlength=len(tasks)))
        found = np.empty(len(pids), np.int64)
        for pid, rows in zip(tasks.tolist(), np.split(order, ends[:-1]), strict=True):
            changes = [since.ts for since in known.get(pid, []) if since.ts != _ALWAYS]
            if not changes:
                found[rows] = self.number_of(pid, int(stamps[rows[-1]]), seq)
                continue
            parts = np.searchsorted(changes, stamps[rows], "right")
            for part in np.unique(parts).tolist():
                own = rows[parts == part]
                found[own] = self.number_of(pid, int(stamps[own[0]]), seq)
        return found


# -- in a recording ----------------------------------------------------------------------------------------------


def pack(homes: Mapping[int, TaskCgroup]) -> bytes:
    """`TID HIERARCHY PATH` a line."""
    lines = (f"{pid} {home.hierarchy} {home.path}\n" for pid, home in sorted(homes.items()) if "\n" not in home.path)
    return "".join(lines).encode("utf-8", "surrogateescape")


def unpack(data: bytes) -> dict[int, TaskCgroup]:
    """What `pack` made; lines that are none are left out."""
    homes = {}
    for line in data.decode("utf-8", "surrogateescape").split("\n"):
        pid, _, rest = line.partition(" ")
        hierarchy, _, path = rest.partition(" ")
        if all(one.isascii() and one.isdecimal() and len(one) < 10 for one in (pid, hierarchy)) and path:
            homes[int(pid)] = TaskCgroup(path, int(hierarchy))
    return homes
