"""Two distributions side by side, as bars: what Enter shows of a comparison. Imports no screen code."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from events.differences.differences import Aspect, Difference, RecordingComparison
from foreign.count_text import counted
from tui.views.compare.text import change_text, group_lines, item_text, number_texts, share_text
from widgets.number_format import bar, duration, grouped
from widgets.safe_text import fit, safe, width

if TYPE_CHECKING:
    from events.summary.distribution import Distribution

_LEAST_BAR: Final = 14
"""Columns of a bar at least, by which the title above it has its place."""
_LABEL: Final = 26
"""Columns of the name of a value at most."""
_SHARE: Final = 6
_MOST_ROWS: Final = 40


class BarRow(NamedTuple):
    """Row of two distributions."""

    label: str
    a: int
    """Number of values of recording A."""
    b: int


def distribution_lines(found: RecordingComparison, one: Difference, room: int) -> Iterator[str]:
    """Yield the comparison in words, both distributions in `room` columns, and all numbers of its group."""
    a, b = number_texts(one)
    yield f"{item_text(one)}: {a} in A, {b} in B: {change_text(one.change)}"
    yield ""
    if rows := bar_rows(found, one):
        yield from _bars(rows, room)
        yield ""
    yield f"{'':{_LABEL}} {'A':>12} {'B':>12}"
    for line in group_lines(found, one.group):
        yield f"{fit(safe(line.label), _LABEL)} {line.a:>12} {line.b:>12}  {line.note}".rstrip()


def bar_rows(found: RecordingComparison, one: Difference) -> list[BarRow]:
    """Return the distributions behind a comparison: by powers of two, or by value; empty for a rate."""
    own, other = (facts.groups.get(one.group) for facts in (found.a, found.b))
    if own is None or other is None or one.aspect is Aspect.RATE:
        return []
    if one.aspect is Aspect.LATENCY:
        if own.durations is None or other.durations is None:
            return []
        return _power_rows(own.durations.sizes, other.durations.sizes, is_time=True)
    a, b = own.values[one.field], other.values[one.field]
    if one.aspect is Aspect.SIZE and a.sizes is not None and b.sizes is not None:
        return _power_rows(a.sizes, b.sizes, is_time=False)
    shares = [
        {name: count.hits for name, count in (*side.shares.items(), *(side.names or {}).items())} for side in (a, b)
    ]
    names = sorted(set().union(*shares), key=lambda name: (-max(side.get(name, 0) for side in shares), name))
    rows = [BarRow(name, *(side.get(name, 0) for side in shares)) for name in names[:_MOST_ROWS]]
    rest = [side.number - sum(shown) for side, shown in zip((a, b), _sums(rows), strict=True)]
    return [*rows, *([BarRow("others", *rest)] if any(rest) else [])]


def _sums(rows: list[BarRow]) -> tuple[list[int], list[int]]:
    return [row.a for row in rows], [row.b for row in rows]


def _power_rows(a: Distribution, b: Distribution, *, is_time: bool) -> list[BarRow]:
    hits: list[Mapping[int, int]] = [{power.exponent: power.hits for power in one.powers} for one in (a, b)]
    exponents = [exponent for one in hits for exponent in one]
    if not exponents:
        return []
    return [
        BarRow(
            f"≤ {duration(1 << exponent) if is_time else grouped(1 << exponent)}",
            hits[0].get(exponent, 0),
            hits[1].get(exponent, 0),
        )
        for exponent in range(min(exponents), max(exponents) + 1)
    ]


def _bars(rows: list[BarRow], room: int) -> Iterator[str]:
    """Yield the rows with bars on a logarithmic scale, which is the same for both."""
    totals = [sum(one) for one in _sums(rows)]
    most = max(max(row.a, row.b) for row in rows)
    heads = [f"{side}, {counted(total, 'value')}" for side, total in zip("AB", totals, strict=True)]
    title = "logarithmic bars"
    label = min(max(width(text) for text in (title, *(safe(row.label) for row in rows))), _LABEL)
    wide = max((room - label - 3) // 2, _LEAST_BAR + _SHARE + 1)
    yield f"{title:{label}} {fit(heads[0], wide)}  {fit(heads[1], wide)}".rstrip()
    for row in rows:
        sides = []
        for hits, total in zip((row.a, row.b), totals, strict=True):
            share = share_text(hits / total) if hits else ""
            sides.append(f"{bar(_log_share(hits, most), wide - _SHARE - 1)} {fit(share, _SHARE, True)}")
        yield f"{fit(safe(row.label), label)} {'  '.join(sides)}".rstrip()


def _log_share(hits: int, most: int) -> float:
    return math.log1p(hits) / math.log1p(most) if most else 0.0
