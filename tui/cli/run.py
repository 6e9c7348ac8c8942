"""`probewright run SPEC…`: arm, print events, take everything away again."""

from __future__ import annotations

import argparse

from events.record import Record
from kernel.watch import Watch
from tui.cli.main import DONE, REFUSED
from tui.cli.output import connect, emit, line
from tui.cli.watching import account, arm, follow, probes_of, stoppable, take_away


def run(arguments: argparse.Namespace) -> int:
    connection = connect(arguments.target, arming=True)
    watch = Watch(connection)

    def show(record: Record) -> None:
        if arguments.json:
            emit(_object(watch, record))
        else:
            print(line(_line(watch, record)))

    try:
        probes = probes_of(arguments.specs, connection)
        with stoppable():
            events = arm(watch, probes)
            follow(watch, arguments, events, show)
        account(watch)
    finally:
        left = take_away(watch)
        connection.close()
    return REFUSED if left else DONE


def _line(watch: Watch, record: Record) -> str:
    values = " ".join(f"{name}={value}" for name, value in watch.known.values(record))
    event = record.event.rpartition("/")[2]
    return f"{record.ts / 1e9:.6f} [{record.cpu:03}] {record.comm}-{record.pid} {event} {values}"


def _object(watch: Watch, record: Record) -> dict[str, object]:
    values = {name: value for name, value in record.values.items() if not isinstance(value, bytes)}
    return {
        "ts": record.ts,
        "cpu": record.cpu,
        "pid": record.pid,
        "comm": record.comm,
        "event": record.event,
        "values": values,
        "text": dict(watch.known.values(record)),
    }
