"""The place where events arrive: one of the views of what came, the details of a row, what was lost."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.timer import Timer

from probes.presets.substitute import least_latency
from tui import arming
from tui.commands import bindings
from tui.feed import SLOWEST
from tui.live_commands import LiveCommands
from tui.screens.detail import DetailScreen
from tui.shown import fields_of, losses_of, note_of_nothing, status_of
from tui.views.events_pane import EventsPane
from tui.views.summary_pane import SummaryPane
from tui.views.view import View
from tui.views.views import VIEWS
from widgets.key_line import KeyLine
from widgets.status_bar import LiveLine, LiveState, Losses, Status, TopLine
from widgets.tail_table import TailTable

if TYPE_CHECKING:
    from kernel.watch import Watch
    from tui.screens.presets import Picked
    from tui.views.calls import CallsView
    from tui.views.events import EventsView
    from tui.views.summary import SummaryView

_TRACED: Final = "calls are traced: g; no probe is armed"
_SOON: Final = 0.01
"""Seconds to the next tick of a view that has more to do."""


class LiveScreen(LiveCommands):
    """See the module; what is shown is decided by the views (`tui.views`) and in `tui.shown`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("live")
    AUTO_FOCUS = "TailTable"

    def __init__(self) -> None:
        super().__init__()
        self._top = TopLine()
        self._line = LiveLine()
        self._views = {view.name: view() for view in VIEWS}
        self._view = self._views["events"]
        self._more: Timer | None = None
        self._line_shown = 0.0
        """Time at which the line was made last, in seconds."""

    @property
    def view(self) -> View:
        """What is on the screen."""
        return self._view

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._line
        for view in self._views.values():
            view.pane.display = view is self._view
            yield view.pane
        yield KeyLine("help")

    def on_screen_resume(self) -> None:
        self.tick()
        self.refresh_state()

    # -- from the application -----------------------------------------------------------------------------------

    def connected(self) -> None:
        """Another target is open: nothing of the old one is shown any more."""
        self._show_nothing()
        self.refresh_state()

    @property
    def seen(self) -> Watch | None:
        """Where what is on the screen comes from."""
        graph = self.bench.graphing.watching
        return graph if self._view.of_graph and graph is not None else self.bench.watching

    def tick(self) -> None:
        """The store has grown."""
        watching = self.seen
        if watching is None or watching.store is None:
            return
        if self._more is not None:
            self._more.stop()
        more = self._view.tick(watching, watching.store, fields_of(watching))
        self._more = self.set_timer(_SOON, self.tick, name="more") if more else None
        if not more or time.monotonic() - self._line_shown >= SLOWEST:
            self._show_line()

    def _show_nothing(self) -> None:
        for view in self._views.values():
            view.forget()

    def names_changed(self) -> None:
        """Tasks have names now that they had not before."""
        for view in self._views.values():
            view.names_changed()

    def refresh_state(self) -> None:
        """What is armed or lost has changed."""
        bench = self.bench
        if bench.connection is None:
            self._top.status = Status(bench.opening.spec, "opening")
        else:
            self._top.status = status_of(bench.connection, bench.watching, bench.counts, tracing=bench.graphing.runs)
        self._show_line()

    def _show_line(self) -> None:
        self._line_shown = time.monotonic()
        watching = self.seen
        store = watching.store if watching else None
        if watching is None or store is None:
            hosts = self.bench.hosting.note if self.bench.hosting is not None else ""
            note = _TRACED if self._only_traced else hosts or note_of_nothing(self.bench.connection)
            self._line.state = LiveState(shown=None, note=note)
            return
        place = self._view.place
        self._line.state = LiveState(
            views=tuple(view.label for view in self._views.values()),
            view=list(self._views).index(self._view.name),
            following=place.following,
            new=place.new,
            per_second=sum(store.rates().values()) if watching.live else None,
            shown=place.shown,
            of=place.of,
            losses=self._losses(watching),
            note=_TRACED if self._only_traced else self._view.note(watching),
            urgent=watching.error is not None,
        )

    def _losses(self, watching: Watch) -> Losses | None:
        """Those of the tracer, where it lost something; those of the probes are in the top line."""
        graphing = self.bench.graphing
        losses = losses_of(watching, graphing.counts) if watching is graphing.watching else Losses()
        return losses if losses != Losses() else None

    @property
    def _only_traced(self) -> bool:
        """Whether calls are traced, no probe is armed, and the view shows what probes record."""
        armed = self.bench.watching is not None and bool(self.bench.watching.armed)
        return self.bench.graphing.runs and not self._view.of_graph and not armed

    # -- requests of a view -------------------------------------------------------------------------------------

    @on(TailTable.Followed)
    def _followed(self, event: TailTable.Followed) -> None:
        event.stop()
        self._show_line()

    @on(TailTable.DetailRequested)
    def _detail_requested(self, event: TailTable.DetailRequested) -> None:
        event.stop()
        if self.seen is None:
            return
        try:
            self.app.push_screen(DetailScreen(*self._view.detail(self.seen, event.row)))
        except IndexError:
            self.notify("this event was dropped to make room for newer ones", markup=False)

    @on(SummaryPane.EventsWanted)
    def _events_wanted(self, event: SummaryPane.EventsWanted) -> None:
        event.stop()
        self.action_view("events")
        cast("EventsView", self._view).only(event.condition)

    @on(EventsPane.KernelFilterWanted)
    def _kernel_filter_wanted(self, event: EventsPane.KernelFilterWanted) -> None:
        event.stop()
        if (meant := self.meant()) is not None:
            clause = event.clause
            self.bench.remedy(lambda watching: arming.add_to_filter(watching, meant, clause))

    # -- commands -----------------------------------------------------------------------------------------------

    def action_view(self, view: str) -> None:
        """Show what came in another way."""
        self._view.pane.display = False
        self._view = self._views[view]
        self._view.pane.display = True
        self.set_focus(self._view.focus)
        self.tick()

    def show_preset(self, picked: Picked) -> None:
        """In the view that a preset asks for, with its columns, of its calls those that are long enough."""
        preset = picked.preset
        cast("SummaryView", self._views["summary"]).prefer(picked.probes, preset.columns)
        self.action_view(str(preset.view))
        if preset.columns:
            cast("EventsView", self._views["events"]).prefer(picked.probes, preset.columns)
        if least := least_latency(preset, picked.given):
            cast("CallsView", self._views["calls"]).only_slow(least)

    def action_clear(self) -> None:
        watching = self.seen
        if watching is not None:
            watching.forget()
            self._show_nothing()
            self.tick()
            self.refresh_state()
