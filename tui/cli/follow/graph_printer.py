"""Print the calls of a graph as they return, and what was lost among them."""

from __future__ import annotations

import argparse
import fnmatch
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from events.kernel_time import seconds
from kernel.watch.watch import Watch
from tui.cli.console.output import emit, line
from tui.cli.console.waiting import print_line
from tui.cli.follow.clock import face_of
from tui.cli.follow.graph_bounds import GraphBounds
from tui.cli.follow.graph_follow import GraphFollow, NameReader
from tui.present.event_times import day_in_front, exported_times
from widgets.number_format import duration

if TYPE_CHECKING:
    from events.graph.tree import CallRow
    from tui.views.graph.model import GraphModel

_MOST_ROWS: Final = 1 << 16
"""Rows kept of calls on a live kernel: a call that has not returned is kept until it has."""


class GraphPrinter:
    """Prints calls as they return, until the time or the number is reached or the recording is at its end."""

    def __init__(self, watch: Watch, arguments: argparse.Namespace) -> None:
        self._watch = watch
        self._arguments = arguments
        self._printer: ReturnedCalls | None = None
        self._outages_printed = 0
        """Outages that were printed."""
        self._losses_printed = 0
        """Lost events that were reported in the output."""

    @property
    def printed(self) -> int:
        """Number of calls printed."""
        return self._printer.printed if self._printer else 0

    @property
    def has_reached_count(self) -> bool:
        """True if as many calls were printed as were requested."""
        return bool(self._arguments.count) and self.printed >= self._arguments.count

    @property
    def dropped(self) -> int:
        """Number of calls and events that were dropped before they could be printed."""
        return self._printer.dropped if self._printer else 0

    @property
    def rows_without_values(self) -> int:
        """Number of rows that were printed without their values."""
        return self._printer.rows_without_values if self._printer else 0

    def run(self) -> None:
        """Print calls until the end; events read before a signal are printed too."""
        GraphFollow(self._watch, self._arguments, self._print).run()

    def _print(self) -> bool:
        store = self._watch.store
        if self._printer is None and store is not None and len(store):
            from events.graph.record_ends import NO_RETURNS
            from events.graph.tree import LIMIT
            from tui.views.calls.call_text import CallTexts
            from tui.views.graph.model import GraphModel
            from tui.views.graph.names import GraphNames

            calls = CallTexts(self._watch, store)
            calls.learn()
            live = not self._watch.info.holds_events
            most = _MOST_ROWS if live else LIMIT
            names = GraphNames(self._watch.info, whole=self._arguments.json)
            model = GraphModel(self._watch, store, names, calls, most)
            levels = 0 if live else self._arguments.depth  # the tracer itself records no deeper levels
            self._printer = ReturnedCalls(
                self._watch,
                model,
                self._arguments,
                self._print_outages,
                levels,
                NameReader(self._watch) if live else None,
            )
            if not live and self._watch.graph_plan is not None:
                print_line(f"recorded of {self._watch.graph_plan}")
            if model.lacks_returns:
                print_line(NO_RETURNS)
        enough = self._printer is not None and self._printer.tick()
        self._print_gaps()
        return enough

    def _print_outages(self, ts: int | None = None) -> None:
        """Print outages before a call with time `ts` (nanoseconds of the kernel's clock); None: every known
        outage.
        """
        for outage in self._watch.outages[self._outages_printed :] if self._arguments.json else ():
            from tui.views.graph.objects import object_of_cut

            if ts is not None and (outage.lost is None or ts <= outage.lost):
                break
            emit(object_of_cut(outage))
            self._outages_printed += 1

    def mark_end(self) -> None:
        """Print, after all calls, that the connection is lost for good, and add that mark to a recording."""
        self._watch.mark_end()
        if self._arguments.json and (outage := self._watch.end_mark) is not None:
            from tui.views.graph.objects import object_of_cut

            emit(object_of_cut(outage))

    def _print_gaps(self) -> None:
        """Print gaps among the calls: outages and lost events."""
        store = self._watch.store
        if not self._arguments.json or store is None:
            return
        from tui.views.graph.objects import object_of_loss

        self._print_outages()
        if store.lost_events > self._losses_printed:
            emit(object_of_loss(store.lost_events - self._losses_printed))
            self._losses_printed = store.lost_events


