"""`probewright record SPEC… -o FILE.pwr`: arm probes and write all events to a recording."""

from __future__ import annotations

import argparse
import contextlib
import enum
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from events.record import Record
from events.recording.lines_in_time import COMMAND_OUTPUT
from foreign.count_text import counted, size_text
from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from kernel.guards.row_bounds import HEADLESS
from kernel.local.allocator import give_back_memory
from kernel.watch.watch import Watch
from probes.plans.plan import Via
from tui.cli.console.output import connect, emit, plain
from tui.cli.exports.output_file import free_file
from tui.cli.follow.command_run import CommandRun, command_of, keep_status
from tui.cli.follow.disarming import disarm_all
from tui.cli.follow.follow import arm, arm_options_of, follow, limits_of, probes_of, start_imports
from tui.cli.follow.loss_printer import print_losses
from tui.cli.follow.reconnect import retry_after_reconnect
from tui.cli.follow.signals import SignalStop, stoppable
from tui.cli.specs.preset_specs import expand, requested_probes
from tui.cli.status import DONE, INTERRUPTED, REFUSED

if TYPE_CHECKING:
    from probes.presets.schema import PresetChoice


def _ignore_record(record: Record) -> None:
    pass


def _require_room(watch: Watch) -> None:
    """Raise SignalStop if the recording has ended with an error: following events is pointless then."""
    if watch.recording.error:
        raise SignalStop


class _Contents(NamedTuple):
    """Contents of a recording, in numbers."""

    events: int = 0
    """Events of its probes."""
    lines: int = 0
    """Lines of the command, which are events beside those."""


def _finish(watch: Watch, *, enough: bool = False) -> _Contents:
    """End the recording; return what is in the file. Raises OSError.

    A recording holds whole pages of the ring buffer, and so more events than were requested; `enough`: the requested
    number is reached, and unread events are not wanted.
    """
    recorder = watch.recording.recorder
    if watch.session is not None:
        # else the queue, whose pages are in the file as well, would grow while it is counted
        watch.session.pump.close()
        if enough:
            watch.session.pump.drain()
    watch.stop_recording()
    if watch.store is None:
        return _Contents()
    watch.tick()
    while watch.intake.has_backlog:
        watch.tick()
    watch.store.flush()
    totals = watch.store.by_event(watch.store.totals)
    lines = totals.pop(COMMAND_OUTPUT, 0)
    paths = {event.path for plan in watch.event_fields.plans for event in plan.events}
    total = sum(number for path, number in totals.items() if path in paths)
    return _Contents(max(0, total - recorder.dropped) if recorder is not None else total, lines)


def run(arguments: argparse.Namespace) -> int:
    give_back_memory()
    path = free_file(arguments.output)
    requested = requested_probes(arguments)
    start_imports()
    planner = Planner(connect(arguments.target, arming=True, patience=arguments.reconnect), Via(arguments.via))
    with contextlib.closing(planner.info), command_of(planner.info.target, arguments, limits_tasks=True) as command:
        status = _record(planner, arguments, requested, path, command)
        keep_status(arguments, command)
    return status


class _Stage(enum.Enum):
    """Stage of the command in which a signal may come."""

    PREPARING = enum.auto()
    ARMING = enum.auto()
    RECORDING = enum.auto()


def _print_file(path: Path, held: _Contents, *, as_json: bool) -> None:
    """Print the size of the recording, and the number of its events."""
    size = path.stat().st_size
    if as_json:
        emit(
            {"file": str(path), "events": held.events, **({"lines": held.lines} if held.lines else {}), "bytes": size}
        )
    else:
        lines = f", {counted(held.lines, 'line')} of the command" if held.lines else ""
        print(plain(f"{path}: {counted(held.events, 'event')}{lines}, {size_text(size)}"))


def _unrecorded_status(watch: Watch, path: Path, stage: _Stage) -> int | None:
    """Tell why there is no recording, and return the exit status; None: there is one."""
    if watch.recording.error:
        print(f"probewright: {plain(watch.recording.error)}", file=sys.stderr)
        return REFUSED
    if path.exists():
        return None
    print("probewright: stopped before anything was recorded", file=sys.stderr)
    return {_Stage.PREPARING: INTERRUPTED, _Stage.ARMING: DONE, _Stage.RECORDING: REFUSED}[stage]


def _record(
    planner: Planner,
    arguments: argparse.Namespace,
    requested: Sequence[PresetChoice | str],
    path: Path,
    command: CommandRun | None,
) -> int:
    """Arm the requested probes, write their events to the recording, and disarm; return the exit status."""
    watch = Watch(planner, HEADLESS, limits_of(arguments))
    if arguments.count:
        watch.intake.at_once = 1  # events received while the file is begun exceed the request
    held, enough, stage = _Contents(), False, _Stage.PREPARING
    connection_error: TargetLost | None = None
    try:
        armed = retry_after_reconnect(watch, arguments, lambda: expand(requested, planner))
        probes = retry_after_reconnect(watch, arguments, lambda: probes_of(armed.specs, planner))
        with stoppable(watch.set_deadline):
            # Before anything is armed: events are in the file then, whatever becomes of the connection.
            retry_after_reconnect(watch, arguments, lambda: watch.recording.prepare(path))
            stage = _Stage.ARMING
            events = arm(watch, probes, arm_options_of(arguments), arguments)
            watch.record_to(path)
            stage = _Stage.RECORDING
            if command is not None:
                command.place_among_events(watch)
            try:
                number = follow(watch, arguments, events, _ignore_record, idle=lambda: _require_room(watch))
                enough = bool(arguments.count) and number >= arguments.count
            except TargetLost as error:  # lost for good; events received before are in the file
                connection_error = error
        recorder = watch.recording.recorder
        held = _finish(watch, enough=enough)
        print_losses(watch, unwritten=recorder.dropped if recorder else 0)
    except OSError as error:
        print(f"probewright: {plain(str(path))}: {error.strerror}", file=sys.stderr)
        return REFUSED
    finally:
        left = disarm_all(watch)
    if (status := _unrecorded_status(watch, path, stage)) is not None:
        return status if not left else REFUSED
    _print_file(path, held, as_json=arguments.json)
    if connection_error is not None:
        raise connection_error
    if armed.longest_min_duration:
        print("probewright: calls of any duration are recorded: a recording holds all events", file=sys.stderr)
    return REFUSED if left else DONE
