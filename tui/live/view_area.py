"""The area below the status lines: the view that is shown, and the pane of details; requests of views go to the part
that answers them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on
from textual.containers import Container

from tui.live.armed_control import ArmedControl
from tui.live.compare_control import CompareControl
from tui.live.dialogs import LiveDialogs
from tui.live.requested_views import RequestedViews
from tui.messages import EventShown, EventsWanted
from tui.views.events.pane import EventsPane
from tui.views.late_picture import PictureChanged
from widgets.events.event_detail import EventDetail
from widgets.lists.tail_table import TailTable

if TYPE_CHECKING:  # panes of views that are imported when they are first shown
    from tui.views.compare.pane import ComparisonPane
    from tui.views.summary.pane import SummaryPane


class ViewArea(Container):
    """See the module."""

    DEFAULT_CSS = """
    ViewArea {
        height: 1fr;
        width: 1fr;
        layout: vertical;
        &.-beside { layout: horizontal; }
        & > * { height: 1fr; width: 1fr; }
        & > EventDetail { display: none; border-top: solid $foreground 40%; border-title-color: $text-accent; }
        &.-beside > EventDetail { display: block; border-left: solid $foreground 40%; }
        &.-below > EventDetail { display: block; }
        & > EventDetail .whole { display: none; }
        & > EventDetail:focus-within .whole { display: block; }
        & > EventDetail:focus-within { border-title-style: bold; }
    }
    """

    def __init__(
        self,
        events: EventsPane,
        armed: ArmedControl,
        comparing: CompareControl,
        requested: RequestedViews,
        dialogs: LiveDialogs,
        show_line: Callable[[], None],
    ) -> None:
        """Take the view that is shown first, the parts, and a function that shows the line above the views."""
        self.details = EventDetail(id="row-detail")
        super().__init__(events, self.details)
        self.place_details: Callable[[], None] = lambda: None
        """Places the pane of details by the size of the area."""
        self._armed = armed
        self._comparing = comparing
        self._requested = requested
        self._dialogs = dialogs
        self._show_line = show_line

    def on_resize(self) -> None:
        """Place the pane anew."""
        self.place_details()

    @on(TailTable.DetailRequested)
    def _detail_requested(self, event: TailTable.DetailRequested) -> None:
        event.stop()
        self._dialogs.show_row(event.row)

    @on(PictureChanged)
    def _picture_changed(self, event: PictureChanged) -> None:
        event.stop()
        self._show_line()

    def on_summary_pane_came(self, event: SummaryPane.Came) -> None:
        """Show what is counted now."""
        event.stop()
        self._show_line()

    def on_comparison_pane_other_wanted(self, event: ComparisonPane.OtherWanted) -> None:
        """Ask for the other recording."""
        event.stop()
        self._comparing.ask()

    def on_comparison_pane_stale(self, event: ComparisonPane.Stale) -> None:
        """Compare with the filter that holds now."""
        event.stop()
        self._comparing.read()

    @on(EventsPane.KernelFilterWanted)
    def _kernel_filter_wanted(self, event: EventsPane.KernelFilterWanted) -> None:
        event.stop()
        self._armed.add_to_filter(event.clause)

    @on(EventsPane.WatchpointWanted)
    def _watchpoint_wanted(self, event: EventsPane.WatchpointWanted) -> None:
        event.stop()
        self._armed.ask_watchpoint(event.address, event.event, event.column)

    @on(EventsWanted)
    async def _events_wanted(self, event: EventsWanted) -> None:
        event.stop()
        await self._requested.show_matching(event.condition, event.view)

    @on(EventShown)
    async def _event_shown(self, event: EventShown) -> None:
        event.stop()
        await self._requested.show_row(event.seq)
