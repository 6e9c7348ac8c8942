"""Several hosts at once: opened side by side, the same armed on each, their events in one list, all undone at last.

What a host does, it does in a worker of its own (`kernel.hosts.host_workers`); one that fails says why and the others
go on. `tick` belongs to the one thread that reads the events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait

from events.store.host_merge import ROWS_BYTES, WINDOW_NS
from kernel.errors import KernelError
from kernel.guards.limits import Limits
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.hosts.arm_request import ArmRequest
from kernel.hosts.clocks import near_clock
from kernel.hosts.host import Host, HostState, Opener
from kernel.hosts.host_workers import HostWorkers
from kernel.hosts.merged_events import MergedEvents
from kernel.hosts.names import names_of
from kernel.hosts.opening import open_host
from kernel.hosts.reconnects import HostReconnects
from kernel.watch.reconnect import PATIENCE, ReconnectAttempt, can_come_back, cut_silent
from kernel.watch.watch import Watch


class Fleet:
    """See the module. Close it, whatever happened."""

    def __init__(
        self,
        specs: Sequence[str],
        *,
        limits: Limits = Limits(),  # noqa: B008 - frozen
        window: int = WINDOW_NS,
        patience: float | None = None,
        opener: Opener = open_host,
        bounds: RowBounds = SCREEN,
    ) -> None:
        """Take words of `--target`; nothing is opened yet.

        Args:
            specs: one of each host; the same one twice is opened twice.
            limits: how fast a probe may be, on each host.
            window: nanoseconds that an event waits for older ones of other hosts.
            patience: seconds for which a host is tried again whose line was cut; 0: not at all; None: until
                somebody gives it up.
            opener: opens a target.
            bounds: how much is held of the events of all hosts.
        """
        self.now = near_clock()
        """Our clock, in nanoseconds since 1970."""
        self.events = MergedEvents(window, min(ROWS_BYTES, bounds.rows))
        self.on_change: Callable[[], None] = lambda: None
        """Called from any thread when there is something to tick for, or a host is in another state."""
        self.wants_tables = False
        """Whether `look` reads the tables of hist triggers, too."""
        self._limits = limits
        self._bounds = bounds.shared(max(1, len(specs)))
        self._patience = PATIENCE if patience is None else patience
        """Seconds for a line that is cut while a host is opened."""
        self._changed = threading.Condition()
        self._services = HostWorkers(opener, self.now, self._tell, self._tell_of_data)
        self._looks: dict[Host, Future[None]] = {}
        """The last of each host."""
        self._gone: list[Host] = []
        """Hosts in whose place another attempt stands."""
        self.hosts: tuple[Host, ...] = tuple(
            self._new_host(spec, name) for spec, name in zip(specs, names_of(specs), strict=True)
        )
        self._lookers = ThreadPoolExecutor(max(1, len(specs)), "look")  # one each: who hangs holds up nobody
        self._comebacks = HostReconnects(
            len(specs), patience, self.now, self._tell, lambda host: self._services.serve([host])
        )
        self._ending = False
        """No line is made anew."""

    # -- what is done on all of them, without waiting ----------------------------------------------------------------

    def open(self) -> None:
        """Begin to open all; returns at once."""
        self._services.serve(self.hosts)

    def arm(self, order: ArmRequest) -> int:
        """Have it armed on each host that is open, and on the others when they are; returns at once.

        Those that have just that are not asked again; gives the number of the others.
        """
        return self._services.order(order)

    def disarm(self) -> None:
        """Have all of it taken away from all hosts, which stay open; returns at once."""
        self._services.want_nothing()

    def retry(self) -> int:
        """Open those again that failed, with all that was ordered; gives their number, returns at once.

        What a host refused it is not asked for again, but where it refused everything.
        """
        again = [host for host in self.hosts if host.state.failed]
        for old in again:
            self._services.leave(old)
        self._gone += again
        self.hosts = tuple(
            self._new_host(host.spec, host.name, host) if host in again else host for host in self.hosts
        )
        self._services.serve(self.hosts)
        return len(again)

    def try_now(self) -> None:
        """Make lines anew at once: do not wait for the next attempt where one was cut, nor where one is silent."""
        for host in self.hosts:
            if host.watch is not None:
                cut_silent(host.watch)
        for trying in self._trying():
            trying.try_now()

    def give_up(self) -> None:
        """Try no more to reach those again whose lines were cut."""
        for trying in self._trying():
            trying.give_up()

    def look(self) -> None:
        """Have every host asked for its losses, its names and its clock; returns at once.

        One that has not answered yet is not asked again.
        """
        for host in self.hosts:
            last = self._looks.get(host)
            if last is None or last.done():
                self._looks[host] = self._lookers.submit(self._look, host)

    def cancel(self) -> None:
        """Give up opening."""
        self._services.cancel()

    # -- how far they are --------------------------------------------------------------------------------------------

    @property
    def all_hosts(self) -> tuple[Host, ...]:
        """The hosts, and before them those in whose place another attempt stands, as long as anything is theirs."""
        return (*self._gone, *self.hosts)

    @property
    def title(self) -> str:
        """What was ordered, in a few words; empty: nothing."""
        return ", ".join(dict.fromkeys(order.title for order in self._services.orders))

    @property
    def settled(self) -> bool:
        """Each host is open and has what was ordered, or has failed."""
        return all(map(self._services.is_settled, self.hosts))

    @property
    def armed(self) -> bool:
        """Whether something may come of a host."""
        return any(host.state in (HostState.ARMED, HostState.CUT) for host in self.hosts)

    def wait(self, timeout: float) -> bool:
        """Wait until `settled`; whether it is."""
        with self._changed:
            return self._changed.wait_for(lambda: self.settled, timeout)

    # -- events, for the one thread that reads them ------------------------------------------------------------------

    def tick(self, budget: float = 0.0, *, collecting: bool = True) -> int:
        """Bring in what came and give rows to what is final; gives the number of new rows.

        Args:
            budget: seconds of CPU time for each host, beyond a first part of what came.
            collecting: not yet, where False: events stay in the hosts' stores, as many as have room there.
        """
        for host in self.all_hosts:
            self._tick_of(host, budget, collecting)
        new = self.events.release(self.now())
        self._drop_gone()
        return new

    def finish(self) -> int:
        """Read what is in the buffers now, then no more, and give rows to all of it; gives their number.

        Hosts whose lines were cut are given up; one that is reached all the same gives what it recorded since.
        """
        self._ending = True
        watches = [host.watch for host in self.hosts if host.watch is not None]
        for watch in self._given_up():
            watch.hurry(time.monotonic())
        self._hear_of_silent(watches)
        self._end_reading(watches)
        self._comebacks.close()
        self._end_reading(watches)  # of sessions that were begun meanwhile
        new = 0
        while True:
            new += self.tick(0.1)
            if not any(watch.behind for watch in watches):
                break
        for host in self.hosts:
            if host.watch is not None and host.watch.store is not None:
                host.watch.store.flush()
                self.events.collect(host, self.now(), last=True)
        return new + self.events.release(None)

    def _given_up(self) -> list[Watch]:
        """Try no more, and return the sessions of all hosts that were tried until now."""
        tried = self._trying()
        self.give_up()
        return [trying.watch for trying in tried]

    def _hear_of_silent(self, watches: Sequence[Watch]) -> None:
        """Wait until hosts that owe an answer are heard, or their lines are lost: their events are missing then."""
        silent = [watch for watch in watches if watch.silent is not None]
        for watch in silent:
            watch.hurry(time.monotonic())
        with ThreadPoolExecutor(max(1, len(silent)), "silent") as askers:  # a looker may wait for that very answer
            wait([askers.submit(watch.last_look) for watch in silent])

    def _end_reading(self, watches: Sequence[Watch]) -> None:
        """Read what is in the buffers of all hosts, side by side, then no more."""
        wait([self._lookers.submit(watch.end_reading) for watch in watches])

    def _tick_of(self, host: Host, budget: float, collecting: bool) -> None:
        watch = host.watch
        if watch is None:
            return
        if host.names is not None:
            names, host.names = host.names, None
            watch.know_names(names)
        watch.tick(budget)
        if collecting:
            self._collect(host)
        error = watch.lost if self._ending else watch.error
        if error is not None and host.trying is None:
            self._end_of(host, watch, error)
            if collecting:
                self._collect(host)

    def _end_of(self, host: Host, watch: Watch, error: KernelError) -> None:
        """Have a host whose session has ended tried again, or have that told, and marked behind all that came."""
        if host.state not in (HostState.LOST, HostState.CLOSED):
            returns = not self._ending and host in self.hosts and can_come_back(watch)
            if returns and not watch.ended:
                return  # what came gets its row first, by the clock of before
            if returns and self._comebacks.begin(host):
                return
            host.lost(error)
            self._tell()
        if host.state is HostState.LOST:
            watch.mark_end(host.offset(self.now()), self.now())

    def _collect(self, host: Host) -> None:
        if host.trying is None:  # else its clock may be another one by now
            self.events.collect(host, self.now())

    def _trying(self) -> list[ReconnectAttempt]:
        return [trying for host in self.hosts if (trying := host.trying) is not None]

    # -- the end -----------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Give up what is being opened, and take everything away on all hosts; waits, and tries all."""
        self._services.cancel()
        self._ending = True
        self.give_up()
        self._lookers.shutdown(wait=False, cancel_futures=True)
        self._services.close(self.all_hosts)
        self._lookers.shutdown()
        self._comebacks.close()

    # -- their life --------------------------------------------------------------------------------------------------

    def _new_host(self, spec: str, name: str, before: Host | None = None) -> Host:
        host = Host(spec, name, self._limits, self._bounds, self._patience)
        self._services.add(host, before)
        return host

    def _drop_gone(self) -> None:
        """Let go of what stood before another attempt, where nothing is to be undone there and no row is of it."""
        for host in tuple(self._gone):
            if self._services.has_left(host) and not host.left and self.events.forget(host):
                self._gone.remove(host)
                self._services.forget(host)
                self._looks.pop(host, None)

    def _look(self, host: Host) -> None:
        try:
            host.look(self.now, tables=self.wants_tables)
        finally:
            self._tell()

    def _tell(self) -> None:
        with self._changed:
            self._changed.notify_all()
        self.on_change()

    def _tell_of_data(self) -> None:
        self.on_change()
