"""What the live place asks of a view: a pane, and what is decided about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.widget import Widget

from tui.filter.filter import Filter, PassCount
from widgets.lists.table_pane import TablePane
from widgets.lists.tail_table import EmptyTable, TailTable

if TYPE_CHECKING:
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan
    from widgets.events.event_detail import DetailField
    from widgets.events.times import Stamp


class ViewPlace(NamedTuple):
    """Where a view stands among what came."""

    following: bool = True
    new: int = 0
    """Rows that came since one stopped to follow."""
    shown: int | None = None
    """Rows without those; None: it does not show rows."""
    of: int = 0
    """Of how many, where the filter leaves some out; 0: there is none."""


class View(ABC):
    """One way to see what came. It is asked for nothing while it is not on the screen."""

    name: ClassVar[str]
    """Of the command that shows it, and the id of its pane."""
    of_graph: ClassVar[bool] = False
    """It shows what the function_graph tracer saw, where one runs."""
    pane: Widget
    """What is on the screen; `focus` takes the keys."""

    def __init__(self, chosen: Filter) -> None:
        """Take the filter that holds for all views."""
        self.filter = chosen

    @property
    @abstractmethod
    def filtered(self) -> PassCount | str:
        """How many of its rows or events pass the filter; a text: why the filter does not reach this view."""

    @abstractmethod
    def tick(self, watching: Watch, store: Store, fields: tuple[str, ...]) -> bool:
        """The store has grown, or other fields are recorded; True: there is more to do, soon."""

    @abstractmethod
    def forget(self) -> None:
        """Show nothing: the store is another one, or empty."""

    def lacks(self, watching: Watch) -> str:  # noqa: ARG002 - most show what comes
        """Return why nothing can be shown, with the way out, which is read whole; empty: something can."""
        return ""

    @abstractmethod
    def note(self, watching: Watch) -> str:
        """What is going on, for the line above."""

    def shows(self, plan: Plan) -> bool:  # noqa: ARG002 - most show the events of every probe
        """Return whether what comes of a probe is seen here."""
        return True

    @property
    def focus(self) -> Widget:
        """What takes the keys."""
        return self.pane

    @property
    def place(self) -> ViewPlace:
        """Where the view stands."""
        return ViewPlace()

    @property
    def table_name(self) -> str:
        """Name of the table in `tui.present.view_tables` that can be given out; empty: the view has none of its
        own.
        """
        return ""

    def show_times(self, stamp: Stamp) -> None:  # noqa: B027 - some views show no times
        """Write times of rows in another way."""

    def names_changed(self) -> None:  # noqa: B027 - most views show no names
        """Tasks have names now that they had not before."""

    def detail(self, watching: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:  # noqa: ARG002
        """Title and fields of a row whose details were asked for. Raises IndexError where it was dropped."""
        raise IndexError(row)

    def record_under_cursor(self, store: Store) -> Record | None:  # noqa: ARG002
        """The event under the cursor; None where there is no cursor, or its row was dropped."""
        return None

    def functions_on_screen(self) -> list[str]:
        """Names of the functions that are seen, each once, the newest first."""
        return []

    def function_under_cursor(self) -> str:
        """Name of the function under the cursor; empty: there is none."""
        return ""


class TableView(View):
    """A view that is a table which grows at its end."""

    pane: TablePane

    @property
    def table(self) -> TailTable:
        """The rows."""
        return self.pane.table

    @property
    def focus(self) -> Widget:
        """What takes the keys."""
        return self.table

    @property
    def place(self) -> ViewPlace:
        """Where the table stands; what came since one stopped to follow is not counted as shown."""
        table = self.table
        shown = table.rows.next - table.rows.first - table.new
        of = self.filtered if self.filter.text else None
        return ViewPlace(table.following, table.new, max(0, shown), of.of if isinstance(of, PassCount) else 0)

    def forget(self) -> None:
        """Show nothing."""
        self.table.show(EmptyTable())

    def names_changed(self) -> None:
        """Format rows anew."""
        self.table.names_changed()
