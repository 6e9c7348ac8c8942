"""The end that a signal asks for: once, and not in the midst of what has to be whole."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from types import FrameType

from tui.cli.follow.ending import AGAIN, Ending

TWICE = 0.2
"""Seconds within which signals are one request: timeout(1) sends each to the process, and to its group behind it."""


class SignalStop(Ending):
    """Somebody asked the process to end."""


class Forced(Ending):
    """Somebody asked for it again, as the first time did not help: nothing is given out any more."""


class _Held:
    """Whether a signal has to wait, and whether one does."""

    on = False
    late = False
    asked = False
    """One has come."""
    since = float("-inf")
    """Time at which it came, by time.monotonic()."""


@contextlib.contextmanager
def whole() -> Iterator[None]:
    """A signal that comes inside ends a `stoppable` block after it, so that nothing is taken by half.

    Another one, `TWICE` later, ends it at once, by `Forced`: whoever reads what is printed may have stopped reading.
    """
    _Held.on = True
    try:
        yield
    finally:
        _Held.on = False
        late, _Held.late = _Held.late, False
    if late:
        raise SignalStop


def give_out() -> None:
    """What was printed is there now for whoever reads it through a pipe."""
    with whole():
        sys.stdout.flush()


def has_been_asked() -> bool:
    """Whether a `stoppable` block was asked to end."""
    return _Held.asked


def force() -> None:
    """Standard output is given up, and the next call of a `stoppable` block's handler is by `Forced`."""
    give_up_output()
    _Held.on = _Held.asked = True
    _Held.since = float("-inf")


class stoppable:  # noqa: N801 - used as a with statement
    """SIGINT, SIGTERM and SIGHUP end the block by `SignalStop`, once: from then on the probes are taken away."""

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self, hurry: Callable[[float], object] = lambda _: None) -> None:
        """Take who is told, by time.monotonic(), when the end was asked for: no far side is waited for as before."""
        self._hurry = hurry

    def __enter__(self) -> None:
        def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `signal` calls it
            if _Held.asked:
                if _Held.on and time.monotonic() - _Held.since > TWICE:
                    self.ignore()
                    _Held.on = _Held.late = False
                    give_up_output()
                    raise Forced
                return
            _Held.asked, _Held.since = True, time.monotonic()
            self._hurry(_Held.since)
            _Held.late = _Held.on
            if not _Held.on:
                raise SignalStop

        _Held.on = _Held.late = _Held.asked = False
        for number in self._SIGNALS:
            signal.signal(number, stop)

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        self.ignore()  # a signal must not cut short what follows
        _Held.on = _Held.late = _Held.asked = False
        if kind is Forced:
            tell_forced()
        return kind in (SignalStop, Forced)

    @classmethod
    def ignore(cls) -> None:
        """No such signal counts any more."""
        for number in (*cls._SIGNALS, AGAIN):
            signal.signal(number, signal.SIG_IGN)


def tell_forced() -> None:
    """Say that the end was `Forced`."""
    with contextlib.suppress(OSError):  # the terminal may be gone
        print("probewright: ended at once: not all that came was given out", file=sys.stderr)


def give_up_output() -> None:
    """What waits in the buffers of standard output goes nowhere: a pipe that nobody reads would hold up the exit."""
    with contextlib.suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, 1)
        os.close(nowhere)
