"""Text of times. Imports no screen code."""

from __future__ import annotations

from collections.abc import Callable

Stamp = Callable[[int, int], str]
"""Time stamp in nanoseconds and number of a row -> text of its time."""


def seconds(nanoseconds: int) -> str:
    """Return seconds, `12.304117`, as the kernel prints time stamps (cut to microseconds, not rounded)."""
    micros = nanoseconds // 1000
    return f"{micros // 1_000_000}.{micros % 1_000_000:06d}"


def kernel_stamp(ts: int, _: int) -> str:
    """Return the time of a row by the kernel's clock alone; a `Stamp`."""
    return seconds(ts)
