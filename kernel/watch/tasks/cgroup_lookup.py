"""Resolve the cgroup of each task that produced events; polled, bounded in time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Collection, Mapping
from typing import Final, TypeVar

from events.recording.reader import RecordingError
from events.store.cgroups import TaskCgroup, parse_task_cgroup, unpack
from kernel.errors import FileRefused
from kernel.target import Target

_T = TypeVar("_T")
_AT_ONCE: Final = 0.05
"""Seconds that one poll may take: a few tasks on a slow connection."""
_LARGEST: Final = 1 << 14
"""Bytes of /proc/TID/cgroup that are read."""
_MOST: Final = 1 << 15
"""Most tasks in memory."""


class CgroupLookup:
    """Reader of /proc/TID/cgroup for tasks with names; new tasks and those that executed another program come
    first.
    """

    def __init__(self, target: Target, most: int = _MOST) -> None:
        """Remember at most `most` tasks, the most recently read ones."""
        self.cgroups: dict[int, TaskCgroup] = {}
        """Cgroup of each task; of a finished task the last one."""
        self.recorded: Mapping[int, TaskCgroup] = _recorded(target)
        """Cgroups at the end of a recording."""
        self.requested_tasks: Collection[int] = ()
        """Threads to look up beside those with names; set by any thread."""
        self._target = target
        self._most = min(most, _MOST)
        self._news: dict[int, TaskCgroup] = {}
        self._names: dict[int, str] = {}
        """Name of each thread when it was looked up."""
        self._alive: dict[int, None] = {}
        """Threads that existed then, the earliest looked up first."""
        self._lock = threading.Lock()

    def look(self, names: Mapping[int, str]) -> None:
        """Look up some tasks. Raises TargetLost.

        Args:
            names: names of the tasks that produced events, by thread id.
        """
        if not self._target.is_kernel:
            return
        with self._lock:
            deadline = time.monotonic() + _AT_ONCE
            pending = [pid for pid in self.requested_tasks if pid not in self._names]
            pending += [pid for pid, name in names.items() if pid and self._names.get(pid) != name]
            for pid in dict.fromkeys((*pending, *self._alive)):
                self._look(pid, names.get(pid, self._names.get(pid, "")))
                if time.monotonic() >= deadline:
                    break

    def _look(self, pid: int, name: str) -> None:
        self._alive.pop(pid, None)
        self._remember(self._names, pid, name)
        with contextlib.suppress(FileRefused):  # the task has ended
            text = self._target.read(f"/proc/{pid}/cgroup", _LARGEST).decode("utf-8", "surrogateescape")
            if (cgroup := parse_task_cgroup(text)) is not None:
                self._remember(self._alive, pid, None)
                self._remember(self.cgroups, pid, cgroup)
                self._remember(self._news, pid, cgroup)

    def _remember(self, table: dict[int, _T], pid: int, value: _T) -> None:
        table.pop(pid, None)
        table[pid] = value
        if len(table) > self._most:
            del table[next(iter(table))]

    def begin_anew(self) -> None:
        """Forget all lookups after a reboot: thread ids belong to other tasks now."""
        with self._lock:
            self._news.clear()
            self._names.clear()
            self._alive.clear()

    def take(self) -> dict[int, TaskCgroup]:
        """Return the cgroups found since the last call."""
        with self._lock:
            news, self._news = self._news, {}
        return news


def _recorded(target: Target) -> dict[int, TaskCgroup]:
    if target.recording is not None:
        with contextlib.suppress(RecordingError):  # damaged: reported when its events are opened
            return unpack(target.recording.blob("cgroups") or b"")
    return {}
