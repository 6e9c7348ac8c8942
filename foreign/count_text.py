"""Write counts and lists of names for messages: apart from all else, as every layer has messages."""

from __future__ import annotations

from collections.abc import Sequence

_MOST_NAMES = 4
"""Names listed before the rest is counted."""


def counted(number: int, what: str, plural: str = "") -> str:
    """Return a number with its noun: `1 event`, `1,234 events`; `plural`: of a noun that takes more than an `s`."""
    return f"{number:,} {what if number == 1 else plural or f'{what}s'}"


def size_text(number: int) -> str:
    """Return a size in bytes: `812 bytes`, `12.3 kB`, `4.5 MB`."""
    if number < 1000:
        return counted(number, "byte")
    return f"{number / 1e3:.1f} kB" if number < 1e6 - 50 else f"{number / 1e6:.1f} MB"


def shortened(names: Sequence[str]) -> str:
    """Return the first few names, and the number of the others: `a, b, c, d and 3 more`."""
    more = f" and {len(names) - _MOST_NAMES:,} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
