"""Texts of the cells of a row of groups, for the screen and the command line. Imports no screen code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from events.aggregates.event_columns import KeyKind
from events.aggregates.request import Function, Statistic
from tui.views.aggregate.model import OTHER_KEYS, AggregateRow, AggregateTableSource, statistic_of
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from events.aggregates.request import AggregateRequest

__all__ = ["OTHER_KEYS", "bar_share", "key_lines", "key_text", "number_cells", "statistic_text", "titles"]
_NONE: Final = "-"


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
    return f"{number:,.1f}" if statistic.function is Function.AVG else f"{number:,}"


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
