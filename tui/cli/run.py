"""`probewright run SPEC…`: arm, print events, take everything away again."""

from __future__ import annotations

import argparse
from collections.abc import Container, Mapping

from events.record import Record
from kernel.watch import Watch
from tui.cli.main import DONE, REFUSED
from tui.cli.output import connect, emit, line
from tui.cli.watching import account, arm, follow, how_of, limits_of, probes_of, stoppable, take_away, tell_counts


def run(arguments: argparse.Namespace) -> int:
    connection = connect(arguments.target, arming=True)
    watch = Watch(connection, limits=limits_of(arguments))
    events: Mapping[str, frozenset[str]] = {}

    def show(record: Record) -> None:
        if arguments.json:
            emit(_object(watch, record, events[record.event]))
        else:
            print(line(_line(watch, record, events[record.event])))

    try:
        probes = probes_of(arguments.specs, connection)
        with stoppable():
            events = arm(watch, probes, how_of(arguments))
            follow(watch, arguments, events, show)
        if arguments.count_only:
            tell_counts(watch)
        account(watch)
    finally:
        left = take_away(watch)
        connection.close()
    return REFUSED if left else DONE


def _line(watch: Watch, record: Record, unasked: Container[str]) -> str:
    values = " ".join(f"{name}={value}" for name, value in watch.known.values(record) if name not in unasked)
    event = record.event.rpartition("/")[2]
    return f"{record.ts / 1e9:.6f} [{record.cpu:03}] {record.comm}-{record.pid} {event} {values}"


def _object(watch: Watch, record: Record, unasked: Container[str]) -> dict[str, object]:
    asked = {name: value for name, value in record.values.items() if name not in unasked}
    return {
        "ts": record.ts,
        "cpu": record.cpu,
        "pid": record.pid,
        "comm": record.comm,
        "event": record.event,
        "values": {name: value for name, value in asked.items() if not isinstance(value, bytes)},
        "text": {name: text for name, text in watch.known.values(record) if name in asked},
    }
