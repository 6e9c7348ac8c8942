"""The thread that asks a far side for a word where its events stay away, so that a frozen line shows."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from kernel.errors import FileRefused, TargetLost
from kernel.remote.silence import BEAT


def keep_asking(ask: Callable[[], object], heard: Callable[[], float], ended: Callable[[], bool]) -> None:
    """Start a thread that asks whenever the far side was not heard for `BEAT` seconds; waits for no answer itself.

    Args:
        ask: sends a question and waits for the answer; TargetLost ends the thread.
        heard: when the far side was last heard, by time.monotonic().
        ended: whether nothing is expected any more, which ends the thread within `BEAT` seconds.
    """

    def run() -> None:
        with contextlib.suppress(TargetLost, FileRefused):
            while not ended():
                left = heard() + BEAT - time.monotonic()
                if left <= 0:
                    ask()
                time.sleep(min(max(left, BEAT / 10), BEAT))

    threading.Thread(target=run, name="heartbeat", daemon=True).start()
