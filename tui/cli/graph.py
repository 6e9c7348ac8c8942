"""`probewright graph FUNCTION…`: trace what functions call, and print each call as a tree when it has returned."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kernel.watch import Watch
from tui.cli.main import DONE, REFUSED, USAGE
from tui.cli.output import connect, emit, line, plain
from tui.cli.watching import account, stoppable, take_away
from widgets.figures import duration

if TYPE_CHECKING:
    from events.graph.tree import Row
    from kernel.connection import Connection
    from tui.graph import ShownGraph

_PATIENCE: Final = 0.2
"""Seconds between two looks."""
_NAMES_EVERY: Final = 1.0


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.output) if arguments.output else None
    if path is not None and path.exists():
        print(f"probewright: {plain(str(path))} is there already", file=sys.stderr)
        return USAGE
    connection = connect(arguments.target, arming=True)
    if not connection.holds_events and not arguments.functions:
        print("probewright: say a function whose calls shall be traced", file=sys.stderr)
        connection.close()
        return USAGE
    watch = _watch(connection, arguments)
    printed = 0
    try:
        connection.load_symbols()
        with stoppable():
            watch.begin()
            if path is not None:
                watch.record_to(path)
            printed = _follow(watch, arguments)
        account(watch)
    finally:
        left = take_away(watch)
        connection.close()
    return REFUSED if left or (connection.holds_events and not printed) else DONE


def _watch(connection: Connection, arguments: argparse.Namespace) -> Watch:
    if connection.holds_events:
        return Watch(connection)
    from kernel.graph_watch import GraphWatch
    from probes.graph_plan import GraphPlan

    plan = GraphPlan(
        tuple(arguments.functions), max_depth=arguments.depth, threshold_us=arguments.slower, switches=True
    )
    return GraphWatch(connection, plan)


def _follow(watch: Watch, arguments: argparse.Namespace) -> int:
    """Print until the time or the number is reached, or all that was recorded is printed; gives the calls printed."""
    from tui.calls import ShownCalls
    from tui.graph import ShownGraph
    from tui.graph_names import GraphNames

    if watch.store is None:
        return 0
    came = threading.Event()
    watch.on_data = came.set
    printer: _Printer | None = None
    end = time.monotonic() + arguments.seconds if arguments.seconds else float("inf")
    names, over = 0.0, False
    while not over:
        came.wait(min(_PATIENCE, max(0.0, end - time.monotonic())))
        came.clear()
        over = time.monotonic() >= end
        if over:
            watch.settle()
        else:
            watch.tick()
        if time.monotonic() - names >= _NAMES_EVERY or over:
            names = time.monotonic()
            watch.know_names(watch.names())
        if printer is None and len(watch.store):
            calls = ShownCalls(watch, watch.store)
            calls.learn()
            shown = ShownGraph(watch, watch.store, GraphNames(watch.connection), calls)
            printer = _Printer(shown, arguments)
        if printer is not None:
            over |= printer.tick() or watch.ended
    return printer.printed if printer else 0


class _Printer:
    """Prints the calls that have returned, each with what is inside."""

    def __init__(self, shown: ShownGraph, arguments: argparse.Namespace) -> None:
        self.printed = 0
        self._shown = shown
        self._arguments = arguments
        self._roots: list[int] = []
        self._next = 0
        self._wanted = frozenset(arguments.functions) if shown.growing.traced else frozenset()

    def tick(self) -> bool:
        """Print what is new; whether that is enough."""
        from events.graph.tree import Flag

        while self._shown.growing.tick(1.0):
            pass
        tree = self._shown.tree
        for number in range(max(self._next, tree.first), tree.next):
            if tree.row(number).level == 0:
                self._roots.append(number)
        self._next = tree.next
        waiting = []
        for root in self._roots:
            if root < tree.first:
                continue
            row = tree.row(root)
            if row.flags & Flag.OPEN:
                waiting.append(root)
            elif self._prints(row):
                self._print(row)
                self.printed += 1
                if self._arguments.count and self.printed >= self._arguments.count:
                    return True
        self._roots = waiting
        return False

    def _prints(self, row: Row) -> bool:
        from events.graph.brackets import What

        if row.what != What.CALL:
            return False
        return not self._wanted or self._shown.name(row).split(" ")[0] in self._wanted or bool(self._globs())

    def _globs(self) -> list[str]:
        return [word for word in self._wanted if "*" in word or "?" in word]

    def _print(self, root: Row) -> None:
        for number in range(root.row, root.after):
            row = self._shown.tree.row(number)
            if row.task == root.task:
                self._print_row(row)

    def _print_row(self, row: Row) -> None:
        text = self._shown.line(row)
        if self._arguments.json:
            emit(
                {
                    "ts": row.ts,
                    "task": text.task,
                    "cpu": row.cpu,
                    "level": row.level,
                    "kind": text.kind or "call",
                    "function": text.name,
                    "arguments": text.arguments,
                    "returned": text.returned or None,
                    "failed": text.failed,
                    "duration": text.took,
                    "self": row.own if row.own >= 0 else None,
                    "note": text.note or None,
                }
            )
            return
        took = "" if text.took is None else duration(text.took)
        kind = f"{text.kind} " if text.kind else ""
        returned = f" = {text.returned}" if text.returned else ""
        note = f"  ({text.note})" if text.note else ""
        call = f"{'  ' * row.level}{kind}{text.name}{text.arguments}{returned}{note}"
        print(line(f"{row.ts / 1e9:.6f} {text.task:<16} {took:>8}  {call}"))
