"""View of calls, one row each: changed values, result and duration."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, ClassVar, Final

from textual import on
from textual.binding import Binding, BindingType

from tui.filter.filter import Filter, PassCount
from tui.present.call_ends import ends_of
from tui.present.status import note_of, note_of_gap, note_of_order
from tui.present.ways_out import BOTH_ENDS, RUNNING_KERNEL
from tui.views.calls.call_text import detail_of_call, detail_of_loss, note_of_calls
from tui.views.calls.model import BY_LATENCY, CallItems, call_table
from tui.views.events.filtered_pane import FilteredPane
from tui.views.view import TableView
from widgets.events.call_rows import LATENCY_COLUMN, TIME_COLUMN, CallRows
from widgets.events.values import DetailField
from widgets.lists.sortable_pane import SORT
from widgets.lists.tail_table import TailTable

if TYPE_CHECKING:
    from events.calls.call_values import Call
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan
    from tui.views.filtered_table import FilteredTable
    from widgets.events.times import Stamp


_TYPED: Final = "f chooses calls: latency > 10us, comm == cat, ret < 0"
_ONE_ORDER: Final = "calls are in the order of time, or of latency: S, or a click on one of these titles"
_EVENTS: Final = "columns, marks, colours and the filter of the kernel are among the events: e"


class CallsPane(FilteredPane):
    """Table of the calls."""

    BINDINGS: ClassVar[list[BindingType]] = [
        SORT,
        Binding("full_stop,exclamation_mark", f"instead('{_TYPED}')", show=False),
        Binding("K,m,apostrophe,H,A,less_than_sign,greater_than_sign,C", f"instead('{_EVENTS}')", show=False),
    ]

    shown: FilteredTable[CallItems] | None

    def refill(self) -> None:
        """Replace all rows."""
        if self.shown is not None:
            rows = CallRows(self.shown)
            rows.stamp = self.stamp
            if self.shown.order is not None:
                rows.columns.order = LATENCY_COLUMN, self.shown.order[1]
            self.table.show(rows)
            if self.shown.order is not None:
                self.table.move_to(0)

    @on(TailTable.HeadingClicked)
    def _heading_clicked(self, event: TailTable.HeadingClicked) -> None:
        """Sort by latency; a click on the time restores its order."""
        event.stop()
        if self.shown is not None and event.column == LATENCY_COLUMN:
            self.action_sort()
        elif self.shown is not None and event.column == TIME_COLUMN:
            self.shown.unsort()
            self.refill()
        else:
            self.notify(_ONE_ORDER, markup=False)

    def action_sort(self) -> None:
        """Cycle the order: longest first, shortest first, by time."""
        if self.shown is None:
            return
        if self.shown.order is None or self.shown.order[1]:
            self.shown.sort(BY_LATENCY, descending=self.shown.order is None)
        else:
            self.shown.unsort()
        self.refill()

    def action_instead(self, what: str) -> None:
        """Show which view a key works in."""
        self.notify(what, markup=False)

    @property
    def note(self) -> str:
        """Order of the rows, for the line above; empty: by time."""
        if self.shown is None or self.shown.order is None:
            return ""
        order = "the longest first" if self.shown.order[1] else "the shortest first"
        return f"by latency, {order}"


class CallsView(TableView):
    """View of the calls whose ends are among the events."""

    name: ClassVar[str] = "calls"
    pane: CallsPane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = CallsPane(self.name)

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Pair new events; work that takes longer goes on in later ticks."""
        if self.pane.shown is None:
            self.pane.fill(call_table(watch, store, self.filter))
        return self.pane.tick()

    def forget(self) -> None:
        """Clear the table."""
        self.pane.fill(None)
        super().forget()

    def show_times(self, stamp: Stamp) -> None:
        """Show times in the first column."""
        self.pane.show_times(stamp)

    def names_changed(self) -> None:
        """Filter and format rows with new names of tasks."""
        self.pane.names_changed()

    def shows(self, plan: Plan) -> bool:
        """Return True for probes at both ends: only these make calls."""
        return bool(ends_of((plan,)))

    @property
    def table_name(self) -> str:
        """Name of the table of calls."""
        return self.name

    @property
    def has_details(self) -> bool:
        """True: a row has no types and no stacks."""
        return True

    @property
    def filtered(self) -> PassCount:
        """Number of calls that pass, and of all calls in memory."""
        shown = self.pane.shown
        return PassCount(*shown.counts, "call", shown.backlog) if shown is not None else PassCount(0, 0, "call")

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for a watch without any probe at both ends."""
        paired = self.pane.shown is None or ends_of(watch.event_fields.plans)
        recorded = not watch.info.target.is_kernel
        return "" if paired else f"no probe has both ends: {RUNNING_KERNEL if recorded else BOTH_ENDS}"

    def note(self, watch: Watch) -> str:
        """Return the progress of pairing and the number of events without partner."""
        if self.pane.shown is None:
            return note_of(watch)
        counted = note_of_calls(self.pane.shown.items.calls)
        return note_of_order(self.pane.note, watch) or ", ".join(filter(None, (counted, note_of_gap(watch))))

    def detail(self, watch: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:
        """Return both ends of the call. Raises IndexError if they were dropped."""
        if self.pane.shown is None:
            raise IndexError(row)
        texts, number = self.pane.shown.items.texts, self.pane.shown.number(row)
        if (loss := texts.loss(number)) is not None:
            return detail_of_loss(loss)
        return detail_of_call(watch, *texts.records(number))

    def call_of_row(self, watch: Watch, row: int) -> Call | None:  # noqa: ARG002 - of every view
        """Return the call of a row. Raises IndexError if it was dropped."""
        shown = self.pane.shown
        return shown.items.calls.call(shown.number(row)) if shown is not None else None

    def record_under_cursor(self, store: Store) -> Record | None:  # noqa: ARG002 - of every view
        """Return the entry under the cursor, else the exit."""
        shown = self.pane.shown
        if shown is not None and not self.table.follow.following:
            with contextlib.suppress(IndexError):
                return next(filter(None, shown.items.texts.records(shown.number(self.table.cursor))), None)
        return None
