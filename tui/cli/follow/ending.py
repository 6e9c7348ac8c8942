"""The ends that signals ask for: exceptions of their handlers, which must not get lost."""

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

AGAIN = signal.SIGRTMIN + 3
"""Signal that raises a lost `Ending` again; nothing else sends it."""
_PAUSE = 0.01
"""Seconds, in which the place that can't raise is left."""


class Ending(BaseException):
    """A signal asked for the end of what goes on."""


class _Kept:
    tell: Callable[[UnraisableHookArgs], object] = sys.__unraisablehook__
    """The hook for all that is no `Ending`."""
    lost: list[BaseException] = []  # noqa: RUF012 - there is one interpreter


def keep_endings() -> None:
    """Have each `Ending` raised again that came where Python can't raise, as in a destructor or a weakref's callback.

    There the interpreter only tells of it (`sys.unraisablehook`), and the command would go on as if nobody had asked.
    """
    signal.signal(AGAIN, _again)
    if sys.unraisablehook is not _hook:
        _Kept.tell, sys.unraisablehook = sys.unraisablehook, _hook


def _hook(unraisable: UnraisableHookArgs, /) -> None:
    if not isinstance(unraisable.exc_value, Ending):
        _Kept.tell(unraisable)
    elif signal.getsignal(AGAIN) is _again:
        _Kept.lost = [unraisable.exc_value]
        # Not of `threading`: its locks may be held here.
        _thread.start_new_thread(_send, (_thread.get_ident(),))


def _send(thread: int) -> None:
    time.sleep(_PAUSE)
    signal.pthread_kill(thread, AGAIN)


def _again(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - as `signal` calls it
    if _Kept.lost:
        raise _Kept.lost.pop()
