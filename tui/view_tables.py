"""Tables of the views as they are given out: rows as objects, and as cells of columns; no screen.

The dialog of the live place and `--export … --view` write them by `ViewJob`, which has the steps of an
`events.export.job.Job`.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, BinaryIO, ClassVar, Final

from events.export.csvtable import cell, column_names
from events.json_text import json_line
from tui.chosen_calls import ChosenCalls
from tui.ends import ends_of
from tui.event_export import source_of_rows
from tui.filter import Counted, Filter
from tui.summary_objects import objects_of
from tui.summed import SHOWN, Subject, subjects_of
from widgets.figures import grouped

if TYPE_CHECKING:
    from events.decode import Value
    from events.export.formats import Format
    from events.store import Store
    from events.summary.summary import Summary
    from events.summary.values import FieldValues
    from kernel.watch import Watch

FORMATS: Final = ("jsonl", "csv")
"""Names of the formats that hold a table of a view."""
_AT_ONCE: Final = 64
"""Rows between two looks at the clock."""
Cells = Mapping[str, "Value"]


class ViewTable(ABC):
    """The rows of one view, of all that a store holds."""

    name: ClassVar[str]
    """Word for its rows: `calls`."""

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        """Take whose events they are, where they are, and the filter."""
        self.watch = watch
        self.store = store
        self.chosen = chosen

    @property
    @abstractmethod
    def behind(self) -> int:
        """Events that were not looked at yet."""

    @property
    @abstractmethod
    def counted(self) -> Counted:
        """Number of rows, and without the filter."""

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """Titles of the columns of `cells`."""

    @abstractmethod
    def tick(self, budget: float) -> None:
        """Look at events, for about so many seconds."""

    @abstractmethod
    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows in the order of the screen, for JSON."""

    @abstractmethod
    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield the rows that an object is in a table of columns."""


class CallsTable(ViewTable):
    """Calls in the order in which they ended, as `run` prints those of a preset."""

    name = "calls"
    _HEADS: Final = ("ts", "cpu", "pid", "comm", "call", "latency", "note")

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        super().__init__(watch, store, chosen)
        self._calls = ChosenCalls(watch, store, chosen)
        self._ends = ends_of(watch.known.plans)

    @property
    def behind(self) -> int:
        """Rows that pairing or the filter has not looked at yet."""
        return self._calls.every.calls.behind + self._calls.behind

    @property
    def counted(self) -> Counted:
        """Calls."""
        return Counted(*self._calls.counts, "calls")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of all calls, then the fields of entries and exits."""
        source = source_of_rows(self.watch)
        fields = (
            f"{'exit' if self._ends[fmt.path].at_exit else 'entry'}.{name}"
            for fmt in source.formats
            if fmt.path in self._ends
            for name in source.fields(fmt)
        )
        return (*self._HEADS, *dict.fromkeys(fields))

    def tick(self, budget: float) -> None:
        """Pair, and choose."""
        self._calls.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the calls of which an event is kept."""
        from tui.calls import object_of_call

        for row in range(self._calls.first, self._calls.next):
            try:
                yield object_of_call(self.watch, self._calls.call(row), *self._calls.records(row))
            except IndexError:  # its events were dropped meanwhile
                continue

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield one row, with values as numbers."""
        ends = row["values"].items()
        values = {f"{end}.{name}": value for end, fields in ends for name, value in (fields or {}).items()}
        yield {**{name: row[name] for name in self._HEADS}, **values}


