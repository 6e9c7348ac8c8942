"""`--by`, `--sum` and others: print a table of groups at the end in place of events, or write it to a file."""

from __future__ import annotations

import argparse
import math
import secrets
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from events.aggregates.event_columns import STACKS
from events.aggregates.request import (
    BY,
    NEGATIVE,
    AggregateError,
    AggregateRequest,
    Function,
    Statistic,
    parse_keys,
    place_of_key,
)
from kernel.errors import KernelError
from kernel.session.arm_steps import Mode
from kernel.session.stack_triggers import records_stacks
from kernel.watch.watch import Watch
from probes.plans.plan import DEFAULT_GROUP
from tui.cli.console.output import emit, line, plain
from tui.cli.follow.filter import OptionRefused
from tui.cli.follow.follow import ArmOptions, arm_options_of, follow, print_no_events
from tui.cli.status import DONE
from tui.filter.filter import Filter
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.connection.planner import Planner
    from probes.command import Armable
    from tui.cli.exports.export_options import ExportRequest
    from tui.output.view_table import ViewTable
    from tui.views.aggregate.hist_triggers import EventTrigger
    from tui.views.aggregate.model import AggregateModel, AggregateRow, AggregateTableSource

_TOP: Final = 20
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
    statistics = (Statistic(Function(function), value) for function, value in arguments.statistics)
    return AggregateRequest(keys, tuple(dict.fromkeys(statistics)))


def refusal(error: AggregateError) -> OptionRefused:
    """Return the refusal of a key or value, with a caret below its place."""
    head = f"--{error.option} at {error.at + 1}: {error}" if error.text else f"--{error.option}: {error}"
    if not error.text:
        return OptionRefused(head)
    at = len(plain(error.text[: error.at]))
    return OptionRefused(head, f"    {plain(error.text)}", *((f"    {' ' * at}^",) if at < _CARET else ()))


def aggregate_options(
    planner: Planner, probes: Sequence[Armable], request: AggregateRequest | None, arguments: argparse.Namespace
) -> tuple[ArmOptions, Mapping[Armable, tuple[EventTrigger, ...]]]:
    """Return the options for arming, and the hist triggers by which the kernel aggregates; those only with `--hist`.

    Where a stack is a key of recorded events, a trigger records it. Raises OptionRefused, CannotLower.
    """
    options = arm_options_of(arguments)
    if request is not None and arguments.hist:
        by_probe = kernel_triggers(planner, probes, request, arguments)
        counting = {
            probe: (*options.counting.get(probe, ()), *(t.text for t in own)) for probe, own in by_probe.items()
        }
        return options._replace(mode=Mode.COUNT, counting=counting), by_probe
    wanted = (
        request is not None and set(STACKS) & set(request.keys) and not any(map(records_stacks, options.triggers))
    )
    return options._replace(triggers=(*options.triggers, *(("stacktrace",) if wanted else ()))), {}


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

    def finish(self) -> AggregateModel | None:
        """Count all remaining events; return the aggregate with the names that are known now."""
        self.tick()
        model = self.model
        while model is not None and model.aggregate.backlog:
            model.tick(_BUDGET)
        if model is not None:
            if not self._watch.info.symbols_read:
                self._watch.info.load_symbols()
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
        print_table(model, _TOP if arguments.top is None else arguments.top, as_json=as_json)
        return DONE
    from tui.output.aggregate_table import AggregateTable

    return _export(AggregateTable(model, Filter(arguments.filter)), wanted, as_json=as_json)


def _export(table: ViewTable, wanted: ExportRequest, *, as_json: bool) -> int:
    from tui.cli.exports.open_export import REFUSALS, print_export_error
    from tui.cli.exports.view_export import write_table

    try:
        return write_table(table, wanted, as_json=as_json)
    except REFUSALS as refused:
        return print_export_error(wanted, refused)


def kernel_triggers(
    planner: Planner, probes: Sequence[Armable], request: AggregateRequest, arguments: argparse.Namespace
) -> Mapping[Armable, tuple[EventTrigger, ...]]:
    """Return the hist triggers with which the kernel aggregates, by probe. Raises OptionRefused, CannotLower."""
    from tui.views.aggregate.hist_triggers import triggers_of

    if planner.info.holds_events:
        raise OptionRefused(
            "--hist: a recording has no kernel that could count; without it its events are aggregated"
        )
    found = {}
    token = secrets.token_hex(4)
    for number, probe in enumerate(probes):
        plan = planner.lower(probe, DEFAULT_GROUP)
        if plan.programs and (reason := planner.tracefs_refusal(probe)):
            raise OptionRefused(
                f"--hist: hist triggers are of tracefs events, and tracefs can't record {probe.subject}: {reason}; "
                "without --hist recorded events are aggregated"
            )
        try:
            found[probe] = tuple(triggers_of(request, plan, f"by_{token}_{number}"))
        except AggregateError as error:
            if error.option == BY and error.text:
                at = place_of_key(arguments.by, error.text)
                error = AggregateError(str(error), BY, arguments.by, at)
            raise refusal(error) from None
    return found


def aggregate_in_kernel(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    request: AggregateRequest,
    triggers: Mapping[Armable, tuple[EventTrigger, ...]],
    wanted: ExportRequest | None,
) -> int:
    """Let the kernel count until the end, then print its table or write it to a file; return the exit status.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    from tui.views.aggregate.kernel_table import KernelTable

    follow(watch, arguments, events, lambda _: None, lambda: 0)
    if watch.store is None:
        return DONE
    if not watch.info.symbols_read:
        watch.info.load_symbols()
    in_session = [_in_session(watch, one) for several in triggers.values() for one in several]
    table = KernelTable(watch, watch.store, request, in_session)
    table.read()
    if wanted is not None:
        from tui.output.aggregate_table import KernelAggregateTable

        return _export(KernelAggregateTable(table), wanted, as_json=arguments.json)
    print_table(table, _TOP if arguments.top is None else arguments.top, as_json=arguments.json)
    if watch.outages:
        print("probewright: counted since the reconnection: earlier counts were lost", file=sys.stderr)
    return DONE


def _in_session(watch: Watch, trigger: EventTrigger) -> EventTrigger:
    """Return a trigger for the path that its event has in the session."""
    name = trigger.event.event
    events = (event for armed in watch.armed.probes for event in armed.plan.events)
    return next((trigger._replace(event=event) for event in events if event.event == name), trigger)


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
    from tui.views.aggregate.cells import OTHER_KEYS

    for value in model.request.histograms:
        is_time = model.is_time(value)
        for row in rows:
            keys = ", ".join(row.labels) or (OTHER_KEYS if model.request.keys else "")
            total = row.totals[value]
            yield line(f"{f'{keys}: ' if keys else ''}log2({value}), {grouped(total.number)}")
            most = max((power.hits for power in total.powers), default=1)
            labels = [_bound(power.exponent, is_time=is_time) for power in total.powers]
            widest = max(map(len, labels), default=0)
            for label, power in zip(labels, total.powers, strict=True):
                bar = "#" * -(-power.hits * _LOG2_BAR // most)
                yield f"  {label:>{widest}} |{bar:<{_LOG2_BAR}}| {grouped(power.hits)}"


def _bound(exponent: int, *, is_time: bool) -> str:
    """Return the numbers that a power of two counts."""
    if exponent == NEGATIVE:
        return "< 0"
    return f"≤ {duration(1 << exponent) if is_time else grouped(1 << exponent)}"