class ReturnedCalls:
    """Calls that have returned, each printed once with the calls inside it."""

    def __init__(
        self,
        watch: Watch,
        model: GraphModel,
        arguments: argparse.Namespace,
        before: Callable[[int], None],
        levels: int = 0,
        names: NameReader | None = None,
    ) -> None:
        """Set what to print; `before` is called with the time of each call, in nanoseconds, before the call is
        printed.

        `levels`: levels of calls to print, the outermost included; 0: all. `names` reads the names of tasks, where
        some may be learned.
        """
        self._names = names
        self._bounds = GraphBounds(levels, arguments.slower * 1000)
        self.printed = 0
        self.rows_without_values = 0
        """Rows that were printed without their values, as their events were dropped before."""
        self._before = before
        self._watch = watch
        self._model = model
        self._arguments = arguments
        self._roots: list[int] = []
        self._next = 0
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """Number of calls, and of events of calls, that were dropped before they were printed."""
        return self._dropped + self._model.live_tree.skipped_events

    @property
    def _enough(self) -> bool:
        return bool(self._arguments.count) and self.printed >= self._arguments.count

    def tick(self) -> bool:
        """Print new calls; return True if enough were printed."""
        more = True
        while more and not self._enough:
            more = self._model.live_tree.tick(0.0)  # only a part: new calls are printed before they could be dropped
            self._print_new()
        return self._enough

    def _print_new(self) -> None:
        from events.graph.tree import CallRowFlag

        tree = self._model.tree
        self._dropped += max(0, tree.first - self._next)
        new = max(self._next, tree.first)
        if self._names is not None:
            self._names.learn(set(tree.columns.column("task")[new - tree.first :].tolist()))
        self._roots += self._roots_from(new)
        self._next = tree.next
        waiting = []
        for root in self._roots:
            if self._enough:
                return
            if root < tree.first:
                self._dropped += 1
                continue
            row = tree.row(root)
            if row.flags & CallRowFlag.OPEN:
                waiting.append(root)
            elif any(map(self._prints, self._outermost(row))):
                self.printed += 1
                self._before(row.ts)
                self._print(row)
        self._roots = waiting
        self._model.live_tree.let_go(waiting[0] if waiting else tree.next)

    def _roots_from(self, start: int) -> list[int]:
        """Return outermost rows from `start` on: calls, and interrupts, which may contain calls."""
        from events.graph.begin_end_columns import RowKind

        columns = self._model.tree.columns
        level, what = (columns.column(name)[start - columns.first :] for name in ("level", "kind"))
        rows: list[int] = (((level == 0) & (what <= RowKind.SOFTIRQ)).nonzero()[0] + start).tolist()
        return rows

    def _outermost(self, root: CallRow) -> Iterator[CallRow]:
        """Yield calls that are inside no other call: the root itself, or the calls inside an interrupt."""
        from events.graph.begin_end_columns import RowKind

        number = root.row
        while number < root.after:
            row = self._model.tree.row(number)
            is_call = row.kind == RowKind.CALL and row.task == root.task
            if is_call:
                yield row
            number = max(number + 1, row.after) if is_call else number + 1

    def _prints(self, call: CallRow) -> bool:
        if self._bounds.is_short(call):
            return False
        name = self._model.lines.name(call).split(" ")[0]
        wanted = self._arguments.functions
        return not wanted or any(fnmatch.fnmatchcase(name, word) for word in wanted)

    def _print(self, root: CallRow) -> None:
        from events.graph.context_rows import outside_calls

        tree = self._model.tree
        idle = outside_calls(tree.columns, root.row, root.after).idle
        rows = map(tree.row, range(root.row, root.after))
        for row in self._bounds.of(row for row in rows if row.task == root.task and not idle[row.row - root.row]):
            self._print_row(row)

    def _print_row(self, row: CallRow) -> None:
        self.rows_without_values += self._model.lines.lacks_values(row)
        if self._arguments.json:
            from tui.views.graph.objects import object_of_row

            times = exported_times(self._watch, row.ts, row.seq, face_of(self._arguments))
            emit({**times, **object_of_row(self._model, row)})
            return
        text = self._model.line(row)
        took = "" if text.duration is None else duration(text.duration)
        kind = f"{text.kind} " if text.kind else ""
        returned = f" = {text.returned}" if text.returned else ""
        note = f"  ({text.note})" if text.note else ""
        call = f"{'  ' * row.level}{kind}{text.name}{text.arguments}{returned}{note}"
        day = day_in_front(self._watch, row.ts, row.seq, face_of(self._arguments))
        print(line(f"{day}{seconds(row.ts)} {text.task:<16} {took:>8}  {call}"))
