"""Ping a remote host from a thread while no events arrive, so that a frozen connection is noticed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from kernel.errors import FileRefused, TargetLost
from kernel.remote.silence import BEAT


def keep_asking(ask: Callable[[], object], heard: Callable[[], float], ended: Callable[[], bool]) -> None:
    """Start a thread that calls `ask` whenever the remote host was silent for `BEAT` seconds; return at once.

    Args:
        ask: sends a request and waits for the answer; TargetLost ends the thread.
        heard: returns when the last byte of the remote host arrived, by time.monotonic().
        ended: returns True once nothing is expected any more, which ends the thread within `BEAT` seconds.
    """

    def run() -> None:
        with contextlib.suppress(TargetLost, FileRefused):
            while not ended():
                wait = heard() + BEAT - time.monotonic()
                if wait <= 0:
                    ask()
                time.sleep(min(max(wait, BEAT / 10), BEAT))

    threading.Thread(target=run, name="heartbeat", daemon=True).start()
