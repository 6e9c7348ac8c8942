"""Columns of a table: which are shown, their order, and the current one. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from widgets.events.event_rows import FIXED, EventColumn

_FEW: Final = 4
"""Fields that may have columns of their own whatever events have them."""


def is_mixed(kinds: Collection[frozenset[str]]) -> bool:
    """Return True if columns for the fields of all kinds of events would be empty for the most part."""
    fields = frozenset[str]().union(*kinds)
    return len(fields) > _FEW and 2 * sum(map(len, set(kinds))) < len(fields) * len(set(kinds))


@dataclass(frozen=True)
class ColumnChoice:
    """Immutable choice; every change returns a new one."""

    order: tuple[EventColumn, ...] = FIXED
    """All columns."""
    hidden: frozenset[EventColumn] = frozenset()
    current: EventColumn | None = None
    """Column that keys apply to; None: not chosen yet."""
    kind: frozenset[str] | None = None
    """Fields that have columns, those of one kind of events; None: all."""

    @property
    def shown(self) -> tuple[EventColumn, ...]:
        """Visible columns in their order."""
        return tuple(column for column in self.order if column not in self.hidden and self._is_of_kind(column))

    @property
    def fields(self) -> tuple[str, ...]:
        """Fields that are shown, in a column of their own or not, in their order."""
        return tuple(column.name for column in self.order if column not in self.hidden and not column.of_all)

    @property
    def rest(self) -> frozenset[str]:
        """Fields that are shown, but have no column of their own."""
        return frozenset(name for name in self.fields if not self._is_of_kind(EventColumn(name)))

    def _is_of_kind(self, column: EventColumn) -> bool:
        return self.kind is None or column.of_all or column.name in self.kind

    def of_kind(self, fields: frozenset[str] | None) -> ColumnChoice:
        """Give columns to the fields of one kind of events alone; None: to all."""
        return replace(self, kind=fields)

    def with_fields(self, fields: Sequence[str]) -> ColumnChoice:
        """Set the fields: existing ones keep their place, new ones come last, before those that end both orders."""
        there = {*FIXED, *(EventColumn(name) for name in fields)}
        remaining = [column for column in self.order if column in there]
        new = [column for name in fields if (column := EventColumn(name)) not in self.order]
        last = len(remaining)
        while new and remaining[last - 1] == EventColumn(fields[last - 1 - len(remaining)]):
            last -= 1
        current = self.current if self.current in there else None
        return replace(
            self, order=(*remaining[:last], *new, *remaining[last:]), hidden=self.hidden & there, current=current
        )

    def at(self, number: int) -> ColumnChoice:
        """Make the visible column of a number current."""
        return replace(self, current=self.shown[number])

    def turned(self, step: int) -> ColumnChoice:
        """Make the next or previous column current; at first, the first field."""
        shown = self.shown
        if self.current not in shown:
            at = next((n for n, column in enumerate(shown) if not column.of_all), 0) if step > 0 else len(shown) - 1
        else:
            at = shown.index(self.current) + step
        return replace(self, current=shown[min(max(at, 0), len(shown) - 1)])

    def moved(self, step: int) -> ColumnChoice:
        """Move the current column by one to the right (1) or left (-1) among the visible ones."""
        shown = list(self.shown)
        if self.current not in shown or not 0 <= (at := shown.index(self.current) + step) < len(shown):
            return self
        order = [column for column in self.order if column != self.current]
        beside = order.index(shown[at])
        order.insert(beside + (step > 0), self.current)
        return replace(self, order=tuple(order))

    def without_current(self) -> ColumnChoice:
        """Hide the current column; its neighbour becomes current. The last column stays."""
        shown = self.shown
        if self.current not in shown or len(shown) == 1:
            return self
        at = shown.index(self.current)
        beside = shown[at + 1] if at + 1 < len(shown) else shown[at - 1]
        return replace(self, hidden=self.hidden | {self.current}, current=beside)

    def preferring(self, first: Sequence[str], hidden: Sequence[str]) -> ColumnChoice:
        """Show some fields before all others, in this order, and hide some."""
        wanted = [column for name in first if (column := EventColumn(name)) in self.order]
        fixed = [column for column in self.order if column.of_all]
        order = dict.fromkeys((*fixed, *wanted, *self.order))
        away = {EventColumn(name) for name in hidden} & set(self.order)
        return replace(self, order=tuple(order), hidden=self.hidden | away)

    def with_all(self) -> ColumnChoice:
        """Show all columns."""
        return replace(self, hidden=frozenset())
