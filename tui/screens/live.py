"""The place where events arrive: a table over the store, the details of one event, what was lost."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from events.comparison import why_none
from tui.calls import ShownCalls, detail_of_call, ends_of, note_of_calls
from tui.commands import bindings
from tui.screens.detail import DetailScreen
from tui.shown import ShownEvents, detail_of, fields_of, losses_of, note_of, note_of_nothing, status_of
from widgets.call_rows import CallRows
from widgets.event_rows import EventRows
from widgets.key_line import KeyLine
from widgets.status_bar import LiveLine, LiveState, Status, TopLine
from widgets.table_pane import TablePane
from widgets.tail_table import Nothing, TailTable

if TYPE_CHECKING:
    from events.store import Store
    from kernel.watch import Watch
    from tui.app import Probewright

VIEWS = {"events": "events", "calls": "entry→exit"}
"""Views of what came, by the ids of their panes."""
_PAIRING = 0.01
"""Seconds that pairing may take at once."""


class LiveScreen(Screen[None]):
    """See the module; decisions about what is shown are in `tui.shown`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("live")
    AUTO_FOCUS = "TailTable"

    def __init__(self) -> None:
        super().__init__()
        self._top = TopLine()
        self._line = LiveLine()
        self._panes = {view: TablePane(id=view) for view in VIEWS}
        self._view = "events"
        self._shown: ShownEvents | None = None
        self._fields: tuple[str, ...] = ()
        self._calls: ShownCalls | None = None

    @property
    def bench(self) -> Probewright:
        """The application, by its type."""
        return cast("Probewright", self.app)

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._line
        yield from self._panes.values()
        yield KeyLine("help")

    def on_mount(self) -> None:
        self._panes["calls"].display = False
        self._panes["events"].why_none = lambda text: why_none(text, self._fields)

    def on_screen_resume(self) -> None:
        self.tick()
        self.refresh_state()

    # -- from the application -----------------------------------------------------------------------------------

    def connected(self) -> None:
        """Another target is open: nothing of the old one is shown any more."""
        self._show_nothing()
        self.refresh_state()

    def tick(self) -> None:
        """The store has grown."""
        watching = self.bench.watching
        if watching is None or watching.store is None:
            return
        fields = fields_of(watching)
        if self._shown is None or fields != self._fields:
            self._fields = fields
            self._shown = ShownEvents(watching, watching.store)
            self._panes["events"].table.show(EventRows(self._shown, fields, self._shown.cells))
        if self._view == "calls":
            self._tick_calls(watching, watching.store)
        self.table.tick()
        self._show_line()

    def _tick_calls(self, watching: Watch, store: Store) -> None:
        """Pair what came; what takes longer than a moment goes on in the next ones."""
        if self._calls is None:
            self._calls = ShownCalls(watching, store)
            self._panes["calls"].table.show(CallRows(self._calls))
        self._calls.tick(_PAIRING)
        if self._calls.calls.behind:
            self.set_timer(_PAIRING, self.tick, name="pairing")

    @property
    def table(self) -> TailTable:
        """What is on the screen."""
        return self._panes[self._view].table

    def _show_nothing(self) -> None:
        self._shown, self._fields, self._calls = None, (), None
        for pane in self._panes.values():
            pane.table.show(Nothing())

    def names_changed(self) -> None:
        """Tasks have names now that they had not before."""
        for pane in self._panes.values():
            pane.table.names_changed()

    def refresh_state(self) -> None:
        """What is armed or lost has changed."""
        bench = self.bench
        if bench.connection is None:
            self._top.status = Status(bench.opening.spec, "opening")
        else:
            self._top.status = status_of(bench.connection, bench.watching, bench.counts)
        self._show_line()

    def _show_line(self) -> None:
        watching = self.bench.watching
        store = watching.store if watching else None
        if watching is None or store is None:
            self._line.state = LiveState(note=note_of_nothing(self.bench.connection))
            return
        self._line.state = LiveState(
            views=tuple(VIEWS.values()),
            view=tuple(VIEWS).index(self._view),
            following=self.table.following,
            new=self.table.new,
            per_second=sum(store.rates().values()) if watching.live else None,
            shown=store.next_seq,
            losses=losses_of(watching, self.bench.counts),
            note=self._note(watching),
        )

    def _note(self, watching: Watch) -> str:
        if self._view == "events" or self._calls is None:
            return note_of(watching)
        if not ends_of(watching.known.plans):
            return "no probe has both ends of a call: F2, b, Enter"
        return note_of_calls(self._calls.calls)

    # -- requests of the table ----------------------------------------------------------------------------------

    @on(TailTable.Followed)
    def _followed(self, event: TailTable.Followed) -> None:
        event.stop()
        self._show_line()

    @on(TailTable.DetailRequested)
    def _detail_requested(self, event: TailTable.DetailRequested) -> None:
        event.stop()
        watching = self.bench.watching
        if watching is None or watching.store is None:
            return
        try:
            if self._view == "calls" and self._calls is not None:
                title, fields = detail_of_call(watching, *self._calls.records(event.row))
            else:
                record = watching.store.record(event.row)
                title = f"{record.event} of {record.comm}-{record.pid} on CPU {record.cpu}"
                fields = detail_of(watching, record)
        except IndexError:
            self.notify("this event was dropped to make room for newer ones", markup=False)
            return
        self.app.push_screen(DetailScreen(title, fields))

    # -- commands -----------------------------------------------------------------------------------------------

    def action_view(self, view: str) -> None:
        """Show the events, or the calls they belong to."""
        self._panes[self._view].display = False
        self._view = view
        self._panes[view].display = True
        self.set_focus(self.table)
        self.tick()

    def _event_under_cursor(self) -> str:
        """Path of an event; empty where there is no cursor, or its row was dropped."""
        store = self.bench.watching.store if self.bench.watching else None
        if store is None or self.table.following:
            return ""
        with contextlib.suppress(IndexError):
            if self._view == "calls" and self._calls is not None:
                record = next(filter(None, self._calls.records(self.table.cursor)), None)
                return record.event if record else ""
            return store.record(self.table.cursor).event
        return ""

    def action_disarm(self) -> None:
        """Disarm the probe whose event is under the cursor; without a cursor the only one there is."""
        armed = self.bench.watching.armed if self.bench.watching else ()
        event = self._event_under_cursor()
        meant = [one for one in armed if not event or any(planned.path == event for planned in one.plan.events)]
        if len(meant) == 1:
            self.bench.disarm(meant)
        elif not armed:
            self.notify("nothing is armed", markup=False)
        elif event:
            self.notify("the probe of this event is disarmed already", markup=False)
        else:
            self.notify("several probes are armed: space, then put the cursor on an event of one", markup=False)

    def action_disarm_all(self) -> None:
        if self.bench.watching is not None:
            self.bench.disarm(self.bench.watching.armed)

    def action_record(self) -> None:
        """Begin to write a recording beside where probewright was started, or end it."""
        watching = self.bench.watching
        if watching is None or not watching.live:
            self.notify("nothing is armed that could be recorded", markup=False)
            return
        if watching.recorder is not None:
            self.bench.stop_recording()
        else:
            self.bench.record(Path(time.strftime("probewright-%Y%m%d-%H%M%S.pwr")))
        self.refresh_state()

    def action_clear(self) -> None:
        watching = self.bench.watching
        if watching is not None:
            watching.forget()
            self._show_nothing()
            self.tick()
            self.refresh_state()
