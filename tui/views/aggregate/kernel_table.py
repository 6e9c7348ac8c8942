"""Table of what the kernel counts by hist triggers or BPF programs, as `tui.views.aggregate.model` has it of events.

Imports no screen code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from events.aggregates.request import AggregateRequest
from events.aggregates.value_sums import ValueTotal
from events.summary.distribution import PowerOfTwo
from foreign.count_text import counted
from probes.bpf.groups.grouping import ValueReading
from tui.views.aggregate.kernel_groups import GroupsReading
from tui.views.aggregate.labels import KeyLabels
from tui.views.aggregate.table_source import AggregateRow, AggregateRows, Figures, first_order, is_time, statistic_of
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.aggregates.aggregate import GroupKey
    from events.store.store import Store
    from kernel.watch.watch import Watch


_NO_VALUES: Final = ValueReading(0, 0, None, None, {})


class _Sums:
    """Hits and sums of one row."""

    def __init__(self, keys: tuple[GroupKey, ...]) -> None:
        self.keys = keys
        self.hits = 0
        self.values: dict[str, ValueReading] = {}

    def add(self, hits: int, values: Mapping[str, ValueReading]) -> None:
        self.hits += hits
        for name, value in values.items():
            self.values[name] = self.values.get(name, _NO_VALUES).merged(value)


class KernelTable:
    """Table of one moment; `read` waits for the kernel."""

    unit = "hit"

    def __init__(
        self, watch: Watch, store: Store, request: AggregateRequest, read: Callable[[], GroupsReading]
    ) -> None:
        """Set what is requested, and the reader of the groups."""
        self.request = request
        self.watch = watch
        self.labels = KeyLabels(watch, store)
        """Names of keys."""
        self._read = read
        self._rows: dict[tuple[str, ...], _Sums] = {}
        self._hits = self._without_room = 0

    def read(self) -> None:
        """Read the groups. Raises FileRefused, BpfRefused, TargetLost."""
        found = self._read()
        self._rows = {}
        self._hits, self._without_room = found.hits, found.without_room
        for group in found.groups:
            labels = tuple(map(self.labels.label, group.keys))
            self._rows.setdefault(labels, _Sums(group.keys)).add(group.hits, group.values)

    @property
    def first_order(self) -> int:
        """Number of the column that rows are sorted by."""
        return first_order(self.request)

    @property
    def figures(self) -> Figures:
        """Numbers of hits."""
        counted_hits = sum(row.hits for row in self._rows.values())
        return Figures(counted_hits, self._hits, self._hits - counted_hits - self._without_room, self._without_room)

    def rows(self, most: int, by: int | None = None, *, ascending: bool = False) -> AggregateRows:
        """Return the first rows in order of a column, as `AggregateModel.rows` does."""
        column = self.first_order if by is None else by
        rows = [
            AggregateRow(labels, row.keys, row.hits, self._totals(row), n)
            for n, (labels, row) in enumerate(self._rows.items())
        ]
        rows.sort(key=lambda row: self._size(row, column), reverse=not ascending)
        shown, rest = (rows[:most], rows[most:]) if most else (rows, [])
        others = None
        if rest:
            sums = _Sums(())
            for row in rest:
                sums.add(row.hits, self._rows[row.labels].values)
            others = AggregateRow((), (), sums.hits, self._totals(sums))
        return AggregateRows(tuple(shown), others, len(rows))

    def _size(self, row: AggregateRow, column: int) -> float:
        keys = len(self.request.keys)
        if column <= keys:
            return row.hits
        statistic = self.request.columns[column - keys - 1]
        return statistic_of(statistic, row.totals[statistic.value]) or 0

    def _totals(self, row: _Sums) -> Mapping[str, ValueTotal]:
        found = {}
        for name in self.request.values:
            number, total, least, most, powers = row.values.get(name, _NO_VALUES)
            span = range(min(powers), max(powers) + 1) if powers else ()
            counts = tuple(PowerOfTwo(exponent, powers.get(exponent, 0)) for exponent in span)
            found[name] = ValueTotal(number, total, least, most, counts if name in self.request.histograms else ())
        return found

    def is_time(self, value: str) -> bool:
        """Tell whether a value is nanoseconds that are shown as a time."""
        return is_time(self.watch, value)

    @property
    def head(self) -> str:
        """Number of hits, and of those that are in no row, in words."""
        hits = f"{counted(self.figures.counted, self.unit)} in the kernel, nothing recorded"
        return ", ".join((hits, *self.lacking))

    @property
    def lacking(self) -> list[str]:
        """Numbers of hits that are in no row, in words; empty: all are."""
        figures, parts = self.figures, []
        if figures.uncounted:
            parts.append(f"{grouped(figures.uncounted)} without room")
        if figures.left_out > 0:
            parts.append(f"{grouped(figures.left_out)} left out, as a key or the begin of a call is not certain")
        return parts
