"""View of what changed from the recording that is open to another one; Enter shows both distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from foreign.count_text import counted
from tui.filter.filter import Filter, PassCount
from tui.present.hist_tables import TableLine
from tui.present.ways_out import CHOOSE_TARGET, COMPARE_WITH
from tui.views.compare.distributions import distribution_lines
from tui.views.compare.pane import ComparisonPane
from tui.views.compare.text import change_text, group_name, item_text, number_texts
from tui.views.view import WholeTableView
from widgets.number_format import grouped
from widgets.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.differences.differences import Difference, RecordingComparison
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from tui.output.view_table import ViewTable


_MOST_ROOM: Final = 120
"""Columns that both distributions take at most: the page that shows them is no wider."""


class ComparisonView(WholeTableView):
    """View with a table of comparisons, what changed most first."""

    name: ClassVar[str] = "compare"

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane: ComparisonPane = ComparisonPane(id=self.name)
        self._found: RecordingComparison | None = None
        self._other = ""
        self._condition = ""
        """Filter that was compared with."""

    def show(self, found: RecordingComparison, other: str, condition: str) -> None:
        """Show a comparison with a recording, of events that pass a filter."""
        self._found, self._other, self._condition = found, other, condition
        self.pane.ordered.take([_cells(one) for one in found.differences])

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Ask for another comparison where the filter has changed."""
        if self._found is not None and self._condition != self.filter.text:
            self._condition = self.filter.text
            self.pane.post_message(ComparisonPane.Stale())
        return False

    def forget(self) -> None:
        """Clear the table."""
        self._found = None
        self.pane.ordered.take(())

    @property
    def filtered(self) -> PassCount | str:
        """Numbers of events that pass in both recordings."""
        if self._found is None:
            return "no recording is compared"
        return f"{counted(self._found.a.events, 'event')} of A and {grouped(self._found.b.events)} of B"

    @property
    def table_name(self) -> str:
        """Name of the table, if it has rows."""
        return "comparison" if self._found is not None else ""

    def export_table(self, watch: Watch, store: Store) -> ViewTable:  # noqa: ARG002 - of every view
        """Return the comparisons."""
        from tui.output.comparison_table import ComparisonTable

        if self._found is None:
            raise ValueError("nothing is compared")
        return ComparisonTable(self._found, ())

    def empty_reason(self, watch: Watch) -> str:
        """Return the text where no other recording was chosen."""
        if self._found is not None:
            return ""
        if not watch.info.holds_events:
            return f"a recording is compared with another, and none is open: {CHOOSE_TARGET}"
        return f"no recording to compare with was chosen: {COMPARE_WITH}"

    def note(self, watch: Watch) -> str:  # noqa: ARG002 - of every view
        """Return the name of the other recording, and the result."""
        if self._found is None:
            return ""
        found = self._found
        return f"B is {self._other}, {grouped(len(found.changes))} of {grouped(len(found.differences))} changed"

    def chain(self, row: int) -> tuple[str, Sequence[TableLine]] | None:
        """Return both distributions of a comparison, and all numbers of its group; None: there is no such row."""
        if self._found is None or not 0 <= row < len(self._found.differences):
            return None
        one = self._found.differences[row]
        room = min(self.pane.size.width * 9 // 10, _MOST_ROOM)
        lines = [TableLine(safe(text), "") for text in distribution_lines(self._found, one, room)]
        return f"{group_name(one.group)}: {item_text(one)}", lines


def _cells(one: Difference) -> tuple[str, ...]:
    return group_name(one.group), item_text(one), *number_texts(one), change_text(one.change)
