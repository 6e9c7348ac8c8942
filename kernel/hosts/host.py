"""One of several hosts: opened, armed, asked and closed by workers; its events are read by one other thread."""

from __future__ import annotations

import contextlib
import enum
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from events.clocks.clock_offset import Clock, ClockOffset
from kernel.cleanup.undo import words_of
from kernel.errors import KernelError, ProbeRefused, TargetLost, TargetUnusable
from kernel.guards.limits import Limits, TooFast
from kernel.guards.loss_counts import LossCounts
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.hosts.arm_request import ArmRequest, ArmResult, carry_out
from kernel.hosts.clocks import read_clock
from kernel.watch.hist_tables import HistTable, events_with_tables, read_tables
from kernel.watch.reconnect import ReconnectAbandoned, Reconnected, begun_anew, what_becomes
from kernel.watch.watch import Watch
from probes.presets.errors import PresetError

if TYPE_CHECKING:
    from kernel.connection.open_target import Progress
    from kernel.connection.planner import Connection
    from kernel.watch.reconnect import ReconnectAttempt
    from probes.verdict import Verdict

Opener = Callable[[str, "Progress", threading.Event], "Connection"]
_AT_FIRST = 5
"""Readings of a clock before anything is armed."""


class HostState(enum.StrEnum):
    """How far a host is."""

    WAITING = "waiting"
    """Others are opened first."""
    OPENING = "opening"
    OPEN = "open"
    """Nothing is armed there."""
    ARMING = "arming"
    ARMED = "armed"
    REFUSED = "refused"
    """It is open, and does not take what was asked for."""
    UNREACHABLE = "unreachable"
    CUT = "cut"
    """Its line was cut, and another one is tried."""
    LOST = "lost"
    """It was there, and is gone."""
    CLOSED = "closed"

    @property
    def settled(self) -> bool:
        """It does not become another by itself, but for a host that dies or comes back."""
        return self not in (HostState.WAITING, HostState.OPENING, HostState.ARMING)

    @property
    def failed(self) -> bool:
        """It does not do what was asked for."""
        return self in (HostState.REFUSED, HostState.UNREACHABLE, HostState.LOST)


class HostAnswer(enum.Enum):
    """What a host says to an order."""

    TAKEN = enum.auto()
    REFUSED = enum.auto()
    NOT_NOW = enum.auto()
    """Its line is cut: it is to be asked again when it is back."""


