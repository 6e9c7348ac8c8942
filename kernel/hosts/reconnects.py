"""Hosts whose lines were cut are tried again, each in a thread of its own: none holds up another.

How that is done is `kernel.watch.reconnect`'s; what it does to a host is `kernel.hosts.host.Host.come_back`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from kernel.hosts.host import Host
from kernel.watch.reconnect import ReconnectAttempt, can_come_back


class HostReconnects:
    """See the module; `begin` belongs to the thread that ticks, the others to any."""

    def __init__(
        self,
        most: int,
        patience: float | None,
        now: Callable[[], int],
        changed: Callable[[], None],
        back: Callable[[Host], None],
    ) -> None:
        """Take what they have in common.

        Args:
            most: hosts.
            patience: seconds for which each is tried; 0: not at all; None: until somebody gives it up.
            now: our clock, nanoseconds since 1970.
            changed: called from any thread when a host is in another state.
            back: called from a thread with each that came back.
        """
        self._patience = patience
        self._now = now
        self._changed = changed
        self._back = back
        self._workers = ThreadPoolExecutor(max(1, most), "line")

    def begin(self, host: Host) -> bool:
        """Try to bring back a host of which all that came has its row; False: that can't be."""
        if host.watch is None or self._patience == 0 or not can_come_back(host.watch):
            return False
        host.trying = trying = ReconnectAttempt(host.watch, patience=self._patience, changed=self._changed)
        self._workers.submit(self._run, host, trying)
        return True

    def _run(self, host: Host, trying: ReconnectAttempt) -> None:
        came = False
        try:
            came = host.come_back(trying, self._now, self._changed)
        finally:
            self._changed()
        if came:
            with contextlib.suppress(RuntimeError):  # all are being closed: nobody serves it any more
                self._back(host)

    def close(self) -> None:
        """Begin no more, and wait until those that were given up have noticed, or have come back."""
        self._workers.shutdown()
