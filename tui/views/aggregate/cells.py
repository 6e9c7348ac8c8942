"""Texts of the cells of a row of groups, for the screen and the command line. Imports no screen code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from events.aggregates.event_columns import KeyKind
from events.aggregates.request import NEGATIVE, AggregateFunction, Statistic
from tui.views.aggregate.table_source import OTHER_KEYS, AggregateRow, AggregateTableSource, statistic_of
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from events.aggregates.request import AggregateRequest

__all__ = [
    "OTHER_KEYS",
    "PowerColumn",
    "bar_share",
    "key_lines",
    "key_text",
    "number_cells",
    "power_bound",
    "power_columns",
    "statistic_text",
    "titles",
]
_NONE: Final = "-"
_HEIGHTS: Final = " ▁▂▃▄▅▆▇█"
"""Letters for none, then for counts from few to the most."""


def titles(request: AggregateRequest) -> tuple[str, ...]:
    """Return the titles of the columns: keys, number of events or calls, statistics."""
    return (*request.keys, "count", *(one.title for one in request.columns))


def key_lines(model: AggregateTableSource, row: AggregateRow) -> list[list[str]]:
    """Return the lines of each key, foreign text: of a stack its functions, of another key one."""
    if not row.keys:
        return [[OTHER_KEYS], *([""] for _ in model.request.keys[1:])] if model.request.keys else []
    return [
        model.labels.frames(key) or [label] if key.source.kind is KeyKind.STACK else [label]
        for key, label in zip(row.keys, row.labels, strict=True)
    ]


def key_text(model: AggregateTableSource, row: AggregateRow) -> list[str]:
    """Return each key in one line, foreign text."""
    return list(row.labels) or [" ".join(lines) for lines in key_lines(model, row)]


def number_cells(model: AggregateTableSource, row: AggregateRow) -> list[str]:
    """Return number of events or calls, and statistics."""
    texts = (statistic_text(model, one, row) for one in model.request.columns)
    return [grouped(row.hits), *texts]


def statistic_text(model: AggregateTableSource, statistic: Statistic, row: AggregateRow) -> str:
    """Return a statistic of a row; `-`: the row has no value."""
    number = statistic_of(statistic, row.totals[statistic.value])
    if number is None:
        return _NONE
    if model.is_time(statistic.value) and number >= 0:
        return duration(round(number))
    return f"{number:,.1f}" if statistic.function is AggregateFunction.AVG else f"{number:,}"


def power_bound(exponent: int, *, is_time: bool) -> str:
    """Return the numbers that a power of two counts: `≤ 4,096`."""
    if exponent == NEGATIVE:
        return "< 0"
    return f"≤ {duration(1 << exponent) if is_time else grouped(1 << exponent)}"


class PowerColumn(NamedTuple):
    """Column with the counts of a value by powers of two, a letter each, the same powers in all rows."""

    value: str
    first: int
    """Exponent of the first letter."""
    last: int
    """Exponent of the last letter."""

    def title(self, model: AggregateTableSource) -> str:
        """Return its title, with the powers of its ends."""
        is_time = model.is_time(self.value)
        ends = dict.fromkeys(power_bound(one, is_time=is_time) for one in (self.first, self.last))
        return f"log2({self.value}) {' … '.join(ends)}"

    def cell(self, row: AggregateRow) -> str:
        """Return a letter for each power, as high as its share of the row's most frequent one; blank: none."""
        hits = {power.exponent: power.hits for power in row.totals[self.value].powers}
        most = max(hits.values(), default=0)
        numbers = (hits.get(exponent, 0) for exponent in range(self.first, self.last + 1))
        return "".join(_HEIGHTS[-(-number * (len(_HEIGHTS) - 1) // most) if number else 0] for number in numbers)


def power_columns(model: AggregateTableSource, rows: Sequence[AggregateRow]) -> list[PowerColumn]:
    """Return the columns of the values whose powers of two are counted; of a value that no row has there is none."""
    found = []
    for value in model.request.histograms:
        exponents = [power.exponent for row in rows for power in row.totals[value].powers]
        if exponents:
            found.append(PowerColumn(value, min(exponents), max(exponents)))
    return found


def bar_share(
    model: AggregateTableSource, row: AggregateRow, rows: Sequence[AggregateRow], by: int | None = None
) -> float:
    """Return how much of the largest row a row has, of the column `by` that the rows are sorted by; 0: nothing."""
    column = model.first_order if by is None else by
    most = max((_size(model, one, column) for one in rows if one.row >= 0), default=0)
    own = _size(model, row, column)
    return own / most if most > 0 and own > 0 and row.row >= 0 else 0.0


def _size(model: AggregateTableSource, row: AggregateRow, column: int) -> float:
    keys = len(model.request.keys)
    if column <= keys:
        return row.hits
    statistic = model.request.columns[column - keys - 1]
    return statistic_of(statistic, row.totals[statistic.value]) or 0
