"""The calls that the table shows: all of them, or those that a condition holds of."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

from events.condition import LATENCY
from events.condition_text import condition
from events.record import Record
from events.search import Found
from tui.calls import ShownCalls
from tui.shown import fields_of
from widgets.call_rows import CallText

if TYPE_CHECKING:
    from events.selected_calls import SelectedCalls
    from events.store import Store
    from kernel.watch import Watch


class ChosenCalls:
    """A `widgets.call_rows.CallSource`, and what `tui.views.chosen_pane` asks for."""

    def __init__(self, watching: Watch, store: Store) -> None:
        self.every = ShownCalls(watching, store)
        self.order: tuple[str, bool] | None = None
        """Always None: calls are in the order in which they ended."""
        self._watching = watching
        self._store = store
        self._chosen: SelectedCalls | None = None
        self._named: frozenset[int] = frozenset()
        """Threads whose names the condition holds of."""

    @property
    def first(self) -> int:
        """Oldest row."""
        return self._chosen.first if self._chosen else self.every.first

    @property
    def next(self) -> int:
        """Row that comes next."""
        return self._chosen.next if self._chosen else self.every.next

    @property
    def chosen_by(self) -> str:
        """The condition; empty: none."""
        return self._chosen.condition.text if self._chosen else ""

    @property
    def behind(self) -> int:
        """Calls that were not looked at yet."""
        return self._chosen.behind if self._chosen else 0

    @property
    def counts(self) -> tuple[int, int]:
        """How many calls are shown, and how many there are."""
        return self.next - self.first, self.every.next - self.every.first

    def choose(self, text: str) -> None:
        """Show only what a condition holds of; everything where it is empty. Raises ConditionError."""
        from events.selected_calls import SelectedCalls

        fields = {*fields_of(self._watching), LATENCY}
        wanted = condition(text, fields, self._store.comm) if text.strip() else None
        self._chosen = SelectedCalls(self.every.calls, self._store, wanted) if wanted else None
        self._named = wanted.tasks(self._store.cmdlines) if wanted else frozenset()

    def tick(self, budget: float) -> bool:
        """Pair what came and choose among it; True: there is more to do."""
        self.every.tick(budget)
        if self._chosen:
            self._chosen.tick(budget)
        return self.every.calls.behind > 0 or self.behind > 0

    def names_changed(self) -> bool:
        """Tasks have names now; True: that changes what is chosen, from the oldest call on."""
        if self._chosen is None:
            return False
        wanted = self._chosen.condition
        if wanted.tasks(self._store.cmdlines) == self._named:
            return False
        self.choose(wanted.text)
        return True

    def call(self, row: int) -> CallText:
        """What is shown of a row. Raises IndexError where it was dropped."""
        return self.every.call(self._row(row))

    def records(self, row: int) -> tuple[Record | None, Record | None]:
        """Entry and exit of a row; None: not seen, or dropped. Raises IndexError where the row was dropped."""
        return self.every.records(self._row(row))

    def ts(self, row: int) -> int:
        """Nanoseconds at which a call ended, the newest where that was dropped; 0: there is none."""
        for one in (row, self.next - 1):
            with contextlib.suppress(IndexError):
                entry, leave = self.records(one)
                if last := leave or entry:
                    return last.ts
        return 0

    def row_at(self, ts: int) -> int | None:
        """The first row that did not end before a time; None: all did."""
        low, high = self.first, self.next
        while low < high:
            middle = (low + high) // 2
            if self.ts(middle) < ts:
                low = middle + 1
            else:
                high = middle
        return low if low < self.next else None

    def find(self, text: str, start: int, direction: int, budget: float) -> Found:
        """One bounded step of a search for a text among what is shown."""
        if self._chosen is None:
            return self.every.find(text, start, direction, budget)
        deadline = time.monotonic() + budget
        row = max(start, self.first) if direction > 0 else min(start, self.next - 1)
        while self.first <= row < self.next:
            one = self._row(row)
            if self.every.find(text, one, direction, 0.0).seq == one:
                return Found(row, row + direction, True)
            row += direction
            if time.monotonic() >= deadline:
                return Found(None, row, False)
        return Found(None, row, True)

    def _row(self, row: int) -> int:
        return self._chosen.row(row) if self._chosen else row
