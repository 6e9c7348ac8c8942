"""Base classes of the live views: a pane, and the decisions about its content."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.widget import Widget

from tui.filter.filter import Filter, PassCount
from widgets.lists.table_pane import TablePane
from widgets.lists.table_rows import EmptyTable
from widgets.lists.tail_table import TailTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from events.calls.call_values import Call
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan
    from tui.output.view_table import ViewTable
    from widgets.events.times import Stamp
    from widgets.events.values import DetailField
    from widgets.lists.text_list import StyledLine


class ViewPlace(NamedTuple):
    """Position of a view among the received events."""

    following: bool = True
    new: int = 0
    """Rows received since the display was paused."""
    row_count: int | None = None
    """Rows without the new ones; None: the view has no rows."""
    total: int = 0
    """Number of all rows if the filter hides some; 0: there is no filter."""


class View(ABC):
    """Base of a way to show the events. No method is called while the view is hidden."""

    name: ClassVar[str]
    """Name of the command that shows the view, and id of its pane."""
    of_graph: ClassVar[bool] = False
    """True if it shows the function_graph tracer's calls while the tracer runs."""
    pane: Widget
    """Widget of the view; `focus` takes the keys."""

    def __init__(self, chosen: Filter) -> None:
        """Set the filter of all views."""
        self.filter = chosen

    @property
    @abstractmethod
    def filtered(self) -> PassCount | str:
        """Number of passing and of all rows; a text: why the filter does not apply to this view."""

    @abstractmethod
    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:
        """Process new events or changed fields; return True if more remain."""

    @abstractmethod
    def forget(self) -> None:
        """Clear the view: the store is another one, or empty."""

    def empty_reason(self, watch: Watch) -> str:  # noqa: ARG002 - most show what comes
        """Return why nothing can be shown, with a remedy, as a full sentence; empty: something can."""
        return ""

    @abstractmethod
    def note(self, watch: Watch) -> str:
        """Return the note for the line above."""

    def shows(self, plan: Plan) -> bool:  # noqa: ARG002 - most show the events of every probe
        """Return True if events of a probe are shown here."""
        return True

    @property
    def focus(self) -> Widget:
        """Widget that takes the keys."""
        return self.pane

    def hold(self) -> bool:
        """Hold the picture; return False if it was held, or can't be."""
        table = self.focus
        if not isinstance(table, TailTable) or not table.follow.following:
            return False
        table.follower.stand()
        if self.place.following:  # what is shown goes on, whatever its table does
            table.follower.resume()
            return False
        return True

    def follow(self) -> None:
        """Show what is new again, if the picture is held."""
        table = self.focus
        if isinstance(table, TailTable) and not self.place.following:
            table.action_follow()

    def leave_out_earlier(
        self,
        store: Store,  # noqa: ARG002 - most rows are in order of time
        since: int,  # noqa: ARG002
    ) -> Callable[[], None] | None:
        """Show nothing of the events before a time, in nanoseconds of the kernel's clock; return what shows it again.

        None: the rows are in order of time.
        """
        return None

    @property
    def place(self) -> ViewPlace:
        """Position of the view."""
        return ViewPlace()

    @property
    def table_name(self) -> str:
        """Name of the table in `tui.output.view_tables` that can be exported; empty: the view has none."""
        return ""

    def export_table(self, watch: Watch, store: Store) -> ViewTable:
        """Return the table of that name."""
        from tui.output.view_tables import TABLES

        return TABLES[self.table_name](watch, store, self.filter)

    def show_times(self, stamp: Stamp) -> None:  # noqa: B027 - some views show no times
        """Format times of rows in another way."""

    def names_changed(self) -> None:  # noqa: B027 - most views show no names
        """Show names of tasks that were unknown before."""

    def detail(self, watch: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:  # noqa: ARG002
        """Return title and fields of a row. Raises IndexError if it was dropped."""
        raise IndexError(row)

    @property
    def has_details(self) -> bool:
        """True if a pane beside it shows the details of the row under the cursor on a wide screen."""
        return False

    @property
    def detail_row(self) -> int | None:
        """Row that the pane of details is about; None: there is none."""
        return None

    def call_of_row(self, watch: Watch, row: int) -> Call | None:  # noqa: ARG002 - most rows are no ends of calls
        """Return the call that a row is, or is an end of. Raises IndexError if it was dropped."""
        return None

    def chain(self, row: int) -> tuple[str, Sequence[StyledLine]] | None:  # noqa: ARG002 - most have fields
        """Return title and lines that stand for the fields of a row; None: `detail` has those."""
        return None

    def record_under_cursor(self, store: Store) -> Record | None:  # noqa: ARG002
        """Return the event under the cursor; None: there is no cursor, or the row was dropped."""
        return None

    def point_to(self, store: Store, seq: int) -> None:  # noqa: B027 - most views keep a place of their own
        """Put the cursor on an event that was under the cursor of the view before."""

    def functions_on_screen(self) -> list[str]:
        """Return the names of the visible functions, each once, the newest first."""
        return []

    def function_under_cursor(self) -> str:
        """Return the function under the cursor; empty: none."""
        return ""


class TableView(View):
    """View with a table that grows at its end."""

    pane: TablePane

    @property
    def table(self) -> TailTable:
        """Table of the rows."""
        return self.pane.table

    @property
    def focus(self) -> Widget:
        """Widget that takes the keys."""
        return self.table

    @property
    def detail_row(self) -> int | None:
        """Row under the cursor, or the newest while these are followed."""
        table = self.table
        row = table.rows.next - 1 if table.follow.following else table.cursor
        return row if table.window.has(row) else None

    @property
    def place(self) -> ViewPlace:
        """Position of the table; rows received since the display was paused do not count as shown."""
        table = self.table
        shown = table.rows.next - table.rows.first - table.follow.new
        of = self.filtered if self.filter.text else None
        return ViewPlace(
            table.follow.following, table.follow.new, max(0, shown), of.of if isinstance(of, PassCount) else 0
        )

    def forget(self) -> None:
        """Clear the table."""
        self.table.show(EmptyTable())

    def names_changed(self) -> None:
        """Format rows with new names."""
        self.table.names_changed()


class WholeTableView(TableView):
    """View with a table that always has all rows: sums, objects or elements, whose position says nothing."""

    @property
    def place(self) -> ViewPlace:
        """Constant position."""
        return ViewPlace()
