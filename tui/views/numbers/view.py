"""View of the samples of monitors: a row a number, with its value, extremes and a line of the last minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from events.numbers.number_series import NumberSamples
from tui.filter.filter import Filter, PassCount
from tui.present.hist_tables import TableLine
from tui.present.status import note_of
from tui.present.ways_out import RUNNING_KERNEL, SEARCH_FUNCTIONS
from tui.views.numbers.rows import TITLES, is_by_cpu, monitored, number_cells, second_lines
from tui.views.view import WholeTableView
from widgets.lists.sortable_pane import SortablePane
from widgets.lists.text_rows import TextRows, text_pane
from widgets.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan

_LOOKS: Final = {0: "name", 3: "type"}
_LEAST: Final = {0: 16, 3: 30}
_RIGHT: Final = (1, 2, 4, 5, 6)
"""Columns of numbers."""
_BUDGET: Final = 0.01
"""Seconds for processing new events at once."""


class NumbersView(WholeTableView):
    """View with a table of monitored numbers, in the order in which they were armed."""

    name: ClassVar[str] = "numbers"

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane: SortablePane = text_pane(TextRows(TITLES, _LOOKS, _LEAST, _RIGHT), id=self.name)
        self._found: NumberSamples | None = None
        self._store: Store | None = None
        self._shown = -1
        """Samples that are in the table."""
        self._rows = 0
        self._plans: dict[str, Plan] = {}

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Take new samples."""
        passing, plans = self.filter.of(watch, store), monitored(watch.event_fields.plans)
        events = {path: is_by_cpu(plan) for path, plan in plans.items()}
        found = self._found
        if found is None or self._store is not store or found.rows.passing is not passing or found.events != events:
            found = self._found = NumberSamples(store, events, passing)
            self._store, self._shown = store, -1
        found.tick(_BUDGET)
        if self._shown != found.samples:
            self._shown, self._plans = found.samples, plans
            self._show(number_cells(found, plans))
        return found.rows.backlog > 0

    def _show(self, rows: list[tuple[str, ...]]) -> None:
        self._rows = len(rows)
        self.pane.ordered.take(rows)

    def forget(self) -> None:
        """Clear the table."""
        self._found, self._store, self._shown, self._rows = None, None, -1, 0
        self.pane.ordered.take(())

    def shows(self, plan: Plan) -> bool:
        """Return True for monitors."""
        return bool(monitored((plan,)))

    @property
    def filtered(self) -> PassCount:
        """Number of samples."""
        samples = self._found.samples if self._found is not None else 0
        return PassCount(samples, samples, "sample")

    def chain(self, row: int) -> tuple[str, Sequence[TableLine]] | None:
        """Return the value of each second of the last minutes, the newest first; None: there is no such row."""
        found = self._found
        lines = second_lines(found, self._plans, row) if found is not None else None
        return None if lines is None else (lines[0], [TableLine(safe(text), "") for text in lines[1:]])

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for a watch without a monitor."""
        if self._rows or monitored(watch.event_fields.plans):
            return ""
        search = f"{SEARCH_FUNCTIONS}, e.g. monitor"
        return f"no number is sampled: {search if watch.info.target.is_kernel else RUNNING_KERNEL}"

    def note(self, watch: Watch) -> str:
        """Return the number of samples, and the note on the events."""
        return ", ".join(filter(None, (self.filtered.text, note_of(watch))))
