"""Numbers for people: grouped, short, or as bars."""

from __future__ import annotations

import math
from typing import Final

_EIGHTHS = " ▏▎▍▌▋▊▉█"
DECADES: Final = "10x each"
"""Title of a column with bars of `decade_bar`."""
_FIRST_DECADE: Final = 2
"""Power of ten of the nanoseconds at which these bars begin."""
_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def grouped(number: int) -> str:
    """Return a number with separators: `43,859`."""
    return f"{number:,}"


def short(number: float) -> str:
    """Return at most five characters up to 10^12: `0`, `0.4`, `812`, `1.2k`, `43.9k`, `310M`."""
    if 0 < number < 1:
        return f"{number:.1f}" if number >= 0.05 else "<0.1"
    for size, letter in _STEPS:
        if number >= size * 0.9995:
            scaled = number / size
            return f"{scaled:.1f}{letter}" if scaled < 99.95 else f"{scaled:.0f}{letter}"
    return f"{number:.0f}"


def rate(per_second: float) -> str:
    """Return a rate: `1.2k/s`."""
    return f"{short(per_second)}/s"


def duration(nanoseconds: int) -> str:
    """Return a duration with three digits: `812 ns`, `3.21 us`, `18.2 ms`, `1.20 s`, `314 s`."""
    if nanoseconds < 1000:
        return f"{nanoseconds} ns"
    value, unit = nanoseconds / 1e3, "us"
    for larger in ("ms", "s"):
        if value < 999.5:
            break
        value, unit = value / 1e3, larger
    decimals = 2 if value < 9.995 else 1 if value < 99.95 else 0
    return f"{value:.{decimals}f} {unit}"


def bar(share: float, columns: int) -> str:
    """Return a bar of a share of `columns` columns; a share above 0 has at least an eighth of a column."""
    eighths = round(share * columns * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(min(eighths, columns * 8), 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(columns)


def decade_bar(nanoseconds: int, columns: int) -> str:
    """Return a bar of a duration, a column for each tenfold from 100 ns on: one of 8 ends at 10 s."""
    if nanoseconds <= 0:
        return " " * columns
    decades = max(0.0, math.log10(nanoseconds) - _FIRST_DECADE)
    return bar(max(decades / columns, 1e-6), columns)
