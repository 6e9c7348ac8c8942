"""Columns of a table: which are shown, their order, and the current one. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from widgets.events.event_rows import FIXED, EventColumn


@dataclass(frozen=True)
class ColumnChoice:
    """Immutable choice; every change returns a new one."""

    order: tuple[EventColumn, ...] = FIXED
    """All columns."""
    hidden: frozenset[EventColumn] = frozenset()
    current: EventColumn | None = None
    """Column that keys apply to; None: not chosen yet."""

    @property
    def shown(self) -> tuple[EventColumn, ...]:
        """Visible columns in their order."""
        return tuple(column for column in self.order if column not in self.hidden)

    def with_fields(self, fields: Sequence[str]) -> ColumnChoice:
        """Set the fields: existing ones keep their place, new ones come last."""
        there = {*FIXED, *(EventColumn(name) for name in fields)}
        remaining = [column for column in self.order if column in there]
        new = [column for name in fields if (column := EventColumn(name)) not in self.order]
        current = self.current if self.current in there else None
        return ColumnChoice((*remaining, *new), self.hidden & there, current)

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
