"""Time stamps as text, as the kernel prints them."""

from __future__ import annotations

from typing import Final

SHOWN_DIGITS: Final = 6
"""Behind the point of `seconds`."""
_HALF: Final = 500
"""Nanoseconds by which `ns2usecs` (kernel/trace/trace.c) is ahead before it divides."""


def microseconds(nanoseconds: int) -> int:
    """Return microseconds, rounded as the kernel does."""
    return (nanoseconds + _HALF) // 1000


def earliest(nanoseconds: int) -> int:
    """Return the least time stamp that is shown as one in whole microseconds is."""
    return max(nanoseconds - _HALF, 0)


def seconds(nanoseconds: int) -> str:
    """Return `12.304117`, as `trace_print_context` (kernel/trace/trace_output.c) has it for nanoseconds."""
    whole, rest = divmod(microseconds(nanoseconds), 1_000_000)
    return f"{whole}.{rest:06d}"
