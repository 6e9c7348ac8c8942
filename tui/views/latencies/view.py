"""View of the latencies of sources by CPU, then of what interrupted; Enter shows a histogram and the worst sample."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from events.latencies.cpu_latencies import CpuLatencies
from foreign.count_text import counted
from tui.filter.filter import Filter, PassCount
from tui.present.hist_tables import TableLine
from tui.present.latencies.rows import TITLES, CauseRow, cause_cells, cause_rows, latency_rows, text_cells
from tui.present.latencies.text import histogram_lines
from tui.present.latencies.worst import worst_lines, worst_of
from tui.present.status import note_of
from tui.present.ways_out import RUNNING_KERNEL, SEARCH_FUNCTIONS
from tui.views.view import WholeTableView
from widgets.lists.sortable_pane import SortablePane
from widgets.lists.text_rows import TextRows, text_pane
from widgets.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.latencies.cpu_latencies import LatencySum, Measure
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan

_LOOKS: Final = {1: "name", 8: "bad"}
_LEAST: Final = {1: 22}
_RIGHT: Final = range(2, len(TITLES))
"""Columns of numbers and times."""
_BUDGET: Final = 0.01
"""Seconds for processing new events at once."""


class LatenciesView(WholeTableView):
    """View with a table of measures by CPU, and of causes, those that took most first."""

    name: ClassVar[str] = "latencies"

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane: SortablePane = text_pane(TextRows(TITLES, _LOOKS, _LEAST, _RIGHT), id=self.name)
        self._found: CpuLatencies | None = None
        self._store: Store | None = None
        self._watch: Watch | None = None
        self._at = -1
        """Number of the row after the last one that is in the table."""
        self._measures: list[tuple[Measure, int, LatencySum]] = []
        self._causes: list[CauseRow] = []

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Count new samples."""
        passing = self.filter.of(watch, store)
        if self._found is None or self._store is not store or self._found.rows.passing is not passing:
            self._found, self._store, self._watch = CpuLatencies(store, passing), store, watch
            self._at = -1
        self._found.tick(_BUDGET)
        if self._at != store.next_seq - self._found.rows.backlog:
            self._at = store.next_seq - self._found.rows.backlog
            self._show(self._found)
        return self._found.rows.backlog > 0

    def _show(self, found: CpuLatencies) -> None:
        self._measures, self._causes = list(latency_rows(found)), cause_rows(found)
        rows = [text_cells(*row) for row in self._measures]
        for row in self._causes:
            kind, name, cpu, count, total, average, most = cause_cells(row)
            rows.append((kind, name, cpu, count, "", average, "", f"{total} in all", most))
        self.pane.ordered.take(rows)

    def forget(self) -> None:
        """Clear the table."""
        self._found, self._store, self._measures, self._causes = None, None, [], []
        self.pane.ordered.take(())

    def shows(self, plan: Plan) -> bool:
        """Return True for sources of latencies."""
        from probes.sources.source import is_latency

        return is_latency(plan.probe)

    @property
    def table_name(self) -> str:
        """Name of the table, if it has rows."""
        return self.name if self._measures else ""

    @property
    def filtered(self) -> PassCount:
        """Number of samples."""
        samples = self._found.samples if self._found is not None else 0
        return PassCount(samples, samples, "sample")

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for a watch without a source."""
        plans = watch.event_fields.plans
        if self._measures or any(self.shows(plan) for plan in plans):
            return ""
        search = f"{SEARCH_FUNCTIONS}, e.g. timerlat, osnoise, hwlat or wakeup"
        return f"no latency is measured: {search if watch.info.target.is_kernel else RUNNING_KERNEL}"

    def note(self, watch: Watch) -> str:
        """Return the number of samples, and the note on the events."""
        samples = self._found.samples if self._found is not None else 0
        causes = counted(len(self._causes), "cause") if self._causes else ""
        return ", ".join(filter(None, (counted(samples, "sample"), causes, note_of(watch))))

    def chain(self, row: int) -> tuple[str, Sequence[TableLine]] | None:
        """Return the histogram of a measure, and the worst sample of all; None: there is no such row."""
        found, store, watch = self._found, self._store, self._watch
        if found is None or store is None or watch is None or not 0 <= row < len(self._measures):
            return None
        measure, cpu, total = self._measures[row]
        lines = histogram_lines(measure, total)[1:]
        if (worst := worst_of(watch, store, found, measure)) is not None:
            lines += ["", *worst_lines(worst)]
        title = f"{measure.source} {measure.name}, {'all CPUs' if cpu < 0 else f'CPU {cpu}'}"
        return title, [TableLine(safe(text), "") for text in lines]
