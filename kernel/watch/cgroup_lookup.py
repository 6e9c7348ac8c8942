"""In which cgroups the tasks are that make events: looked up now and then, never for longer than a moment."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Collection, Mapping
from typing import Final, TypeVar

from events.recording.reader import RecordingError
from events.store.cgroups import TaskCgroup, parse_home, unpack
from kernel.errors import FileRefused
from kernel.recording.target import RecordingTarget
from kernel.target import Target

_T = TypeVar("_T")
_AT_ONCE: Final = 0.05
"""Seconds that one look may take: over a slow line that is a few tasks."""
_LARGEST: Final = 1 << 14
"""Bytes of a /proc/TID/cgroup that are read."""
_MOST: Final = 1 << 15
"""Tasks that are remembered, at most."""


class CgroupLookup:
    """Looks at /proc/TID/cgroup for the tasks that have names, those that are new or another program first."""

    def __init__(self, target: Target, most: int = _MOST) -> None:
        """Remember at most so many tasks, those that were looked at last."""
        self.known: dict[int, TaskCgroup] = {}
        """What was found; of a task that has gone the last."""
        self.recorded: Mapping[int, TaskCgroup] = _recorded(target)
        """Of a recording what was known at its end."""
        self.wanted: Collection[int] = ()
        """Threads that are asked for; set by any thread."""
        self._target = target
        self._most = min(most, _MOST)
        self._found: dict[int, TaskCgroup] = {}
        self._names: dict[int, str] = {}
        """What each thread was called when it was looked at."""
        self._alive: dict[int, None] = {}
        """Those that were there then, the one that was looked at first in front."""
        self._lock = threading.Lock()

    def look(self, names: Mapping[int, str]) -> None:
        """Look at some. Raises TargetLost.

        Args:
            names: of the tasks that made events, by thread id.
        """
        if not self._target.is_kernel:
            return
        with self._lock:
            deadline = time.monotonic() + _AT_ONCE
            fresh = [pid for pid in self.wanted if pid not in self._names]
            fresh += [pid for pid, name in names.items() if pid and self._names.get(pid) != name]
            for pid in dict.fromkeys((*fresh, *self._alive)):
                self._look(pid, names.get(pid, self._names.get(pid, "")))
                if time.monotonic() >= deadline:
                    break

    def _look(self, pid: int, name: str) -> None:
        self._alive.pop(pid, None)
        self._remember(self._names, pid, name)
        with contextlib.suppress(FileRefused):  # it has gone
            text = self._target.read(f"/proc/{pid}/cgroup", _LARGEST).decode("utf-8", "surrogateescape")
            if (home := parse_home(text)) is not None:
                self._remember(self._alive, pid, None)
                self._remember(self.known, pid, home)
                self._remember(self._found, pid, home)

    def _remember(self, kept: dict[int, _T], pid: int, what: _T) -> None:
        kept.pop(pid, None)
        kept[pid] = what
        if len(kept) > self._most:
            del kept[next(iter(kept))]

    def begin_anew(self) -> None:
        """The machine was booted: thread ids are those of other tasks now, and what was found is of no use."""
        with self._lock:
            self._found.clear()
            self._names.clear()
            self._alive.clear()

    def take(self) -> dict[int, TaskCgroup]:
        """What was found since this was last asked."""
        with self._lock:
            found, self._found = self._found, {}
        return found


def _recorded(target: Target) -> dict[int, TaskCgroup]:
    if isinstance(target, RecordingTarget):
        with contextlib.suppress(RecordingError):  # damaged: whoever opens its events says so
            return unpack(target.recording.blob("cgroups") or b"")
    return {}
