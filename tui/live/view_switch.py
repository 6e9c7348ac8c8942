"""The views of the live place: one is shown, the others are made when they are first asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual.screen import Screen

from tui.filter.filter import Filter
from tui.live.registry import make_view
from tui.present.event_times import ClockFace, stamp_of
from tui.views.events.view import EventsView
from tui.views.view import View
from tui.workbench import Workbench

if TYPE_CHECKING:
    from textual.widget import Widget

    from kernel.watch.watch import Watch
    from widgets.events.times import Stamp


class ViewSwitch:
    """The view that is shown (`current`), and those that were (`by_name`)."""

    def __init__(self, screen: Screen[None], bench: Workbench, chosen: Filter) -> None:
        """Take the filter that holds for all views."""
        self._screen = screen
        self._bench = bench
        self._filter = chosen
        self.events = EventsView(chosen)
        self.current: View = self.events
        self.by_name: dict[str, View] = {"events": self.events}

    @property
    def watch(self) -> Watch | None:
        """The watch whose events the current view shows."""
        graph, watching = self._bench.tracing.current_watch, self._bench.current_watch
        if not self.current.of_graph or graph is None:
            return watching
        # Where one has ended and was cleared, calls come of probes at both ends alone.
        is_over = not graph.live and not graph.queue.closing and graph.store is not None and not len(graph.store)
        return watching if is_over and watching is not None and watching.armed.probes else graph

    def event_under_cursor(self) -> str:
        """Return the path of an event; empty where there is no cursor, or its row was dropped."""
        store = self.watch.store if self.watch else None
        record = self.current.record_under_cursor(store) if store else None
        return record.event if record else ""

    @property
    def _stamp(self) -> Stamp:
        return stamp_of(lambda: self.watch, self._bench.display_clock)

    async def show(self, name: str) -> None:
        """Show another view, and give it the keyboard."""
        view = await self.made(name)
        store = self.watch.store if self.watch else None
        record = self.current.record_under_cursor(store) if store and view is not self.current else None
        if record is not None and store is not None:
            view.point_to(store, record.seq)
        self.current.pane.display = False
        self.current = view
        view.pane.display = True
        self.take_focus()

    def take_focus(self) -> None:
        """Give the current view the keyboard."""
        self._screen.set_focus(self.current.focus)

    async def made(self, name: str) -> View:
        """Return a view; the pane of one that was never asked for is made, and not shown."""
        if name not in self.by_name:
            view = self.by_name[name] = make_view(name, self._filter)
            view.show_times(self._stamp)
            view.pane.display = False
            area = cast("Widget", self.events.pane.parent)
            await area.mount(view.pane, after=self.events.pane)
        return self.by_name[name]

    def next_clock(self) -> str:
        """Write the times of rows by the next clock; return the text that names it."""
        self._bench.display_clock = face = self._bench.display_clock.after
        self.show_times()
        watching = self.watch
        if watching is None or watching.clock is None or watching.clock.is_known or face is ClockFace.KERNEL:
            return f"times: {face.words}"
        why = ": the recording does not say it" if watching.info.holds_events else " yet"
        return f"times: {face.words}, which is not known{why}"

    def show_times(self) -> None:
        """Write the times of rows by the clock that was chosen."""
        for view in self.by_name.values():
            view.show_times(self._stamp)

    def forget(self) -> None:
        """Show nothing in all views."""
        for view in self.by_name.values():
            view.forget()

    def names_changed(self) -> None:
        """Show names of tasks that are known only now."""
        for view in self.by_name.values():
            view.names_changed()
