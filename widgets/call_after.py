"""Call a function once after some time, also on a machine that is busy then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from textual.message_pump import MessagePump
from textual.timer import Timer


def call_after(target: MessagePump, seconds: float, callback: Callable[[], Any]) -> Timer:
    """Call a function once, after so many seconds or later, among the messages of a widget; return the timer, which
    can be stopped.

    A timer of Textual skips calls that are overdue: one of a single call never calls where the process waited for a
    processor until then (`Timer._run` of textual/timer.py), and what it was to go on with stands still.
    """
    timer = target.set_timer(seconds, callback)
    timer._skip = False
    return timer
