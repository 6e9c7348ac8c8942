"""`--by`, `--sum` and others: print a table of groups at the end in place of events, or write it to a file."""

from __future__ import annotations

import argparse
import math
from collections.abc import Collection, Iterator, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from events.aggregates.request import (
    AggregateError,
    AggregateFunction,
    AggregateRequest,
    Statistic,
    parse_keys,
)
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from tui.cli.console.output import emit, line, plain
from tui.cli.follow.filter import OptionRefused
from tui.cli.follow.follow import follow
from tui.cli.follow.loss_printer import print_no_events
from tui.cli.status import DONE
from tui.filter.filter import Filter
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.store.store import Store
    from tui.cli.exports.export_options import ExportRequest
    from tui.output.view_table import ViewTable
    from tui.views.aggregate.model import AggregateModel
    from tui.views.aggregate.table_source import AggregateRow, AggregateTableSource

TOP: Final = 20
"""Rows that are printed, unless another number is requested."""
_BAR: Final = 20
_LOG2_BAR: Final = 40
_BUDGET: Final = 0.1
"""Seconds of counting for each batch of new events."""
_WIDEST: Final = 60
"""Greatest width of a key, but for the last one."""
_CARET: Final = 500
"""Column beyond which no caret is printed."""
_ALONE: Final = {
    "summary": "--summary prints another table",
    "count_only": "with --count-only the kernel records no event",
    "view": "--view names another table",
}
"""Options beside which there is no table of groups, with the reason."""


def request_of(arguments: argparse.Namespace) -> AggregateRequest:
    """Return the table that the arguments request. Raises OptionRefused."""
    for name, why in _ALONE.items():
        if getattr(arguments, name, None) not in (None, False):
            option = f"--{arguments.statistics[0][0]}" if arguments.by is None else "--by"
            raise OptionRefused(f"{option} makes a table of recorded events, and {why}")
    try:
        keys = () if arguments.by is None else parse_keys(arguments.by)
    except AggregateError as error:
        raise refusal(error) from None
    statistics = (Statistic(AggregateFunction(function), value) for function, value in arguments.statistics)
    return AggregateRequest(keys, tuple(dict.fromkeys(statistics)))


def refusal(error: AggregateError) -> OptionRefused:
    """Return the refusal of a key or value, with a caret below its place."""
    head = f"--{error.option} at {error.at + 1}: {error}" if error.text else f"--{error.option}: {error}"
    if not error.text:
        return OptionRefused(head)
    at = len(plain(error.text[: error.at]))
    return OptionRefused(head, f"    {plain(error.text)}", *((f"    {' ' * at}^",) if at < _CARET else ()))


class AggregateCounter:
    """Counts the events of a watch as they arrive."""

    def __init__(
        self, watch: Watch, request: AggregateRequest, chosen: Filter, only: Collection[str] | None, most: int = 0
    ) -> None:
        """Set what to count; `only`: paths of the events, None: all; `most`: events after which counting stops."""
        self._watch = watch
        self._request = request
        self._filter = chosen
        self._only = only
        self._most = most
        self.model: AggregateModel | None = None
        """The aggregate; None: no event came."""

    def tick(self, budget: float = _BUDGET) -> int:
        """Count new events for `budget` seconds; return the number of events counted in all."""
        store = self._watch.store
        if store is None:
            return 0
        if self.model is None:
            self.model = self._made(store)
        self.model.tick(budget)
        return self.model.aggregate.passing_count

    def _made(self, store: Store) -> AggregateModel:
        from tui.views.aggregate.model import AggregateModel  # imports numpy

        passing = self._filter.of(self._watch, store)
        return AggregateModel(self._watch, store, self._request, passing=passing, only=self._only, most=self._most)

    def catch_up(self) -> None:
        """Count all events that have arrived, before later ones displace them."""
        self.tick()
        while self.model is not None and self.model.aggregate.backlog:
            self.model.tick(_BUDGET)

    def finish(self) -> AggregateModel | None:
        """Count all remaining events; return the aggregate with the names that are known now."""
        self.catch_up()
        model = self.model
        if model is not None:
            if not self._watch.info.symbols.are_read:
                self._watch.info.symbols.load()
            model.names_changed()
        return model


