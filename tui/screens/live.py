"""The place where events arrive: one of the views of what came, the details of a row, what was lost."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer

from probes.presets.substitute import least_latency
from tui import arming
from tui.commands import bindings
from tui.screens.detail import DetailScreen
from tui.shown import fields_of, losses_of, note_of_nothing, status_of
from tui.views.events_pane import EventsPane
from tui.views.summary_pane import SummaryPane
from tui.views.view import View
from tui.views.views import VIEWS
from widgets.key_line import KeyLine
from widgets.status_bar import LiveLine, LiveState, Status, TopLine
from widgets.tail_table import TailTable

if TYPE_CHECKING:
    from kernel.counts import Counts
    from kernel.session import Armed
    from kernel.watch import Watch
    from tui.app import Probewright
    from tui.screens.presets import Picked
    from tui.views.calls import CallsView
    from tui.views.events import EventsView

_SOON: Final = 0.01
"""Seconds to the next tick of a view that has more to do."""


class LiveScreen(Screen[None]):
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

    @property
    def bench(self) -> Probewright:
        """The application, by its type."""
        return cast("Probewright", self.app)

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
    def _seen(self) -> Watch | None:
        """Where what is on the screen comes from."""
        graph = self.bench.graphing.watching
        return graph if self._view.of_graph and graph is not None else self.bench.watching

    def tick(self) -> None:
        """The store has grown."""
        watching = self._seen
        if watching is None or watching.store is None:
            return
        if self._more is not None:
            self._more.stop()
        more = self._view.tick(watching, watching.store, fields_of(watching))
        self._more = self.set_timer(_SOON, self.tick, name="more") if more else None
        self._show_line()

    @property
    def _counts(self) -> Counts | None:
        graphing = self.bench.graphing
        return graphing.counts if self._seen is graphing.watching else self.bench.counts

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
            self._top.status = status_of(bench.connection, bench.watching, bench.counts)
        self._show_line()

    def _show_line(self) -> None:
        watching = self._seen
        store = watching.store if watching else None
        if watching is None or store is None:
            self._line.state = LiveState(note=note_of_nothing(self.bench.connection))
            return
        self._line.state = LiveState(
            views=tuple(view.label for view in self._views.values()),
            view=list(self._views).index(self._view.name),
            following=self._view.place.following,
            new=self._view.place.new,
            per_second=sum(store.rates().values()) if watching.live else None,
            shown=store.next_seq,
            losses=losses_of(watching, self._counts),
            note=self._view.note(watching),
        )

    # -- requests of a view -------------------------------------------------------------------------------------

    @on(TailTable.Followed)
    def _followed(self, event: TailTable.Followed) -> None:
        event.stop()
        self._show_line()

    @on(TailTable.DetailRequested)
    def _detail_requested(self, event: TailTable.DetailRequested) -> None:
        event.stop()
        if self._seen is None:
            return
        try:
            self.app.push_screen(DetailScreen(*self._view.detail(self._seen, event.row)))
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
        if (meant := self._meant()) is not None:
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
        self.action_view(str(preset.view))
        if preset.columns:
            cast("EventsView", self._views["events"]).prefer(picked.probes, preset.columns)
        if least := least_latency(preset, picked.given):
            cast("CallsView", self._views["calls"]).only_slow(least)

    def _event_under_cursor(self) -> str:
        """Path of an event; empty where there is no cursor, or its row was dropped."""
        store = self._seen.store if self._seen else None
        record = self._view.record_under_cursor(store) if store else None
        return record.event if record else ""

    def action_disarm(self) -> None:
        """Disarm the probe whose event is under the cursor; without a cursor the only one there is."""
        if self._view.of_graph and self.bench.graphing.runs:
            self.bench.graphing.stop()
        elif (meant := self._meant()) is not None:
            self.bench.disarm([meant])

    def action_losses(self) -> None:
        """What was lost, and what helps."""
        from tui.screens.losses import LossScreen

        self.app.push_screen(LossScreen())

    def action_triggers(self) -> None:
        """Triggers of the probe whose event is under the cursor; without a cursor of the only one there is."""
        from tui.screens.triggers import TriggerScreen

        watching = self.bench.watching
        if watching is not None and not watching.connection.target.owner:
            self.notify("a recording takes no triggers", markup=False)
        elif watching is not None and (meant := self._meant()) is not None:
            self.app.push_screen(TriggerScreen(watching, meant))

    def _meant(self) -> Armed | None:
        """The armed probe that a key is about; None: it is said why there is none."""
        armed = self.bench.watching.armed if self.bench.watching else ()
        event = self._event_under_cursor()
        meant = [one for one in armed if not event or any(planned.path == event for planned in one.plan.events)]
        if len(meant) == 1:
            return meant[0]
        if not armed:
            self.notify("nothing is armed", markup=False)
        elif event:
            self.notify("the probe of this event is disarmed already", markup=False)
        else:
            self.notify("several probes are armed: space, then put the cursor on an event of one", markup=False)
        return None

    def action_disarm_all(self) -> None:
        self.bench.graphing.stop()
        if self.bench.watching is not None:
            self.bench.disarm(self.bench.watching.armed)

    def action_record(self) -> None:
        """Begin to write a recording beside where probewright was started, or end it."""
        watching = self._seen
        if watching is None or not watching.live:
            self.notify("nothing is armed that could be recorded", markup=False)
            return
        if watching.recorder is not None:
            self.bench.stop_recording(watching)
        else:
            self.bench.record(Path(time.strftime("probewright-%Y%m%d-%H%M%S.pwr")), watching)
        self.refresh_state()

    def action_export(self) -> None:
        """Give the events out in a format of other tools."""
        from tui.screens.event_export import EventExportScreen

        watching = self._seen
        if watching is None or watching.store is None or not len(watching.store):
            self.notify("there are no events that could be given out", markup=False)
        else:
            self.app.push_screen(EventExportScreen(watching, watching.store))

    def action_probe(self) -> None:
        """Build a probe on the function under the cursor."""
        if name := self._view.function_under_cursor():
            self.bench.switch_mode("compose")
            self.bench.compose_place.pick(name)
        else:
            self.notify("no function is under the cursor: space, then put it on a call", markup=False)

    def action_clear(self) -> None:
        watching = self._seen
        if watching is not None:
            watching.forget()
            self._show_nothing()
            self.tick()
            self.refresh_state()
