"""Table of what is aggregated by keys, as objects and cells. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from events.aggregates.request import NEGATIVE
from events.aggregates.value_sums import ValueTotal
from foreign.count_text import counted
from tui.filter.filter import PassCount
from tui.output.view_table import Cells, EventsTable, ViewTable, key_titles
from tui.views.aggregate.model import AggregateModel
from tui.views.aggregate.table_source import AggregateRow, AggregateTableSource, statistic_of

if TYPE_CHECKING:
    from events.aggregates.request import AggregateRequest
    from tui.filter.filter import Filter
    from tui.views.aggregate.kernel_table import KernelTable

_KINDS = ("group", "others")
"""Kinds of rows: a group of the keys, all groups that are not listed."""
_LOG2 = "log2"


def group_object(model: AggregateTableSource, row: AggregateRow) -> dict[str, Any]:
    """Return a row as an object: its keys by name, the numbers of those with another name, and its statistics."""
    keys = dict(zip(model.request.keys, row.keys, strict=True)) if row.keys or not model.request.keys else {}
    numbers = {
        name: number
        for place, (name, key) in enumerate(keys.items())
        if place not in row.mixed and (number := model.labels.number(key)) is not None
    }
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


def head_object(model: AggregateTableSource, rows: int) -> dict[str, Any]:
    """Return what a table is of: its keys and statistics, the number of events or calls, and of those left out."""
    return {
        "summary": "aggregate",
        "keys": list(model.request.keys),
        "statistics": [one.title for one in model.request.statistics],
        "unit": model.unit,
        **model.figures._asdict(),
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
        return self._model.pass_count

    @property
    def text(self) -> str:
        rows, found = self._model.rows(0).size, self.counted
        events = found.text if self.chosen.text else counted(found.passing, found.unit)
        return f"{counted(rows, 'row')} of {events}"

    @property
    def lacking(self) -> tuple[str, ...]:
        return tuple(self._model.lacking)

    @property
    def notes(self) -> tuple[str, ...]:
        return ()  # rows of events that were dropped since are counted

    @property
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns."""
        return group_columns(self._model, self.objects())

    def tick(self, budget: float) -> None:
        """Aggregate events."""
        self._model.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the groups in order, then the sum of those not listed."""
        yield from group_objects(self._model, self._most, self._order)

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield a row for the group, and one for each power of two."""
        yield from group_cells(self._model.request, row)


class KernelAggregateTable(ViewTable):
    """Groups that the kernel's hist triggers count."""

    name = "kernel-aggregate"

    def __init__(self, table: KernelTable) -> None:
        """Take the table, which has been read."""
        self._table = table

    @property
    def text(self) -> str:
        """Number of rows and hits."""
        return f"{counted(self._table.rows(0).size, 'row')} of {counted(self._table.figures.counted, 'hit')}"

    @property
    def lacking(self) -> tuple[str, ...]:
        return tuple(self._table.lacking)

    @property
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns."""
        return group_columns(self._table, self.objects())

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the groups in order."""
        yield from group_objects(self._table)

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield a row for the group, and one for each power of two."""
        yield from group_cells(self._table.request, row)


class _Titles(NamedTuple):
    """Titles of the columns of keys, and of their numbers, by key; none is that of another column."""

    keys: Mapping[str, str]
    numbers: Mapping[str, str]


def _titles(request: AggregateRequest) -> _Titles:
    keys = key_titles(request.keys, others := ("summary", *_own_columns(request)))
    numbers = [f"{title}.number" for title in keys.values()]
    return _Titles(keys, dict(zip(keys, key_titles(numbers, (*others, *keys.values())).values(), strict=True)))


def _own_columns(request: AggregateRequest) -> tuple[str, ...]:
    """Return the titles of the columns behind the keys."""
    powers = ("value", _LOG2) if request.histograms else ()
    return ("count", *(one.title for one in request.columns), *powers)


def group_columns(model: AggregateTableSource, rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return keys, numbers of keys with other names, and statistics; of powers of two the value, and its upper
    bound.
    """
    titles = _titles(model.request)
    named = {name for row in rows for name in row.get("numbers", ())}
    numbers = (title for name, title in titles.numbers.items() if name in named)
    return ("summary", *titles.keys.values(), *numbers, *_own_columns(model.request))


def group_objects(model: AggregateTableSource, most: int = 0, order: int | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows as objects, then the sum of those beyond `most`, if it is not 0."""
    found = model.rows(most, order)
    for row in (*found.rows, *((found.others,) if found.others else ())):
        yield group_object(model, row)


def group_cells(request: AggregateRequest, row: Mapping[str, Any]) -> Iterator[Cells]:
    """Yield a row for the group, and one for each power of two."""
    titles = _titles(request)
    keys = {titles.keys[name]: ";".join(key) if isinstance(key, list) else key for name, key in row["by"].items()}
    numbers = {titles.numbers[name]: number for name, number in row.get("numbers", {}).items()}
    statistics = {one.title: row["values"][one.value][str(one.function)] for one in request.columns}
    yield {"summary": row["summary"], **keys, **numbers, "count": row["count"], **statistics}
    for name, values in row["values"].items():
        for exponent, hits in values.get(_LOG2, ()):
            bound = -1 if exponent == NEGATIVE else 1 << exponent
            yield {"summary": _LOG2, **keys, **numbers, "value": name, _LOG2: bound, "count": hits}
