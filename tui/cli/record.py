"""`probewright record SPEC… -o FILE.pwr`: arm, and write everything to a recording."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from events.record import Record
from kernel.watch import Watch
from tui.cli.main import DONE, REFUSED, USAGE
from tui.cli.output import connect, emit, plain, size_of
from tui.cli.stopping import stoppable
from tui.cli.watching import account, arm, follow, how_of, importing_store, limits_of, probes_of, take_away


def _not_shown(record: Record) -> None:
    pass


def run(arguments: argparse.Namespace) -> int:
    path = Path(arguments.output)
    if path.exists():
        print(f"probewright: {plain(str(path))} is there already", file=sys.stderr)
        return USAGE
    if not path.parent.is_dir():  # said before anything is armed
        print(f"probewright: {plain(str(path.parent))} is no folder", file=sys.stderr)
        return USAGE
    importing_store()
    connection = connect(arguments.target, arming=True)
    watch = Watch(connection, limits=limits_of(arguments))
    shown = 0
    try:
        probes = probes_of(arguments.specs, connection)
        with stoppable():
            events = arm(watch, probes, how_of(arguments))
            watch.record_to(path)
            shown = follow(watch, arguments, events, _not_shown)
        account(watch)
        watch.stop_recording()
    except OSError as error:
        print(f"probewright: {plain(str(path))}: {error.strerror}", file=sys.stderr)
        return REFUSED
    finally:
        left = take_away(watch)
        connection.close()
    if not path.exists():
        print("probewright: stopped before anything was recorded", file=sys.stderr)
        return REFUSED
    size = path.stat().st_size
    if arguments.json:
        emit({"file": str(path), "events": shown, "bytes": size})
    else:
        print(plain(f"{path}: {shown:,} events, {size_of(size)}"))
    return REFUSED if left else DONE
