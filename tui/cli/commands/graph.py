"""`probewright graph FUNCTION…`: trace what functions call, and print each call as a tree when it has returned."""

from __future__ import annotations

import argparse
import contextlib
import fnmatch
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from events.kernel_time import seconds
from kernel.errors import TargetLost
from kernel.local.allocator import give_back_memory
from kernel.watch.watch import Watch
from tui.cli.console.output import connect, emit, line, plain
from tui.cli.console.silence import telling_silence
from tui.cli.console.waiting import told, waiting
from tui.cli.follow.clock import face_of, keep_clock, know_clock
from tui.cli.follow.follow import account, importing, take_away
from tui.cli.follow.graph_bounds import KeptRows
from tui.cli.follow.reconnect import comes_back, despite_cuts
from tui.cli.follow.signals import Stopped, give_out, stoppable, whole
from tui.cli.main import DONE, REFUSED, USAGE
from tui.output.export_file import FileRefused, require_free
from tui.present.event_times import Face, day_in_front, offset_of_row
from widgets.number_format import duration

if TYPE_CHECKING:
    from events.graph.tree import Row
    from kernel.connection.planner import Connection
    from tui.views.graph.model import ShownGraph

_PATIENCE: Final = 0.2
"""Seconds between two looks."""
_NAMES_EVERY: Final = 1.0
_MOST_ROWS: Final = 1 << 16
"""Of calls on a kernel that runs: those of one that has not returned are kept until it has."""


def run(arguments: argparse.Namespace) -> int:
    give_back_memory()
    path = Path(arguments.output) if arguments.output else None
    try:
        if path is not None:
            require_free(path, overwrite=False)  # said before anything is traced
    except FileRefused as error:
        print(f"probewright: {plain(str(error))}", file=sys.stderr)
        return USAGE
    for word in arguments.functions:
        if word.endswith(".pwr"):  # which the application takes without -t, and no function is called so
            print(f"probewright: {plain(word)} is a recording: give it by -t {plain(word)}", file=sys.stderr)
            return USAGE
    imported = importing("tui.views.graph.model", "tui.views.calls.call_text", "tui.views.graph.objects")
    connection = connect(arguments.target, arming=True, patience=arguments.reconnect)
    if not connection.holds_events and not arguments.functions:
        print("probewright: say a function whose calls shall be traced", file=sys.stderr)
        connection.close()
        return USAGE
    watch = _watch(connection, arguments)
    following: Following | None = None
    failed, lost = "", None
    unread: BrokenPipeError | None = None
    try:
        with waiting("reading symbols"):
            despite_cuts(watch, arguments, partial(connection.load_symbols, by_name=False))
        imported.join()  # while it waited for that, many a call would come
        with stoppable(watch.hurry):
            failed = _armed(watch, arguments, path)
            if not failed:
                know_clock(watch, arguments)
                following = Following(watch, arguments)
                following.run()
        lost = watch.lost if isinstance(watch.lost, TargetLost) and not (following and following.enough) else None
        if lost is not None and following is not None:
            following.mark_end()
        recorder = watch.recorder
        if path is not None:
            failed = failed or _recorded(path, watch.stop_recording) or watch.recording_error
        account(
            watch,
            following.dropped if following else 0,
            recorder.dropped if recorder else 0,
            unvalued=following.unvalued if following else 0,
        )
    except BrokenPipeError as error:
        unread = error
    finally:
        left = take_away(watch)
        connection.close()
    if unread is not None and not left:
        raise unread
    printed = following.printed if following else 0
    if failed or not printed:
        why = failed or _nothing(arguments, recorded=connection.holds_events)
        print(f"probewright: {plain(why)}", file=sys.stderr)
    if lost is not None:
        raise lost
    return DONE if printed and not (left or failed) else REFUSED


def _armed(watch: Watch, arguments: argparse.Namespace, path: Path | None) -> str:
    """Begin the tracer, and its recording where one is wanted; gives what is said where that can't be written."""
    if path is not None:  # before anything is traced: what comes is in the file, whatever the line does
        prepare = partial(watch.prepare_recording, path)
        if failed := _recorded(path, lambda: despite_cuts(watch, arguments, prepare)):
            return failed
    with waiting("arming the graph"):
        despite_cuts(watch, arguments, lambda: _begin(watch))
    return _recorded(path, lambda: watch.record_to(path)) if path is not None else ""


def _begin(watch: Watch) -> None:
    with whole():  # what is begun by half is in nobody's list, and would stay
        watch.begin()


def _recorded(path: Path, act: Callable[[], object]) -> str:
    """Begin or end a recording; gives what is said where its file can't be written, else nothing."""
    try:
        act()
    except OSError as error:
        return f"{path}: {error.strerror}"
    return ""


def _nothing(arguments: argparse.Namespace, *, recorded: bool) -> str:
    """What is said where no call was printed."""
    what = " ".join(arguments.functions) or "anything"
    slow = f" that took {arguments.slower:,} us" if arguments.slower else ""
    return f"no call of {what}{slow} {'was recorded' if recorded else 'was seen'}"


