"""Base class of the exceptions that signal handlers raise to end a command, and their recovery where Python drops
them.
"""

from __future__ import annotations

import _thread
import signal
import sys
import time
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from sys import UnraisableHookArgs

RERAISE_SIGNAL = signal.SIGRTMIN + 3
"""Signal that raises a dropped `Ending` again; nothing else sends it."""
_PAUSE = 0.01
"""Seconds for the interpreter to leave the place that can't raise."""


class Ending(BaseException):
    """Exception of a signal handler that ends the current work."""


class _Kept:
    tell: Callable[[UnraisableHookArgs], object] = sys.__unraisablehook__
    """Former hook, for exceptions other than `Ending`."""
    lost: list[BaseException] = []  # noqa: RUF012 - there is one interpreter


def reraise_lost_endings() -> None:
    """Raise each `Ending` again that occurred where Python can't raise, as in a destructor or a weakref's callback.

    There the interpreter only reports it (`sys.unraisablehook`), and the command would go on as if no signal had
    arrived.
    """
    signal.signal(RERAISE_SIGNAL, _again)
    if sys.unraisablehook is not _hook:
        _Kept.tell, sys.unraisablehook = sys.unraisablehook, _hook


def _hook(unraisable: UnraisableHookArgs, /) -> None:
    if not isinstance(unraisable.exc_value, Ending):
        _Kept.tell(unraisable)
    elif signal.getsignal(RERAISE_SIGNAL) is _again:
        _Kept.lost = [unraisable.exc_value]
        # Not from `threading`: its locks may be held here.
        _thread.start_new_thread(_send, (_thread.get_ident(),))


def _send(thread: int) -> None:
    time.sleep(_PAUSE)
    signal.pthread_kill(thread, RERAISE_SIGNAL)


def _again(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `signal` calls it
    if _Kept.lost:
        raise _Kept.lost.pop()
