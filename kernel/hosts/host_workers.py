"""Workers that bring each host to what is wanted of all: opened, armed, disarmed, left; none waits for another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from kernel.errors import KernelError
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.host import Host, HostState, Opener
from kernel.hosts.host_worker import OUT_OF_REACH, HostGoals, HostWorker

AT_ONCE = 16
"""Hosts that are opened, armed or closed at a time."""


class HostWorkers:
    """See the module; its methods return at once unless they say that they wait."""

    def __init__(
        self, opener: Opener, now: Callable[[], int], changed: Callable[[], None], came: Callable[[], None]
    ) -> None:
        """Take what they have in common.

        Args:
            opener: opens a target.
            now: our clock, nanoseconds since 1970.
            changed: called from any thread when a host may be in another state.
            came: called from any thread when events came.
        """
        self._opener = opener
        self._now = now
        self._changed = changed
        self._came = came
        self._cancel = threading.Event()
        self._wanted = HostGoals(0, ())
        self._of: dict[Host, HostWorker] = {}
        self._workers = ThreadPoolExecutor(AT_ONCE, "host")

    @property
    def orders(self) -> tuple[ArmRequest, ...]:
        """What every host is to have."""
        return self._wanted.orders

    def order(self, order: ArmRequest) -> int:
        """Want one more on each host, but for those that have just that; gives how many will be asked."""
        before = self._wanted
        asked = sum(not (service.over or service.has(order, before)) for service in self._of.values())
        if asked:
            self._wanted = HostGoals(before.era, (*before.orders, order))
            self.serve(self._of)
        return asked

    def want_nothing(self) -> None:
        """Have everything taken away from each host."""
        self._wanted = HostGoals(self._wanted.era + 1, ())
        self.serve(self._of)

    def add(self, host: Host, before: Host | None = None) -> None:
        """Know one more; what the attempt `before` it refused it is not asked for, but where that was everything."""
        self._of[host] = HostWorker.after(self._of[before] if before else None, self._wanted)

    def serve(self, hosts: Iterable[Host]) -> None:
        """Open those that are not, and bring them to what is wanted."""
        for host in tuple(hosts):
            if not self._of[host].over:
                self._workers.submit(self._serve, host, self._of[host])

    def leave(self, host: Host) -> None:
        """Close one in whose place another attempt stands."""
        service = self._of[host]
        service.over = True
        self._workers.submit(self._leave, host, service)

    def has_left(self, host: Host) -> bool:
        """Whether one that was to be left is closed."""
        return self._of[host].closed

    def forget(self, host: Host) -> None:
        """Know it no more."""
        del self._of[host]

    def is_settled(self, host: Host) -> bool:
        """Whether it is open and has what is wanted, or has failed."""
        return host.state in OUT_OF_REACH or (host.state.settled and self._of[host].has_all(self._wanted))

    def cancel(self) -> None:
        """Give up opening."""
        self._cancel.set()

    def close(self, hosts: Iterable[Host]) -> None:
        """Begin nothing more, close all of them and wait; what is not undone on a host is said in its `left`."""
        self._cancel.set()
        self._workers.shutdown(wait=False, cancel_futures=True)
        with ThreadPoolExecutor(AT_ONCE, "close") as closers:
            list(closers.map(_close, hosts))
        self._workers.shutdown()

    def _serve(self, host: Host, service: HostWorker) -> None:
        with service.lock:
            if host.state is HostState.WAITING:
                self._do(lambda: host.open(self._opener, self._now, self._cancel))
                if host.watch is not None:
                    host.watch.on_data = self._came
            while not (service.over or self._cancel.is_set()) and self._step(host, service):
                pass

    def _step(self, host: Host, service: HostWorker) -> bool:
        try:
            return service.step(host, self._wanted)
        finally:
            self._changed()

    def _leave(self, host: Host, service: HostWorker) -> None:
        with service.lock:
            self._do(partial(_close, host))
            service.closed = True

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            self._changed()


def _close(host: Host) -> None:
    try:
        host.close()
    except KernelError as error:
        host.left += (str(error),)
    except Exception as error:  # one host's trouble must not keep the others' probes in their kernels
        host.left += (f"unexpected: {error!r}",)
