"""Operate several hosts in parallel: open and arm them, merge their events into one list, undo everything at the end.

Each host is operated by a worker of its own (`kernel.hosts.host_workers`); a failed host reports its reason and the
others go on. `tick` belongs to the one thread that reads the events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from events.store.host_merge import ROWS_BYTES, WINDOW_NS
from kernel.connection.open_target import Progress
from kernel.connection.planner import Planner
from kernel.errors import KernelError
from kernel.guards.limits import Limits
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.host import Host, HostState, Opener
from kernel.hosts.host_workers import HostWorkers
from kernel.hosts.merged_events import MergedEvents
from kernel.hosts.names import host_names
from kernel.hosts.opening import open_host
from kernel.hosts.reconnects import HostReconnects
from kernel.watch.clocks.readings import local_clock
from kernel.watch.reconnect import PATIENCE, ReconnectAttempt, can_reconnect, drop_silent
from kernel.watch.watch import Watch
from probes.plans.plan import Via


class Fleet:
    """Group of hosts (see the module). Always close it."""

    def __init__(
        self,
        specs: Sequence[str],
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        window: int = WINDOW_NS,
        patience: float | None = None,
        opener: Opener = open_host,
        bounds: RowBounds = SCREEN,
        via: Via = Via.AUTO,
    ) -> None:
        """Take `--target` values; opens no host yet.

        Args:
            specs: one for each host; a repeated one is opened twice.
            limits: highest event rates of a probe, on each host.
            window: nanoseconds that an event waits for older ones of other hosts.
            patience: seconds of reconnect attempts for a disconnected host; 0: none; None: until they are given up.
            opener: opens a target.
            bounds: memory bounds for the events of all hosts.
            via: means by which probes on functions are recorded.
        """
        self.clock = local_clock()
        """Local clock, in nanoseconds since 1970."""
        self.events = MergedEvents(window, min(ROWS_BYTES, bounds.rows))
        self.on_change: Callable[[], None] = lambda: None
        """Called from any thread when events are waiting for `tick`, or a host's state has changed."""
        self.wants_tables = False
        """True: `look` also reads the tables of hist triggers."""
        self._limits = limits
        self._bounds = bounds.shared(max(1, len(specs)))
        self._patience = PATIENCE if patience is None else patience
        """Seconds of retries for a connection that is lost while a host is opened."""
        self._changed = threading.Condition()
        self._workers = HostWorkers(_by_means(opener, via), self.clock, self._tell, self._tell_of_data)
        self._looks: dict[Host, Future[None]] = {}
        """Last look at each host."""
        self._replaced: list[Host] = []
        """Hosts replaced by another attempt."""
        self.hosts: tuple[Host, ...] = tuple(
            self._new_host(spec, name) for spec, name in zip(specs, host_names(specs), strict=True)
        )
        # One thread for each host: a host that hangs delays no other.
        self._lookers = ThreadPoolExecutor(max(1, len(specs)), "look")
        self._reconnects = HostReconnects(
            len(specs), patience, self.clock, self._tell, lambda host: self._workers.serve([host])
        )
        self._ending = False
        """True: no reconnect any more."""

    # -- operations on all hosts, without waiting --------------------------------------------------------------------

    def open(self) -> None:
        """Start opening all hosts; return at once."""
        self._workers.serve(self.hosts)

    def arm(self, request: ArmRequest) -> int:
        """Arm a request on each open host, and on the others once they are open; return at once.

        Hosts that already have an equal request are skipped; returns the number of the others.
        """
        return self._workers.order(request)

    def disarm(self) -> None:
        """Disarm everything on all hosts, which stay open; return at once."""
        self._workers.want_nothing()

    def retry(self) -> int:
        """Open failed hosts again, with all requests; return their number at once.

        Requests that a host rejected are left out for that host, unless it rejected all of them.
        """
        failed = [host for host in self.hosts if host.state.failed]
        for old in failed:
            self._workers.leave(old)
        self._replaced += failed
        self.hosts = tuple(
            self._new_host(host.spec, host.name, host) if host in failed else host for host in self.hosts
        )
        self._workers.serve(self.hosts)
        return len(failed)

    def try_now(self) -> None:
        """Reconnect now: do not wait for the next attempt on disconnected hosts, nor for silent hosts."""
        for host in self.hosts:
            if host.watch is not None:
                drop_silent(host.watch)
        for attempt in self._trying():
            attempt.try_now()

    def give_up(self) -> None:
        """Give up reconnecting to disconnected hosts."""
        for attempt in self._trying():
            attempt.give_up()

    def look(self) -> None:
        """Start reading the losses, task names and clock of every host; return at once.

        A host that has not answered the last look is skipped.
        """
        for host in self.hosts:
            last = self._looks.get(host)
            if last is None or last.done():
                self._looks[host] = self._lookers.submit(self._look, host)

    def cancel(self) -> None:
        """Give up opening hosts."""
        self._workers.cancel()

    # -- state of the hosts ------------------------------------------------------------------------------------------

    @property
    def all_hosts(self) -> tuple[Host, ...]:
        """Hosts, after the replaced ones that still have rows or effects."""
        return (*self._replaced, *self.hosts)

    @property
    def title(self) -> str:
        """Short description of all requests; empty: there is none."""
        return ", ".join(dict.fromkeys(request.title for request in self._workers.orders))

    @property
    def settled(self) -> bool:
        """True if each host is open and has all requests, or has failed."""
        return all(map(self._workers.is_settled, self.hosts))

    @property
    def armed(self) -> bool:
        """True if events may arrive from a host."""
        return any(host.state in (HostState.ARMED, HostState.CUT) for host in self.hosts)

    def wait(self, timeout: float) -> bool:
        """Wait until `settled`; return whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self.settled, timeout)

    # -- events, for the one thread that reads them ------------------------------------------------------------------

    def tick(self, budget: float = 0.0, *, collecting: bool = True) -> int:
        """Decode new events and append rows for those in final order; return the number of new rows.

        Args:
            budget: seconds of CPU time for each host, beyond a first part of its new events.
            collecting: False: leave events in the hosts' stores, as many as have room there.
        """
        for host in self.all_hosts:
            self._tick_host(host, budget, collecting)
        new = self.events.release(self.clock())
        self._drop_replaced()
        return new

    def finish(self) -> int:
        """Read the present content of all buffers, end reading, and append rows for all events; return their number.

        Disconnected hosts are given up; one that is reconnected just then delivers what it has recorded since.
        """
        self._ending = True
        watches = [host.watch for host in self.hosts if host.watch is not None]
        for watch in self._give_up_reconnecting():
            watch.set_deadline(time.monotonic())
        self._await_silent(watches)
        self._end_reading(watches)
        self._reconnects.close()
        self._end_reading(watches)  # of sessions that began meanwhile
        new = 0
        while True:
            new += self.tick(0.1)
            if not any(watch.intake.has_backlog for watch in watches):
                break
        for host in self.hosts:
            if host.watch is not None and host.watch.store is not None:
                host.watch.store.flush()
                self.events.collect(host, self.clock(), last=True)
        return new + self.events.release(None)

    def _give_up_reconnecting(self) -> list[Watch]:
        """Give up reconnecting; return the watches of all hosts that were being reconnected."""
        tried = self._trying()
        self.give_up()
        return [trying.watch for trying in tried]

    def _await_silent(self, watches: Sequence[Watch]) -> None:
        """Wait until the silent hosts answer, or their connections are lost: else their events would be missing."""
        silent = [watch for watch in watches if watch.overdue_seconds is not None]
        for watch in silent:
            watch.set_deadline(time.monotonic())
        # Threads apart from `_lookers`: a look in progress may wait for that very answer.
        with ThreadPoolExecutor(max(1, len(silent)), "silent") as askers:
            wait([askers.submit(watch.losses.final) for watch in silent])

    def _end_reading(self, watches: Sequence[Watch]) -> None:
        """Read the present content of all hosts' buffers, side by side, then end reading."""
        wait([self._lookers.submit(watch.end_reading) for watch in watches])

    def _tick_host(self, host: Host, budget: float, collecting: bool) -> None:
        watch = host.watch
        if watch is None:
            return
        if host.names is not None:
            names, host.names = host.names, None
            watch.intake.know_names(names)
        watch.tick(budget)
        if collecting:
            self._collect(host)
        error = watch.connection_error if self._ending else watch.error
        if error is not None and host.trying is None:
            self._end_session(host, watch, error)
            if collecting:
                self._collect(host)

    def _end_session(self, host: Host, watch: Watch, error: KernelError) -> None:
        """Start reconnecting to a host whose session has ended, or mark it lost, behind all its events."""
        if host.state not in (HostState.LOST, HostState.CLOSED):
            reconnectable = not self._ending and host in self.hosts and can_reconnect(watch)
            if reconnectable and not watch.ended:
                return  # events received before get their rows first, by the previous clock
            if reconnectable and self._reconnects.begin(host):
                return
            host.mark_lost(error)
            self._tell()
        if host.state is HostState.LOST:
            watch.mark_end(host.offset(self.clock()), self.clock())

    def _collect(self, host: Host) -> None:
        if host.trying is None:  # else its clock may be another one by now
            self.events.collect(host, self.clock())

    def _trying(self) -> list[ReconnectAttempt]:
        return [trying for host in self.hosts if (trying := host.trying) is not None]

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Give up opening, and disarm everything on all hosts; waits, and tries all of them."""
        self._workers.cancel()
        self._ending = True
        self.give_up()
        self._lookers.shutdown(wait=False, cancel_futures=True)
        self._workers.close(self.all_hosts)
        self._lookers.shutdown()
        self._reconnects.close()

    # -- host objects ------------------------------------------------------------------------------------------------

    def _new_host(self, spec: str, name: str, replaced: Host | None = None) -> Host:
        host = Host(spec, name, self._limits, self._bounds, self._patience)
        self._workers.add(host, replaced)
        return host

    def _drop_replaced(self) -> None:
        """Drop replaced hosts which have no effects left to undo and no rows."""
        for host in tuple(self._replaced):
            if self._workers.has_left(host) and not host.undo_errors and self.events.forget(host):
                self._replaced.remove(host)
                self._workers.forget(host)
                self._looks.pop(host, None)

    def _look(self, host: Host) -> None:
        try:
            host.look(self.clock, tables=self.wants_tables)
        finally:
            self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()
        self.on_change()

    def _tell_of_data(self) -> None:
        self.on_change()


def _by_means(opener: Opener, via: Via) -> Opener:
    """Return an opener of targets whose probes on functions are recorded by some means."""

    def opened(spec: str, progress: Progress, cancel: threading.Event) -> Planner:
        planner = opener(spec, progress, cancel)
        planner.via = via
        return planner

    return opened
