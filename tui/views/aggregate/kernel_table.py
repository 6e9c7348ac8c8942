"""Table of what the kernel's hist triggers aggregate, as `tui.views.aggregate.model` has it of events. Imports no
screen code.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from events.aggregates.request import AggregateRequest
from events.aggregates.value_sums import ValueTotal
from events.summary.distribution import PowerOfTwo
from foreign.count_text import counted
from kernel.watch.hist_tables import read_tables
from probes.hist.kept import is_listed_as
from tui.views.aggregate.hist_triggers import EventTrigger, groups_of
from tui.views.aggregate.labels import KeyLabels
from tui.views.aggregate.model import AggregateRow, AggregateRows, Figures, first_order, is_time, statistic_of
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.aggregates.aggregate import GroupKey
    from events.store.store import Store
    from kernel.watch.watch import Watch


class _Sums:
    """Hits and sums of one row."""

    def __init__(self, keys: tuple[GroupKey, ...]) -> None:
        self.keys = keys
        self.hits = 0
        self.numbers: Counter[str] = Counter()
        self.sums: Counter[str] = Counter()
        self.powers: Counter[int] = Counter()

    def add(self, other: _Sums) -> None:
        self.hits += other.hits
        for own, more in ((self.numbers, other.numbers), (self.sums, other.sums)):
            own.update(more)
        self.powers.update(other.powers)


class KernelTable:
    """Table of one moment; `read` waits for the kernel."""

    unit = "hit"

    def __init__(
        self, watch: Watch, store: Store, request: AggregateRequest, triggers: Sequence[EventTrigger]
    ) -> None:
        self.request = request
        self.watch = watch
        self.labels = KeyLabels(watch, store)
        """Names of keys."""
        self._triggers = triggers
        self._rows: dict[tuple[str, ...], _Sums] = {}
        self._hits = self._without_room = self._unsure = 0

    def read(self) -> None:
        """Read the histograms. Raises FileRefused, TargetLost."""
        self._rows = {}
        self._hits = self._without_room = self._unsure = 0
        formats = {fmt.path: fmt for armed in self.watch.armed.probes for fmt in armed.formats.values()}
        for table in read_tables(self.watch.armed):
            trigger = next(
                (
                    one
                    for one in self._triggers
                    if one.event.path == table.event and is_listed_as(table.histogram.trigger, one.text)
                ),
                None,
            )
            if trigger is None:
                continue
            self._hits += table.histogram.hits
            self._without_room += table.histogram.dropped
            self._unsure += len(table.histogram.ambiguous) + table.histogram.readings
            for group in groups_of(trigger, table, formats.get(table.event)):
                labels = tuple(map(self.labels.label, group.keys))
                row = self._rows.setdefault(labels, _Sums(group.keys))
                found = _Sums(group.keys)
                found.hits = group.hits
                found.numbers.update(dict.fromkeys(trigger.values, group.hits))
                found.sums.update(group.sums)
                if group.exponent is not None:
                    found.powers[group.exponent] = group.hits
                row.add(found)

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
                sums.add(self._rows[row.labels])
            others = AggregateRow((), (), sums.hits, self._totals(sums))
        return AggregateRows(tuple(shown), others, len(rows))

    def _size(self, row: AggregateRow, column: int) -> float:
        keys = len(self.request.keys)
        if column <= keys:
            return row.hits
        statistic = self.request.columns[column - keys - 1]
        return statistic_of(statistic, row.totals[statistic.value]) or 0

    def _totals(self, row: _Sums) -> Mapping[str, ValueTotal]:
        powers = (
            tuple(PowerOfTwo(n, row.powers[n]) for n in range(min(row.powers), max(row.powers) + 1))
            if row.powers
            else ()
        )
        return {
            name: ValueTotal(
                row.numbers[name], row.sums[name], None, None, powers if name in self.request.histograms else ()
            )
            for name in self.request.values
        }

    def is_time(self, value: str) -> bool:
        """Tell whether a value is nanoseconds that are shown as a time."""
        return is_time(self.watch, value)

    @property
    def head(self) -> str:
        """Number of hits, and of those that are in no row, in words."""
        figures = self.figures
        parts = [f"{counted(figures.counted, self.unit)} in the kernel, nothing recorded"]
        if figures.uncounted:
            parts.append(f"{grouped(figures.uncounted)} without room")
        if figures.left_out > 0:
            parts.append(f"{grouped(figures.left_out)} with keys that can be read in several ways")
        return ", ".join(parts)
