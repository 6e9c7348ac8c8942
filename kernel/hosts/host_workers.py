"""Run workers that bring each host to the common goals: opened, armed, disarmed, closed; independent of each
other.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kernel.errors import KernelError
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.host import Host, HostState, Opener
from kernel.hosts.host_worker import UNREACHABLE_STATES, HostGoals, HostWorker

AT_ONCE = 16
"""Number of hosts that are opened, armed or closed at a time."""


class HostWorkers:
    """Worker threads of all hosts (see the module); methods return at once unless they say that they wait."""

    def __init__(
        self, opener: Opener, now: Callable[[], int], changed: Callable[[], None], on_data: Callable[[], None]
    ) -> None:
        """Take the settings of all workers.

        Args:
            opener: opens a target.
            now: local clock, nanoseconds since 1970.
            changed: called from any thread when a host's state may have changed.
            on_data: called from any thread when events arrived.
        """
        self._opener = opener
        self._now = now
        self._changed = changed
        self._on_data = on_data
        self._cancel = threading.Event()
        self._goals = HostGoals(0, ())
        self._by_host: dict[Host, HostWorker] = {}
        self._workers = ThreadPoolExecutor(AT_ONCE, "host")

    @property
    def orders(self) -> tuple[ArmRequest, ...]:
        """Requests to be armed on every host."""
        return self._goals.orders

    def order(self, order: ArmRequest) -> int:
        """Add a request for each host, except for those with an equal one; return the number of hosts that will be
        asked.
        """
        goals = self._goals
        count = sum(not (worker.over or worker.has(order, goals)) for worker in self._by_host.values())
        if count:
            self._goals = HostGoals(goals.era, (*goals.orders, order))
            self.serve(self._by_host)
        return count

    def want_nothing(self) -> None:
        """Disarm everything on each host."""
        self._goals = HostGoals(self._goals.era + 1, ())
        self.serve(self._by_host)

    def add(self, host: Host, before: Host | None = None) -> None:
        """Add a host; requests that the attempt `before` it rejected are left out, unless all were rejected."""
        self._by_host[host] = HostWorker.after(self._by_host[before] if before else None, self._goals)

    def serve(self, hosts: Iterable[Host]) -> None:
        """Open the hosts that are not open, and bring them to the goals."""
        for host in tuple(hosts):
            if not self._by_host[host].over:
                self._workers.submit(self._serve, host, self._by_host[host])

    def leave(self, host: Host) -> None:
        """Close a host that is replaced by another attempt."""
        worker = self._by_host[host]
        worker.over = True
        self._workers.submit(self._leave, host, worker)

    def has_left(self, host: Host) -> bool:
        """Return whether a replaced host is closed."""
        return self._by_host[host].closed

    def forget(self, host: Host) -> None:
        """Remove a host."""
        del self._by_host[host]

    def is_settled(self, host: Host) -> bool:
        """Return whether a host is open and has all requests, or has failed."""
        return host.state in UNREACHABLE_STATES or (host.state.settled and self._by_host[host].has_all(self._goals))

    def cancel(self) -> None:
        """Give up opening hosts."""
        self._cancel.set()

    def close(self, hosts: Iterable[Host]) -> None:
        """Start no more work, close all hosts and wait; undo failures of a host are listed in its `undo_errors`."""
        self._cancel.set()
        self._workers.shutdown(wait=False, cancel_futures=True)
        with ThreadPoolExecutor(AT_ONCE, "close") as closers:
            list(closers.map(_close, hosts))
        self._workers.shutdown()

    def _serve(self, host: Host, worker: HostWorker) -> None:
        with worker.lock:
            if host.state is HostState.WAITING:
                self._do(lambda: host.open(self._opener, self._now, self._cancel))
                if host.watch is not None:
                    host.watch.queue.on_data = self._on_data
            while not (worker.over or self._cancel.is_set()) and self._step(host, worker):
                pass

    def _step(self, host: Host, worker: HostWorker) -> bool:
        try:
            return worker.step(host, self._goals)
        finally:
            self._changed()

    def _leave(self, host: Host, worker: HostWorker) -> None:
        with worker.lock:
            self._do(partial(_close, host))
            worker.closed = True

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            self._changed()


def _close(host: Host) -> None:
    try:
        host.close()
    except KernelError as error:
        host.undo_errors += (str(error),)
    except Exception as error:  # an error of one host must not leave the others' probes in their kernels
        host.undo_errors += (f"unexpected: {error!r}",)
