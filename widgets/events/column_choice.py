"""Which columns of a table are shown, in which order, and which of them the keys are about: pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from widgets.events.event_rows import FIXED, EventColumn


@dataclass(frozen=True)
class ColumnChoice:
    """Every step gives another one."""

    order: tuple[EventColumn, ...] = FIXED
    """All columns there are."""
    hidden: frozenset[EventColumn] = frozenset()
    current: EventColumn | None = None
    """None: none was chosen yet."""

    @property
    def shown(self) -> tuple[EventColumn, ...]:
        """What is on the screen."""
        return tuple(column for column in self.order if column not in self.hidden)

    def with_fields(self, fields: Sequence[str]) -> ColumnChoice:
        """Other fields are recorded: those that stay keep their place, new ones come behind them."""
        there = {*FIXED, *(EventColumn(name) for name in fields)}
        kept = [column for column in self.order if column in there]
        new = [column for name in fields if (column := EventColumn(name)) not in self.order]
        current = self.current if self.current in there else None
        return ColumnChoice((*kept, *new), self.hidden & there, current)

    def at(self, number: int) -> ColumnChoice:
        """The keys are about the column of this number among those that are shown."""
        return replace(self, current=self.shown[number])

    def turned(self, step: int) -> ColumnChoice:
        """The keys are about the next column, or the one before; the first field comes first."""
        shown = self.shown
        if self.current not in shown:
            at = next((n for n, column in enumerate(shown) if not column.of_all), 0) if step > 0 else len(shown) - 1
        else:
            at = shown.index(self.current) + step
        return replace(self, current=shown[min(max(at, 0), len(shown) - 1)])

    def moved(self, step: int) -> ColumnChoice:
        """The column stands one further to the right (1) or to the left (-1) among those that are shown."""
        shown = list(self.shown)
        if self.current not in shown or not 0 <= (at := shown.index(self.current) + step) < len(shown):
            return self
        order = [column for column in self.order if column != self.current]
        beside = order.index(shown[at])
        order.insert(beside + (step > 0), self.current)
        return replace(self, order=tuple(order))

    def without_current(self) -> ColumnChoice:
        """The column is hidden; its neighbour is the current one. The last one stays."""
        shown = self.shown
        if self.current not in shown or len(shown) == 1:
            return self
        at = shown.index(self.current)
        beside = shown[at + 1] if at + 1 < len(shown) else shown[at - 1]
        return replace(self, hidden=self.hidden | {self.current}, current=beside)

    def preferring(self, first: Sequence[str], hidden: Sequence[str]) -> ColumnChoice:
        """Some fields come before all others, in this order, and some are not shown."""
        wanted = [column for name in first if (column := EventColumn(name)) in self.order]
        fixed = [column for column in self.order if column.of_all]
        order = dict.fromkeys((*fixed, *wanted, *self.order))
        away = {EventColumn(name) for name in hidden} & set(self.order)
        return replace(self, order=tuple(order), hidden=self.hidden | away)

    def with_all(self) -> ColumnChoice:
        """Nothing is hidden."""
        return replace(self, hidden=frozenset())
