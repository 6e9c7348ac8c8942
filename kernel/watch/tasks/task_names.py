"""Name tasks that the kernel's tracer has no name of; polled, bounded in time.

The tracer names a task when that leaves the CPU, and remembers 128 of them (saved_cmdlines_size).
"""

from __future__ import annotations

import re
import time
from collections.abc import Collection, Mapping
from typing import Final

from kernel.errors import FileRefused
from kernel.target import Target

_AT_ONCE: Final = 0.05
"""Seconds that one poll may take: a few tasks on a slow connection."""
_MOST_ENDED: Final = 1 << 12
_LARGEST: Final = 128
"""Bytes of /proc/TID/comm that are read; a worker's are more than its name (wq_worker_comm)."""
_WORK: Final = re.compile(rb"(kworker/(?!R-)[^-+]*)[-+].*", re.DOTALL)
_NAME_BYTES: Final = 15
"""Most bytes of the name of a task (TASK_COMM_LEN, without the NUL)."""


class TaskNameReader:
    """Reader of /proc/TID/comm."""

    def __init__(self, target: Target) -> None:
        self.requested: Collection[int] = ()
        """Threads to look up; set by any thread."""
        self._target = target
        self._ended: dict[int, None] = {}
        """Threads that did not exist when they were looked up: they come last."""
        self._has_same_ids: bool | None = None

    def look(self, pids: Collection[int], known: Mapping[int, str]) -> dict[int, str]:
        """Return the names of some threads that have none yet. Raises TargetLost."""
        pending = [pid for pid in {*self.requested, *pids} if pid > 0 and pid not in known]
        if not pending or not self._target.is_kernel or not self._shares_ids():
            return {}
        found: dict[int, str] = {}
        deadline = time.monotonic() + _AT_ONCE
        for pid in sorted(pending, key=self._ended.__contains__):
            if (name := self._comm(pid)) is not None:
                found[pid] = name.decode("utf-8", "surrogateescape")
            if time.monotonic() >= deadline:
                break
        return found

    def _comm(self, pid: int) -> bytes | None:
        """Return the name of a thread as the tracer has it; None: it does not exist."""
        try:
            name = self._target.read(f"/proc/{pid}/comm", _LARGEST).removesuffix(b"\n")
        except FileRefused:
            self._ended[pid] = None
            if len(self._ended) > _MOST_ENDED:
                del self._ended[next(iter(self._ended))]
            return None
        self._ended.pop(pid, None)
        return _WORK.sub(rb"\1", name)[:_NAME_BYTES]

    def _shares_ids(self) -> bool:
        """Return whether threads in /proc have the ids that events have: not in the PID namespace of a container."""
        if self._has_same_ids is None:
            self._has_same_ids = self._comm(2) == b"kthreadd"
        return self._has_same_ids
