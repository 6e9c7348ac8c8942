"""Limit the seconds for which a remote host may be silent while it owes an answer; shorter once the command is to
end.

A request may take long in the remote kernel (removing the function_graph tracer: half a minute on a slow machine). As
long as bytes of the remote host arrive, only the request is slow, and the connection works.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Final

SILENCE_LIMIT: Final = 120.0
"""Seconds without any byte of a remote host that owes an answer, after which the connection is lost."""
PROGRESS_LIMIT: Final = 600.0
"""Seconds without a byte of the answer, although other bytes arrive, after which the connection is lost."""
ENDING_LIMIT: Final = 10.0
"""Seconds without any byte of a remote host that owes an answer, once the command is to end."""
CHECK_INTERVAL: Final = 1.0
"""Seconds between two checks of the limits."""


class AnswerLimit:
    """Limits of waiting for one remote host; any thread may check or shorten them."""

    def __init__(self) -> None:
        self.ends = float("inf")
        """Time at which the command is to end, by time.monotonic()."""

    def set_deadline(self, ends: float) -> None:
        """Set the end of the command (time.monotonic()), unless an earlier one is set."""
        self.ends = min(self.ends, ends)

    def exhausted(self, now: float, asked: float, progress: float, heard: float) -> float | None:
        """Return the seconds waited once a limit is exceeded; None: the answer may still arrive. Pure.

        Args:
            now: the present time; all arguments are seconds of one clock.
            asked: when the request was sent.
            progress: when the last byte of its answer arrived; not before `asked`.
            heard: when the last byte of any kind arrived from the remote host.
        """
        silent = now - max(asked, heard)
        if silent >= (ENDING_LIMIT if now >= self.ends else SILENCE_LIMIT):
            return silent
        waited = now - max(asked, progress)
        return waited if waited >= PROGRESS_LIMIT else None


def write_with_checks(fd: int, data: bytes, check: Callable[[float], object]) -> None:
    """Write all data to a pipe whose reader may have stopped reading. Raises OSError, and what `check` raises.

    Args:
        fd: file descriptor of the pipe; non-blocking after this.
        data: bytes to write.
        check: called about once a second while the pipe is full, with the time (time.monotonic()) of the last byte
            written; raises to stop waiting.
    """
    os.set_blocking(fd, False)
    rest, last_write = memoryview(data), time.monotonic()
    poller = select.poll()
    poller.register(fd, select.POLLOUT)
    while rest:
        if not poller.poll(1000 * CHECK_INTERVAL):
            check(last_write)
            continue
        try:
            rest, last_write = rest[os.write(fd, rest) :], time.monotonic()
        except BlockingIOError:  # the pipe has less room than poll(2) reports
            check(last_write)
            time.sleep(0.01)
