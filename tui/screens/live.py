"""The place where events arrive: a table over the store, the details of one event, what was lost."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, cast

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from kernel.session import Armed
from tui.commands import bindings
from tui.screens.detail import DetailScreen
from tui.shown import ShownEvents, detail_of, fields_of, losses_of, note_of, status_of
from widgets.event_pane import EventPane
from widgets.event_rows import NoEvents
from widgets.event_table import EventTable
from widgets.key_line import KeyLine
from widgets.status_bar import LiveLine, LiveState, Status, TopLine

if TYPE_CHECKING:
    from tui.app import Probewright


class LiveScreen(Screen[None]):
    """See the module; decisions about what is shown are in `tui.shown`."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("live")
    AUTO_FOCUS = "EventTable"

    def __init__(self) -> None:
        super().__init__()
        self._top = TopLine()
        self._line = LiveLine()
        self._pane = EventPane()
        self._shown: ShownEvents | None = None
        self._fields: tuple[str, ...] = ()

    @property
    def bench(self) -> Probewright:
        """The application, by its type."""
        return cast("Probewright", self.app)

    def compose(self) -> ComposeResult:
        yield self._top
        yield self._line
        yield self._pane
        yield KeyLine("help")

    def on_screen_resume(self) -> None:
        self.tick()
        self.refresh_state()

    # -- from the application -----------------------------------------------------------------------------------

    def connected(self) -> None:
        """Another target is open: nothing of the old one is shown any more."""
        self._shown, self._fields = None, ()
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
            self._pane.table.show(self._shown, fields, self._shown.cells)
        self._pane.table.tick()
        self._show_line()

    def _show_nothing(self) -> None:
        self._pane.table.show(NoEvents(), (), lambda event: {})  # noqa: ARG005 - there is none

    def names_changed(self) -> None:
        """Tasks have names now that they had not before."""
        self._pane.table.names_changed()

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
            self._line.state = LiveState(note="nothing is armed: F2, pick a function, Enter")
            return
        self._line.state = LiveState(
            following=self._pane.table.following,
            per_second=sum(store.rates().values()) if watching.live else None,
            shown=store.next_seq,
            losses=losses_of(watching, self.bench.counts),
            note=note_of(watching),
        )

    # -- requests of the table ----------------------------------------------------------------------------------

    @on(EventTable.Followed)
    def _followed(self, event: EventTable.Followed) -> None:
        event.stop()
        self._show_line()

    @on(EventTable.DetailRequested)
    def _detail_requested(self, event: EventTable.DetailRequested) -> None:
        event.stop()
        watching = self.bench.watching
        if watching is None or watching.store is None:
            return
        try:
            record = watching.store.record(event.seq)
        except IndexError:
            self.notify("this event was dropped to make room for newer ones", markup=False)
            return
        title = f"{record.event} of {record.comm}-{record.pid} on CPU {record.cpu}"
        self.app.push_screen(DetailScreen(title, detail_of(watching, record)))

    # -- commands -----------------------------------------------------------------------------------------------

    def _armed_under_cursor(self) -> Armed | None:
        """The probe whose event is under the cursor; the only one there is, where there is no cursor."""
        watching = self.bench.watching
        if watching is None or not watching.armed:
            return None
        table = self._pane.table
        if watching.store is not None and not table.following:
            try:
                event = watching.store.record(table.cursor).event
            except IndexError:
                event = ""
            for armed in watching.armed:
                if any(planned.path == event for planned in armed.plan.events):
                    return armed
        return watching.armed[0] if len(watching.armed) == 1 else None

    def action_disarm(self) -> None:
        armed = self._armed_under_cursor()
        if armed is not None:
            self.bench.disarm([armed])
        elif self.bench.watching is not None and self.bench.watching.armed:
            self.notify("several probes are armed: space, then put the cursor on an event of one", markup=False)
        else:
            self.notify("nothing is armed", markup=False)

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
            self._shown = None
            self._show_nothing()
            self.tick()
            self.refresh_state()
