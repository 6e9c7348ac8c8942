"""Time stamps as text, as the kernel prints them."""

from __future__ import annotations

from typing import Final

SHOWN_DIGITS: Final = 6
"""Digits after the point in `seconds`."""
_HALF: Final = 500
"""Nanoseconds that `ns2usecs` (kernel/trace/trace.c) adds before it divides."""


def microseconds(nanoseconds: int) -> int:
    """Return microseconds, rounded as the kernel does."""
    return (nanoseconds + _HALF) // 1000


def earliest(nanoseconds: int) -> int:
    """Return the lowest time stamp that is shown like the given one, which is whole microseconds."""
    return max(nanoseconds - _HALF, 0)


def seconds(nanoseconds: int) -> str:
    """Return nanoseconds as `12.304117`, like `trace_print_context` (kernel/trace/trace_output.c)."""
    whole, rest = divmod(microseconds(nanoseconds), 1_000_000)
    return f"{whole}.{rest:06d}"
