"""Shared steps of `run` and `record`: arm probes, follow events until told to stop, and report losses."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import sys
import threading
import time
from collections.abc import Callable, Collection, Container, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from events.export.filtered import ExportFilter
from events.record import Record
from kernel.connection.planner import Planner
from kernel.connection.text_note import text_note
from kernel.errors import ProbeRefused, TargetLost
from kernel.guards.limits import Limits
from kernel.hosts.arm_request import check_specification
from kernel.recording.replay import unwanted_fields
from kernel.session.armed import Armed
from kernel.session.probe_steps import Mode
from kernel.watch.tasks.limit_notes import command_notes
from kernel.watch.watch import Watch
from probes.command import Armable, parse_armable, short_subject
from probes.hist.unfiltered import trigger_notes
from probes.plans.duplicates import duplicate_note, split_duplicates
from probes.plans.plan import DEFAULT_GROUP, Plan
from probes.refusal import CannotLower
from probes.verdict import Verdict
from tui.cli.console.output import plain
from tui.cli.console.silence import reporting_silence
from tui.cli.console.waiting import waiting
from tui.cli.follow.clock import remeasure_clock
from tui.cli.follow.command_end import end_command, print_output_beside
from tui.cli.follow.event_printer import EventPrinter
from tui.cli.follow.loss_printer import print_stopped_probes
from tui.cli.follow.reconnect import reconnect, retry_after_reconnect
from tui.cli.follow.signals import Forced, SignalStop, flush_output, print_forced_stop, signals_deferred
from tui.cli.specs.attach_text import with_corrections
from tui.cli.specs.measured_rate import rate_lines

if TYPE_CHECKING:
    from tui.filter.filter import Filter

NO_RECONNECT = argparse.Namespace(reconnect=0)
"""Arguments without reconnecting."""
_PATIENCE = 0.2
"""Seconds between two checks of the clock."""
_SOON = 0.04
_NAMES_EVERY = 1.0
"""Seconds between two reads of task names."""


def probes_of(specs: list[str], planner: Planner) -> list[Armable]:
    """Parse and check all probes before any is armed; a repeated one is reported and returned once.

    Raises ProbeRefused with the first rejected probe.
    """
    for spec in specs:
        verdict = check_specification(spec, planner)
        if not verdict.ok:
            raise ProbeRefused(rejection_with_corrections(spec, verdict, planner))
    fresh, again = split_duplicates(map(parse_armable, specs))
    for probe in again:
        print(f"probewright: {plain(duplicate_note(probe))}", file=sys.stderr)
    return list(fresh)


def rejection_with_corrections(spec: str, verdict: Verdict, planner: Planner) -> Verdict:
    """Return the verdict on a rejected text with reason, nearest names and correction."""
    return with_corrections(planner.info, spec, verdict, lambda text: check_specification(text, planner))


def limits_of(arguments: argparse.Namespace) -> Limits:
    """Return the limits of event rates that the options request."""
    requested = {"max_rate": arguments.max_rate, "storm": arguments.storm}
    return Limits(**{name: value for name, value in requested.items() if value is not None})


class ArmOptions(NamedTuple):
    """Options with which probes are armed."""

    at_any_rate: bool = False
    mode: Mode = Mode.RECORD
    triggers: tuple[str, ...] = ()
    counting: Mapping[Armable, tuple[str, ...]] = {}
    """Triggers of single probes, in addition to `triggers`."""
    shape: Callable[[Plan], Plan] = lambda plan: plan
    """Change of each plan before it is armed."""

    def triggers_of(self, probe: Armable) -> tuple[str, ...]:
        """Return the triggers to arm a probe with."""
        return (*self.triggers, *self.counting.get(probe, ()))


def arm_options_of(arguments: argparse.Namespace) -> ArmOptions:
    """Return the options for arming that the arguments request."""
    mode = Mode.COUNT if arguments.count_only else Mode.RECORD
    counting = {parse_armable(spec): triggers for spec, triggers in arguments.counting.items()}
    return ArmOptions(arguments.force, mode, tuple(arguments.triggers), counting)


def start_imports(*modules: str) -> threading.Thread:
    """Import the event store, and numpy with it, while the target is being opened: ahead of the first event.

    In a thread, where no signal raises: numpy reports an interrupted import as a broken installation.
    """
    names = modules or ("events.store.store",)
    thread = threading.Thread(target=lambda: list(map(importlib.import_module, names)), daemon=True)
    thread.start()
    return thread


def arm(
    watch: Watch,
    probes: list[Armable],
    options: ArmOptions = ArmOptions(),  # noqa: B008 - frozen
    arguments: argparse.Namespace = NO_RECONNECT,
) -> Mapping[str, frozenset[str]]:
    """Arm probes in order, reconnecting if the connection is lost (see `retry_after_reconnect`); print what this
    kernel lacks.

    Return the paths of their events, each with the fields that were not requested: a recording holds more. Raises
    ProbeRefused, TooFast, TargetUnusable, TargetLost.
    """
    start_imports().join()
    # Arming takes long: `follow` starts recording of all probes at one time, and counts the seconds from there.
    retry_after_reconnect(watch, arguments, partial(_open_paused, watch))
    run = getattr(arguments, "command_run", None)
    if run is not None and run.limits_tasks:
        watch.task_limit.set((run.pid,))
    events: dict[str, frozenset[str]] = {}
    for probe in probes:
        before = frozenset(one.key for one in watch.armed.probes)
        try:
            with waiting(f"reading types, arming {short_subject(probe)}"):
                armed = retry_after_reconnect(
                    watch, arguments, partial(_arm_unless_restored, watch, probe, options, before), events
                )
        except CannotLower as error:
            refused = Verdict(str(probe), error.refusal)
            raise ProbeRefused(rejection_with_corrections(str(probe), refused, watch.planner)) from None
        for text in rate_lines(armed.plan, armed.measured, counting=options.mode is Mode.COUNT):
            print(f"probewright: {plain(text)}", file=sys.stderr)
        triggers = options.triggers_of(probe)
        notes = (*armed.plan.losses, *trigger_notes(armed.plan, triggers), *text_note(watch.info.target, armed))
        if run is not None and run.limits_tasks:
            notes = (*notes, *command_notes(armed.plan, triggers))
        for note in notes:
            print(f"probewright: {plain(note)}", file=sys.stderr)
        wanted = armed.plan
        if watch.info.holds_events:
            wanted = watch.planner.lower(probe, DEFAULT_GROUP)
        for path, fields in unwanted_fields(armed.plan, wanted).items():
            events[path] = events.get(path, fields) & fields
    return events


def _open_paused(watch: Watch) -> None:
    """Open the session, with recording paused."""
    with signals_deferred():  # a half-opened session would not be registered, and would stay
        watch.armed.hold_recording()


def _arm_unless_restored(watch: Watch, probe: Armable, options: ArmOptions, before: Container[object]) -> Armed:
    """Arm one probe, unless a reconnect already armed it again with those of `before`."""
    restored = next((one for one in watch.armed.probes if one.key not in before), None)
    if restored is not None:
        return restored
    with signals_deferred():  # a half-armed probe would not be registered, and would stay
        return watch.armed.arm(
            probe,
            at_any_rate=options.at_any_rate,
            mode=options.mode,
            triggers=options.triggers_of(probe),
            shape=options.shape,
        )


def follow(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    show: Callable[[Record], None],
    count: Callable[[], int] | None = None,
    idle: Callable[[], None] = lambda: None,
    passing: ExportFilter | None = None,
    chosen: Filter | None = None,
    number: Callable[[], int] | None = None,
) -> int:
    """Print events until the time or the number is reached, or a `stoppable` block is stopped; return their number.

    Events read by then are printed too, and no more are read. With a filter (`passing`, made of `chosen`) only events
    that pass count, or the value of `number`. With `count` none is printed: it is called for new events, and returns
    how many there were in all. `idle` is called a few times a second, whether events arrive or not. An end by
    `Forced` is reported, and nothing is printed after it.
    """
    run = getattr(arguments, "command_run", None)
    printer = EventPrinter(watch, arguments.count or 0, events, show, count, passing, chosen, number, run)
    forced = False
    try:
        with reporting_silence(watch):
            _show_all(watch, arguments, events, printer, idle)
    except Forced:
        forced = True
        print_forced_stop()
    if (error := watch.connection_error) is not None and not printer.has_reached_count:
        watch.mark_end()
        if not forced:
            printer.finish()  # the mark has its row
        raise error
    return printer.number


def _show_all(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    printer: EventPrinter,
    idle: Callable[[], None],
) -> None:
    run = printer.command
    with contextlib.suppress(SignalStop):
        retry_after_reconnect(watch, arguments, watch.armed.record_together, events)
        if run is not None:
            run.release()
        end = time.monotonic() + arguments.seconds if arguments.seconds else float("inf")
        watch.set_deadline(end)
        _until_over(watch, arguments, end, printer, idle)
        while watch.ended and not printer.has_reached_count and reconnect(watch, arguments, events, end):
            _until_over(watch, arguments, end, printer, idle)
    if run is not None:
        end_command(watch, printer, run)
    watch.set_deadline(time.monotonic())
    for _ in range(2):  # a second signal may arrive meanwhile, once
        with contextlib.suppress(SignalStop):
            if printer.has_reached_count:
                printer.learn_last_names()
            else:
                printer.finish()
            if run is not None:
                run.print_all()
            with signals_deferred():  # here another signal still ends it, if nobody reads; at the exit none does
                sys.stdout.flush()
            break


def _until_over(
    watch: Watch, arguments: argparse.Namespace, end: float, printer: EventPrinter, idle: Callable[[], None]
) -> None:
    has_data = threading.Event()
    watch.queue.on_data = has_data.set
    asked_at, pause = 0.0, _PATIENCE
    while (now := time.monotonic()) < end:
        # Events may be held back until no other CPU can have older ones: then check again soon.
        pause = _SOON if has_data.wait(min(pause, end - now)) or printer.is_held_back else _PATIENCE
        has_data.clear()
        if due := now - asked_at >= _NAMES_EVERY:
            with contextlib.suppress(TargetLost):  # the pump reports a lost connection
                watch.intake.know_names(watch.names(cgroups=asked_at > 0))
            remeasure_clock(watch, arguments)
            asked_at = now
        if printer.wants_names:
            printer.learn_names()
        printer.tick()
        if printer.command is not None:
            print_output_beside(watch, printer, printer.command)
        idle()
        flush_output()
        if printer.has_reached_count or watch.ended or (printer.command is not None and printer.command.is_over):
            break
        if due and watch.info.target.is_kernel:
            with contextlib.suppress(TargetLost):
                watch.counts()  # stops a storm as well
                print_stopped_probes(watch)
