"""View of the calls that failed, by the function that first returned the error."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from events.graph.record_ends import NO_RETURNS
from tui.filter.filter import Filter, PassCount
from tui.present.hist_tables import TableLine
from tui.present.status import note_of, note_of_gap, note_of_recording
from tui.present.ways_out import RUNNING_KERNEL, TRACE_CALLS
from tui.views.calls.call_text import CallTexts
from tui.views.failures.model import FailureGroup, FailureModel, chooser, wanted_failures
from tui.views.failures.text import chain_lines, chosen_words, error_words, most_frequent, summary_line
from tui.views.graph.names import GraphNames
from tui.views.view import TableView, ViewPlace
from widgets.lists.sortable_pane import SortablePane
from widgets.lists.text_rows import TextRows, TextTable
from widgets.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.connection.planner import Planner
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan
    from probes.presets.failure_request import FailureRequest
    from tui.output.view_table import ViewTable

_TITLES: Final = ("failed", "error", "first failure", "calls", "processes")
_LOOKS: Final = {1: "bad", 2: "name"}
_LEAST: Final = {2: 18, 3: 12}
_BUDGET: Final = 0.01
"""Seconds for processing new events at once."""


class FailuresView(TableView):
    """View with a table of first failures, the most frequent first.

    The outermost calls of the graph are those whose failures count.
    """

    name: ClassVar[str] = "failures"
    of_graph: ClassVar[bool] = True

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        table = TextTable(TextRows(_TITLES, _LOOKS, _LEAST))
        table.hold_or_go_on = self._hold_or_go_on
        self.pane: SortablePane = SortablePane(table, table.ordered, id=self.name)
        self._held_before: int | None = None
        """Row from which on no failures are shown; None: all are."""
        self._since: tuple[Store | None, int] = (None, 0)
        """Store, and the time from which on calls in it are looked at; None: all are."""
        self._model: FailureModel | None = None
        self._names: GraphNames | None = None
        self._watch: Watch | None = None
        self._groups: list[FailureGroup] = []
        """Groups of the rows on the screen."""
        self._request: FailureRequest | None = None
        self._planner: Planner | None = None
        """The connection that the request is for."""

    def choose(self, request: FailureRequest | None, planner: Planner | None = None) -> None:
        """Show only failures of some functions with some errors, on a target; None: all of the graph."""
        self._request, self._planner = request, planner
        self.forget()

    def _request_for(self, watch: Watch) -> FailureRequest | None:
        return self._request if watch.planner is self._planner else None

    @property
    def choice(self) -> str:
        """Words for what `choose` has chosen; empty: all failures."""
        return chosen_words(self._request) if self._request is not None else ""

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Process new events; work that takes longer goes on in later ticks."""
        passing, model = self.filter.of(watch, store), self._model
        if model is None or model.store is not store or model.outdated(watch) or model.passing is not passing:
            self._begin(watch, store, passing)
        model = self._model
        if model is None or model.lacks_returns:
            return False
        if model.live_tree.traced and not watch.info.symbols.are_read:
            return True  # wait until the first row has its name
        more, found = model.tick(_BUDGET)
        if found:
            self._show(model)
        return more

    def _begin(self, watch: Watch, store: Store, passing: FilteredRows | None) -> None:
        if self._names is None or self._watch is not watch:
            self._names = GraphNames(watch.info)
        calls = CallTexts(watch, store)
        calls.learn()
        self._watch = watch
        request = wanted_failures(watch, self._request_for(watch))
        chosen = chooser(request.calls, watch.info)
        since = self._since[1] if self._since[0] is store else 0
        if self._model is None or self._model.store is not store:
            self._held_before = None
        self._model = FailureModel(
            watch, store, self._names, calls, chosen, request.errnos, passing=passing, since=since
        )
        self._model.live_tree.held_before = self._held_before
        self._show(self._model)

    def _show(self, model: FailureModel) -> None:
        self._groups = model.by_count()
        self.pane.ordered.take(
            [
                (
                    group.calls,
                    group.errno,
                    group.example.origin_text,
                    most_frequent(group.by_call),
                    most_frequent(model.comms(group)),
                )
                for group in self._groups
            ]
        )

    def hold(self) -> bool:
        """Hold the failures as they are; return False if they were held, or there are none yet."""
        if self._held_before is not None or self._model is None:
            return False
        self._held_before = self._model.live_tree.hold()
        return True

    def leave_out_earlier(self, store: Store, since: int) -> Callable[[], None] | None:
        """Show only failures of calls that begin from a time on; return what shows the others again."""
        before = self._since

        def take_back() -> None:
            self._since = before
            self.forget()

        self._since = (store, since)
        self.forget()
        return take_back

    def _hold_or_go_on(self) -> bool:
        if not self.hold():
            self._held_before = None
            if self._model is not None:
                self._model.live_tree.held_before = None
        return self._held_before is None

    def forget(self) -> None:
        """Clear the table."""
        self._model, self._groups, self._held_before = None, [], None
        self.pane.ordered.take(())

    def names_changed(self) -> None:
        """Show new names of processes and functions."""
        if self._watch is not None:
            self.filter.names_changed(self._watch)
        if self._names is not None:
            self._names.forget()
        if self._model is not None:
            self._show(self._model)

    def shows(self, plan: Plan) -> bool:  # noqa: ARG002 - of every view
        """Return False: results of probes' own events are no part of a graph."""
        return False

    @property
    def table_name(self) -> str:
        """Name of the table."""
        return self.name

    @property
    def filtered(self) -> PassCount:
        """Number of failed calls that pass, and of all."""
        return PassCount(self._model.shown, self._model.failed, "failed call") if self._model else PassCount(0, 0)

    @property
    def place(self) -> ViewPlace:
        """Position without rows: the table has all failures, unless it is held."""
        return ViewPlace(following=self._held_before is None)

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for a watch without calls, or without their results."""
        model = self._model
        if model is not None and model.lacks_returns:
            return NO_RETURNS
        has = model is not None and (model.live_tree.traced or model.live_tree.ends)
        if has or (watch.live and not watch.armed.probes):
            return ""
        return f"no calls: {TRACE_CALLS if watch.info.target.is_kernel else RUNNING_KERNEL}"

    def note(self, watch: Watch) -> str:
        """Return the number of failures, and the progress."""
        if self._model is None:
            return "no call came yet"
        if state := note_of_recording(watch):
            return state
        if self._model.live_tree.traced and not watch.info.symbols.are_read:
            return "reading symbols"
        left_out = "" if watch.live else note_of(watch)
        errors = error_words(wanted_failures(watch, self._request_for(watch)).errnos)
        return ", ".join(filter(None, (summary_line(self._model), errors, note_of_gap(watch), left_out)))

    def export_table(self, watch: Watch, store: Store) -> ViewTable:
        """Return the table of the failures that are chosen."""
        from tui.output.view_tables import FailuresTable

        return FailuresTable(watch, store, self.filter, self._request_for(watch))

    def chain(self, row: int) -> tuple[str, Sequence[TableLine]] | None:
        """Return the calls of an example, the first failure marked; None: there is no such row."""
        if self._model is None or not 0 <= row < len(self._groups):
            return None
        group = self._groups[row]
        title = f"{group.example.calls[0].function} of {self._model.task_text(group.example)}: {group.errno}"
        return title, [TableLine(safe(text), look) for text, look in chain_lines(group.example)]

    def function_under_cursor(self) -> str:
        """Return the first failure under the cursor."""
        at = self.pane.ordered.number(self.table.cursor)
        return self._groups[at].origin.split(" ")[0] if 0 <= at < len(self._groups) else ""
