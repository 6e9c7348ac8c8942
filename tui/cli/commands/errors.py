"""`probewright errors FUNCTION…`: find where the errors of failed calls arose, and count them by that function."""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from events.graph.record_ends import NO_RETURNS
from events.names.errnos import errno_name
from foreign.count_text import counted
from kernel.connection.planner import Planner
from kernel.errors import FileRefused, TargetLost, TargetUnusable
from kernel.local.allocator import give_back_memory
from kernel.watch.watch import Watch
from tui.cli.console.output import connect, plain
from tui.cli.console.waiting import print_line, waiting
from tui.cli.exports.output_file import free_file
from tui.cli.follow.clock import face_of, measure_clock
from tui.cli.follow.command_run import CommandRun, command_of
from tui.cli.follow.disarming import Disarming
from tui.cli.follow.follow import start_imports
from tui.cli.follow.graph_follow import GraphFollow, NameReader, start_tracer, try_recording
from tui.cli.follow.loss_printer import print_losses
from tui.cli.follow.signals import STOPPED_EARLY, stoppable
from tui.cli.status import DONE, REFUSED, UsageFault
from tui.cli.tables.failure_printer import FailurePrinter

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.connection.kernel_info import KernelInfo
    from kernel.graph.watch import FailureWatch
    from tui.views.failures.model import FailureModel

_MOST_ROWS: Final = 1 << 18
"""Rows kept of calls on a live kernel: a call that has not returned is kept until it has, with those inside it."""


def run(arguments: argparse.Namespace) -> int:
    give_back_memory()
    path = free_file(arguments.output) if arguments.output else None
    imported = start_imports("tui.views.failures.model", "tui.views.calls.call_text")
    planner = Planner(connect(arguments.target, arming=True, patience=arguments.reconnect))
    info = planner.info
    with contextlib.ExitStack() as ends:
        ends.callback(info.close)
        _check_usage(info, arguments)
        command = ends.enter_context(command_of(info.target, arguments, limits_tasks=True))
        with waiting("reading symbols"):
            info.symbols.load(by_name=False)
        watching = _watch(planner, arguments, command)
        imported.join()  # while waiting for the import, many calls would arrive
        return _follow(watching, arguments, path, command)


def _check_usage(info: KernelInfo, arguments: argparse.Namespace) -> None:
    """Raise UsageFault if these arguments ask for nothing."""
    if arguments.program and arguments.pids:
        raise UsageFault("say a process (-p) or a command (behind --), not both")
    if info.holds_events and (arguments.program or arguments.pids):
        raise UsageFault("a recording has happened: no command or process can be chosen for it")
    if not info.holds_events and not arguments.functions:
        raise UsageFault("say a system call or a function whose failures are wanted, as openat or vfs_open")


def _watch(planner: Planner, arguments: argparse.Namespace, command: CommandRun | None) -> FailureWatch:
    """Return the watch of the calls. Raises TargetUnusable, TargetLost."""
    from kernel.graph.failure_means import functions_of
    from kernel.graph.watch import FailureWatch, failure_watch

    info = planner.info
    if info.holds_events:
        watch = Watch(planner)
        return FailureWatch(watch, watch.begin, lambda: "")
    from kernel.guards.row_bounds import HEADLESS_GRAPH
    from probes.plans.graph_plan import GraphPlan

    roots = functions_of(info, arguments.functions)
    pids = (command.pid,) if command is not None else tuple(_threads(info, arguments.pids))
    plan = GraphPlan(roots, max_depth=arguments.depth, pids=pids, irqs=False, returns=True)
    return failure_watch(planner, plan, HEADLESS_GRAPH)


def _threads(info: KernelInfo, pids: list[int]) -> Iterator[int]:
    """Return the threads of processes. Raises TargetUnusable, TargetLost."""
    for pid in pids:
        try:
            yield from map(int, info.target.list(f"/proc/{pid}/task"))
        except FileRefused:
            raise TargetUnusable(f"{info.target.name} has no process {pid}") from None


