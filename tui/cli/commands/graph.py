"""`probewright graph FUNCTION…`: trace what functions call, and print each call as a tree when it has returned."""

from __future__ import annotations

import argparse
import contextlib
import sys
import threading
from functools import partial
from pathlib import Path

from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from kernel.local.allocator import give_back_memory
from kernel.watch.watch import Watch
from tui.cli.console.output import connect, plain
from tui.cli.console.waiting import waiting
from tui.cli.exports.output_file import free_file
from tui.cli.follow.clock import measure_clock
from tui.cli.follow.disarming import Disarming
from tui.cli.follow.follow import start_imports
from tui.cli.follow.graph_follow import start_tracer, try_recording
from tui.cli.follow.graph_printer import GraphPrinter
from tui.cli.follow.loss_printer import print_losses
from tui.cli.follow.reconnect import retry_after_reconnect
from tui.cli.follow.signals import STOPPED_EARLY, stoppable
from tui.cli.status import DONE, REFUSED, UsageFault


def run(arguments: argparse.Namespace) -> int:
    give_back_memory()
    path = free_file(arguments.output) if arguments.output else None
    for word in arguments.functions:
        if word.endswith(".pwr"):  # the application takes a recording without -t, and no function has such a name
            raise UsageFault(f"{word} is a recording: give it by -t {word}")
    imported = start_imports("tui.views.graph.model", "tui.views.calls.call_text", "tui.views.graph.objects")
    planner = Planner(connect(arguments.target, arming=True, patience=arguments.reconnect))
    with contextlib.closing(planner.info):
        if not planner.info.holds_events and not arguments.functions:
            raise UsageFault("say a function whose calls shall be traced")
        return _print_calls(planner, arguments, path, imported)


def _print_calls(
    planner: Planner, arguments: argparse.Namespace, path: Path | None, imported: threading.Thread
) -> int:
    """Trace and print calls, into a recording too if `path` is given; return the exit status. Raises TargetLost."""
    watch = _watch(planner, arguments)
    printer: GraphPrinter | None = None
    failed, lost = "", None
    with Disarming(watch) as end:
        with waiting("reading symbols"):
            retry_after_reconnect(watch, arguments, partial(planner.info.symbols.load, by_name=False))
        imported.join()  # while waiting for the import, many calls would arrive
        with stoppable(watch.set_deadline):
            failed = start_tracer(watch, arguments, path)
            if not failed:
                measure_clock(watch, arguments)
                printer = GraphPrinter(watch, arguments)
                printer.run()
        lost = (
            watch.connection_error
            if isinstance(watch.connection_error, TargetLost) and not (printer and printer.has_reached_count)
            else None
        )
        if lost is not None and printer is not None:
            printer.mark_end()
        recorder = watch.recording.recorder
        if path is not None:
            failed = failed or try_recording(path, watch.stop_recording) or watch.recording.error
        print_losses(
            watch,
            printer.dropped if printer else 0,
            recorder.dropped if recorder else 0,
            unvalued=printer.rows_without_values if printer else 0,
        )
    printed = printer.printed if printer else 0
    if failed or not printed:
        nothing = _no_call_message(arguments, recorded=planner.info.holds_events) if printer else STOPPED_EARLY
        why = failed or nothing
        print(f"probewright: {plain(why)}", file=sys.stderr)
    if lost is not None:
        raise lost
    return DONE if printed and not (end.left or failed) else REFUSED


def _no_call_message(arguments: argparse.Namespace, *, recorded: bool) -> str:
    """Return the message for a run in which no call was printed."""
    functions = " ".join(arguments.functions) or "anything"
    slow = f" that took {arguments.slower:,} us" if arguments.slower else ""
    return f"no call of {functions}{slow} {'was recorded' if recorded else 'was seen'}"


def _watch(planner: Planner, arguments: argparse.Namespace) -> Watch:
    if planner.info.holds_events:
        return Watch(planner)
    from kernel.graph.watch import graph_watch
    from kernel.guards.row_bounds import HEADLESS_GRAPH
    from probes.plans.graph_plan import GraphPlan

    plan = GraphPlan(
        tuple(arguments.functions), max_depth=arguments.depth, threshold_us=arguments.slower, switches=True
    )
    return graph_watch(planner, plan, HEADLESS_GRAPH)
