"""`probewright record SPEC… -o FILE.pwr`: arm, and write everything to a recording."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from events.record import Record
from kernel.errors import TargetLost
from kernel.guards.row_bounds import HEADLESS
from kernel.local.allocator import give_back_memory
from kernel.watch.watch import Watch
from tui.cli.console.output import connect, emit, plain, size_of
from tui.cli.follow.follow import account, arm, follow, how_of, importing, limits_of, probes_of, take_away
from tui.cli.follow.preset_specs import asked_for, expand
from tui.cli.follow.reconnect import despite_cuts
from tui.cli.follow.signals import SignalStop, stoppable
from tui.cli.status import DONE, REFUSED, USAGE
from tui.output.export_file import ExportRefused, require_free
from tui.output.sink import counted


def _not_shown(record: Record) -> None:
    pass


def _require_room(watch: Watch) -> None:
    """Raises Stopped where the recording has ended by itself: to follow events goes nowhere."""
    if watch.recording_error:
        raise SignalStop


def _finish(watch: Watch, *, enough: bool = False) -> int:
    """End the recording; gives how many events of its probes the file holds. Raises OSError.

    A recording holds whole pages of the ring buffer, and so more than the events after which it was to stop;
    `enough`: those have come, and what waits to be read is not wanted.
    """
    recorder = watch.recorder
    if watch.session is not None:
        watch.session.pump.close()  # else the queue, which is in the file as well, would grow while it is counted
        if enough:
            watch.session.pump.drain()
    watch.stop_recording()
    if watch.store is None:
        return 0
    watch.tick()
    while watch.behind:
        watch.tick()
    watch.store.flush()
    paths = {event.path for plan in watch.known.plans for event in plan.events}
    came = sum(number for event, number in watch.store.totals.items() if watch.store.event(event) in paths)
    return max(0, came - recorder.dropped) if recorder is not None else came


def run(arguments: argparse.Namespace) -> int:
    give_back_memory()
    path = Path(arguments.output)
    try:
        require_free(path, overwrite=False)  # said before anything is armed
    except ExportRefused as error:
        print(f"probewright: {plain(str(error))}", file=sys.stderr)
        return USAGE
    asked = asked_for(arguments)
    importing()
    connection = connect(arguments.target, arming=True, patience=arguments.reconnect)
    watch = Watch(connection, HEADLESS, limits_of(arguments))
    if arguments.count:
        watch.at_once = 1  # what came while the file was begun is more than is wanted
    held, enough = 0, False
    ended_by: TargetLost | None = None
    try:
        armed = despite_cuts(watch, arguments, lambda: expand(asked, connection))
        probes = despite_cuts(watch, arguments, lambda: probes_of(armed.specs, connection))
        with stoppable(watch.hurry):
            # Before anything is armed: what comes is in the file then, whatever becomes of the line.
            despite_cuts(watch, arguments, lambda: watch.prepare_recording(path))
            events = arm(watch, probes, how_of(arguments), arguments)
            watch.record_to(path)
            try:
                number = follow(watch, arguments, events, _not_shown, idle=lambda: _require_room(watch))
                enough = bool(arguments.count) and number >= arguments.count
            except TargetLost as error:  # for good; what came is in the file
                ended_by = error
        recorder = watch.recorder
        held = _finish(watch, enough=enough)
        account(watch, unwritten=recorder.dropped if recorder else 0)
    except OSError as error:
        print(f"probewright: {plain(str(path))}: {error.strerror}", file=sys.stderr)
        return REFUSED
    finally:
        left = take_away(watch)
        connection.close()
    if watch.recording_error:
        print(f"probewright: {plain(watch.recording_error)}", file=sys.stderr)
        return REFUSED
    if not path.exists():
        print("probewright: stopped before anything was recorded", file=sys.stderr)
        return REFUSED
    size = path.stat().st_size
    if arguments.json:
        emit({"file": str(path), "events": held, "bytes": size})
    else:
        print(plain(f"{path}: {counted(held)}, {size_of(size)}"))
    if ended_by is not None:
        raise ended_by
    if armed.least:
        print("probewright: calls of any duration are recorded: a recording holds all events", file=sys.stderr)
    return REFUSED if left else DONE
