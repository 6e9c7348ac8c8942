"""Tables of the event views, for exports. Imports no screen code.

The export dialog of the live screen and `--export … --view` write them with `tui.output.view_job.ViewJob`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from events.export.source import NAME, name_of
from events.store.outage_mark import is_mark
from tui.filter.filter import Filter, PassCount
from tui.output.event_source import source_of_rows
from tui.output.kernel_tables import HistogramsTable, KernelSummaryTable
from tui.output.latency_table import LatenciesTable
from tui.output.view_table import Cells, EventsTable, ViewTable
from tui.present.call_ends import ends_of
from tui.present.summary_objects import SUM_COLUMNS, cells_of_sum, objects_of
from tui.present.summary_values import SHOWN, Subject, subjects_of
from tui.views.calls.model import call_table

if TYPE_CHECKING:
    from events.store.store import Store
    from events.summary.summary import Summary
    from events.summary.values import FieldValues
    from kernel.watch.watch import Watch
    from probes.presets.failure_request import FailureRequest


NO_ENDS: Final = "no probe has both ends, so there are no calls here; those of a call graph are among the events"


class CallsTable(EventsTable):
    """Calls in the order in which they ended, as `run` prints the calls of a preset."""

    name = "calls"
    _HEADS: Final = ("ts", "cpu", "pid", "comm", "call", "latency", "note")
    _OF_MARKS: Final = ("lost", "back", "seconds")
    _OF_LOSSES: Final = ("events",)

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        super().__init__(watch, store, chosen)
        self._calls = call_table(watch, store, chosen)
        self._ends = ends_of(watch.event_fields.plans)
        self._source = source_of_rows(watch)

    @property
    def backlog(self) -> int:
        """Number of rows not yet paired or filtered."""
        return self._calls.items.backlog + self._calls.backlog

    @property
    def counted(self) -> PassCount:
        """Number of calls."""
        return PassCount(*self._calls.counts, "call")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on missing data; that there can be no calls, where no probe is at both ends."""
        return (*(() if self._ends else (NO_ENDS,)), *super().notes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of all calls, the fields of received entries and exits, then those of rows that are no calls."""
        source, there = self._source, self.store.by_event(self.store.totals)
        fields = (
            f"{'exit' if self._ends[fmt.path].at_exit else 'entry'}.{column}"
            for fmt in source.formats
            if fmt.path in self._ends and fmt.path in there
            for name in source.fields(fmt)
            for column in source.columns_of(name)
        )
        calls = self._calls.items.calls
        has_cuts = source.has_outages or calls.marks_before(calls.next) > calls.losses
        marks = (*(self._OF_MARKS if has_cuts else ()), *(self._OF_LOSSES if calls.losses else ()))
        return (*self._HEADS, *dict.fromkeys(fields), *marks)

    def tick(self, budget: float) -> None:
        """Pair events, and filter calls."""
        self._calls.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the calls that have an event in the store, and the marks of outages as an export of events has
        them.
        """
        from events.export.formats.json_lines import json_object
        from tui.views.calls.call_text import object_of_call, object_of_loss

        texts = self._calls.items.texts
        for row in range(self._calls.first, self._calls.next):
            try:
                number = self._calls.number(row)
                entry, leave = texts.records(number)
                if (loss := texts.loss(number)) is not None:
                    yield object_of_loss(loss)
                elif leave is not None and is_mark(leave):
                    yield json_object(self._source, leave)
                else:
                    yield object_of_call(self.watch, texts.call(number), entry, leave)
            except IndexError:  # its events were dropped meanwhile
                continue

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield one row, with values as numbers, and their names beside them."""
        if "call" not in row:
            yield {**row, "call": row["event"], **row["values"]}
            return
        found = {name: row[name] for name in self._HEADS}
        for end, values in row["values"].items():
            for name, value in (values or {}).items():
                found[f"{end}.{name}"] = value
                found[f"{end}.{name}{NAME}"] = name_of(value, row[end][name])
        yield found


class HotSpotsTable(EventsTable):
    """Functions of the call graph of all tasks, in descending order of their own time."""

    name = "hot-spots"

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        from tui.views.graph.model import GraphModel
        from tui.views.graph.names import GraphNames

        super().__init__(watch, store, chosen)
        self._names = GraphNames(watch.info)
        self._graph = GraphModel(watch, store, self._names, chosen=chosen.of(watch, store))
        self._rows: list[dict[str, Any]] | None = None
        self._number = 0

    @property
    def backlog(self) -> int:
        """Number of rows that the tree or the filter has not processed."""
        return self._graph.live_tree.backlog + (self._graph.chosen.backlog if self._graph.chosen is not None else 0)

    @property
    def counted(self) -> PassCount:
        """Number of counted calls."""
        tree = self._graph.tree
        calls = sum(row["calls"] for row in self._spots())
        return PassCount(calls, max(calls, tree.closed - tree.dropped_calls), "call")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the screen."""
        return ("function", "calls", "self", "total", "p50", "p99", "longest", "errors")

    def tick(self, budget: float) -> None:
        """Add events to the tree."""
        self._graph.tick(budget, True)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the functions."""
        yield from self._spots()

    def _spots(self) -> list[dict[str, Any]]:
        from events.graph.hot_spots import call_times, hot_spots
        from tui.views.graph.search import passing_rows

        if self._rows is None:
            graph = self._graph
            passing = passing_rows(graph.tree, graph.chosen)(slice(None)) if graph.chosen is not None else None
            self._rows = [
                {
                    "function": spot.function,
                    "calls": spot.calls,
                    "self": spot.self_time,
                    "total": spot.total,
                    "p50": spot.p50,
                    "p99": spot.p99,
                    "longest": spot.longest,
                    "errors": spot.failed if graph.knows_errors else None,
                }
                for spot in hot_spots(call_times(graph.tree, self.store.boots, None, passing), graph.lines.title_of)
            ]
        return self._rows

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield the row itself."""
        yield row


NO_CALLS: Final = "no call was recorded, so none failed"
"""Note of a table of failures that no call was looked at for."""


class FailuresTable(EventsTable):
    """First failures of the outermost calls of the graph, the most frequent first."""

    name = "failures"
    _HEADS: Final = ("origin", "error", "count", "ambiguous", "calls", "comms", "example")

    def __init__(self, watch: Watch, store: Store, chosen: Filter, request: FailureRequest | None = None) -> None:
        from tui.views.failures.model import FailureModel, chooser, wanted_failures
        from tui.views.graph.names import GraphNames

        super().__init__(watch, store, chosen)
        wanted = wanted_failures(watch, request)
        self._failures = FailureModel(
            watch,
            store,
            GraphNames(watch.info, whole=True),
            is_chosen=chooser(wanted.calls, watch.info),
            errnos=wanted.errnos,
            passing=chosen.of(watch, store),
        )

    @property
    def backlog(self) -> int:
        """Number of rows that the tree has not processed."""
        return self._failures.live_tree.backlog

    @property
    def counted(self) -> PassCount:
        """Number of failures, of all calls that were looked at."""
        return PassCount(self._failures.shown, self._failures.failed, "failed call")

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on missing data, and why nothing can have failed: no call, or none with its return value."""
        from events.graph.record_ends import NO_RETURNS

        if self._failures.lacks_returns:
            return (*super().notes, NO_RETURNS)
        found = self._failures.live_tree.tree
        return (*super().notes, *(() if found is not None and found.closed else (NO_CALLS,)))

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the screen, and an example."""
        return self._HEADS

    def tick(self, budget: float) -> None:
        """Look for failures."""
        self._failures.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of `errors --json`."""
        from tui.views.failures.text import object_of_group

        yield from (object_of_group(self._failures, group) for group in self._failures.by_count())

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield one row, with names and numbers in place of objects."""
        chain = " > ".join(f"{call['function']}{call['arguments']}" for call in row["example"]["chain"])
        named = {name: " ".join(f"{key}:{count}" for key, count in row[name].items()) for name in ("calls", "comms")}
        yield {**{name: row[name] for name in self._HEADS}, **named, "example": chain}


class SummaryTable(EventsTable):
    """Sums of the events, with the values of every field."""

    name = "summary"

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        from events.summary.summary import Summary  # imports numpy

        super().__init__(watch, store, chosen)
        self._summary: Summary = Summary(store, chosen=chosen.of(watch, store))
        self._summary.use(ends_of(watch.event_fields.plans))
        self._counted: dict[Subject, FieldValues] = {
            subject: self._summary.count_also(subject.event, subject.field)
            for subject in subjects_of(watch, store)
            if subject.field
        }

    @property
    def backlog(self) -> int:
        """Number of rows not yet counted."""
        return self._summary.backlog

    @property
    def counted(self) -> PassCount:
        """Number of events."""
        return PassCount(self._summary.counted, self._summary.of)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns; each row has some of them."""
        return SUM_COLUMNS

    def tick(self, budget: float) -> None:
        """Count events."""
        self._summary.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of `run --summary --json`, with as many values as the screen has."""
        filtered = bool(self.chosen.text)
        yield from objects_of(
            self.watch, self.store, self._summary, self._counted, exact=True, filtered=filtered, most=SHOWN
        )

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield a row for each count."""
        yield from cells_of_sum(row)


OF_KERNEL: Final = (HistogramsTable.name, KernelSummaryTable.name)
"""Tables that exist without any event."""
TABLES: Final[Mapping[str, Callable[[Watch, Store, Filter], ViewTable]]] = {
    **{table.name: table for table in (CallsTable, HotSpotsTable, FailuresTable, SummaryTable, LatenciesTable)},
    **{table.name: table.of_watch for table in (HistogramsTable, KernelSummaryTable)},
}
"""Makes the table of a view, by the view's name, from a watch, its store and the filter."""
