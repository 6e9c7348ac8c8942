"""Open the dialogs of the live place: about a row, the recording, losses, an export, a probe on a function seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.dialogs import dialogs
from tui.filter.filter import Filter
from tui.live.view_switch import ViewSwitch
from tui.present.ways_out import CHOOSE_TARGET, SHOW_CALLS
from tui.workbench import Workbench

if TYPE_CHECKING:
    from textual.screen import Screen


class LiveDialogs:
    """Dialogs over the live place; where there is nothing to show, a notification says so."""

    def __init__(self, screen: Screen[None], bench: Workbench, views: ViewSwitch, chosen: Filter) -> None:
        self._screen = screen
        self._bench = bench
        self._views = views
        self._filter = chosen

    def _notify(self, text: str) -> None:
        self._screen.notify(text, markup=False)

    def show_row(self, row: int) -> None:
        """Show all fields of a row of the current view, or the lines that stand for them."""
        from tui.live.details.detail_screen import DetailScreen
        from tui.live.details.lines_screen import ChainScreen

        if self._views.watch is None:
            return
        if (chain := self._views.current.chain(row)) is not None:
            self._screen.app.push_screen(ChainScreen(*chain))
            return
        try:
            self._screen.app.push_screen(DetailScreen(*self._views.current.detail(self._views.watch, row)))
        except IndexError:
            self._notify("this event was dropped to make room for newer ones")

    def show_contents(self) -> None:
        """Show what is recorded: kernel, time, probes, events of each, losses."""
        from tui.live.details.lines_screen import ContentsScreen
        from tui.recording_contents import screen_lines_of

        if (watching := self._views.watch) is None:
            self._notify(f"no target is open yet: {CHOOSE_TARGET}")
            return
        lines = screen_lines_of(watching, self._bench.counts, self._screen.app.size.width)
        self._screen.app.push_screen(ContentsScreen("what is recorded", lines))

    def show_losses(self) -> None:
        """Show the losses, and the remedies."""
        from tui.live.losses import LossScreen

        self._screen.app.push_screen(LossScreen(self._bench))

    def ask_recording(self) -> None:
        """Begin to write a recording to a file that is asked for, or end it after a question."""
        watching = self._views.watch
        if watching is not None and not watching.info.target.is_kernel:
            self._notify("this is already a recording file; o exports its events")
        elif watching is None or not watching.live:
            self._notify("nothing is armed that could be recorded")
        else:
            self._bench.recorder.ask(watching)

    def export(self) -> None:
        """Give the events out in a format of other tools."""
        from tui.live.event_export import EventExportScreen
        from tui.output.view_tables import OF_KERNEL

        watching = self._views.watch
        table = self._views.current.table_name
        if watching is None or watching.store is None or not (len(watching.store) or table in OF_KERNEL):
            self._notify("there are no events to export")
        else:
            make = self._views.current.export_table
            self._screen.app.push_screen(EventExportScreen(watching, watching.store, self._filter, table, make))

    def build_probe(self) -> None:
        """Build a probe on the function under the cursor; without a cursor on one that is chosen."""
        places = self._bench.places

        def build(name: str) -> None:
            places.in_compose(lambda: places.compose.pick(name))

        if self._bench.planner is None:
            self._notify(f"no target is open yet: {CHOOSE_TARGET}")
        elif name := self._views.current.function_under_cursor():
            build(name)
        elif names := self._views.current.functions_on_screen():
            dialogs.pick(self._screen.app, "a probe on which function?", names, lambda row: build(names[row]))
        else:
            self._notify(f"no function is on the screen: {SHOW_CALLS}")