class Host:
    """See the module. `open`, `arm`, `disarm`, `look`, `come_back` and `close` wait for the far side."""

    def __init__(
        self, spec: str, name: str, limits: Limits, bounds: RowBounds = SCREEN, patience: float = 0.0
    ) -> None:
        """Take a word of `--target`, what the host is called, and how much of its events is held.

        `patience`: seconds for which a line is made anew that is cut while the host is opened.
        """
        self.spec = spec
        self.name = name
        self.state = HostState.WAITING
        self.why = ""
        """Why it is in this state, where it failed; foreign text."""
        self.remedy = ""
        self.refusal: Verdict | None = None
        """On the probe that it takes in no way, as long as it is refused."""
        self.progress = ""
        """What opening it is at."""
        self.kernel = ""
        """`Linux 7.2.13 x86-64`."""
        self.done = ArmResult()
        self.stopped: tuple[str, ...] = ()
        """What was stopped because it was too fast."""
        self.left: tuple[str, ...] = ()
        """What could not be taken away at the end."""
        self.tables: tuple[HistTable, ...] = ()
        """Tables of hist triggers of its probes, as they were read last: when it was closed at the latest."""
        self.tables_error = ""
        """Why that could not be read, where there was something."""
        self.clock = Clock()
        self.counts: LossCounts | None = None
        self.watch: Watch | None = None
        """There from when it is open."""
        self.names: Mapping[int, str] | None = None
        """Of tasks, for the thread that reads; None: no news."""
        self.trying: ReconnectAttempt | None = None
        """What tries to make another line; until it is over no event is of a clock that is known."""
        self._before = (HostState.OPEN, "", "")
        """State, reason and remedy before the line was cut."""
        self._limits = limits
        self._bounds = bounds
        self._patience = patience
        self._busy = threading.Lock()
        """One worker at a time; who only looks does not wait for it."""
        self._coming = threading.Lock()
        """Held by `come_back`."""

    def offset(self, now: int) -> ClockOffset | None:
        """How far its clock is from ours; None: not known."""
        return self.clock.offset(now)

    def open(self, opener: Opener, now: Callable[[], int], cancel: threading.Event) -> None:
        """Open it, and read its clock; what fails is its state."""
        with self._busy:
            if cancel.is_set():
                return
            self.state, self.why, self.remedy = HostState.OPENING, "", ""
            try:
                begun_anew(
                    lambda: self._open(opener, now, cancel),
                    self._patience,
                    lambda error: self._progress(f"{error}; trying again"),
                    cancel.wait,
                )
                self.state = HostState.OPEN
            except KernelError as error:
                self._failed(HostState.UNREACHABLE, error)
            except Exception as error:
                self._failed(HostState.UNREACHABLE, KernelError(f"unexpected: {error!r}", "please report it"))

    def _open(self, opener: Opener, now: Callable[[], int], cancel: threading.Event) -> None:
        connection = opener(self.spec, self._progress, cancel)
        watch = Watch(connection, self._bounds, self._limits)
        try:
            self.kernel = connection.facts.title
            watch.begin()
            self.clock.add(tuple(read_clock(watch.session, now, _AT_FIRST)))
        except TargetLost:
            watch.close()
            connection.close()
            raise
        except BaseException:
            self.watch = watch  # `close` closes it
            raise
        self.watch = watch

    def arm(self, order: ArmRequest) -> HostAnswer:
        """Arm all of an order or nothing of it; what fails is its state."""
        with self._busy:
            if self.state is HostState.CUT:
                return HostAnswer.NOT_NOW
            if self.watch is None or self.state not in (HostState.OPEN, HostState.ARMED, HostState.REFUSED):
                return HostAnswer.TAKEN
            before = self.state
            told = (before, self.why, self.remedy)
            self.state, self.why, self.remedy, self.refusal = HostState.ARMING, "", "", None
            try:
                done = carry_out(self.watch, order)
                self.done = ArmResult((*self.done.lines, *done.lines), (*self.done.notes, *done.notes))
                self.state = HostState.ARMED
            except ProbeRefused as error:
                self.refusal = error.verdict
                self._failed(HostState.REFUSED, KernelError(_why(error), error.remedy))
            except PresetError as error:
                self._failed(HostState.REFUSED, KernelError(str(error)))
            except (TooFast, TargetUnusable) as error:
                self._failed(HostState.REFUSED, error)
            except TargetLost as error:
                self.state, self.why, self.remedy = told
                self._line_cut(error)
                return HostAnswer.NOT_NOW
            except KernelError as error:
                self._failed(HostState.REFUSED, error)
            except Exception as error:
                self._failed(HostState.REFUSED, KernelError(f"unexpected: {error!r}", "please report it"))
            if self.state is not HostState.REFUSED:
                return HostAnswer.TAKEN
            if before is HostState.ARMED and self.watch.armed:
                self.state = HostState.ARMED  # what was armed before goes on; `why` says what did not
            return HostAnswer.REFUSED

    def disarm(self) -> HostAnswer:
        """Take away what is armed; the host stays open."""
        with self._busy:
            watch = self.watch
            if self.state is HostState.CUT:
                return HostAnswer.NOT_NOW
            if watch is None or self.state not in (HostState.ARMED, HostState.REFUSED):
                return HostAnswer.TAKEN
            failures = [failure for armed in watch.armed for failure in watch.disarm(armed)]
            # What a line that is gone could not take away, the far side does.
            self.left = tuple(str(one.error) for one in failures if not isinstance(one.error, TargetLost))
            self.done = ArmResult()
            self.state, self.why, self.remedy = HostState.OPEN, "", ""
            return HostAnswer.TAKEN

    def ask(self, question: Callable[[Connection], Verdict]) -> Verdict | None:
        """Put a question to its kernel while no worker is there; None: there is no answer."""
        with self._busy:
            if self.watch is None or self.state in (HostState.CUT, HostState.LOST, HostState.CLOSED):
                return None
            try:
                return question(self.watch.connection)
            except KernelError:  # the pump tells of a line that is gone
                return None

    def look(self, now: Callable[[], int], *, tables: bool = False) -> None:
        """Ask for what was lost, the names of tasks and the clock; not while another worker is here.

        `tables`: read those of hist triggers too.
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
            pass  # the pump says so, when all is read that came
        except KernelError as error:
            self.why = str(error)
        finally:
            self._busy.release()

    def come_back(self, trying: ReconnectAttempt, now: Callable[[], int], changed: Callable[[], None]) -> bool:
        """Have another line made and the same armed again; False: it was given up, or the host is closed.

        Args:
            trying: makes it; it is `trying` of this host until that is over.
            now: our clock.
            changed: called when the state is another.
        """
        with self._coming:
            try:
                with self._busy:
                    if self.state in (HostState.LOST, HostState.CLOSED):
                        return False
                    self._line_cut(trying.watch.error or KernelError(trying.why))
                changed()
                back = trying.run()
                clock = Clock()  # what was known of the one before may be wrong now: it slept, or was booted
                with contextlib.suppress(TargetLost):  # it is cut again, and the pump says so
                    clock.add(tuple(read_clock(trying.watch.session, now, _AT_FIRST)))
                    _load_symbols(trying.watch, back)
                with self._busy:
                    self.clock = clock
                    self._is_back(trying.watch, back)
                return True
            except ReconnectAbandoned as error:
                self.lost(error)
            except Exception as error:
                self.lost(KernelError(f"unexpected: {error!r}", "please report it"))
            finally:
                self.trying = None
            return False

    def _line_cut(self, error: KernelError) -> None:
        if self.state is not HostState.CUT:
            self._before = (self.state, self.why, self.remedy)
            self._failed(HostState.CUT, error)

    def _is_back(self, watch: Watch, back: Reconnected) -> None:
        """The state and the lines of now."""
        self.state, self.why, self.remedy = self._before
        if back.refused:
            self.why = "; ".join(f"not armed again: {text}" for text in back.refused)
            self.remedy = "take all away, and arm it anew"
        if back.again or back.refused:
            self.state = HostState.ARMED if watch.armed else HostState.REFUSED
        self.done = ArmResult(tuple(line for one in watch.armed for line in one.plan.lines), self.done.notes)

    def lost(self, error: KernelError) -> None:
        """The line or the machine is gone."""
        if self.state not in (HostState.LOST, HostState.CLOSED):
            self._failed(HostState.LOST, error)
            if not self.remedy and self.watch is not None:
                self.remedy = what_becomes(self.watch.connection.target)

    def close(self) -> None:
        """Take everything away; every step is tried. Safe to call twice."""
        if (trying := self.trying) is not None:
            trying.give_up()
        if self.watch is not None:
            self.watch.hurry(time.monotonic())  # a worker that waits for an answer lets go of the host then
        with self._coming, self._busy:
            watch = self.watch
            if watch is None:
                self.state = self.state if self.state.failed else HostState.CLOSED
                return
            if self.state is HostState.CUT:
                self.lost(KernelError(self.why))
            lost = self.state is HostState.LOST
            was_open = watch.session is not None
            if not lost:
                with contextlib.suppress(KernelError):
                    self.counts = watch.counts() or self.counts
            self._read_tables(watch)
            try:
                failures = watch.close()
                gone = [failure for failure in failures if isinstance(failure.error, TargetLost)]
                if gone and not lost:
                    self.lost(gone[0].error)
                left = words_of([one for one in failures if one not in gone])
                # What an earlier `disarm` left was tried again, where the watch was open and its line stands.
                self.left = left if was_open and not gone else self.left + left
            finally:
                watch.connection.close()
                self.state = self.state if self.state.failed else HostState.CLOSED

    def _read_tables(self, watch: Watch) -> None:
        """Read the tables as they are; where that can't be, those of before stay."""
        try:
            if self.state is HostState.LOST and events_with_tables(watch):
                raise KernelError(self.why)
            self.tables, self.tables_error = tuple(read_tables(watch)), ""
        except KernelError as error:
            self.tables_error = str(error)

    def _failed(self, state: HostState, error: KernelError) -> None:
        self.state, self.why, self.remedy = state, str(error), error.remedy

    def _progress(self, text: str, share: float | None = None) -> None:
        self.progress = text if share is None else f"{text} {share:.0%}"


def _why(error: ProbeRefused) -> str:
    """What is wrong with which probe."""
    found = error.verdict.error
    if found is None:
        return str(error)
    at = f": {found.token}" if found.token else ""
    return f"{error.verdict.command}: {found.clause if at else found.message}{at}"


def _load_symbols(watch: Watch, back: Reconnected) -> None:
    """Another boot has other addresses."""
    if back.cut.booted and (watch.known.with_stacks or any(map(watch.known.wants_symbols, watch.armed))):
        watch.connection.load_symbols()
