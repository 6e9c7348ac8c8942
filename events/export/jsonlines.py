"""JSON lines: one object an event, in ASCII.

    {"ts":18307518370,"cpu":1,"pid":221,"comm":"head","event":"name","values":{...},"text":{...}}

- `ts` nanoseconds of the trace clock (ticks where another clock was chosen), `pid` the thread id, `comm` its name
- `event` as `events.event_names.exported_name` has it: a probe of ours without the group of its session
- `values` each field as a number, true or false, a string, or an array of those; null where the kernel could not read
  it. Integers have all their digits, up to 2^64 - 1: a reader with doubles has to ask for them (`jq` keeps them from
  1.7 on). Strings as `events.export.escape` writes them, structures as their bytes in hex
- `text` the same fields as they are shown, enums, errors and symbols by their names
- a row `line_cut` says that events are missing, as the line was cut: `lost` and `back` (nanoseconds of the trace
  clock: when the far side was heard last, and when the probes were about to be on again; where they are known) and
  `seconds`, a number
- of several hosts in front of these `host`, `time`, `uncertainty` where it is known, and `late` where it was (see
  `events.export.hosts`)

Control characters are escaped as JSON does, so a line is a line and is safe for a terminal.
"""

from __future__ import annotations

import json
from typing import Any, BinaryIO

from events.cut_mark import is_mark, mark_values, task_name
from events.decode import Value
from events.event_names import exported_name
from events.export.escape import exact_values
from events.export.source import Source
from events.record import Record

_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def json_object(source: Source, record: Record) -> dict[str, Any]:
    """The object of one event."""
    heads = {name: value for name, value in source.head(record).items() if value is not None and value is not False}
    source = source.own(record)
    unasked = source.of(record.event).unasked
    values: dict[str, Any] = {
        name: _plain(value) for name, value in exact_values(record).items() if name not in unasked
    }
    shown = {name: text for name, text in source.shown(record) if name in values}
    if is_mark(record):
        values = mark_values(record)
        shown = {name: str(value) for name, value in values.items()}
    return {
        **heads,
        "ts": record.ts,
        "cpu": record.cpu,
        "pid": record.pid,
        "comm": task_name(record),
        "event": exported_name(record.event),
        "values": values,
        "text": shown,
    }


def _plain(value: Value) -> object:
    if isinstance(value, tuple):
        return [_plain(part) for part in value]
    return value.hex() if isinstance(value, bytes) else value


class JsonLines:
    """See the module."""

    notes: tuple[str, ...] = ()

    def __init__(self, source: Source, out: BinaryIO) -> None:
        self._source = source
        self._out = out

    def take(self, record: Record) -> None:
        self._out.write(_ENCODER.encode(json_object(self._source, record)).encode() + b"\n")

    def finish(self) -> None:
        """Every line is whole."""
