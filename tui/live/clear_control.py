"""Clear the shown events, so that only later ones are shown; the clear can be undone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from foreign.count_text import counted
from tui.dialogs import dialogs
from tui.live.view_switch import ViewSwitch
from tui.workbench import Workbench

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.views.summary.view import SummaryView


class ClearControl:
    """The clear of the watch whose events the current view shows."""

    def __init__(
        self, screen: Screen[None], bench: Workbench, views: ViewSwitch, refresh: Callable[[], None]
    ) -> None:
        """Take the function that shows the new store."""
        self._screen = screen
        self._bench = bench
        self._views = views
        self._refresh = refresh

    def clear(self) -> None:
        """Clear the events; ask first where the kernel counts, whose counts can't be restored."""
        watching, summary = self._views.watch, cast("SummaryView | None", self._views.by_name.get("summary"))
        if watching is None or watching.store is None:
            return
        if summary is not None and summary.counts_in_kernel:
            details = ("What the kernel has counted can't be taken back.",)
            agreed = partial(self._clear, watching, summary.clear)
            dialogs.ask(self._screen.app, "Count from 0 on?", details, "Clear", agreed)
        elif len(watching.store):
            self._clear(watching)

    def _clear(self, watching: Watch, also: Callable[[], object] = lambda: None) -> None:
        gone = f"cleared: {counted(len(watching.store or ()), 'event')}"
        watching.intake.forget()
        also()
        self._show()
        self._bench.undo.add(gone, lambda: self._recall(watching))

    def _recall(self, watching: Watch) -> None:
        watching.intake.recall()
        self._show()

    def _show(self) -> None:
        self._views.forget()
        self._refresh()
