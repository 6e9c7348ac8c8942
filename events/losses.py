"""Represent losses of a CPU's ring buffer, which have rows of their own among the calls, and the newest task after a
loss of any kind.

No entry of a task created after a loss can be missing. The kernel gives each new task the next free id
(kernel/pid.c:alloc_pid), and begins anew with low ones only after the highest allowed: if no task has a higher id
than the newest one, higher ids seen later are those of younger tasks.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from foreign.count_text import counted
from foreign.text import whole_number

LOSS_EVENT: Final = "events_lost"
"""Event name displayed for a loss; no real event has it."""
UNKNOWN_TASK: Final = (1 << 63) - 1
"""Id that no task exceeds: every task may be older than a loss."""


class Loss(NamedTuple):
    """Loss of events of one CPU that were overwritten before they were read."""

    ts: int
    """Time of the first event after the loss on that CPU, in nanoseconds of the trace clock."""
    cpu: int
    number: int
    """Number of lost events; -1: not reported by the kernel."""
    seq: int
    """Next row of the store when the loss was read: earlier rows precede it."""

    @property
    def short(self) -> str:
        """Short text in place of a task name: `12 lost`."""
        return f"{self.number:,} lost" if self.number >= 0 else "some lost"

    @property
    def text(self) -> str:
        """Description for people, in a single line."""
        many = counted(self.number, "event was", "events were") if self.number >= 0 else "events were"
        return f"{many} lost on CPU {self.cpu}: calls around here may be incomplete, or missing"


class RingLosses:
    """Losses of a store, as long as later rows are retained; numbered in the order read."""

    def __init__(self) -> None:
        self._first = 0
        self._losses: deque[Loss] = deque()

    def add(self, loss: Loss) -> None:
        """Append a loss."""
        self._losses.append(loss)

    @property
    def next(self) -> int:
        """Number that the next loss will get."""
        return self._first + len(self._losses)

    def after(self, number: int) -> Iterator[Loss]:
        """Yield the losses from a number on."""
        at = max(number - self._first, 0)
        return (self._losses[place] for place in range(at, len(self._losses)))

    def forget(self, before: int) -> None:
        """Drop the losses read before a row of the store, whose events have been dropped."""
        while self._losses and self._losses[0].seq < before:
            self._losses.popleft()
            self._first += 1


class NewestTask:
    """Newest task id of a kernel, read after its place among the events was taken; any thread may set and read it."""

    __slots__ = ("id",)

    def __init__(self) -> None:
        self.id = UNKNOWN_TASK
        """Thread id; `UNKNOWN_TASK` until it is read."""


def newest_task(loadavg: str, stat: str, possible: str, listed: Iterable[str]) -> int:
    """Return the newest task id if no task has a higher one, else `UNKNOWN_TASK`.

    Args:
        loadavg: content of /proc/loadavg of the initial PID name space, read last; its last field is that id.
        stat: content of /proc/stat. If more tasks were created since boot than there are ids up to that one, ids have
            begun anew.
        possible: content of /sys/devices/system/cpu/possible: each CPU's idle task was created without an id.
        listed: names in /proc, of processes and others: tasks may have ids of choice (clone3, ns_last_pid).
    """
    newest = whole_number(loadavg.rpartition(" ")[2].strip())
    created = whole_number(stat.partition("\nprocesses ")[2].partition("\n")[0])
    last_cpu = whole_number(re.split("[-,]", possible.strip())[-1])
    if newest is None or created is None or last_cpu is None:
        return UNKNOWN_TASK
    highest = max(filter(None, map(whole_number, listed)), default=0)
    return newest if created <= newest + last_cpu + 1 and highest <= newest < UNKNOWN_TASK else UNKNOWN_TASK
