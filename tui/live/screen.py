"""The place where events arrive: a view of them, the details of a row, losses; and the commands about them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.timer import Timer

from tui.commands import bindings
from tui.filter.bar import FilterBar
from tui.filter.filter import Filter
from tui.live.armed_control import ArmedControl
from tui.live.clear_control import ClearControl
from tui.live.command.area import CommandArea
from tui.live.command.rows_hold import RowsHold
from tui.live.compare_control import CompareControl
from tui.live.details.control import DetailControl
from tui.live.dialogs import LiveDialogs
from tui.live.filter_control import FilterControl
from tui.live.requested_views import RequestedViews
from tui.live.status_lines import StatusLines
from tui.live.view_area import ViewArea
from tui.live.view_switch import ViewSwitch
from tui.present.status import fields_of
from tui.present.ways_out import NO_FILTER, SEARCH_EVENTS
from tui.refresh import SLOWEST
from tui.views.events.filtered_pane import FilteredPane
from tui.workbench import Workbench
from widgets.call_after import call_after
from widgets.events.event_detail import EventDetail
from widgets.events.status_bar import LiveLine
from widgets.footer import KeyFooter
from widgets.lists.line_list import LineList
from widgets.lists.tail_table import TailTable

if TYPE_CHECKING:
    from tui.present.first_row import FirstRows, Preview

_SOON: Final = 0.01
"""Seconds to the next tick of a view that has more to do."""
_FILES_EVERY: Final = 0.1
"""Seconds between two turns of reading the files of descriptors, where rows wait for them."""
_FILES_FOR: Final = 0.04
"""Seconds of such a turn."""


class LiveScreen(Screen[None]):
    """See the module; the views (`tui.views`) and `tui.present.status` decide what is shown."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("live"), Binding("slash", "no_search", show=False)]
    AUTO_FOCUS = "TailTable"

    def __init__(self, bench: Workbench) -> None:
        super().__init__()
        self.bench = bench
        self.filter = Filter()
        """Filter of all views, their search and the exports."""
        self.views = ViewSwitch(self, bench, self.filter)
        self.status = StatusLines(bench, self.views)
        self.filtering = FilterControl(bench, self.filter, self.views, self.tick, self._show_line)
        self.armed = ArmedControl(self, bench, self.views)
        self.comparing = CompareControl(self, bench, self.views, self.filter, self._show_line)
        self.requested = RequestedViews(bench, self.views, self.filtering, self.action_view, self.tick)
        self._dialogs = dialogs = LiveDialogs(self, bench, self.views, self.filter)
        parts = self.armed, self.comparing, self.requested, dialogs
        self._area = ViewArea(self.views.events.pane, *parts, self._show_line)
        self._rows_hold = RowsHold(self.views, self._show_new)
        self.command = CommandArea(bench, self.views.take_focus, self._rows_hold, self.requested.leave_out_earlier)
        self.details = DetailControl(self, self.views, self._area, lambda: self.command.rows)
        self._more: Timer | None = None
        self._take_commands(ClearControl(self, bench, self.views, self.on_screen_resume), dialogs)

    def _take_commands(self, clearing: ClearControl, dialogs: LiveDialogs) -> None:
        """Have the commands that one part does done by it."""
        self.action_filter = self.filtering.bar.ask
        self.action_clear = clearing.clear
        self.action_take_back = self.bench.undo.take_back
        self.action_disarm, self.action_disarm_all = self.armed.disarm, self.armed.disarm_all
        self.action_triggers = self.armed.show_triggers
        self.action_contents, self.action_losses = dialogs.show_contents, dialogs.show_losses
        self.action_record, self.action_export = dialogs.ask_recording, dialogs.export
        self.action_probe = dialogs.build_probe
        self.action_run_command, self.action_end_command = self.command.ask, self.command.end

    def compose(self) -> ComposeResult:
        yield self.status.top
        yield self.status.line
        yield self._area
        yield self.command
        yield self.filtering.bar
        yield KeyFooter("help")

    def on_mount(self) -> None:
        self.views.show_times()
        self.set_interval(_FILES_EVERY, self._read_files)

    def on_resize(self) -> None:
        self.command.take_share()

    def on_screen_resume(self) -> None:
        self.tick()
        self.refresh_state()

    # -- from the application --------------------------------------------------------------------------------------

    def preview(self, preview: Preview, rows: FirstRows) -> None:
        """Show the first rows of a recording that is not open yet."""
        self.status.preview = preview, rows
        self.views.events.preview(rows)
        self.refresh_state()

    def connected(self) -> None:
        """Show nothing of the target before; rows of a preview stay until the store has them."""
        self.comparing.forget()
        if self.views.watch is not None:
            self.filtering.target_changed()
        if self.bench.opening.by_hand:
            self.status.preview = None
        if self.status.preview is None:
            self.views.forget()
        self.command.watch_changed()
        self.refresh_state()

    def tick(self) -> None:
        """Show events that arrived."""
        watching = self.views.watch
        if watching is None or watching.store is None:
            return
        if self.status.preview is not None:
            if watching.store.next_seq < self.status.preview[1].next and not watching.ended:
                return  # fewer rows than are shown
            self.status.preview = None
            self.refresh_state()
        if self._more is not None:
            self._more.stop()
        more = self.views.current.tick(watching, watching.store, fields_of(watching))
        more |= self.filtering.look(watching, watching.store)
        self.details.news()
        self._more = call_after(self, _SOON, self.tick) if more else None
        if not more or time.monotonic() - self.status.shown_at >= SLOWEST:
            self._show_line()

    def names_changed(self) -> None:
        """Show names of tasks that are known only now."""
        self.views.names_changed()
        self.filtering.show()
        self.details.names_changed()

    def _read_files(self) -> None:
        """Read the files of descriptors that rows were shown without; show them when all are read."""
        files = self.views.watch.event_fields.descriptors if self.views.watch is not None else None
        if files is not None and files.are_wanted and not files.read_on(_FILES_FOR):
            self.names_changed()

    def refresh_state(self) -> None:
        """Show anew what is armed and what was lost."""
        self.status.show_top()
        self._show_line()

    def _show_line(self) -> None:
        self.status.show_line()
        self.filtering.show()

    # -- requests of a view ----------------------------------------------------------------------------------------

    @on(TailTable.Followed)
    def _followed(self, event: TailTable.Followed) -> None:
        event.stop()
        self._rows_hold.followed()
        self._show_line()
        self.details.arrange()  # the other table of the view may be shown
        if event.following:
            self.tick()  # what came while the picture was held

    @on(LineList.Highlighted)
    def _highlighted(self, event: LineList.Highlighted) -> None:
        event.stop()
        self.details.due()

    @on(EventDetail.Closed)
    def _details_left(self, event: EventDetail.Closed) -> None:
        event.stop()
        self.views.take_focus()

    def _show_new(self) -> bool:
        """Show what is new; return True if there is more."""
        self.tick()
        return self._more is not None

    @on(LiveLine.ViewClicked)
    async def _view_clicked(self, event: LiveLine.ViewClicked) -> None:
        event.stop()
        if (name := self.status.view_at(event.view)) != self.views.current.name:
            await self.action_view(name)

    @on(LiveLine.FollowClicked)
    def _follow_clicked(self, event: LiveLine.FollowClicked) -> None:
        """Hold the picture, or follow, where the view has a table that can."""
        event.stop()
        table = self.views.current.focus
        if isinstance(table, TailTable) and table.check_action("follow", ()):
            table.action_follow()

    @on(LiveLine.LossesClicked)
    def _losses_clicked(self, event: LiveLine.LossesClicked) -> None:
        event.stop()
        self._dialogs.show_losses()

    @on(FilteredPane.FilterChanged)
    def _filter_changed(self, event: FilteredPane.FilterChanged) -> None:
        event.stop()
        self.filtering.changed()
        self.details.due()

    @on(FilterBar.Done)
    def _filter_done(self, event: FilterBar.Done) -> None:
        event.stop()
        self.views.take_focus()
        if event.changed:
            self.filtering.changed()
            self.details.due()
        self.filtering.show()

    # -- views -----------------------------------------------------------------------------------------------------

    async def action_view(self, view: str) -> None:
        """Show another view of the events."""
        await self.views.show(view)
        self.details.arrange()
        self.tick()

    def action_pane(self) -> None:
        """Hide the details beside the rows, or show them again."""
        if reason := self.details.toggle():
            self.notify(reason, markup=False)

    async def action_call_end(self, end: str) -> None:
        """Go to the entry or the exit of the call under the cursor, among the events."""
        found = self.details.call_end(end == "exit")
        if isinstance(found, str):
            self.notify(found, markup=False)
            return
        await self.action_view("events")
        if not self.views.events.pane.go_to_event(found):
            self.notify(f"its {end} is hidden by the filter, or was dropped: {NO_FILTER}", markup=False)

    # -- commands --------------------------------------------------------------------------------------------------

    def action_clock(self) -> None:
        """Show the time of day beside the kernel's seconds, or no more."""
        self.notify(self.views.next_clock(), markup=False)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Offer to undo where a step can be undone, details where rows have some, to end a command that there is."""
        if action == "end_command":
            return self.command.display
        if action in ("pane", "call_end"):
            return self.views.current.has_details
        return action != "take_back" or len(self.bench.undo) > 0 or self.bench.undo.change_runs

    def action_no_search(self) -> None:
        """Say that this view has no rows with words; what is typed behind the key is for no command."""
        self.bench.keyboard.begins("search")
        self.bench.keyboard.ends("search")
        self.bench.notices.notify(f"nothing to search in this view: {SEARCH_EVENTS}", topic="search")