def count_events(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    request: AggregateRequest,
    event_filter: Filter,
) -> tuple[AggregateModel | None, KernelError | None]:
    """Aggregate the events that pass a filter until the end; return also the error by which the connection was lost.

    Raises OptionRefused, ProbeRefused, FileRefused, TargetUnusable.
    """
    check_names(watch, request, arguments)
    counter = AggregateCounter(watch, request, event_filter, events, arguments.count or 0)
    error: KernelError | None = None
    try:
        follow(watch, arguments, events, lambda _: None, counter.tick, chosen=event_filter)
    except KernelError as lost:  # the connection is lost: what was counted before is printed all the same
        error = lost
    return counter.finish(), error


def check_names(watch: Watch, request: AggregateRequest, arguments: argparse.Namespace) -> None:
    """Raise OptionRefused for a key or value that no event of a watch has."""
    from tui.views.aggregate.plan_columns import PlanColumns, check_request

    try:
        check_request(watch, request, PlanColumns(watch), arguments.by or "")
    except AggregateError as error:
        raise refusal(error) from None


def write_aggregate(
    watch: Watch, model: AggregateModel | None, arguments: argparse.Namespace, wanted: ExportRequest | None
) -> int:
    """Print the table of groups, or write all of it to a file; return the exit status."""
    if model is None or (wanted is None and not model.aggregate.of):
        print_no_events(watch)
        return DONE
    as_json = getattr(arguments, "json", False)
    if wanted is None:
        print_table(model, TOP if arguments.top is None else arguments.top, as_json=as_json)
        return DONE
    from tui.output.aggregate_table import AggregateTable

    return export_table(AggregateTable(model, Filter(arguments.filter)), wanted, as_json=as_json)


def export_table(table: ViewTable, wanted: ExportRequest, *, as_json: bool) -> int:
    from tui.cli.exports.open_export import REFUSALS, print_export_error
    from tui.cli.exports.view_export import write_table

    try:
        return write_table(table, wanted, as_json=as_json)
    except REFUSALS as refused:
        return print_export_error(wanted, refused)


def print_table(model: AggregateTableSource, top: int, *, as_json: bool) -> None:
    """Print the first rows, and the sum of the others; `top`: number of rows, 0: all."""
    found = model.rows(top)
    rows = (*found.rows, *((found.others,) if found.others else ()))
    if as_json:
        from tui.output.aggregate_table import group_object, head_object

        emit(head_object(model, found.size))
        for row in rows:
            emit(group_object(model, row))
        return
    print(line(f"{model.head}: {model.request.text}"))
    for text in (*_table(model, rows), *_histograms(model, rows)):
        print(text)


def _table(model: AggregateTableSource, rows: Sequence[AggregateRow]) -> Iterator[str]:
    from tui.views.aggregate.cells import bar_share, key_lines, number_cells, titles
    from widgets.safe_text import cut, fit, width

    keys = len(model.request.keys)
    lines = [[*key_lines(model, row), *((cell,) for cell in number_cells(model, row))] for row in rows]
    cells = [[[line(text) for text in column] for column in row] for row in lines]
    heads = titles(model.request)
    widths = [
        max(width(head), *(width(text) for row in cells for text in row[n]), 0) if cells else width(head)
        for n, head in enumerate(heads)
    ]
    widths = [min(_WIDEST, one) if n < keys - 1 else one for n, one in enumerate(widths)]
    shares = [bar_share(model, row, rows) for row in rows]

    def drawn(texts: Sequence[str], bar: str = "") -> str:
        whole = [fit(cut(text, widths[n]), widths[n], n >= keys) for n, text in enumerate(texts)]
        return "  ".join((*whole, bar)).rstrip()

    if rows:
        yield drawn([line(head) for head in heads])
    for row, share in zip(cells, shares, strict=True):
        for number, texts in enumerate(zip_longest(*row, fillvalue="")):
            yield drawn(texts, "#" * math.ceil(share * _BAR) if not number else "")


def _histograms(model: AggregateTableSource, rows: Sequence[AggregateRow]) -> Iterator[str]:
    from tui.views.aggregate.cells import OTHER_KEYS, power_bound

    for value in model.request.histograms:
        is_time = model.is_time(value)
        for row in rows:
            keys = ", ".join(row.labels) or (OTHER_KEYS if model.request.keys else "")
            total = row.totals[value]
            yield line(f"{f'{keys}: ' if keys else ''}log2({value}), {grouped(total.number)}")
            most = max((power.hits for power in total.powers), default=1)
            labels = [power_bound(power.exponent, is_time=is_time) for power in total.powers]
            widest = max(map(len, labels), default=0)
            for label, power in zip(labels, total.powers, strict=True):
                bar = "#" * -(-power.hits * _LOG2_BAR // most)
                yield f"  {label:>{widest}} |{bar:<{_LOG2_BAR}}| {grouped(power.hits)}"