def _follow(
    watching: FailureWatch, arguments: argparse.Namespace, path: Path | None, command: CommandRun | None
) -> int:
    watch = watching.watch
    follower = _Follower(watching, arguments)
    failed, lost, has_begun = "", None, False
    with Disarming(watch) as end:
        with stoppable(watch.set_deadline):
            failed = start_tracer(watch, arguments, path, watching.begin)
            has_begun = True
            if not failed:
                if note := watching.note():
                    print_line(note)
                measure_clock(watch, arguments)
                GraphFollow(watch, arguments, follower.print_new, command).run()
        lost = watch.connection_error if isinstance(watch.connection_error, TargetLost) else None
        if path is not None:
            failed = failed or try_recording(path, watch.stop_recording) or watch.recording.error
        follower.finish()
        recorder = watch.recording.recorder
        print_losses(watch, follower.dropped, recorder.dropped if recorder else 0)
    if why := failed or (follower.nothing_message if has_begun else STOPPED_EARLY):
        print(f"probewright: {plain(why)}", file=sys.stderr)
    if lost is not None:
        raise lost
    return DONE if not (end.left or why) else REFUSED


class _Follower:
    """Model of the failures of a watch, made with its first event, and its printer."""

    def __init__(self, watching: FailureWatch, arguments: argparse.Namespace) -> None:
        self._watching = watching
        self._watch = watch = watching.watch
        self._arguments = arguments
        self._model: FailureModel | None = None
        self._printer: FailurePrinter | None = None
        self._names = None if watch.info.holds_events else NameReader(watch)

    @property
    def dropped(self) -> int:
        """Number of calls and events that were dropped before they were looked at."""
        return self._model.dropped if self._model is not None else 0

    @property
    def nothing_message(self) -> str:
        """Message for a run without failures; empty: there were some."""
        functions = " ".join(self._arguments.functions) or "anything"
        model = self._model
        if model is not None and model.lacks_returns:
            return NO_RETURNS
        if model is None or not (model.checked or model.without_values):
            return f"no call of {functions} {'was recorded' if self._watch.info.holds_events else 'was seen'}"
        if not model.failed:
            names = [str(errno_name(number)).removeprefix("-") for number in self._arguments.errnos]
            errors = f" with {' or '.join(names)}" if names else ""
            return f"{counted(model.checked, 'call')} of {functions}, none failed{errors}"
        return ""

    def print_new(self) -> bool:
        """Print the failures of new events; return True if enough were printed."""
        store = self._watch.store
        if self._model is None and store is not None and len(store):
            self._begin(store)
        model, printer = self._model, self._printer
        if model is None or printer is None or model.lacks_returns:
            return False
        more = True
        while more and not self._is_enough:
            more, failures = model.tick(0.0)
            if self._names is not None and any(map(printer.prints_chain, failures)):
                self._names.read()  # a task may have another name since it began its program
            elif self._names is not None:
                self._names.learn({failure.task for failure in failures})
            if self._arguments.count:
                failures = failures[: self._arguments.count - printer.printed]
            printer.print_new(failures)
        return self._is_enough

    @property
    def _is_enough(self) -> bool:
        return bool(self._arguments.count and self._printer and self._printer.printed >= self._arguments.count)

    def finish(self) -> None:
        """Print the counts of all failures."""
        from tui.views.failures.text import summary_line

        if self._model is not None and self._printer is not None and self._model.failed:
            self._printer.print_counts()
            print_line(summary_line(self._model))

    def _begin(self, store: Store) -> None:
        from events.graph.tree import LIMIT
        from tui.views.calls.call_text import CallTexts
        from tui.views.failures.model import FailureModel, chooser
        from tui.views.graph.names import GraphNames

        watch, arguments = self._watch, self._arguments
        calls = CallTexts(watch, store)
        calls.learn()
        names = GraphNames(watch.info, whole=arguments.json)
        chosen = chooser(arguments.functions, watch.info)
        limit = LIMIT if watch.info.holds_events else _MOST_ROWS
        unseen, errnos = self._watching.has_unseen_calls, frozenset(arguments.errnos)
        model = FailureModel(watch, store, names, calls, chosen, errnos, limit, unseen)
        self._model, self._printer = model, FailurePrinter(watch, model, face_of(arguments), json=arguments.json)
