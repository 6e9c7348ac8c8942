"""Open, arm, poll and close a single host by workers, while one other thread reads its events."""

from __future__ import annotations

import contextlib
import enum
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from events.clocks.clock_offset import Clock, ClockOffset
from events.loss_counts import LossCounts
from kernel.cleanup.undo import failure_lines
from kernel.errors import KernelError, ProbeRefused, TargetLost, TargetUnusable
from kernel.guards.limits import Limits, TooFast
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.hosts.arm_request import ArmRequest, ArmResult, arm_on_host
from kernel.watch.clocks.readings import read_clock
from kernel.watch.hist_tables import HistTable, events_with_tables, read_tables
from kernel.watch.reconnect import ReconnectAbandoned, Reconnected, begun_anew, effects_note
from kernel.watch.watch import Watch
from probes.presets.errors import PresetError

if TYPE_CHECKING:
    from kernel.connection.open_target import Progress
    from kernel.connection.planner import Planner
    from kernel.watch.reconnect import ReconnectAttempt
    from probes.verdict import Verdict

Opener = Callable[[str, "Progress", threading.Event], "Planner"]
_FIRST_READINGS = 5
"""Number of clock readings before a probe is armed."""


class HostState(enum.StrEnum):
    """State of a host."""

    WAITING = "waiting"
    """Waiting until other hosts are opened."""
    OPENING = "opening"
    OPEN = "open"
    """Open, without probes."""
    ARMING = "arming"
    ARMED = "armed"
    REFUSED = "refused"
    """Open, but the last request was rejected."""
    UNREACHABLE = "unreachable"
    CUT = "cut"
    """Disconnected; reconnect attempts go on."""
    LOST = "lost"
    """Connection or machine lost for good."""
    CLOSED = "closed"

    @property
    def settled(self) -> bool:
        """True if the state changes only with a new request, or when the host is lost or reconnects."""
        return self not in (HostState.WAITING, HostState.OPENING, HostState.ARMING)

    @property
    def failed(self) -> bool:
        """True if a request was rejected, or the host is unreachable or lost."""
        return self in (HostState.REFUSED, HostState.UNREACHABLE, HostState.LOST)


class HostAnswer(enum.Enum):
    """Answer of a host to a request."""

    TAKEN = enum.auto()
    REFUSED = enum.auto()
    NOT_NOW = enum.auto()
    """Host is disconnected: repeat the request after the reconnect."""