def _watch(connection: Connection, arguments: argparse.Namespace) -> Watch:
    if connection.holds_events:
        return Watch(connection)
    from kernel.graph.watch import GraphWatch
    from kernel.guards.row_bounds import HEADLESS_GRAPH
    from probes.plans.graph_plan import GraphPlan

    plan = GraphPlan(
        tuple(arguments.functions), max_depth=arguments.depth, threshold_us=arguments.slower, switches=True
    )
    return GraphWatch(connection, plan, HEADLESS_GRAPH)


class Following:
    """Prints calls as they return, until the time or the number is reached or all that was recorded is printed."""

    def __init__(self, watch: Watch, arguments: argparse.Namespace) -> None:
        self._watch = watch
        self._arguments = arguments
        self._printer: _Printer | None = None
        self._named = 0.0
        self._cuts = 0
        """Those that were printed."""
        self._lost = 0
        """Events of which it was printed that they were lost."""

    @property
    def printed(self) -> int:
        """Calls so far."""
        return self._printer.printed if self._printer else 0

    @property
    def enough(self) -> bool:
        """As many as were asked for."""
        return bool(self._arguments.count) and self.printed >= self._arguments.count

    @property
    def dropped(self) -> int:
        """What had no room until it could be printed."""
        return self._printer.dropped if self._printer else 0

    @property
    def unvalued(self) -> int:
        """Rows that were printed without their values."""
        return self._printer.unvalued if self._printer else 0

    def run(self) -> None:
        """See the class; what was read when a signal comes is printed too."""
        if self._watch.store is None:
            return
        seconds = self._arguments.seconds
        end = time.monotonic() + seconds if seconds else float("inf")
        self._watch.hurry(end)
        with contextlib.suppress(Stopped), telling_silence(self._watch):
            self._until_over(end)
            while self._watch.ended and not self.enough and comes_back(self._watch, self._arguments, (), end):
                self._until_over(end)
        for _ in range(2):  # a signal may come meanwhile, once
            with contextlib.suppress(Stopped):
                self._finish()
                break

    def _until_over(self, end: float) -> None:
        came = threading.Event()
        self._watch.on_data = came.set
        while (now := time.monotonic()) < end:
            came.wait(min(_PATIENCE, end - now))
            came.clear()
            enough = self._tick()
            give_out()
            if enough or self._watch.ended:
                break

    def _finish(self) -> None:
        self._watch.hurry(time.monotonic())
        with whole():
            self._watch.end_reading()
        self._named = 0.0
        while not self._tick() and self._watch.behind:
            pass
        with whole():
            if self._watch.store is not None:
                self._watch.store.flush()
            self._print()

    def _tick(self) -> bool:
        """Print what is new, of what came by now a part; whether that is enough."""
        if time.monotonic() - self._named >= _NAMES_EVERY:
            self._named = time.monotonic()
            with contextlib.suppress(TargetLost):  # what came by then is printed all the same
                self._watch.know_names(self._watch.names())
            keep_clock(self._watch, self._arguments)
        with whole():
            self._watch.tick(0.0)  # what is new is printed before it could be dropped for what comes next
            return self._print()

    def _print(self) -> bool:
        store = self._watch.store
        if self._printer is None and store is not None and len(store):
            from events.graph.record_ends import NO_RETURNS
            from events.graph.tree import LIMIT
            from tui.views.calls.call_text import ShownCalls
            from tui.views.graph.model import ShownGraph
            from tui.views.graph.names import GraphNames

            calls = ShownCalls(self._watch, store)
            calls.learn()
            live = not self._watch.connection.holds_events
            most = _MOST_ROWS if live else LIMIT
            names = GraphNames(self._watch.connection, whole=self._arguments.json)
            shown = ShownGraph(self._watch, store, names, calls, most)
            levels = 0 if live else self._arguments.depth  # the tracer itself has no deeper ones
            self._printer = _Printer(self._watch, shown, self._arguments, self._tell_cuts, levels)
            if not live and self._watch.followed is not None:
                told(f"recorded of {self._watch.followed}")
            if shown.lacks_returns:
                told(NO_RETURNS)
        enough = self._printer is not None and self._printer.tick()
        self._tell_gaps()
        return enough

    def _tell_cuts(self, ts: int | None = None) -> None:
        """Print where the line was cut, before a call of some time in nanoseconds; None: every cut that is known."""
        for cut in self._watch.cuts[self._cuts :] if self._arguments.json else ():
            from tui.views.graph.objects import object_of_cut

            if ts is not None and (cut.lost is None or ts <= cut.lost):
                break
            emit(object_of_cut(cut))
            self._cuts += 1

    def mark_end(self) -> None:
        """Print behind all calls that the line is not made anew, and have it in a recording."""
        self._watch.mark_end()
        if self._arguments.json and (cut := self._watch.end_mark) is not None:
            from tui.views.graph.objects import object_of_cut

            emit(object_of_cut(cut))

    def _tell_gaps(self) -> None:
        """Print, among the calls, where there are none: the line was cut, or events were lost."""
        store = self._watch.store
        if not self._arguments.json or store is None:
            return
        from tui.views.graph.objects import object_of_loss

        self._tell_cuts()
        if store.lost > self._lost:
            emit(object_of_loss(store.lost - self._lost))
            self._lost = store.lost


