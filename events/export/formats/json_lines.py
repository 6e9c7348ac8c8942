"""JSON lines: one object an event, in ASCII.

    {"ts":18307518370,"cpu":1,"pid":221,"comm":"head","event":"name","values":{...},"text":{...}}

- `ts` nanoseconds of the trace clock (ticks where another clock was chosen), `pid` the thread id, `comm` its name
- `event` as `events.names.event_names.exported_name` has it: a probe of ours without the group of its session
- `values` each field as a number, true or false, a string, or an array of those; null where the kernel could not read
  it. Whole numbers from 2^53 on are decimal strings, here and in all other places (see `events.json_text`). Strings
  as `events.export.escape` writes them, structures as their bytes in hex
- `text` the same fields as they are shown, enums, errors and symbols by their names
- a row `line_cut` says that the line was cut, and in its `note` whether events are missing (where none are, the
  machine was booted anew: else there is no row): `lost` and `back` (nanoseconds of the trace
  clock: when the far side was heard last, and when the probes were about to be on again; where they are known) and
  `seconds`, a number
- of several hosts in front of these `host`, `time`, `uncertainty` where it is known, and `late` where it was (see
  `events.export.hosts`)

Control characters are escaped as JSON does, so a line is a line and is safe for a terminal.
"""

from __future__ import annotations

from typing import Any, BinaryIO

from events.export.escape import exact_values
from events.export.source import Source
from events.json_text import json_line
from events.names.event_names import exported_name
from events.record import Record
from events.stacks.stack import NO_EVENT, Frame, is_stack, kernel_frames, user_frames
from events.store.outage_mark import is_mark, mark_values, task_name


def json_object(source: Source, record: Record) -> dict[str, Any]:
    """The object of one event."""
    heads = {name: value for name, value in source.head(record).items() if value is not None and value is not False}
    source = source.own(record)
    unasked = source.of(record.event).unasked
    values: dict[str, Any] = {name: value for name, value in exact_values(record).items() if name not in unasked}
    shown = {name: text for name, text in source.shown(record) if name in values}
    if is_mark(record):
        values = mark_values(record)
        shown = {name: str(value) for name, value in values.items()}
    if is_stack(record):
        values, shown = {"note": NO_EVENT}, {}
    stacks = {"stack": kernel_frames(record, source.symbols), "user_stack": user_frames(record)}
    return {
        **heads,
        "ts": record.ts,
        "cpu": record.cpu,
        "pid": record.pid,
        "comm": task_name(record),
        "event": exported_name(record.event),
        "values": values,
        "text": shown,
        **{name: [*map(_frame, frames)] for name, frames in stacks.items() if frames is not None},
    }


def _frame(frame: Frame) -> dict[str, str]:
    address = {} if frame.address is None else {"address": f"{frame.address:#x}"}
    return {**address, **({"symbol": frame.symbol} if frame.symbol else {})}


class JsonLines:
    """See the module."""

    notes: tuple[str, ...] = ()
    left_out = 0

    def __init__(self, source: Source, out: BinaryIO) -> None:
        self._source = source
        self._out = out

    def take(self, record: Record) -> None:
        self._out.write(json_line(json_object(self._source, record)).encode() + b"\n")

    def finish(self) -> None:
        """Every line is whole."""
