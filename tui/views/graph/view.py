"""View of the calls of all tasks as a tree, recorded by the function_graph tracer or by our own probes at both
ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from events.calls.call_values import Call
from events.graph.tree import CallRowFlag
from foreign.count_text import counted
from tui.filter.filter import Filter, PassCount
from tui.present.call_ends import ends_of
from tui.present.status import note_of, note_of_gap, note_of_recording
from tui.present.ways_out import RUNNING_KERNEL, TRACE_CALLS
from tui.views.calls.call_text import CallTexts, detail_of_call
from tui.views.graph.hot_spots import HotSpots
from tui.views.graph.model import GraphModel
from tui.views.graph.names import GraphNames
from tui.views.pause_position import PausePosition
from tui.views.view import TableView, ViewPlace
from widgets.call_after import call_after
from widgets.events.graph_pane import GraphPane
from widgets.events.graph_rows import GraphRows
from widgets.events.graph_table import GraphTable
from widgets.events.hot_rows import HotText
from widgets.events.times import Stamp, kernel_stamp
from widgets.events.values import DetailField
from widgets.lists.table_rows import EmptyTable
from widgets.lists.tail_table import TailTable
from widgets.number_format import duration, grouped
from widgets.safe_text import safe

if TYPE_CHECKING:
    from events.graph.hot_spots import HotSpot
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan

_BUDGET: Final = 0.01
"""Seconds for processing new events at once."""
_HURRY: Final = 0.05
"""Seconds for new events when many are waiting: nobody can read rows that pass so quickly."""
_MUCH: Final = 1 << 17
_FOLLOWED: Final = 60
"""Letters of what the tracer follows in the line above the rows."""
_LOOK: Final = 0.2
"""Seconds to the next check whether a count of hot spots is finished."""


class GraphView(TableView):
    """View with a `GraphTable` of a growing tree."""

    name: ClassVar[str] = "graph"
    of_graph: ClassVar[bool] = True

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane: GraphPane = GraphPane(id=self.name)
        self.pane.timed = self._set_duration
        self.pane.turned = self._count
        self._shown: GraphModel | None = None
        self._watch: Watch | None = None
        self._names: GraphNames | None = None
        self._hot_spots = HotSpots()
        self._hot_calls = 0
        """Calls that the hot spots are of."""
        self._stamp: Stamp = kernel_stamp
        self._position = PausePosition(self.graph)

    @property
    def shown(self) -> GraphModel | None:
        """Model on the screen."""
        return self._shown

    @property
    def graph(self) -> GraphTable:
        """Widget of the tree, visible or not."""
        return self.pane.graph

    def tick(self, watch: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Process new events; work that takes longer goes on in later ticks."""
        shown = self._model_of(watch, store)
        waiting = shown.live_tree.backlog
        held = self._position.read(shown) if shown.backlog else None
        more, changed = shown.tick(_HURRY if waiting > _MUCH else _BUDGET, self.graph.follow.following)
        self.graph.news(changed)
        if held is not None and not shown.backlog:
            self._position.wanted = held
            self._position.restore(shown)
            self.graph.refresh()
        if self.pane.table is self.pane.hot:
            self._count()
        return more

    def _count(self) -> None:
        """Show the last count of hot spots; a thread counts later changes."""
        shown = self._shown
        if shown is None or self.pane.table is not self.pane.hot:
            return
        if self._hot_spots.ask(shown):
            call_after(self.pane, _LOOK, self._count)
        if (spots := self._hot_spots.take()) is not None:
            self._hot_calls = sum(spot.calls for spot in spots)
            self.pane.post_message(TailTable.Followed(True))  # the status lines show their number
            self.pane.hot.ordered.take(list(map(_hot_text, spots)))

    def _model_of(self, watch: Watch, store: Store) -> GraphModel:
        """Return the tree of a store, a new one if necessary."""
        shown, chosen = self._shown, self.filter.of(watch, store)
        stale = shown is None or shown.store is not store or shown.outdated(watch)
        if shown is not None and not stale:
            if chosen is not shown.chosen:
                rows, held = shown.visible, self._position.read(shown)
                shown.choose(chosen)
                if shown.visible is not rows:
                    self._show(shown)
                    self._position.wanted = held
                    self._position.restore(shown)
            return shown
        if self._names is None or self._watch is not watch:
            self._names = GraphNames(watch.info)
        calls = CallTexts(watch, store)
        calls.learn()
        self._watch = watch
        self._shown = shown = GraphModel(watch, store, self._names, calls, chosen=chosen)
        self._show(shown)
        return shown

    def _show(self, shown: GraphModel) -> None:
        rows = GraphRows(shown)
        rows.stamp = self._stamp
        self.graph.show(rows)

    def forget(self) -> None:
        """Clear the tree."""
        self._shown = None
        self.graph.show(EmptyTable())
        self.pane.hot.ordered.take(())

    def show_times(self, stamp: Stamp) -> None:
        """Show times in the first column, if there is room."""
        self._stamp = stamp
        if isinstance(rows := self.graph.rows, GraphRows):
            rows.stamp = stamp
            self.graph.refresh()

    def names_changed(self) -> None:
        """Format rows with new names."""
        if self._watch is not None:
            self.filter.names_changed(self._watch)
        if self._names is not None:
            self._names.forget()
        self._hot_spots.forget()
        self.graph.names_changed()

    def shows(self, plan: Plan) -> bool:
        """Return True for probes at both ends, unless the tracer runs, whose calls are shown then."""
        return bool(ends_of((plan,))) and not (self._shown and self._shown.live_tree.traced)

    @property
    def table_name(self) -> str:
        """Name of the table of hot spots while these are shown; empty: the tree, which `graph --json` exports."""
        return "hot-spots" if self.pane.table is self.pane.hot else ""

    @property
    def has_details(self) -> bool:
        """True for the tree; a row of the hot spots has all there is."""
        return self.pane.table is self.graph

    @property
    def filtered(self) -> PassCount:
        """Number of rows of the tree that pass, and of all in memory; of hot spots the calls."""
        shown = self._shown
        if shown is None:
            return PassCount(0, 0, "row")
        behind = shown.chosen.backlog if shown.chosen is not None else 0
        if self.pane.table is self.pane.hot:
            return PassCount(self._hot_calls, shown.tree.closed - shown.tree.dropped_calls, "call", behind)
        return PassCount(len(shown.visible), shown.tree.next - shown.tree.first, "row", behind)

    @property
    def place(self) -> ViewPlace:
        """Position in the tree; hot spots always include all calls in memory."""
        return ViewPlace() if self.pane.table is self.pane.hot else super().place

    def empty_reason(self, watch: Watch) -> str:
        """Return the text for a watch without calls: nothing is traced, and no probe has both ends."""
        has = self._shown is not None and (self._shown.live_tree.traced or self._shown.live_tree.ends)
        if has or (watch.live and not watch.armed.probes):
            return ""
        return f"no calls: {TRACE_CALLS if watch.info.target.is_kernel else RUNNING_KERNEL}"

    def note(self, watch: Watch) -> str:
        """Return the progress and the calls with one end; for hot spots, the calls that are left out."""
        left_out = self._shown.tree.dropped_calls if self._shown and self.pane.table is self.pane.hot else 0
        without = f"without the oldest {counted(left_out, 'call')}; " if left_out else ""
        # A recording is foreign.
        followed = "" if watch.graph_plan is None else safe(str(watch.graph_plan), _FOLLOWED)
        return ": ".join(filter(None, (followed, without + self._note(watch))))

    def _note(self, watch: Watch) -> str:
        if self._shown is None or (not self._shown.live_tree.traced and not self._shown.live_tree.ends):
            return "no call came yet"
        held = watch.live and not self.place.following
        counted = ", ".join(filter(None, (self._shown.note(counting=not held), note_of_gap(watch))))
        if state := note_of_recording(watch):
            return state
        if watch.live:
            return counted
        if self._shown.live_tree.traced and watch.info.target.is_kernel and not watch.ended:
            state = "the tracer is being taken away" if watch.queue.closing else "the tracer is off"
            return f"{state}, {counted.partition(', ')[0]}"
        return ", ".join(filter(None, (counted, note_of(watch))))

    def detail(self, watch: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:
        """Return both events of the row. Raises IndexError if they were dropped."""
        if self._shown is None:
            raise IndexError(row)
        if self.pane.table is self.pane.hot:
            return self._detail_of_function(row)
        one = self._shown.row(row)
        first, last = self._shown.lines.records(one)
        if first is last or (last is not None and first is not None and first.seq == last.seq):
            last = None
        title, fields = detail_of_call(watch, first, last, one.duration)
        return title, (*self._shown.lines.traced_fields(one), *fields)

    def call_of_row(self, watch: Watch, row: int) -> Call | None:  # noqa: ARG002 - of every view
        """Return the call of a row that probes at both ends recorded. Raises IndexError if it was dropped."""
        shown = self._shown
        if shown is None or shown.live_tree.traced or self.pane.table is self.pane.hot:
            return None
        one = shown.row(row)
        has_entry = not one.flags & CallRowFlag.NO_ENTRY
        return Call(one.seq if has_entry else None, one.leave if one.leave >= 0 else None)

    def record_under_cursor(self, store: Store) -> Record | None:  # noqa: ARG002
        """Return the first event of the row under the cursor."""
        if self._shown is not None and self.pane.table is self.graph and not self.graph.follow.following:
            try:
                return next(filter(None, self._shown.lines.records(self._shown.row(self.graph.cursor))), None)
            except IndexError:
                return None
        return None

    def functions_on_screen(self) -> list[str]:
        """Return the functions of the visible rows; empty for hot spots, which always have a cursor."""
        if self._shown is None or self.pane.table is not self.graph:
            return []
        return [
            name for name in dict.fromkeys(map(self._shown.function, reversed(self.graph.window.on_screen))) if name
        ]

    def function_under_cursor(self) -> str:
        """Return the function of the row under the cursor."""
        if self.pane.table is self.pane.hot:
            spots, at = self.pane.hot.spots.spots, self.pane.hot.cursor
            return spots[at].name.split(" ")[0] if 0 <= at < len(spots) else ""
        return self._shown.function(self.graph.cursor) if self._shown and not self.graph.follow.following else ""

    def _detail_of_function(self, row: int) -> tuple[str, tuple[DetailField, ...]]:
        spot = self.pane.hot.spots.spots[row]
        times = {
            "self": spot.self_time,
            "total": spot.total,
            "p50": spot.p50,
            "p99": spot.p99,
            "longest": spot.longest,
        }
        values = {"calls": grouped(spot.calls), **{name: duration(took) for name, took in times.items()}}
        if self._shown is not None and self._shown.knows_errors:
            values["errors"] = grouped(spot.failed)
        return spot.name, tuple(DetailField(name, value, "", -1, 0, b"") for name, value in values.items())

    def _set_duration(self, what: str, nanoseconds: int) -> None:
        """Apply a duration that was entered."""
        if self._shown is None:
            return
        if what == "slow":
            self._shown.say_slow(nanoseconds)
            self.graph.news(True)
            self.graph.refresh()
        else:
            self.graph.show_changed(self._shown.hide_short(self.graph.cursor, nanoseconds), keeps_following=True)


def _hot_text(spot: HotSpot) -> HotText:
    return HotText(
        spot.function, spot.calls, spot.self_time, spot.total, spot.p50, spot.p99, spot.longest, spot.failed
    )
