"""Table of what is aggregated of a watch's events: groups of one name are one row. Imports no screen code."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.aggregates.aggregate import MOST_GROUPS, Aggregate, GroupKey
from events.aggregates.groups import OTHERS, GroupTotals
from events.aggregates.request import AggregateRequest
from events.aggregates.value_sums import ValueTotal
from events.conditions.condition_parser import and_condition
from events.conditions.function_comparison import FUNC
from events.names.event_names import event_name, exported_name
from events.recording.lines_in_time import COMMAND_OUTPUT
from foreign.count_text import counted
from tui.filter.filter import PassCount
from tui.present.call_ends import ends_of
from tui.views.aggregate.labels import KeyLabels
from tui.views.aggregate.plan_columns import PlanColumns, ends_for, left_out_ends
from tui.views.aggregate.row_conditions import RowConditions
from tui.views.aggregate.table_source import AggregateRow, AggregateRows, Figures, first_order, is_time
from widgets.number_format import grouped

if TYPE_CHECKING:
    from collections.abc import Container

    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan

_MOST_ENDS: Final = 32
"""Greatest number of events that one condition excludes, as the other end of each call is counted: conditions have a
greatest length."""


class _RowKey(NamedTuple):
    """Keys that the groups of a row have in common: no two rows have equal ones, in whichever output."""

    names: tuple[str, ...]
    are_numbers: tuple[bool, ...]
    """True for each key that is a plain number, which is another value than a text of the same digits."""

    def quoted(self) -> tuple[str, ...]:
        """Return the names, texts of digits in quotes."""
        pairs = zip(self.names, self.are_numbers, strict=True)
        return tuple(
            f'"{name}"' if name.lstrip("-").isdigit() and not is_number else name for name, is_number in pairs
        )


class AggregateModel:
    """Aggregate of a watch's store, with names for its keys."""

    def __init__(
        self,
        watch: Watch,
        store: Store,
        request: AggregateRequest,
        *,
        passing: FilteredRows | None = None,
        only: Container[str] | None = None,
        first: int = 0,
        limit: int = MOST_GROUPS,
        piece: int = 0,
        most: int = 0,
    ) -> None:
        """Aggregate a store, see `events.aggregates.aggregate.Aggregate`."""
        self.watch = watch
        self.store = store
        self.request = request
        self.passing = passing
        self._only = only
        self._columns = PlanColumns(watch)
        bounds = watch.bounds
        ends = ends_for(watch, request, self._columns)
        self._plans: tuple[Plan, ...] = watch.event_fields.plans
        self.aggregate = Aggregate(
            store,
            request,
            self._columns.of,
            ends=ends,
            passing=passing,
            only=only,
            limit=limit,
            most_open=bounds.calls,
            piece=piece or bounds.piece,
            first=first,
            most=most,
        )
        self._leave_out_ends()
        self._labels = KeyLabels(watch, store)
        self._rows: dict[_RowKey, int] = {}
        """Number of each row."""
        self._row_keys: list[_RowKey] = []
        """Keys of each row."""
        self._alike: Counter[tuple[str, ...]] = Counter()
        """Number of rows by their names: a number and a text may have one."""
        self._row_of: list[int] = []
        """Row of each group."""
        self._first_group: list[int] = []
        """First group of each row."""
        self._mixed: set[tuple[int, int]] = set()
        """Rows and places of the keys whose name several values have, as functions in two boots."""

    @property
    def unit(self) -> str:
        """Noun for what is counted."""
        return "call" if self.aggregate.of_calls else "event"

    @property
    def is_stale(self) -> bool:
        """True if by now calls are to be aggregated in place of events, or the other way round."""
        if self._plans == self.watch.event_fields.plans:
            return False
        return (ends_for(self.watch, self.request, self._columns) is not None) != self.aggregate.of_calls

    def tick(self, budget: float) -> None:
        """Process new events for about `budget` seconds."""
        if self._plans != self.watch.event_fields.plans:
            self._plans = self.watch.event_fields.plans
            self.aggregate.forget_formats()
            self.aggregate.use(ends_of(self._plans))
            self._leave_out_ends()
            self.names_changed()
        self.aggregate.tick(budget)

    def _leave_out_ends(self) -> None:
        """Have each call counted once, where both its ends are events of the table."""
        if not self.aggregate.of_calls:
            condition = self.passing.condition if self.passing is not None else None
            self.aggregate.left_out_ends = left_out_ends(
                self.watch, self.request, self._columns, condition, self._only
            )

    def names_changed(self) -> None:
        """Look up the names of keys again."""
        self._labels = KeyLabels(self.watch, self.store)
        self._rows, self._row_of, self._first_group, self._mixed = {}, [], [], set()
        self._row_keys, self._alike = [], Counter()

    def _row_key(self, keys: tuple[GroupKey, ...]) -> _RowKey:
        names = tuple(map(self._labels.label, keys))
        pairs = zip(keys, names, strict=True)
        return _RowKey(names, tuple(isinstance(key.value, int) and str(key.value) == name for key, name in pairs))

    def _name_groups(self) -> None:
        """Give each new group its row."""
        aggregate = self.aggregate
        if not self._row_of:
            self._row_of = [-1]  # `OTHERS` has no row
        for group in range(len(self._row_of), len(aggregate.groups)):
            own_keys = aggregate.keys_of(group)
            row = self._rows.setdefault(key := self._row_key(own_keys), len(self._rows))
            self._row_of.append(row)
            if row == len(self._first_group):
                self._first_group.append(group)
                self._row_keys.append(key)
                self._alike[key.names] += 1
            keys = zip(own_keys, aggregate.keys_of(self._first_group[row]), strict=True)
            self._mixed.update((row, place) for place, (own, first) in enumerate(keys) if own.value != first.value)

    def rows(self, most: int, by: int | None = None, *, ascending: bool = False) -> AggregateRows:
        """Return the first rows in order of a column.

        Args:
            most: greatest number of rows; 0: all.
            by: number of the column: the keys, then the number of events, then statistics; None: `first_order`.
            ascending: True: the smallest first.
        """
        self._name_groups()
        size = len(self._rows)
        places = np.array(self._row_of, np.int64)
        places[OTHERS] = size
        totals = self.aggregate.groups.merged(places, size + 1)
        order = self._order(totals, size, self.first_order if by is None else by, ascending=ascending)
        shown, rest = (order[:most], order[most:]) if most else (order, order[:0])
        rows = tuple(self._row(totals, row) for row in shown.tolist())
        others = None
        if len(rest) or totals.counts[size]:
            target = np.zeros(size + 1, np.int64)
            target[shown] = 1
            merged = GroupTotals(
                np.array([totals.counts[target == 0].sum()]), tuple(one.merged(target, 2) for one in totals.values)
            )
            others = AggregateRow((), (), int(merged.counts[0]), self._totals(merged, 0))
        return AggregateRows(rows, others, size)

    @property
    def first_order(self) -> int:
        """Number of the column that rows are sorted by at first."""
        return first_order(self.request)

    @property
    def figures(self) -> Figures:
        """Numbers of events or calls."""
        aggregate = self.aggregate
        return Figures(aggregate.counted, aggregate.of, aggregate.left_out, aggregate.skipped_events)

    def _order(self, totals: GroupTotals, size: int, by: int, *, ascending: bool) -> NDArray[np.intp]:
        """Return the numbers of the rows in order; equal ones in the order in which they came."""
        keys = len(self.request.keys)
        if by < keys:
            rows = sorted(range(size), key=lambda row: self._row_keys[row].names[by], reverse=not ascending)
            return np.array(rows, np.intp)
        numbers = totals.counts[:size].astype(np.float64)
        if by > keys:
            statistic = self.request.columns[by - keys - 1]
            sums = totals.values[self.request.values.index(statistic.value)]
            numbers = sums.approximate(statistic.function)[:size]
        # Rows without a value stand last in either order.
        order: NDArray[np.intp] = np.argsort(numbers if ascending else -numbers, kind="stable")
        return order

    def _row(self, totals: GroupTotals, row: int) -> AggregateRow:
        group = self._first_group[row]
        keys, own = self.aggregate.keys_of(group), self._row_keys[row]
        return AggregateRow(
            own.quoted() if self._alike[own.names] > 1 else own.names,
            keys,
            int(totals.counts[row]),
            self._totals(totals, row),
            row,
            tuple(place for place in range(len(keys)) if (row, place) in self._mixed),
        )

    def _totals(self, totals: GroupTotals, row: int) -> dict[str, ValueTotal]:
        return {name: sums.total(row) for name, sums in zip(self.request.values, totals.values, strict=True)}

    @property
    def labels(self) -> KeyLabels:
        """Names of keys."""
        return self._labels

    def is_time(self, value: str) -> bool:
        """Tell whether a value is nanoseconds that are shown as a time."""
        return is_time(self.watch, value)

    def condition(self, row: AggregateRow) -> str:
        """Return the condition for the events of a row; empty: none is possible."""
        ends = self.aggregate.left_out_ends
        groups = (group for group, place in enumerate(self._row_of) if place == row.row)
        text = RowConditions(self.request.keys, self._labels, self.store, self._columns.of).of(
            map(self.aggregate.keys_of, groups),
            ends,
            by_event=bool(self.request.values) and not self.aggregate.of_calls,
        )
        own = dict(zip(self.request.keys, self._row_keys[row.row].names, strict=True)).get(FUNC)
        # An event on another function alone is excluded by its name already.
        apart = {path for path in ends if own is None or self._labels.functions.get(path, own) == own}
        if text is None or len(apart) > _MOST_ENDS:
            return ""
        others = [] if self.request.values else sorted(map(event_name, apart))
        if any(fmt.path == COMMAND_OUTPUT for fmt in self.store.decoder.formats.values()):
            others.append(exported_name(COMMAND_OUTPUT))  # lines of a command are of a task, too
        without = " && ".join(f"event != {name}" for name in others)
        return and_condition(text, without) if without else text

    @property
    def pass_count(self) -> PassCount:
        """Number of events or calls that are counted, which pass the filter and lack nothing, and of all."""
        return PassCount(self.aggregate.counted, self.aggregate.of, self.unit, left_out=self.aggregate.left_out)

    @property
    def head(self) -> str:
        """Number of events or calls that are counted, and of those that are not, in words."""
        is_filtered = self.aggregate.passing_count < self.aggregate.of
        number = self.pass_count.text if is_filtered else counted(self.aggregate.counted, self.unit)
        return ", ".join((number, *self.lacking))

    @property
    def lacking(self) -> list[str]:
        """Numbers of events, or of calls, that are not counted, in words; empty: all are."""
        aggregate = self.aggregate
        parts = []
        if left := aggregate.left_out:
            lacking = (*self.request.keys, *self.request.values)
            parts.append(f"{grouped(left)} without {' or '.join(lacking)}")  # no commas: a note is shortened at them
        if aggregate.left_out_ends:
            parts.append("each call once")
        if aggregate.of_calls and aggregate.unpaired:
            parts.append(f"{counted(aggregate.unpaired, 'end')} alone")
        if aggregate.skipped_events:
            parts.append(f"{grouped(aggregate.skipped_events)} dropped before they were counted")
        if aggregate.backlog:
            parts.append(f"{grouped(aggregate.backlog)} to go")
        return parts
