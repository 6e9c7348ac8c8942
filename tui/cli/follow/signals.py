"""Handle signals that end a command: once, and never inside a section that must not be interrupted."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType

from tui.cli.follow.ending import RERAISE_SIGNAL, Ending

TWICE = 0.2
"""Seconds within which signals are one request: timeout(1) sends one to the process, and one to its group after
it.
"""


class SignalStop(Ending):
    """Request to end the process, by a signal."""


class Forced(Ending):
    """Repeated request to end, after the first had no effect: no more output is written."""


class _SignalState:
    """State of the handlers: a protected section is active, a signal is deferred, a signal has arrived."""

    on = False
    late = False
    asked = False
    """True after a signal has arrived."""
    number = signal.SIGTERM
    """The first signal that has arrived."""
    since = float("-inf")
    """Time of that signal, by time.monotonic()."""


@contextlib.contextmanager
def signals_deferred() -> Iterator[None]:
    """Defer a signal to the end of the block, so that the block is not interrupted; then end the `stoppable` block.

    Another signal, `TWICE` seconds later, ends it at once with `Forced`: the reader of the output may have stopped
    reading.
    """
    _SignalState.on = True
    try:
        yield
    finally:
        _SignalState.on = False
        late, _SignalState.late = _SignalState.late, False
    if late:
        raise SignalStop


def flush_output() -> None:
    """Flush standard output, for a reader on a pipe."""
    with signals_deferred():
        sys.stdout.flush()


def is_stop_requested() -> bool:
    """Tell whether a `stoppable` block was asked to end."""
    return _SignalState.asked


def requested_signal() -> signal.Signals:
    """Return the signal by which a `stoppable` block was asked to end."""
    return _SignalState.number


def force_stop() -> None:
    """Discard standard output, and let the handler's next call raise `Forced`."""
    discard_output()
    _SignalState.on = _SignalState.asked = True
    _SignalState.since = float("-inf")


STOPPED_EARLY = "stopped before all was armed: nothing was watched"
"""Message of a command that a signal ended before it began to watch."""


class stoppable:  # noqa: N801 - used as a with statement
    """Context manager whose block SIGINT, SIGTERM and SIGHUP end with `SignalStop`, once: from then on probes are
    disarmed.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self, hurry: Callable[[float], object] = lambda _: None) -> None:
        """Set the function that is called with the time of the request, by time.monotonic(): remote hosts are waited
        for less.
        """
        self._hurry = hurry

    def __enter__(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `signal` calls it
            if _SignalState.asked:
                if _SignalState.on and time.monotonic() - _SignalState.since > TWICE:
                    self.ignore()
                    _SignalState.on = _SignalState.late = False
                    discard_output()
                    raise Forced
                return
            _SignalState.asked, _SignalState.since = True, time.monotonic()
            _SignalState.number = signal.Signals(number)
            self._hurry(_SignalState.since)
            _SignalState.late = _SignalState.on
            if not _SignalState.on:
                raise SignalStop

        _SignalState.on = _SignalState.late = _SignalState.asked = False
        for number in self._SIGNALS:
            signal.signal(number, stop)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        self.ignore()  # a signal must not interrupt what follows
        _SignalState.on = _SignalState.late = _SignalState.asked = False
        if kind is Forced:
            print_forced_stop()
        return kind in (SignalStop, Forced)

    @classmethod
    def ignore(cls) -> None:
        """Ignore these signals from now on."""
        for number in (*cls._SIGNALS, RERAISE_SIGNAL):
            signal.signal(number, signal.SIG_IGN)


def print_forced_stop() -> None:
    """Print that the end was `Forced`."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        print("probewright: interrupted: some received events were not written", file=sys.stderr)


def discard_output() -> None:
    """Redirect standard output to /dev/null: a pipe that nobody reads would hold up the exit."""
    with contextlib.suppress(OSError):
        null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(null, 1)
        os.close(null)
