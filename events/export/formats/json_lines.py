"""Write JSON lines: one object per event, in ASCII.

    {"ts":18307518370,"cpu":1,"pid":221,"comm":"head","event":"name","values":{...},"text":{...}}

- `ts`: nanoseconds of the trace clock (ticks for some clocks); `pid`: thread id; `comm`: its name
- `event`: name as `events.names.event_names.exported_name` returns it: our own probes without the session's group
- `values`: each field as a number, true or false, a string, or an array of those; null if the kernel could not read
  it. Integers from 2^53 on are decimal strings, here and everywhere else (see `events.json_text`). Strings are
  escaped by `events.export.escape`, structures are their bytes in hex
- `text`: the same fields as displayed, with enums, errors and symbols by name; of the addresses that probes record
  unasked (`__probe_ip`, `__probe_func`, `__probe_ret_ip`) the symbols, as far as these are read
- a row `line_cut` reports a lost connection, and in `note` whether events are missing (if none are, the machine was
  rebooted: otherwise there is no row): `lost` and `back` (nanoseconds of the trace clock at the last data from the
  remote host, and just before the probes were enabled again; where known) and `seconds`, a number
- with several hosts, first `host`, `time`, `uncertainty` if known, and `late` if true (see `events.export.hosts`)

Control characters are escaped as in JSON, so each object is one line and safe for a terminal.
"""

from __future__ import annotations

from typing import Any, BinaryIO

from events.export.source import ExportSource
from events.json_text import json_line
from events.names.event_names import exported_name
from events.record import Record
from events.stacks.stack import NO_EVENT, Frame, is_stack, kernel_frames, user_frames
from events.store.outage_mark import is_mark, mark_values, task_name


def json_object(source: ExportSource, record: Record) -> dict[str, Any]:
    """Return the object of one event."""
    heads = {name: value for name, value in source.head(record).items() if value is not None and value is not False}
    source = source.own(record)
    unasked = source.of(record.event).omitted_fields
    values: dict[str, Any] = {
        name: value for name, value in source.exact_values(record).items() if name not in unasked
    }
    texts = {**source.probe_places(record), **dict(source.field_texts(record))}
    texts = {name: text for name, text in texts.items() if name in values}
    if is_mark(record):
        values = mark_values(record)
        texts = {name: str(value) for name, value in values.items()}
    if is_stack(record):
        values, texts = {"note": NO_EVENT}, {}
    stacks = {"stack": kernel_frames(record, source.symbols), "user_stack": user_frames(record)}
    return {
        **heads,
        "ts": record.ts,
        "cpu": record.cpu,
        "pid": record.pid,
        "comm": task_name(record),
        "event": exported_name(record.event),
        "values": values,
        "text": texts,
        **{name: [*map(_frame, frames)] for name, frames in stacks.items() if frames is not None},
    }


def _frame(frame: Frame) -> dict[str, str]:
    address = {} if frame.address is None else {"address": f"{frame.address:#x}"}
    return {**address, **({"symbol": frame.symbol} if frame.symbol else {})}


class JsonLines:
    """Writer of JSON lines; see the module."""

    notes: tuple[str, ...] = ()
    omitted = 0

    def __init__(self, source: ExportSource, out: BinaryIO) -> None:
        self._source = source
        self._out = out

    def take(self, record: Record) -> None:
        self._out.write(json_line(json_object(self._source, record)).encode() + b"\n")

    def finish(self) -> None:
        """Write nothing: every line is complete."""
