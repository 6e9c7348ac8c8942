"""Several hosts: how each of them is, and the events of all in one list."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen
from textual.timer import Timer

from events.loss_counts import NO_LOSSES
from foreign.count_text import counted
from tui.commands import bindings
from tui.dialogs import dialogs
from tui.filter.bar import FilterBar
from tui.hosts.filter_bar import HostsFilterBar
from tui.hosts.host_row import host_fields, host_line
from tui.hosts.rows import HostRows
from tui.live.details.detail_screen import DetailScreen
from tui.present.hist_tables import TableLine
from tui.present.ways_out import HOSTS_BUILD, HOSTS_DISARM, HOSTS_PRESET, HOSTS_RECONNECT, HOSTS_TRIGGER
from tui.views.pause_position import PausePosition, Place
from widgets.call_after import call_after
from widgets.events.host_table import HostDetail, HostTable
from widgets.events.status_bar import LiveLine
from widgets.events.values import LiveState
from widgets.footer import KeyFooter
from widgets.lists.table_pane import TablePane
from widgets.lists.tail_table import TailTable
from widgets.lists.text_list import TableLines, TableList

if TYPE_CHECKING:
    from kernel.hosts.arm_request import ArmRequest
    from kernel.hosts.fleet import Fleet
    from tui.workbench import Workbench

_VIEWS: Final = ("events", "histograms")
_NOT_FILTERED: Final = "not filtered: the kernels count all"
_NONE: Final = f"no probe has a hist trigger: {HOSTS_TRIGGER}, e.g. hist:keys=common_pid"
_BUDGET: Final = 0.01
"""Seconds that looking at events for the filter may take at once."""


class HostsScreen(Screen[None]):
    """See the module; a fleet (`kernel.hosts.fleet`) does what is asked for here."""

    BINDINGS: ClassVar[list[BindingType]] = bindings("hosts")
    AUTO_FOCUS = "TailTable"

    def __init__(self, bench: Workbench, fleet: Fleet) -> None:
        super().__init__()
        self.bench = bench
        self._fleet = fleet
        self._table = HostTable()
        self._detail = HostDetail()
        self._line = LiveLine()
        self._events = TablePane()
        self._position = PausePosition(self._events.table)
        self._histograms = TableList(id="histograms")
        self._histograms.display = False
        self._lines: tuple[TableLine, ...] = ()
        self._shown = HostRows(fleet)
        self._filter_bar = HostsFilterBar(self._shown, self._keep_place)
        self._kept: Place | None = None
        """Place of a held picture before the filter that was chosen last."""
        self._fields: tuple[str, ...] | None = None
        self._looking: Timer | None = None

    def compose(self) -> ComposeResult:
        yield self._table
        yield self._detail
        yield self._line
        yield self._events
        yield self._histograms
        yield self._filter_bar
        yield KeyFooter("help")

    def on_screen_resume(self) -> None:
        self.tick()

    def tick(self) -> None:
        """Show the hosts and their events anew."""
        fields = self._shown.fields()
        if fields != self._fields:
            self._fields = fields
            self._show_rows(fields)
        self._look_on()
        self._show_histograms()
        lines = [host_line(self._fleet, host) for host in self._fleet.hosts]
        self._table.show(lines)
        self._detail.host = self._table.current
        table = self._events.table
        paces = [line.per_second for line in lines if line.per_second is not None]
        armed = sum(line.state == "armed" for line in lines)
        failed = sum(line.failed for line in lines)
        cut = sum(line.state == "cut" for line in lines)
        silent = sum(line.overdue_seconds is not None for line in lines)
        orders = self._fleet.title
        self._line.state = LiveState(
            following=table.follow.following,
            new=table.follow.new,
            per_second=sum(paces) if paces else None,
            row_count=max(0, self._shown.next - self._shown.first - table.follow.new),
            total=self._shown.filtered.of if self._shown.filter.text else 0,
            losses=replace(sum((line.losses for line in lines), NO_LOSSES), gap=0.0),
            views=_VIEWS if self.shows_histograms else (),
            view=int(self.shows_histograms),
            note=f"{armed} of {len(lines)} armed"
            + f", {cut} disconnected" * bool(cut)
            + f", {silent} silent" * bool(silent)
            + f", {failed} failed" * bool(failed)
            + f": {orders}" * bool(orders),
        )

    def _look_on(self) -> None:
        """Look at events for the filter for a moment, and again while there are more."""
        if self._looking is not None:
            self._looking.stop()
        more = self._shown.tick(_BUDGET)
        self._looking = call_after(self, _BUDGET, self._look_on) if more else None
        self._events.table.tick()
        self._position.restore(self._shown)
        self._filter_bar.show(_NOT_FILTERED if self.shows_histograms else self._shown.filtered)

    @property
    def shows_histograms(self) -> bool:
        """True while the tables of hist triggers stand in the place of the events."""
        return bool(self._histograms.display)

    def _show_histograms(self) -> None:
        """Show the histograms as they were read last."""
        if not self.shows_histograms:
            return
        from tui.hosts.tables import lines_of_hosts

        lines = tuple(lines_of_hosts(self._fleet.hosts)) or (TableLine(_NONE, "dim"),)
        if lines != self._lines:
            self._lines = lines
            self._histograms.show(TableLines(lines))

    @on(FilterBar.Done)
    def _filter_done(self, event: FilterBar.Done) -> None:
        event.stop()
        self.set_focus(self._histograms if self.shows_histograms else self._events.table)
        if event.changed:
            self._events.table.show(self._shown.rows(self._fields or ()))
            self._position.wanted = self._kept
        self.tick()

    def _keep_place(self) -> None:
        self._kept = self._position.read(self._shown)

    def _show_rows(self, fields: tuple[str, ...]) -> None:
        """Show rows in other columns; a table that does not follow keeps its place."""
        table = self._events.table
        table.follower.replace(lambda: table.show(self._shown.rows(fields)))

    def names_changed(self) -> None:
        """Show names of tasks that are known only now."""
        place = self._position.read(self._shown)
        if self._shown.names_changed():
            self._events.table.show(self._shown.rows(self._fields or ()))
            self._position.wanted = place
            self._look_on()
        self._events.table.names_changed()

    @on(HostTable.Highlighted)
    def _highlighted(self, event: HostTable.Highlighted) -> None:
        if event.control is self._table:
            event.stop()
            self._detail.host = self._table.current

    @on(HostTable.Selected)
    def _selected(self, event: HostTable.Selected) -> None:
        if event.control is self._table and (host := self._table.current) is not None:
            event.stop()
            self.app.push_screen(DetailScreen(host.name, host_fields(host)))

    @on(TailTable.Followed)
    def _followed(self, event: TailTable.Followed) -> None:
        event.stop()
        self.tick()

    @on(TailTable.HeadingClicked)
    def _heading_clicked(self, event: TailTable.HeadingClicked) -> None:
        event.stop()
        self.notify("events of several hosts are in the order of time", markup=False)

    @on(TailTable.DetailRequested)
    def _detail_requested(self, event: TailTable.DetailRequested) -> None:
        event.stop()
        try:
            self.app.push_screen(DetailScreen(*self._shown.detail(event.row)))
        except IndexError:
            self.notify("this event was dropped to make room for newer ones", markup=False)

    # -- commands --------------------------------------------------------------------------------------------------

    def order(self, order: ArmRequest) -> None:
        """Arm probes on all hosts."""
        asked, every = self._fleet.arm(order), len(self._fleet.hosts)
        if asked:
            text = f"arming on {counted(asked, 'host')}: {order.title}" + "; the others have it" * (asked < every)
        else:
            text = f"ordered on every host already: {order.title}; {HOSTS_DISARM}"
        self.bench.notices.notify(text, topic="hosts")
        self.tick()

    def action_filter(self) -> None:
        """Type a condition on the events of all hosts."""
        self._filter_bar.ask()

    def action_arm_composed(self) -> None:
        """Arm on all hosts what was built or typed in the place where probes are built."""
        from kernel.hosts.arm_request import ArmRequest

        built = self.bench.places.compose.specification
        probe = built.current
        if probe is not None:
            self.order(ArmRequest((str(probe),), triggers=built.triggers.of(probe)))
        else:
            self.notify(f"no probe is built yet: {HOSTS_BUILD}, {HOSTS_PRESET}", markup=False)

    def action_disarm_hosts(self) -> None:
        """Take every probe away from every host, after a question: each order is lost."""
        details = [f"{self._fleet.title}: {counted(len(self._fleet.hosts), 'host')}"]
        dialogs.ask(self.app, "Take every probe away from every host?", details, "Take away", self._fleet.disarm)

    def action_retry(self) -> None:
        """Try those again that failed."""
        if not self._fleet.retry():
            cut = any(host.trying is not None for host in self._fleet.hosts)
            now = f"; {HOSTS_RECONNECT}" if cut else ""
            self.notify(f"no host has failed{now}", markup=False)
        self.tick()

    def action_view(self, view: str) -> None:
        """Show the events of all hosts, or the tables of their hist triggers."""
        histograms = view == "histograms"
        self._fleet.wants_tables = histograms
        self._histograms.display, self._events.display = histograms, not histograms
        self.set_focus(self._histograms if histograms else self._events.table)
        if histograms:
            self._fleet.look()
        self.tick()

    def action_triggers(self) -> None:
        """Give all probes of all hosts a trigger."""
        from tui.hosts.triggers import HostsTriggerScreen

        if any(host.state == "armed" for host in self._fleet.hosts):
            meant = self.bench.places.compose.specification.triggers.translated
            self.app.push_screen(HostsTriggerScreen(self._fleet, self.order, meant))
        else:
            self.notify(f"no host has a probe: {HOSTS_BUILD}, {HOSTS_PRESET}", markup=False)

    def action_export(self) -> None:
        """Give the table of hosts, or their histograms, out; events are given out by the command line."""
        from tui.hosts.table_export import HostsExportScreen

        self.app.push_screen(HostsExportScreen(self._fleet))

    def action_back(self) -> None:
        self.app.switch_mode("compose")
