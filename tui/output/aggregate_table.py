"""Table of what is aggregated by keys, as objects and cells. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from events.aggregates.request import NEGATIVE
from events.aggregates.value_sums import ValueTotal
from foreign.count_text import counted
from tui.filter.filter import PassCount
from tui.output.view_table import Cells, EventsTable
from tui.views.aggregate.model import AggregateModel, AggregateRow, statistic_of

if TYPE_CHECKING:
    from events.aggregates.request import AggregateRequest
    from tui.filter.filter import Filter

_KINDS = ("group", "others")
"""Kinds of rows: a group of the keys, all groups that are not listed."""
_LOG2 = "log2"


def group_object(model: AggregateModel, row: AggregateRow) -> dict[str, Any]:
    """Return a row as an object: its keys by name, the numbers of those with another name, and its statistics."""
    keys = dict(zip(model.request.keys, row.keys, strict=True)) if row.keys or not model.request.keys else {}
    numbers = {name: number for name, key in keys.items() if (number := model.labels.number(key)) is not None}
    return {
        "summary": _KINDS[not row.keys and bool(model.request.keys)],
        "by": {name: model.labels.exported(key) for name, key in keys.items()},
        **({"numbers": numbers} if numbers else {}),
        "count": row.hits,
        "values": {name: _values(model.request, name, total) for name, total in row.totals.items()},
    }


def _values(request: AggregateRequest, name: str, total: ValueTotal) -> dict[str, Any]:
    found: dict[str, Any] = {
        str(one.function): statistic_of(one, total) for one in request.columns if one.value == name
    }
    if name in request.histograms:
        found[_LOG2] = [[power.exponent, power.hits] for power in total.powers]
    return {"number": total.number, **found}


def head_object(model: AggregateModel, rows: int) -> dict[str, Any]:
    """Return what a table is of: its keys and statistics, the number of events or calls, and of those left out."""
    aggregate = model.aggregate
    return {
        "summary": "aggregate",
        "keys": list(model.request.keys),
        "statistics": [one.title for one in model.request.statistics],
        "unit": model.unit,
        "counted": aggregate.counted,
        "of": aggregate.of,
        "left_out": aggregate.left_out,
        "uncounted": aggregate.skipped_events,
        "rows": rows,
    }


class AggregateTable(EventsTable):
    """Groups in their order, and the sum of those that are not listed."""

    name = "aggregate"

    def __init__(self, model: AggregateModel, chosen: Filter, most: int = 0, order: int | None = None) -> None:
        """Take the aggregate; `most`: greatest number of rows, 0: all; `order`: column that they are sorted by."""
        super().__init__(model.watch, model.store, chosen)
        self._model = model
        self._most = most
        self._order = order

    @property
    def backlog(self) -> int:
        """Number of events not yet processed."""
        return self._model.aggregate.backlog

    @property
    def counted(self) -> PassCount:
        """Number of events or calls."""
        return PassCount(self._model.aggregate.counted, self._model.aggregate.of, self._model.unit)

    @property
    def text(self) -> str:
        rows, found = self._model.rows(0).size, self.counted
        events = found.text if self.chosen.text else counted(found.passing, found.unit)
        return f"{counted(rows, 'row')} of {events}"

    @property
    def notes(self) -> tuple[str, ...]:
        return ()  # rows of events that were dropped since are counted

    @property
    def columns(self) -> tuple[str, ...]:
        """Keys, numbers of keys with other names, and statistics; of powers of two the value, and its upper bound."""
        request = self._model.request
        powers = ("value", _LOG2) if request.histograms else ()
        named = {name for row in self.objects() for name in row.get("numbers", ())}
        numbers = [f"{name}.number" for name in request.keys if name in named]
        return ("summary", *request.keys, *numbers, "count", *(one.title for one in request.columns), *powers)

    def tick(self, budget: float) -> None:
        """Aggregate events."""
        self._model.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the groups in order, then the sum of those not listed."""
        found = self._model.rows(self._most, self._order)
        for row in (*found.rows, *((found.others,) if found.others else ())):
            yield group_object(self._model, row)

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield a row for the group, and one for each power of two."""
        keys = {name: ";".join(value) if isinstance(value, list) else value for name, value in row["by"].items()}
        numbers = {f"{name}.number": number for name, number in row.get("numbers", {}).items()}
        columns = self._model.request.columns
        statistics = {one.title: row["values"][one.value][str(one.function)] for one in columns}
        yield {"summary": row["summary"], **keys, **numbers, "count": row["count"], **statistics}
        for name, values in row["values"].items():
            for exponent, hits in values.get(_LOG2, ()):
                bound = -1 if exponent == NEGATIVE else 1 << exponent
                yield {"summary": _LOG2, **keys, **numbers, "value": name, _LOG2: bound, "count": hits}
