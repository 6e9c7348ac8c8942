"""`probewright refs KIND`: track reference counts, and print the objects whose references were not put."""

from __future__ import annotations

import argparse
import contextlib
import sys
from pathlib import Path
from typing import Final

from kernel.connection.planner import Planner
from kernel.errors import TargetLost, TargetUnusable
from kernel.guards.row_bounds import HEADLESS
from kernel.local.allocator import give_back_memory
from kernel.watch.watch import Watch
from probes.command import parse_armable
from tui.cli.console.output import connect, plain
from tui.cli.console.waiting import print_line, show_progress, waiting
from tui.cli.exports.output_file import free_file
from tui.cli.follow.clock import measure_clock
from tui.cli.follow.command_run import command_of
from tui.cli.follow.disarming import Disarming
from tui.cli.follow.follow import ArmOptions, arm, follow, limits_of, probes_of, start_imports
from tui.cli.follow.loss_printer import print_losses
from tui.cli.follow.reconnect import retry_after_reconnect
from tui.cli.follow.signals import STOPPED_EARLY, stoppable
from tui.cli.status import DONE, REFUSED, UsageFault
from tui.cli.tables.reference_printer import ReferencePrinter

_STACKS: Final = ("stacktrace",)
_TASK_ENDS: Final = "on sched/sched_process_exit"


def run(arguments: argparse.Namespace) -> int:
    give_back_memory()
    path = free_file(arguments.output) if arguments.output else None
    imported = start_imports("events.store.store", "tui.views.references.model")
    planner = Planner(connect(arguments.target, arming=True, patience=arguments.reconnect))
    info = planner.info
    with contextlib.ExitStack() as ends:
        ends.callback(info.close)
        if info.holds_events and (arguments.program or arguments.kinds):
            raise UsageFault("a recording has happened: refs -t FILE.pwr prints what it holds")
        if not info.holds_events and not arguments.kinds:
            raise UsageFault("say a kind (file, dentry, inode, mm, device), a structure, or GET,PUT[,FREE]")
        specs = [] if info.holds_events else _specs(planner, arguments)
        ends.enter_context(command_of(info.target, arguments, limits_tasks=False))
        with waiting("reading symbols"):
            info.symbols.load(by_name=False)
        imported.join()
        return _track(planner, specs, arguments, path)


def _specs(planner: Planner, arguments: argparse.Namespace) -> list[str]:
    """Return the specifications of the probes; print what can't be seen. Raises TargetUnusable."""
    from probes.references.choice import NoReferences, chosen_probes

    specs: list[str] = []
    with waiting("reading types"):
        for word in arguments.kinds:
            try:
                found = chosen_probes(word, planner.info.btf, planner.info.facts)
            except NoReferences as error:
                raise TargetUnusable(str(error), error.remedy) from None
            specs += found.probes.specs
            for note in found.notes:
                print_line(note)
    return specs


def _track(planner: Planner, specs: list[str], arguments: argparse.Namespace, path: Path | None) -> int:
    """Arm, follow and disarm; return the exit status."""
    watch = Watch(planner, HEADLESS, limits_of(arguments))
    printer = ReferencePrinter(watch, arguments)
    lost: TargetLost | None = None
    failed, has_begun = "", False
    with Disarming(watch) as end:
        try:
            with stoppable(watch.set_deadline):
                if specs:
                    _arm(watch, specs, arguments, path)
                else:
                    watch.begin()
                has_begun = True
                measure_clock(watch, arguments)
                try:
                    follow(watch, arguments, (), lambda _: None, printer.take, idle=lambda: _idle(printer))
                except TargetLost as error:  # what came before is printed all the same
                    lost = error
            if path is not None:
                watch.stop_recording()
                failed = watch.recording.error
            printer.finish()
            print_losses(watch, printer.dropped)
        except BrokenPipeError:
            raise
        except OSError as error:
            failed = f"{path}: {error.strerror}"
    if why := failed or (printer.nothing_message if has_begun else STOPPED_EARLY):
        print(f"probewright: {plain(why)}", file=sys.stderr)
    if lost is not None:
        raise lost
    return REFUSED if end.left or why or printer.faults else DONE


def _arm(watch: Watch, specs: list[str], arguments: argparse.Namespace, path: Path | None) -> None:
    probes = probes_of([*specs, _TASK_ENDS], watch.planner)
    stacks = {parse_armable(spec): _STACKS for spec in specs}
    if path is not None:
        retry_after_reconnect(watch, arguments, lambda: watch.recording.prepare(path))
    arm(watch, probes, ArmOptions(arguments.force, counting=stacks), arguments)
    if path is not None:
        watch.record_to(path)


def _idle(printer: ReferencePrinter) -> None:
    """Show the numbers on a terminal."""
    if sys.stderr.isatty():
        show_progress(printer.progress)
