"""View of the single events."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from tui.filter.filter import Filter, PassCount
from tui.present.status import note_of, note_of_order
from tui.views.events.detail import call_of_event, detail_of_event
from tui.views.events.pane import EventsPane
from tui.views.view import TableView
from widgets.number_format import grouped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from events.calls.call_values import Call
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.command import Armable
    from probes.plans.plan import Plan
    from tui.present.first_row import FirstRows
    from tui.views.events.model import EventItems
    from tui.views.filtered_table import FilteredTable
    from widgets.events.times import Stamp
    from widgets.events.values import DetailField


class EventsView(TableView):
    """View with a table of the store."""

    name: ClassVar[str] = "events"
    pane: EventsPane

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane = EventsPane(self.name)
        self._shown: FilteredTable[EventItems] | None = None
        self._fields: tuple[str, ...] = ()
        self._plans: tuple[Plan, ...] | None = None
        self._columns: dict[Armable, tuple[str, ...]] = {}

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:
        """Show new events; rows are decoded when they are drawn."""
        plans = watch.event_fields.plans
        if self._shown is None or fields != self._fields:
            from tui.views.events.model import event_table

            self._fields, self._plans = fields, None
            self._shown = event_table(watch, store, self.filter)
            self.pane.show(self._shown, fields)
        if plans != self._plans:
            from tui.present.watched_events import kinds_of

            self._plans = plans
            self.pane.columns.use_kinds(kinds_of(plans, fields))
        if self._columns:
            self._prefer(watch)
        return self.pane.tick()

    def show_kind_of(self, plan: Plan) -> None:
        """Give columns to the fields of a probe's events."""
        if plan.events:
            self.pane.columns.show_kind(plan.events[0].path)

    def preview(self, rows: FirstRows) -> None:
        """Show the first rows of a recording, until the store has them."""
        self.pane.preview(rows)

    def prefer(self, probes: Iterable[Armable], columns: tuple[str, ...]) -> None:
        """Show only these fields of the probes' events, in this order, as soon as the probes are armed."""
        self._columns |= dict.fromkeys(probes, columns)

    def _prefer(self, watch: Watch) -> None:
        for plan in watch.event_fields.plans:
            recorded = [column.name for event in plan.events for column in event.columns]
            for probe, wanted in list(self._columns.items()):
                # A recording shows a probe through another that covers it.
                subject = plan.probe.subject if not watch.live else None
                if probe == plan.probe or probe.subject == subject:
                    del self._columns[probe]
                    self.show_kind_of(plan)
                    self.pane.columns.prefer(wanted, [name for name in recorded if name not in wanted])

    def forget(self) -> None:
        """Clear the table."""
        self._shown, self._fields = None, ()
        self.pane.show(None, ())
        super().forget()

    def show_times(self, stamp: Stamp) -> None:
        """Show times in the first column."""
        self.pane.show_times(stamp)

    def names_changed(self) -> None:
        """Filter and format rows with new names of tasks."""
        self.pane.names_changed()

    @property
    def has_details(self) -> bool:
        """True: a row has only some of its fields."""
        return True

    @property
    def filtered(self) -> PassCount:
        """Number of events that pass, and of all events in memory."""
        shown = self._shown
        return PassCount(*shown.counts, "event", shown.backlog) if shown is not None else PassCount(0, 0)

    def note(self, watch: Watch) -> str:
        """Return the order of the rows; or: recording, ended, disarmed."""
        return note_of_order(self._order, watch) or note_of(watch)

    @property
    def _order(self) -> str:
        """Order of the rows in words; empty: by time."""
        if self._shown is None or self._shown.order is None:
            return ""
        from events.search.sorted_rows import MAX_SORTED_ROWS  # imports numpy, which is loaded if rows were sorted

        column, descending = self._shown.order
        order = "the largest first" if descending else "the smallest first"
        is_whole = self._shown.next - self._shown.first < MAX_SORTED_ROWS
        return f"by {column.name}, {order}" + ("" if is_whole else f", of the newest {grouped(MAX_SORTED_ROWS)}")

    def detail(self, watch: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:
        """Return every field of the event. Raises IndexError if it was dropped."""
        if self._shown is None:
            raise IndexError(row)
        shown = self._shown
        return detail_of_event(watch, shown.store, shown.item(row), self.pane.stamp)

    def call_of_row(self, watch: Watch, row: int) -> Call | None:
        """Return the call that the event of a row is an end of. Raises IndexError if it was dropped."""
        shown = self._shown
        return call_of_event(watch, shown.store, shown.number(row)) if shown is not None else None

    def record_under_cursor(self, store: Store) -> Record | None:  # noqa: ARG002 - of every view
        """Return the event under the cursor."""
        return self.pane.record
