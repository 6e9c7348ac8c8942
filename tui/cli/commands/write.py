"""`probewright write NAME FIELD=VALUE …`: write one event of programs by hand."""

from __future__ import annotations

import argparse
import sys

from kernel.connection.program_events import program_events, require_user_events, write_program_event
from probes.user_events.kernel_reading import GROUP
from probes.user_events.payload import BadFieldValue, encode_values, split_values
from tui.cli.console.output import connect, emit, plain
from tui.cli.status import DONE, REFUSED, USAGE


def run(arguments: argparse.Namespace) -> int:
    """Write the event; status REFUSED where no program has registered it, USAGE for values that do not fit."""
    info = connect(arguments.target)
    try:
        require_user_events(info)
        path = f"{GROUP}/{arguments.name.removeprefix(f'{GROUP}/')}"
        events = {event.path: event for event in program_events(info)}
        event = events.get(path)
        if event is None:
            there = ", ".join(events) or "none"
            print(plain(f"probewright: no program has registered {path}; there are: {there}"), file=sys.stderr)
            return REFUSED
        try:
            values = split_values(arguments.values)
            payload = encode_values(event.definition, values, "big" if info.facts.byteorder == "big" else "little")
        except BadFieldValue as error:
            print(plain(f"probewright: {error}"), file=sys.stderr)
            return USAGE
        write_program_event(info, event, payload)
        if arguments.json:
            emit({"event": event.path, "bytes": len(payload)})
        return DONE
    finally:
        info.close()