class HotSpotsTable(ViewTable):
    """Functions of the call graph of all tasks by the time they took, the one with most of its own first."""

    name = "hot-spots"

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        from tui.graph import ShownGraph
        from tui.graph_names import GraphNames

        super().__init__(watch, store, chosen)
        self._names = GraphNames(watch.connection)
        self._graph = ShownGraph(watch, store, self._names, chosen=chosen.of(watch, store))
        self._rows: list[dict[str, Any]] | None = None
        self._number = 0

    @property
    def behind(self) -> int:
        """Rows that the tree or the filter has not looked at yet."""
        return self._graph.growing.behind + (self._graph.chosen.behind if self._graph.chosen is not None else 0)

    @property
    def counted(self) -> Counted:
        """Calls that are counted."""
        tree = self._graph.tree
        calls = sum(row["calls"] for row in self._found())
        return Counted(calls, max(calls, tree.closed - tree.left_out), "calls")

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the screen."""
        return ("function", "calls", "self", "total", "p50", "p99", "longest", "errors")

    def tick(self, budget: float) -> None:
        """Take events into the tree."""
        self._graph.tick(budget, True)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the functions."""
        yield from self._found()

    def _found(self) -> list[dict[str, Any]]:
        from events.graph.hot import hot_spots, spent
        from tui.graph_search import passing_rows

        if self._rows is None:
            graph = self._graph
            passing = passing_rows(graph.tree, graph.chosen)(slice(None)) if graph.chosen is not None else None
            self._rows = [
                {
                    "function": graph.lines.name_of(spot.function),
                    "calls": spot.calls,
                    "self": spot.own,
                    "total": spot.total,
                    "p50": spot.p50,
                    "p99": spot.p99,
                    "longest": spot.longest,
                    "errors": spot.failed if graph.knows_errors else None,
                }
                for spot in hot_spots(spent(graph.tree, None, passing))
            ]
        return self._rows

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield the same."""
        yield row


class SummaryTable(ViewTable):
    """Sums of the events, with the values of every field."""

    name = "summary"

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        from events.summary.summary import Summary  # numpy comes with it

        super().__init__(watch, store, chosen)
        self._summary: Summary = Summary(store, chosen=chosen.of(watch, store))
        self._summary.use(ends_of(watch.known.plans))
        self._counted: dict[Subject, FieldValues] = {
            subject: self._summary.count_also(subject.event, subject.field)
            for subject in subjects_of(watch, store)
            if subject.field
        }

    @property
    def behind(self) -> int:
        """Rows that are not counted yet."""
        return self._summary.behind

    @property
    def counted(self) -> Counted:
        """Events."""
        return Counted(self._summary.seen, self._summary.of)

    @property
    def columns(self) -> tuple[str, ...]:
        """One row has some of them."""
        figures = ("count", "error", "start", "step", "p50", "p90", "p99", "max", "mean", "total")
        return ("summary", "event", "function", "field", "value", "number", "comm", *figures)

    def tick(self, budget: float) -> None:
        """Count."""
        self._summary.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of `run --summary --json`, with as many values as the screen has."""
        filtered = bool(self.chosen.text)
        yield from objects_of(
            self.watch, self.store, self._summary, self._counted, exact=True, filtered=filtered, most=SHOWN
        )

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield a row for each count: of events, of a step of time, of a power of two, of a value."""
        kind = row["summary"]
        if kind == "events":
            yield {"summary": kind, "count": row["events"]}
            for name in ("of", "uncounted"):
                if row.get(name):
                    yield {"summary": f"{kind} {name}", "count": row[name]}
        elif kind == "rate":
            for place, count in enumerate(row["counts"]):
                start = row["start"] + place * row["step"]
                yield {"summary": kind, "event": row["event"], "start": start, "step": row["step"], "count": count}
        elif kind == "latency":
            yield {**{name: value for name, value in row.items() if name in self.columns}, "count": row["calls"]}
            for exponent, count in row["log2"]:
                most = 1 << exponent
                yield {"summary": "log2", "function": row["function"], "number": most, "count": count}
        else:
            about = {"summary": kind, "event": row["event"] or None, "field": row["field"] or None}
            for one in row["values"]:
                yield {**about, **{name: value for name, value in one.items() if name != "pids"}}
            if row["others"]:
                yield {**about, "summary": f"{kind} others", "count": row["others"]}


TABLES: Final = {table.name: table for table in (CallsTable, HotSpotsTable, SummaryTable)}
"""The views whose tables can be given out, by their names."""


class ViewJob:
    """A table into one file; belongs to the thread that feeds the store."""

    def __init__(self, table: ViewTable, form: Format, out: BinaryIO) -> None:
        """Take the table, one of `FORMATS`, and the file."""
        self.total = len(table.store)
        """Events that are looked at."""
        self._table = table
        self._form = form
        self._out = out
        self._stop = table.store.next_seq
        self._rows: Iterator[dict[str, Any]] | None = None
        self._columns: tuple[str, ...] = ()
        self.rows = 0
        """Rows that were written."""

    @property
    def done(self) -> int:
        """Events that were looked at."""
        return max(0, self.total - self._table.behind)

    @property
    def text(self) -> str:
        """`53 of 211 calls`; without a filter `211 calls`."""
        counted = self._table.counted
        return counted.text if self._table.chosen.text else f"{grouped(counted.passing)} {counted.unit}"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a line for each thing that is not in the table."""
        gone = self._table.store.evicted
        return (f"{grouped(gone)} older events were dropped from memory: no row is of them",) if gone else ()

    def step(self, budget: float = 0.02) -> bool:
        """Go on for about so many seconds; True when all is written. Raises OSError."""
        deadline = time.monotonic() + budget
        table = self._table
        if self._rows is None:
            while table.store.next_seq - table.behind < self._stop:
                table.tick(min(budget, 60.0))
                if time.monotonic() >= deadline and not math.isinf(budget):
                    return False
            self._rows = table.objects()
            self._begin()
        for row in self._rows:
            self._write(row)
            if self.rows % _AT_ONCE == 0 and time.monotonic() >= deadline:
                return False
        return True

    def _begin(self) -> None:
        if self._form.name == "csv":
            self._columns = self._table.columns
            self._line(self._columns)

    def _write(self, row: dict[str, Any]) -> None:
        self.rows += 1
        if self._form.name == "csv":
            for cells in self._table.cells(row):
                self._out.write((",".join(cell(cells.get(name)) for name in self._columns) + "\r\n").encode())
        else:
            self._out.write(json_line(row).encode() + b"\n")

    def _line(self, titles: tuple[str, ...]) -> None:
        self._out.write((",".join(map(cell, column_names(titles, ()))) + "\r\n").encode())
