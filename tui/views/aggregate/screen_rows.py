"""Rows of a table of groups for the screen, with their rates while events come."""

from __future__ import annotations

import time
from typing import Final

from tui.views.aggregate.cells import bar_share, key_text, number_cells, power_columns, titles
from tui.views.aggregate.model import AggregateModel
from tui.views.aggregate.table_source import AggregateRow, AggregateRows
from widgets.aggregates.group_order import GroupOrder
from widgets.aggregates.group_table import GroupCells, GroupRows
from widgets.number_format import rate
from widgets.safe_text import safe

_RATES: Final = 1.0
"""Seconds over which rates are averaged."""


class GroupRates:
    """Rows per second of each group, from counts at two moments."""

    def __init__(self) -> None:
        self._at = 0.0
        self._counts: dict[tuple[str, ...], int] = {}
        self._rates: dict[tuple[str, ...], float] | None = None

    def see(self, rows: AggregateRows) -> None:
        """Take the counts of now."""
        now = time.monotonic()
        if (passed := now - self._at) < _RATES and self._at:
            return
        counts = {row.labels: row.hits for row in rows.rows}
        if self._at:
            before = self._counts
            self._rates = {name: (hits - before.get(name, 0)) / passed for name, hits in counts.items()}
        self._at, self._counts = now, counts

    def text(self, row: AggregateRow) -> str:
        """Return the rate of a row; empty: it is not known yet."""
        found = self._rates.get(row.labels) if self._rates is not None else None
        return rate(found) if found is not None else ""


def group_rows(model: AggregateModel, rows: AggregateRows, order: GroupOrder, rates: GroupRates) -> GroupRows:
    """Return the rows, and the sum of the others, as a table shows them."""
    every = (*rows.rows, *((rows.others,) if rows.others else ()))
    live = model.watch.live
    powers = power_columns(model, every)

    def cells(row: AggregateRow) -> tuple[str, ...]:
        counts = tuple(power.cell(row) for power in powers)
        return (*key_text(model, row), *number_cells(model, row), *counts, *((rates.text(row),) * live))

    groups = [
        GroupCells(
            tuple(map(safe, cells(row))),
            bar_share(model, row, rows.rows, order.column),
            is_others=row.row < 0,
        )
        for row in every
    ]
    named = titles(model.request)
    heads = (*map(safe, (*named, *(power.title(model) for power in powers))), *(("now",) * live))
    found = GroupRows(heads, len(model.request.keys), groups, sortable=len(named))
    found.current = model.first_order if order.column is None else order.column
    found.columns.order = found.current, not order.ascending
    return found
