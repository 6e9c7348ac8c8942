"""Ping a remote host from a thread while no events arrive, so that a frozen connection is noticed."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable

from kernel.errors import FileRefused, TargetLost
from kernel.remote.silence import PING_INTERVAL


def start_heartbeat(ask: Callable[[], object], heard: Callable[[], float], ended: Callable[[], bool]) -> None:
    """Start a thread that calls `ask` whenever the remote host was silent for `PING_INTERVAL` seconds; return at
    once.

    Args:
        ask: sends a request and waits for the answer; TargetLost ends the thread.
        heard: returns when the last byte of the remote host arrived, by time.monotonic().
        ended: returns True once nothing is expected any more, which ends the thread within `PING_INTERVAL` seconds.
    """

    def run() -> None:
        with contextlib.suppress(TargetLost, FileRefused):
            while not ended():
                wait = heard() + PING_INTERVAL - time.monotonic()
                if wait <= 0:
                    ask()
                time.sleep(min(max(wait, PING_INTERVAL / 10), PING_INTERVAL))

    threading.Thread(target=run, name="heartbeat", daemon=True).start()
