"""Text of times. Imports no screen code."""

from __future__ import annotations

from collections.abc import Callable

from events.kernel_time import seconds

Stamp = Callable[[int, int], str]
"""Time stamp in nanoseconds and number of a row -> text of its time."""


def kernel_stamp(ts: int, _: int) -> str:
    """Return the time of a row by the kernel's clock alone; a `Stamp`."""
    return seconds(ts)