class _Printer:
    """Prints the calls that have returned, each with what is inside."""

    def __init__(
        self,
        watch: Watch,
        shown: ShownGraph,
        arguments: argparse.Namespace,
        before: Callable[[int], None],
        levels: int = 0,
    ) -> None:
        """Take what is printed; `before` is called with the time of each call, in nanoseconds, before it is.

        `levels`: of calls that are printed, the outermost included; 0: all.
        """
        self._kept = KeptRows(levels, arguments.slower * 1000)
        self.printed = 0
        self.unvalued = 0
        """Rows that were printed without their values, as their events had to go before."""
        self._before = before
        self._watch = watch
        self._shown = shown
        self._arguments = arguments
        self._roots: list[int] = []
        self._next = 0
        self._dropped = 0

    @property
    def dropped(self) -> int:
        """Calls, and events of calls, that had to go before they were printed."""
        return self._dropped + self._shown.growing.unseen

    @property
    def _enough(self) -> bool:
        return bool(self._arguments.count) and self.printed >= self._arguments.count

    def tick(self) -> bool:
        """Print what is new; whether that is enough."""
        more = True
        while more and not self._enough:
            more = self._shown.growing.tick(0.0)  # a piece, and what is new is printed before it could be dropped
            self._print_new()
        return self._enough

    def _print_new(self) -> None:
        from events.graph.tree import Flag

        tree = self._shown.tree
        self._dropped += max(0, tree.first - self._next)
        self._roots += self._begun(max(self._next, tree.first))
        self._next = tree.next
        waiting = []
        for root in self._roots:
            if self._enough:
                return
            if root < tree.first:
                self._dropped += 1
                continue
            row = tree.row(root)
            if row.flags & Flag.OPEN:
                waiting.append(root)
            elif any(map(self._prints, self._outermost(row))):
                self.printed += 1
                self._before(row.ts)
                self._print(row)
        self._roots = waiting
        self._shown.growing.let_go(waiting[0] if waiting else tree.next)

    def _begun(self, start: int) -> list[int]:
        """Rows from one on that are in nothing: calls, and interrupts, which may have calls in them."""
        from events.graph.begin_end_columns import What

        columns = self._shown.tree.columns
        level, what = (columns.column(name)[start - columns.first :] for name in ("level", "what"))
        rows: list[int] = (((level == 0) & (what <= What.SOFTIRQ)).nonzero()[0] + start).tolist()
        return rows

    def _outermost(self, root: Row) -> Iterator[Row]:
        """Calls that are in no other call: a root itself, or those in an interrupt."""
        from events.graph.begin_end_columns import What

        number = root.row
        while number < root.after:
            row = self._shown.tree.row(number)
            is_call = row.what == What.CALL and row.task == root.task
            if is_call:
                yield row
            number = max(number + 1, row.after) if is_call else number + 1

    def _prints(self, call: Row) -> bool:
        if self._kept.is_short(call):
            return False
        name = self._shown.lines.name(call).split(" ")[0]
        wanted = self._arguments.functions
        return not wanted or any(fnmatch.fnmatchcase(name, word) for word in wanted)

    def _print(self, root: Row) -> None:
        from events.graph.context_rows import outside_calls

        tree = self._shown.tree
        idle = outside_calls(tree.columns, root.row, root.after).idle
        rows = map(tree.row, range(root.row, root.after))
        for row in self._kept.of(row for row in rows if row.task == root.task and not idle[row.row - root.row]):
            self._print_row(row)

    def _print_row(self, row: Row) -> None:
        self.unvalued += self._shown.lines.lacks_values(row)
        if self._arguments.json:
            from tui.views.graph.objects import object_of_row

            offset = (
                offset_of_row(self._watch, row.ts, row.seq) if face_of(self._arguments) is not Face.KERNEL else None
            )
            times = {"time": row.ts + offset.ns, "uncertainty": offset.uncertainty} if offset else {}
            emit({**times, **object_of_row(self._shown, row)})
            return
        text = self._shown.line(row)
        took = "" if text.took is None else duration(text.took)
        kind = f"{text.kind} " if text.kind else ""
        returned = f" = {text.returned}" if text.returned else ""
        note = f"  ({text.note})" if text.note else ""
        call = f"{'  ' * row.level}{kind}{text.name}{text.arguments}{returned}{note}"
        day = day_in_front(self._watch, row.ts, row.seq, face_of(self._arguments))
        print(line(f"{day}{seconds(row.ts)} {text.task:<16} {took:>8}  {call}"))
