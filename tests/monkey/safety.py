"""Bounds of one session, in a process of its own: a hang or a growing heap ends it, and its parent hears why."""

from __future__ import annotations

import faulthandler
import os
import resource
import signal
from pathlib import Path
from typing import IO

PROCESSOR = 15.0
"""Seconds of a processor, all threads together, that one action may take."""
CLOCK = 120.0
"""Seconds of the clock that one action may take, however busy the machine is."""
MEMORY = 512 << 20
"""Bytes that a session may have beyond what its process began with."""


class Bounds:
    """Bounds of one action; the process ends itself, with the place of every thread, beyond them.

    That works where no exception could: in a loop without end, in a search of `re`, behind a lock.
    """

    def __init__(self, log: IO[str]) -> None:
        self._log = log
        self._most = resident() + MEMORY
        faulthandler.enable(log)
        faulthandler.register(signal.SIGPROF, log, chain=True)
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, resource.getrlimit(resource.RLIMIT_AS)[1]))

    def begin(self, action: object) -> None:
        """Note an action, and give it its time."""
        self._log.write(f"  {action}\n")
        self._log.flush()
        signal.setitimer(signal.ITIMER_PROF, PROCESSOR)
        faulthandler.dump_traceback_later(CLOCK, exit=True, file=self._log)

    def beyond(self) -> str:
        """Return a line on the memory if the process has too much of it, else nothing."""
        found = resident()
        return f"{found >> 20} MB of memory, at most {self._most >> 20}" if found > self._most else ""


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
