"""Reconnect to disconnected hosts, each in a thread of its own, so that none delays another.

`kernel.watch.reconnect` makes the attempts; `kernel.hosts.host.Host.reconnect` applies them to a host.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from kernel.hosts.host import Host
from kernel.watch.reconnect import ReconnectAttempt, can_reconnect


class HostReconnects:
    """Reconnect threads of all hosts (see the module); `begin` belongs to the thread that ticks, other methods to any
    thread.
    """

    def __init__(
        self,
        most: int,
        patience: float | None,
        now: Callable[[], int],
        changed: Callable[[], None],
        on_reconnect: Callable[[Host], None],
    ) -> None:
        """Take the settings of all attempts.

        Args:
            most: number of hosts.
            patience: seconds of attempts for each host; 0: none; None: until they are given up.
            now: local clock, nanoseconds since 1970.
            changed: called from any thread when a host's state has changed.
            on_reconnect: called from a thread with each reconnected host.
        """
        self._patience = patience
        self._now = now
        self._changed = changed
        self._on_reconnect = on_reconnect
        self._workers = ThreadPoolExecutor(max(1, most), "reconnect")

    def begin(self, host: Host) -> bool:
        """Start reconnecting to a host all of whose events have rows; False: no reconnect is possible."""
        if host.watch is None or self._patience == 0 or not can_reconnect(host.watch):
            return False
        host.trying = attempt = ReconnectAttempt(host.watch, patience=self._patience, changed=self._changed)
        self._workers.submit(self._run, host, attempt)
        return True

    def _run(self, host: Host, attempt: ReconnectAttempt) -> None:
        reconnected = False
        try:
            reconnected = host.reconnect(attempt, self._now, self._changed)
        finally:
            self._changed()
        if reconnected:
            with contextlib.suppress(RuntimeError):  # all are being closed: no worker is left
                self._on_reconnect(host)

    def close(self) -> None:
        """Start no more attempts, and wait until those given up have noticed, or have succeeded."""
        self._workers.shutdown()