class Host:
    """Host of a group (see the module). `open`, `arm`, `disarm`, `look`, `reconnect` and `close` wait for the remote
    host.
    """

    def __init__(
        self, spec: str, name: str, limits: Limits, bounds: RowBounds = SCREEN, patience: float = 0.0
    ) -> None:
        """Take a `--target` value, the host's name, and bounds for its events in memory.

        `patience`: seconds of retries for a connection that is lost while the host is opened.
        """
        self.spec = spec
        self.name = name
        self.state = HostState.WAITING
        self.reason = ""
        """Reason of a failed state; foreign text."""
        self.remedy = ""
        self.refusal: Verdict | None = None
        """Verdict on the rejected probe, while the state is REFUSED."""
        self.progress = ""
        """Description of the current step of opening."""
        self.kernel = ""
        """Kernel, as `Linux 7.2.13 x86-64`."""
        self.done = ArmResult()
        self.stopped: tuple[str, ...] = ()
        """Descriptions of probes stopped because of their event rate."""
        self.undo_errors: tuple[str, ...] = ()
        """Errors of undo steps that failed at the end."""
        self.tables: tuple[HistTable, ...] = ()
        """Tables of hist triggers of its probes, as last read: when the host was closed at the latest."""
        self.tables_error = ""
        """Reason why the tables could not be read, if there are any."""
        self.clock = Clock()
        self.counts: LossCounts | None = None
        self.watch: Watch | None = None
        """Watch of the host; None until the host is open."""
        self.names: Mapping[int, str] | None = None
        """Task names, for the thread that reads events; None: no news."""
        self.trying: ReconnectAttempt | None = None
        """Reconnect attempt in progress; until it ends the clock of the host counts as unknown."""
        self._before = (HostState.OPEN, "", "")
        """State, reason and remedy before the disconnect."""
        self._limits = limits
        self._bounds = bounds
        self._patience = patience
        self._busy = threading.Lock()
        """Held by one worker at a time; a look does not wait for it."""
        self._reconnecting = threading.Lock()
        """Held by `reconnect`."""

    def offset(self, now: int) -> ClockOffset | None:
        """Return the offset of its clock from ours at local time `now`; None: unknown."""
        return self.clock.offset(now)

    def open(self, opener: Opener, now: Callable[[], int], cancel: threading.Event) -> None:
        """Open the host and read its clock; a failure becomes its state."""
        with self._busy:
            if cancel.is_set():
                return
            self.state, self.reason, self.remedy = HostState.OPENING, "", ""
            try:
                begun_anew(
                    lambda: self._open(opener, now, cancel),
                    self._patience,
                    lambda error: self._progress(f"{error}; trying again"),
                    cancel.wait,
                )
                self.state = HostState.OPEN
            except KernelError as error:
                self._set_failed(HostState.UNREACHABLE, error)
            except Exception as error:
                self._set_failed(HostState.UNREACHABLE, KernelError(f"unexpected: {error!r}", "please report it"))

    def _open(self, opener: Opener, now: Callable[[], int], cancel: threading.Event) -> None:
        planner = opener(self.spec, self._progress, cancel)
        watch = Watch(planner, self._bounds, self._limits)
        try:
            self.kernel = planner.info.facts.title
            watch.begin()
            self.clock.add(tuple(read_clock(watch.session, now, _FIRST_READINGS)))
        except TargetLost:
            watch.close()
            planner.info.close()
            raise
        except BaseException:
            self.watch = watch  # closed by `close`
            raise
        self.watch = watch

    def arm(self, order: ArmRequest) -> HostAnswer:
        """Arm an entire request or none of it; a failure becomes the host's state."""
        with self._busy:
            if self.state is HostState.CUT:
                return HostAnswer.NOT_NOW
            if self.watch is None or self.state not in (HostState.OPEN, HostState.ARMED, HostState.REFUSED):
                return HostAnswer.TAKEN
            previous_state = self.state
            previous = (previous_state, self.reason, self.remedy)
            self.state, self.reason, self.remedy, self.refusal = HostState.ARMING, "", "", None
            try:
                result = arm_on_host(self.watch, order)
                self.done = ArmResult((*self.done.lines, *result.lines), (*self.done.notes, *result.notes))
                self.state = HostState.ARMED
            except ProbeRefused as error:
                self.refusal = error.verdict
                self._set_failed(HostState.REFUSED, KernelError(_rejection_text(error), error.remedy))
            except PresetError as error:
                self._set_failed(HostState.REFUSED, KernelError(str(error)))
            except (TooFast, TargetUnusable) as error:
                self._set_failed(HostState.REFUSED, error)
            except TargetLost as error:
                self.state, self.reason, self.remedy = previous
                self._set_disconnected(error)
                return HostAnswer.NOT_NOW
            except KernelError as error:
                self._set_failed(HostState.REFUSED, error)
            except Exception as error:
                self._set_failed(HostState.REFUSED, KernelError(f"unexpected: {error!r}", "please report it"))
            if self.state is not HostState.REFUSED:
                return HostAnswer.TAKEN
            if previous_state is HostState.ARMED and self.watch.armed.probes:
                self.state = HostState.ARMED  # probes armed before go on; `reason` is the reason of the rejection
            return HostAnswer.REFUSED

    def disarm(self) -> HostAnswer:
        """Disarm all probes; the host stays open."""
        with self._busy:
            watch = self.watch
            if self.state is HostState.CUT:
                return HostAnswer.NOT_NOW
            if watch is None or self.state not in (HostState.ARMED, HostState.REFUSED):
                return HostAnswer.TAKEN
            failures = [failure for armed in watch.armed.probes for failure in watch.armed.disarm(armed)]
            # Effects left behind a lost connection are undone by the remote agent.
            self.undo_errors = tuple(
                str(failure.error) for failure in failures if not isinstance(failure.error, TargetLost)
            )
            self.done = ArmResult()
            self.state, self.reason, self.remedy = HostState.OPEN, "", ""
            return HostAnswer.TAKEN

    def ask(self, question: Callable[[Planner], Verdict]) -> Verdict | None:
        """Ask the host's kernel for a verdict while no worker uses the host; None: there is no answer."""
        with self._busy:
            if self.watch is None or self.state in (HostState.CUT, HostState.LOST, HostState.CLOSED):
                return None
            try:
                return question(self.watch.planner)
            except KernelError:  # the pump reports a lost connection
                return None

    def look(self, now: Callable[[], int], *, tables: bool = False) -> None:
        """Read losses, task names and the clock, unless another worker uses the host.

        `tables`: True: also read the tables of hist triggers.
        """
        if not self._busy.acquire(blocking=False):
            return
        try:
            if self.watch is None or self.state not in (HostState.OPEN, HostState.ARMED, HostState.REFUSED):
                return
            self.clock.add(tuple(read_clock(self.watch.session, now, 1)))
            self.counts = self.watch.counts() or self.counts
            self.names = self.watch.names()
            self.stopped += tuple(stopped.text for stopped in self.watch.guard.take())
            if tables:
                self._read_tables(self.watch)
        except TargetLost:
            pass  # the pump reports it, after all received data are read
        except KernelError as error:
            self.reason = str(error)
        finally:
            self._busy.release()

    def reconnect(self, trying: ReconnectAttempt, now: Callable[[], int], changed: Callable[[], None]) -> bool:
        """Reconnect, and arm the previous probes again; False: given up, or the host is closed.

        Args:
            trying: reconnect attempt; `trying` of this host until it ends.
            now: local clock.
            changed: called when the state has changed.
        """
        with self._reconnecting:
            try:
                with self._busy:
                    if self.state in (HostState.LOST, HostState.CLOSED):
                        return False
                    self._set_disconnected(trying.watch.error or KernelError(trying.reason))
                changed()
                reconnected = trying.run()
                # Readings of the previous connection may be wrong now: the machine slept or was rebooted.
                clock = Clock()
                with contextlib.suppress(TargetLost):  # disconnected again; the pump reports it
                    clock.add(tuple(read_clock(trying.watch.session, now, _FIRST_READINGS)))
                    trying.watch.info.symbols.renew()
                with self._busy:
                    self.clock = clock
                    self._set_reconnected(trying.watch, reconnected)
                return True
            except ReconnectAbandoned as error:
                self.mark_lost(error)
            except Exception as error:
                self.mark_lost(KernelError(f"unexpected: {error!r}", "please report it"))
            finally:
                self.trying = None
            return False

    def _set_disconnected(self, error: KernelError) -> None:
        if self.state is not HostState.CUT:
            self._before = (self.state, self.reason, self.remedy)
            self._set_failed(HostState.CUT, error)

    def _set_reconnected(self, watch: Watch, reconnected: Reconnected) -> None:
        """Restore the state from before the disconnect; update the armed lines."""
        self.state, self.reason, self.remedy = self._before
        if reconnected.rejected_probes:
            self.reason = "; ".join(f"not armed again: {text}" for text in reconnected.rejected_probes)
            self.remedy = "take all away, and arm it anew"
        if reconnected.rearmed or reconnected.rejected_probes:
            self.state = HostState.ARMED if watch.armed.probes else HostState.REFUSED
        self.done = ArmResult(
            tuple(line for armed in watch.armed.probes for line in armed.plan.lines), self.done.notes
        )

    def mark_lost(self, error: KernelError) -> None:
        """Mark the connection or the machine as lost."""
        if self.state not in (HostState.LOST, HostState.CLOSED):
            self._set_failed(HostState.LOST, error)
            if not self.remedy and self.watch is not None:
                self.remedy = effects_note(self.watch.info.target)

    def close(self) -> None:
        """Disarm everything; every step is tried. Safe to call twice."""
        if (trying := self.trying) is not None:
            trying.give_up()
        if self.watch is not None:
            self.watch.set_deadline(time.monotonic())  # a worker that waits for an answer releases the host then
        with self._reconnecting, self._busy:
            watch = self.watch
            if watch is None:
                self.state = self.state if self.state.failed else HostState.CLOSED
                return
            if self.state is HostState.CUT:
                self.mark_lost(KernelError(self.reason))
            was_lost = self.state is HostState.LOST
            was_open = watch.session is not None
            if not was_lost:
                with contextlib.suppress(KernelError):
                    self.counts = watch.counts() or self.counts
            self._read_tables(watch)
            try:
                failures = watch.close()
                connection_failures = [failure for failure in failures if isinstance(failure.error, TargetLost)]
                if connection_failures and not was_lost:
                    self.mark_lost(connection_failures[0].error)
                left = failure_lines([failure for failure in failures if failure not in connection_failures])
                # Undo steps that an earlier `disarm` could not do were tried again, if the watch was open and its
                # connection works.
                self.undo_errors = left if was_open and not connection_failures else self.undo_errors + left
            finally:
                watch.info.close()
                self.state = self.state if self.state.failed else HostState.CLOSED

    def _read_tables(self, watch: Watch) -> None:
        """Read the tables as they are; on failure the previous ones stay."""
        try:
            if self.state is HostState.LOST and events_with_tables(watch.armed):
                raise KernelError(self.reason)
            self.tables, self.tables_error = tuple(read_tables(watch.armed)), ""
        except KernelError as error:
            self.tables_error = str(error)

    def _set_failed(self, state: HostState, error: KernelError) -> None:
        self.state, self.reason, self.remedy = state, str(error), error.remedy

    def _progress(self, text: str, share: float | None = None) -> None:
        self.progress = text if share is None else f"{text} {share:.0%}"


def _rejection_text(error: ProbeRefused) -> str:
    """Return the rejected probe with the reason."""
    error_detail = error.verdict.error
    if error_detail is None:
        return str(error)
    token = f": {error_detail.token}" if error_detail.token else ""
    return f"{error.verdict.command}: {error_detail.clause if token else error_detail.message}{token}"
