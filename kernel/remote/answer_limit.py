"""Seconds for which a far side may be silent while it owes an answer: fewer once the command that asks is to end.

A request may take long in the kernel (to take the function_graph tracer away, half a minute on a slow machine). As
long as the far side is heard, it is the request that is slow, and the connection is well.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Final

USUAL: Final = 120.0
"""Seconds without any byte of a far side that owes an answer, after which it is lost."""
LONGEST: Final = 600.0
"""Seconds without a byte of an answer after which a far side is lost that is heard all the time."""
AT_THE_END: Final = 10.0
"""Seconds without any byte of a far side that owes an answer, where the command is to end."""
LOOK: Final = 1.0
"""Seconds between two looks at the time."""


class AnswerLimit:
    """Patience with one far side; any thread may ask, and shorten it."""

    def __init__(self) -> None:
        self.ends = float("inf")
        """When the command is to end, by time.monotonic()."""

    def hurry(self, ends: float) -> None:
        """Have the command end at a time of time.monotonic(), unless it is to end earlier."""
        self.ends = min(self.ends, ends)

    def exhausted(self, now: float, asked: float, progress: float, heard: float) -> float | None:
        """Return the seconds for which an answer was waited for in vain; None: it may still come. Pure.

        Args:
            now: this and the others are times of one clock, in seconds.
            asked: when the question was sent.
            progress: when the last byte of its answer came; not before `asked`.
            heard: when the far side was last heard at all.
        """
        silent = now - max(asked, heard)
        if silent >= (AT_THE_END if now >= self.ends else USUAL):
            return silent
        waited = now - max(asked, progress)
        return waited if waited >= LONGEST else None


def write_patiently(fd: int, data: bytes, check: Callable[[float], object]) -> None:
    """Write all of it to a pipe that somebody may have ceased to read. Raises OSError, and what `check` raises.

    Args:
        fd: of the pipe; it does not block any more after this.
        data: what is written.
        check: is called about once a second as long as the pipe takes nothing, with the time of its last byte by
            time.monotonic(); raises where that is long enough.
    """
    os.set_blocking(fd, False)
    left, last = memoryview(data), time.monotonic()
    room = select.poll()
    room.register(fd, select.POLLOUT)
    while left:
        if not room.poll(1000 * LOOK):
            check(last)
            continue
        try:
            left, last = left[os.write(fd, left) :], time.monotonic()
        except BlockingIOError:  # it has less room than poll(2) means
            check(last)
            time.sleep(0.01)
