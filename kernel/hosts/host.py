"""One of several hosts: opened, armed, asked and closed by workers; its events are read by one other thread."""

from __future__ import annotations

import contextlib
import enum
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from events.clock import Clock, Offset
from kernel.counts import Counts
from kernel.errors import KernelError, ProbeRefused, TargetLost, TargetUnusable, TooFast
from kernel.hosts.clocks import read_clock
from kernel.hosts.order import Done, Order, carry_out
from kernel.limits import Limits
from kernel.watch import Watch
from probes.presets.errors import PresetError

if TYPE_CHECKING:
    from kernel.connection import Connection
    from kernel.open import Progress

Opener = Callable[[str, "Progress", threading.Event], "Connection"]
_AT_FIRST = 5
"""Readings of a clock before anything is armed."""


class State(enum.StrEnum):
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
    LOST = "lost"
    """It was there, and is gone."""
    CLOSED = "closed"

    @property
    def settled(self) -> bool:
        """It does not become another by itself, but for a host that dies."""
        return self not in (State.WAITING, State.OPENING, State.ARMING)

    @property
    def failed(self) -> bool:
        """It does not do what was asked for."""
        return self in (State.REFUSED, State.UNREACHABLE, State.LOST)


class Host:
    """See the module. `open`, `arm`, `disarm`, `look` and `close` wait for the far side."""

    def __init__(self, spec: str, name: str, limits: Limits, limit_bytes: int) -> None:
        """Take a word of `--target`, what the host is called, and what its events may take."""
        self.spec = spec
        self.name = name
        self.state = State.WAITING
        self.why = ""
        """Why it is in this state, where it failed; foreign text."""
        self.remedy = ""
        self.progress = ""
        """What opening it is at."""
        self.kernel = ""
        """`Linux 7.2.13 x86-64`."""
        self.done = Done()
        self.stopped: tuple[str, ...] = ()
        """What was stopped because it was too fast."""
        self.left: tuple[str, ...] = ()
        """What could not be taken away at the end."""
        self.clock = Clock()
        self.counts: Counts | None = None
        self.watch: Watch | None = None
        """There from when it is open."""
        self.names: Mapping[int, str] | None = None
        """Of tasks, for the thread that reads; None: no news."""
        self._limits = limits
        self._limit_bytes = limit_bytes
        self._busy = threading.Lock()
        """One worker at a time; who only looks does not wait for it."""

    def offset(self, now: int) -> Offset | None:
        """How far its clock is from ours; None: not known."""
        return self.clock.offset(now)

    def open(self, opener: Opener, now: Callable[[], int], cancel: threading.Event) -> None:
        """Open it, and read its clock; what fails is its state."""
        with self._busy:
            if cancel.is_set():
                return
            self.state, self.why, self.remedy = State.OPENING, "", ""
            try:
                connection = opener(self.spec, self._progress, cancel)
                self.kernel = connection.facts.title
                self.watch = Watch(connection, self._limit_bytes, self._limits)
                self.watch.begin()
                self.clock.add(tuple(read_clock(self.watch.session, now, _AT_FIRST)))
                self.state = State.OPEN
            except KernelError as error:
                self._failed(State.UNREACHABLE, error)
            except Exception as error:
                self._failed(State.UNREACHABLE, KernelError(f"unexpected: {error!r}", "please report it"))

    def arm(self, order: Order) -> bool:
        """Arm all of an order or nothing of it; what fails is its state. False: it was refused."""
        with self._busy:
            if self.watch is None or self.state not in (State.OPEN, State.ARMED, State.REFUSED):
                return True
            before = self.state
            self.state, self.why, self.remedy = State.ARMING, "", ""
            try:
                done = carry_out(self.watch, order)
                self.done = Done((*self.done.lines, *done.lines), (*self.done.notes, *done.notes))
                self.state = State.ARMED
            except ProbeRefused as error:
                self._failed(State.REFUSED, error)
                found = error.verdict.error
                if found is not None:
                    at = f": {found.token}" if found.token else ""
                    self.why = f"{error.verdict.command}: {found.message}{at}"
            except PresetError as error:
                self._failed(State.REFUSED, KernelError(str(error)))
            except (TooFast, TargetUnusable) as error:
                self._failed(State.REFUSED, error)
            except TargetLost as error:
                self._failed(State.LOST, error)
            except KernelError as error:
                self._failed(State.REFUSED, error)
            except Exception as error:
                self._failed(State.REFUSED, KernelError(f"unexpected: {error!r}", "please report it"))
            if self.state is not State.REFUSED:
                return True
            if before is State.ARMED and self.watch.armed:
                self.state = State.ARMED  # what was armed before goes on; `why` says what did not
            return False

    def disarm(self) -> None:
        """Take away what is armed; the host stays open."""
        with self._busy:
            watch = self.watch
            if watch is None or self.state not in (State.ARMED, State.REFUSED):
                return
            failures = [failure for armed in watch.armed for failure in watch.disarm(armed)]
            self.left = tuple(str(failure.error) for failure in failures)
            self.done = Done()
            self.state, self.why, self.remedy = State.OPEN, "", ""

    def look(self, now: Callable[[], int]) -> None:
        """Ask for what was lost, the names of tasks and the clock; not while another worker is here."""
        if not self._busy.acquire(blocking=False):
            return
        try:
            if self.watch is None or self.state not in (State.OPEN, State.ARMED, State.REFUSED):
                return
            self.clock.add(tuple(read_clock(self.watch.session, now, 1)))
            self.counts = self.watch.counts() or self.counts
            self.names = self.watch.names()
            self.stopped += tuple(stopped.text for stopped in self.watch.guard.take())
        except TargetLost:
            pass  # the pump says so, when all is read that came
        except KernelError as error:
            self.why = str(error)
        finally:
            self._busy.release()

    def lost(self, error: KernelError) -> None:
        """The line or the machine is gone."""
        if self.state not in (State.LOST, State.CLOSED):
            self._failed(State.LOST, error)
            self.remedy = self.remedy or "the far side takes its probes away by itself; `clean` there looks again"

    def close(self) -> None:
        """Take everything away; every step is tried. Safe to call twice."""
        with self._busy:
            watch = self.watch
            if watch is None:
                self.state = self.state if self.state.failed else State.CLOSED
                return
            lost = self.state is State.LOST
            was_open = watch.session is not None
            if not lost:
                with contextlib.suppress(KernelError):
                    self.counts = watch.counts() or self.counts
            try:
                failures = watch.close()
                gone = [failure for failure in failures if isinstance(failure.error, TargetLost)]
                if gone and not lost:
                    self.lost(gone[0].error)
                left = tuple(str(one.error) for one in failures if one not in gone)
                # What an earlier `disarm` left was tried again, where the watch was open and its line stands.
                self.left = left if was_open and not gone else self.left + left
            finally:
                watch.connection.close()
                self.state = self.state if self.state.failed else State.CLOSED

    def _failed(self, state: State, error: KernelError) -> None:
        self.state, self.why, self.remedy = state, str(error), error.remedy

    def _progress(self, text: str, share: float | None = None) -> None:
        self.progress = text if share is None else f"{text} {share:.0%}"
