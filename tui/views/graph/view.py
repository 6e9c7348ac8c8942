"""The calls of all tasks as a tree, as the function_graph tracer saw them, or our own probes at both ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final

from tui.app.ways_out import RUNNING_KERNEL, TRACE_CALLS
from tui.filter.filter import Counted, Filter
from tui.present.call_ends import ends_of
from tui.present.status import note_of, note_of_gap, note_of_recording
from tui.views.calls.call_text import ShownCalls, detail_of_call
from tui.views.graph.hot_spots import HotSpots
from tui.views.graph.model import ShownGraph
from tui.views.graph.names import GraphNames
from tui.views.view import Place, TableView
from widgets.events.event_detail import DetailField
from widgets.events.graph_pane import GraphPane
from widgets.events.graph_rows import GraphRows
from widgets.events.graph_table import GraphTable
from widgets.events.hot_rows import HotText
from widgets.events.times import Stamp, kernel_stamp
from widgets.lists.tail_table import Nothing, TailTable
from widgets.number_format import duration, grouped
from widgets.safe_text import safe

if TYPE_CHECKING:
    from events.graph.hot_spots import HotSpot
    from events.record import Record
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from probes.plans.plan import Plan

_BUDGET: Final = 0.01
"""Seconds that taking what came may take at once."""
_HURRY: Final = 0.05
"""The same where much is waiting: nobody reads rows that run by so fast."""
_MUCH: Final = 1 << 17
_FOLLOWED: Final = 60
"""Letters of what the tracer follows in the line above the rows."""
_LOOK: Final = 0.2
"""Seconds to the next look whether hot spots are counted."""


class GraphView(TableView):
    """A `GraphTable` over a tree that grows."""

    name: ClassVar[str] = "graph"
    of_graph: ClassVar[bool] = True

    def __init__(self, chosen: Filter) -> None:
        super().__init__(chosen)
        self.pane: GraphPane = GraphPane(id=self.name)
        self.pane.timed = self._timed
        self.pane.turned = self._count
        self._shown: ShownGraph | None = None
        self._watching: Watch | None = None
        self._names: GraphNames | None = None
        self._hot = HotSpots()
        self._hot_calls = 0
        """Calls that the hot spots are of."""
        self._stamp: Stamp = kernel_stamp

    @property
    def shown(self) -> ShownGraph | None:
        """What is on the screen."""
        return self._shown

    @property
    def graph(self) -> GraphTable:
        """The tree, on the screen or not."""
        return self.pane.graph

    def tick(self, watching: Watch, store: Store, fields: tuple[str, ...]) -> bool:  # noqa: ARG002 - of every view
        """Take what came; what takes longer than a moment goes on in the next ones."""
        shown = self._of(watching, store)
        if shown.growing.traced and not watching.connection.symbols_read:
            return True  # the first row has its name
        waiting = shown.growing.behind
        more, changed = shown.tick(_HURRY if waiting > _MUCH else _BUDGET, self.graph.following)
        self.graph.news(changed)
        if self.pane.table is self.pane.hot:
            self._count()
        return more

    def _count(self) -> None:
        """Show where the time went, as far as it is known; what changed since is counted by a thread."""
        shown = self._shown
        if shown is None or self.pane.table is not self.pane.hot:
            return
        if self._hot.ask(shown.tree, shown.visible.wanted.task, shown.chosen):
            self.pane.set_timer(_LOOK, self._count, name="hot")
        if (spots := self._hot.take()) is not None:
            name = shown.lines.name_of
            self._hot_calls = sum(spot.calls for spot in spots)
            self.pane.post_message(TailTable.Followed(True))  # the lines around it say how many there are
            self.pane.hot.count([_hot_text(name(spot.function), spot) for spot in spots])

    def _of(self, watching: Watch, store: Store) -> ShownGraph:
        """The tree of this store."""
        shown, chosen = self._shown, self.filter.of(watching, store)
        stale = shown is None or shown.store is not store or shown.outdated(watching)
        if shown is not None and not stale:
            if chosen is not shown.chosen:
                shown.choose(chosen)
                self.graph.show(GraphRows(shown))
            return shown
        if self._names is None or self._watching is not watching:
            self._names = GraphNames(watching.connection)
        calls = ShownCalls(watching, store)
        calls.learn()
        self._watching = watching
        self._shown = shown = ShownGraph(watching, store, self._names, calls, chosen=chosen)
        rows = GraphRows(shown)
        rows.stamp = self._stamp
        self.graph.show(rows)
        return shown

    def forget(self) -> None:
        """Show nothing."""
        self._shown = None
        self.graph.show(Nothing())
        self.pane.hot.count(())

    def show_times(self, stamp: Stamp) -> None:
        """In the first column, where there is room for it."""
        self._stamp = stamp
        if isinstance(rows := self.graph.rows, GraphRows):
            rows.stamp = stamp
            self.graph.refresh()

    def names_changed(self) -> None:
        """Format rows anew."""
        if self._watching is not None:
            self.filter.names_changed(self._watching)
        if self._names is not None:
            self._names.forget()
        self.graph.names_changed()

    def shows(self, plan: Plan) -> bool:
        """Only probes at both ends make calls; where the tracer runs it is the tracer's that are seen."""
        return bool(ends_of((plan,))) and not (self._shown and self._shown.growing.traced)

    @property
    def table_name(self) -> str:
        """Table of hot spots while they are shown; the tree is `graph --json`."""
        return "hot-spots" if self.pane.table is self.pane.hot else ""

    @property
    def filtered(self) -> Counted:
        """Rows of the tree that are kept; of hot spots calls."""
        shown = self._shown
        if shown is None:
            return Counted(0, 0, "rows")
        behind = shown.chosen.behind if shown.chosen is not None else 0
        if self.pane.table is self.pane.hot:
            return Counted(self._hot_calls, shown.tree.closed - shown.tree.left_out, "calls", behind)
        return Counted(len(shown.visible), shown.tree.next - shown.tree.first, "rows", behind)

    @property
    def place(self) -> Place:
        """Where the tree stands; hot spots are of all that is kept, paused or not."""
        return Place() if self.pane.table is self.pane.hot else super().place

    def lacks(self, watching: Watch) -> str:
        """Calls: nothing is traced, and no probe has both ends."""
        has = self._shown is not None and (self._shown.growing.traced or self._shown.growing.ends)
        if has or (watching.live and not watching.armed):
            return ""
        return f"no calls: {TRACE_CALLS if watching.connection.target.is_kernel else RUNNING_KERNEL}"

    def note(self, watching: Watch) -> str:
        """How far it is, and what has only one end; above hot spots, what they leave out."""
        left_out = self._shown.tree.left_out if self._shown and self.pane.table is self.pane.hot else 0
        without = f"without the oldest {grouped(left_out)} calls; " if left_out else ""
        # A recording is foreign.
        followed = "" if watching.followed is None else safe(str(watching.followed), _FOLLOWED)
        return ": ".join(filter(None, (followed, without + self._note(watching))))

    def _note(self, watching: Watch) -> str:
        if self._shown is None or (not self._shown.growing.traced and not self._shown.growing.ends):
            return "no call came yet"
        if self._shown.growing.traced and not watching.connection.symbols_read:
            return "reading symbols"
        held = watching.live and not self.place.following
        counted = ", ".join(filter(None, (self._shown.note(counting=not held), note_of_gap(watching))))
        if state := note_of_recording(watching):
            return state
        if watching.live:
            return counted
        if self._shown.growing.traced and watching.connection.target.is_kernel and not watching.ended:
            state = "the tracer is being taken away" if watching.closing else "the tracer is off"
            return f"{state}, {counted.partition(', ')[0]}"
        return ", ".join(filter(None, (counted, note_of(watching))))

    def detail(self, watching: Watch, row: int) -> tuple[str, tuple[DetailField, ...]]:
        """Both events of the row. Raises IndexError where they were dropped."""
        if self._shown is None:
            raise IndexError(row)
        if self.pane.table is self.pane.hot:
            return self._detail_of_function(row)
        one = self._shown.row(row)
        first, last = self._shown.lines.records(one)
        if first is last or (last is not None and first is not None and first.seq == last.seq):
            last = None
        return detail_of_call(watching, first, last, one.duration)

    def record_under_cursor(self, store: Store) -> Record | None:  # noqa: ARG002
        """Its first event."""
        if self._shown is not None and self.pane.table is self.graph and not self.graph.following:
            try:
                return next(filter(None, self._shown.lines.records(self._shown.row(self.graph.cursor))), None)
            except IndexError:
                return None
        return None

    def functions_on_screen(self) -> list[str]:
        """The functions of the rows; hot spots have a cursor always."""
        if self._shown is None or self.pane.table is not self.graph:
            return []
        return [name for name in dict.fromkeys(map(self._shown.function, reversed(self.graph.on_screen))) if name]

    def function_under_cursor(self) -> str:
        """The function of the row."""
        if self.pane.table is self.pane.hot:
            spots, at = self.pane.hot.spots.spots, self.pane.hot.cursor
            return spots[at].name.split(" ")[0] if 0 <= at < len(spots) else ""
        return self._shown.function(self.graph.cursor) if self._shown and not self.graph.following else ""

    def _detail_of_function(self, row: int) -> tuple[str, tuple[DetailField, ...]]:
        spot = self.pane.hot.spots.spots[row]
        times = {"self": spot.own, "total": spot.total, "p50": spot.p50, "p99": spot.p99, "longest": spot.longest}
        values = {"calls": grouped(spot.calls), **{name: duration(took) for name, took in times.items()}}
        if self._shown is not None and self._shown.knows_errors:
            values["errors"] = grouped(spot.failed)
        return spot.name, tuple(DetailField(name, value, "", -1, 0, b"") for name, value in values.items())

    def _timed(self, what: str, nanoseconds: int) -> None:
        """A time was said."""
        if self._shown is None:
            return
        if what == "slow":
            self._shown.say_slow(nanoseconds)
            self.graph.news(True)
            self.graph.refresh()
        else:
            self.graph.turned_all(self._shown.hide_short(self.graph.cursor, nanoseconds))


def _hot_text(name: str, spot: HotSpot) -> HotText:
    return HotText(name, spot.calls, spot.own, spot.total, spot.p50, spot.p99, spot.longest, spot.failed)
