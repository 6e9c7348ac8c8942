"""The filter of all views of the live place: its bar, its undo, and a notice where it hides a new probe's events."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tui.filter.bar import LiveFilterBar
from tui.filter.filter import Filter
from tui.filter.hidden_rows import HiddenRows
from tui.live.view_switch import ViewSwitch
from tui.workbench import Workbench

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan


class FilterControl:
    """The filter that is chosen, and the one before it."""

    def __init__(
        self, bench: Workbench, chosen: Filter, views: ViewSwitch, tick: Callable[[], None], show: Callable[[], None]
    ) -> None:
        """Take the filter, the views that it holds for, and the functions that show other rows and their number."""
        self._bench = bench
        self._filter = chosen
        self._views = views
        self._tick = tick
        self._show = show
        self._hidden = HiddenRows()
        self._before = ""
        """The filter that the next one can be taken back to."""
        self.bar = LiveFilterBar(chosen, lambda: views.watch, self._hidden)

    def show(self) -> None:
        """Show how many rows pass."""
        self.bar.show(self._views.current.filtered)

    def look(self, watching: Watch, store: Store) -> bool:
        """Look for an event of the newest probe that passes; return True where more events are to be looked at."""
        return self._hidden.look(store, self._filter.of(watching, store))

    def wait_for(self, plan: Plan, seq: int) -> None:
        """Wait for the first event of a probe that passes, from a sequence number on; until then say which hide."""
        self._hidden.begin(plan, seq)

    def changed(self) -> None:
        """Show the rows that pass now; `u` goes back to the filter before."""
        before, self._before = self._before, self._filter.text
        if before != self._before:
            done = f"filter: {self._before}" if self._before else "no filter"
            self._bench.undo.add(done, lambda: self.choose(before))
        self._tick()

    def replace(self, text: str) -> None:
        """Choose a filter, as `choose` does, which can be taken back."""
        before = self._before
        self.choose(text)
        if before != text:
            self._bench.undo.add(f"filter: {text}", lambda: self.choose(before))

    def target_changed(self) -> None:
        """Leave times out of the filter: they are of the clock of the target before."""
        before = self._filter.text
        if self._filter.of_times:
            self.choose(self._filter.without_times())
            told = f"the filter is {self._before}" if self._before else "all is shown"
            self._bench.notices.notify(f"{before}: its times were of the target before, {told}", topic="filter")

    def choose(self, text: str) -> None:
        """Show the rows that pass a filter that is known to be a condition."""
        self._filter.choose(text, None)
        self._before = text
        self._tick()
        self._show()
