"""Rows of the summary: bars for counts, sparklines for rates over time. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from widgets.number_format import bar, duration, grouped, short
from widgets.rows import Piece
from widgets.safe_text import fit, safe, width

_LEVELS: Final = " ▁▂▃▄▅▆▇█"
_MOST_RATES: Final = 8
"""Rates that are shown at least, if there are as many."""
_MOST_LINES: Final = 4
"""Lines of a rate at most."""
_GAP_FROM: Final = 3
"""Lines of a rate from which on the first one is blank, so that columns of two rates do not touch."""
_LEAST_BAR: Final = 4
_PEAK_WIDTH: Final = len("  max 99.9k/s")
_WIDEST_LABEL: Final = 0.5
"""Share of the available columns."""


class Bar(NamedTuple):
    """Label with a count; without a count a title."""

    label: str
    """Foreign text."""
    hits: int | None = None
    """Count; None: the label is a title of the rows below."""
    error: int = 0
    """Upper bound of uncounted occurrences."""
    right: bool = False
    """True for a number: it is right-aligned."""
    dim: bool = False


class Rate(NamedTuple):
    """Events of one probe over time."""

    name: str
    counts: tuple[int, ...]
    """Counts of equal intervals, the oldest first."""
    total: int


def each_of(counts: int, columns: int) -> int:
    """Return how many neighbouring counts share a column, for at most `columns` columns."""
    return max(1, -(-counts // max(1, columns)))


def squeezed(counts: Sequence[int], columns: int) -> list[int]:
    """Return the counts in at most `columns` columns: each is the sum of the same number of neighbours."""
    each = each_of(len(counts), columns)
    return [sum(counts[at : at + each]) for at in range(0, len(counts), each)]


def sparkline(counts: Sequence[int], columns: int) -> str:
    """Return a line of levels; a count above 0 has at least the lowest level."""
    return levels(counts, columns, 1)[0]


def levels(counts: Sequence[int], columns: int, lines: int) -> tuple[str, ...]:
    """Return a sparkline over several lines, the top one first; a count above 0 has at least the lowest level."""
    found = squeezed(counts, columns)
    most = max(found, default=0)
    heights = [max(1, round(count / most * 8 * lines)) if count else 0 for count in found]
    return tuple(
        "".join(_LEVELS[min(8, max(0, height - 8 * line))] for height in heights) for line in reversed(range(lines))
    )


def rate_lines(rates: int, free: int) -> tuple[int, int]:
    """Return how many rates are shown, and the lines of each, where so many lines are free for them."""
    shown = min(rates, max(_MOST_RATES, free))
    return shown, min(_MOST_LINES, max(1, free // shown)) if shown else 1


class BarRows:
    """Bars with labels of one width, counts and shares."""

    def __init__(self, bars: Sequence[Bar], total: int = 0) -> None:
        """Set the bars; `total`: total that shares refer to, 0: no shares are shown."""
        self.bars = tuple(bars)
        self._total = total
        self._most = max((one.hits or 0 for one in bars), default=0)
        self._figures = max((width(_count(one)) for one in bars if one.hits is not None), default=0)
        self._labels = max((width(safe(one.label)) for one in bars if one.hits is not None), default=0)

    @property
    def first(self) -> int:
        return 0

    @property
    def next(self) -> int:
        return len(self.bars)

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return label, bar, count, share."""
        one = self.bars[row]
        if one.hits is None:
            return (Piece(fit(safe(one.label), columns), "dim" if one.dim else "name"),)
        share = f" {one.hits / self._total:6.1%}" if self._total else ""
        label = min(self._labels, max(6, int(columns * _WIDEST_LABEL)))
        room = columns - label - self._figures - len(share) - 3
        bar_text = bar(one.hits / self._most if self._most else 0, room) if room >= _LEAST_BAR else ""
        if not bar_text:
            label = min(label, max(6, columns - self._figures - len(share) - 2))
        return (
            Piece(f"{fit(safe(one.label), label, one.right)} ", "dim" if one.dim else ""),
            Piece(f"{bar_text} ", "type"),
            Piece(_count(one).rjust(self._figures), "number"),
            Piece(share, "dim"),
        )


def _count(one: Bar) -> str:
    return f"{'≥ ' if one.error else ''}{grouped(one.hits or 0)}"


class RateRows:
    """Sparklines; a column is the same time in all rows."""

    def __init__(self, rates: Sequence[Rate], step: int = 0, lines: int = 1) -> None:
        """Set the rates; `step`: nanoseconds of an interval, 0: there are none; `lines`: those of each rate."""
        self.rates = tuple(rates)
        self._lines = lines
        self._step = step
        self._names = max((width(safe(rate.name)) for rate in rates), default=0)
        self._totals = max((width(_total(rate)) for rate in rates), default=0)

    @property
    def first(self) -> int:
        return 0

    @property
    def next(self) -> int:
        return len(self.rates) * self._lines

    def legend(self, columns: int) -> str:
        """Return the time of a column, `, 5.60 s a column, max: the highest column`; empty without sparklines."""
        step = self._column_step(columns)
        return f", {duration(step)} a column, max: the highest column" if step else ""

    def pieces(self, row: int, columns: int) -> Iterable[Piece]:
        """Return name, sparkline, total, and the rate in the sparkline's highest column; above the last line of a
        rate the sparkline alone.
        """
        number, line = divmod(row, self._lines)
        rate = self.rates[number]
        room, step = self._room(columns), self._column_step(columns)
        gap = int(self._lines >= _GAP_FROM)
        drawn = Piece(fit((*[""] * gap, *levels(rate.counts, room, self._lines - gap))[line], room), "type")
        if line < self._lines - 1:
            return (Piece(" " * (self._name(columns) + 1)), drawn)
        peak = f"  max {short(max(squeezed(rate.counts, room), default=0) * 1e9 / step):>5}/s" if step else ""
        return (
            Piece(f"{fit(safe(rate.name), self._name(columns))} ", "name"),
            drawn,
            Piece(_total(rate).rjust(self._totals) + peak, "number"),
        )

    def _column_step(self, columns: int) -> int:
        """Return the nanoseconds that a column of the sparklines stands for; 0: there are no sparklines."""
        counts, room = max((len(rate.counts) for rate in self.rates), default=0), self._room(columns)
        return self._step * each_of(counts, room) if counts and room else 0

    def _name(self, columns: int) -> int:
        return min(self._names, max(8, columns // 3))

    def _room(self, columns: int) -> int:
        """Return the columns of the sparkline: the same in all rows."""
        peak = _PEAK_WIDTH if self._step else 0
        return max(0, columns - self._name(columns) - self._totals - peak - 1)


def _total(rate: Rate) -> str:
    return f" {grouped(rate.total):>11}"
