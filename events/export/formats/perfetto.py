"""Write a trace for https://ui.perfetto.dev: protocol buffers, `TracePacket`s with `TrackEvent`s.

Every task has a track (each idle task its own, by CPU), below one for the whole target. A call with both ends is a
slice, named after its function; its fields are arguments named `entry.…` and `exit.…`. Every other event is an
instant, and an end of a call without a partner has the reason (`alone`). An outage is a slice on a separate track, as
long as events are missing, or an instant if only its length is known. The events of another boot have tracks of their
own. Values are typed; a value with a name (enums, errors, symbols) also has it as `NAME (name)`. Time stamps are of
the trace clock, in nanoseconds.

Field numbers: protos/perfetto/trace/trace_packet.proto, track_event/{track_event,track_descriptor,
debug_annotation}.proto of Perfetto. Task tracks are not thread tracks: a record holds the thread id, but not the
process id that Perfetto requires.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import BinaryIO

from events.calls.call_values import idle_task
from events.decode import Scalar, Value
from events.export.formats.protobuf import content, double, number, string
from events.export.hosts import HostRecord
from events.export.source import ExportSource, is_name
from events.export.spans import MOST_WAITING, SpanItem, SpanPart, Spans
from events.names.event_names import event_name
from events.record import Record
from events.stacks.stack import stack_values
from events.store.outage_mark import is_mark, mark_values, outage_of_record
from events.text import UNNAMED

_TRACE_PACKET = 1
_TIMESTAMP, _SEQUENCE_ID, _TRACK_EVENT, _SEQUENCE_FLAGS, _TRACK_DESCRIPTOR, _FIRST_PACKET = 8, 10, 11, 13, 60, 87
_DEBUG_ANNOTATIONS, _TYPE, _TRACK_UUID, _CATEGORIES, _NAME = 4, 9, 11, 22, 23
_SLICE_BEGIN, _SLICE_END, _INSTANT = 1, 2, 3
_UUID, _TRACK_NAME, _PARENT_UUID = 1, 2, 5
_VALUE_BOOL, _VALUE_UINT, _VALUE_INT, _VALUE_DOUBLE, _VALUE_STRING = 2, 3, 4, 5, 6
_ANNOTATION_NAME, _VALUE_ARRAY = 10, 12
_STATE_CLEARED = 1
"""Flag SEQ_INCREMENTAL_STATE_CLEARED."""
_SEQUENCE = 1
_ROOT, _CONNECTION = 1, 2
"""Tracks of the target, and of the connection to it."""
_FIRST_TASK, _FIRST_IDLE = 1 << 33, 1 << 34
"""First tracks of tasks, by thread id, and of idle tasks, by CPU."""
_FIRST_CROSSING = 1 << 35
"""First track of calls that cross another call of their task, in order of creation."""
_MOST_TRACKS = 1 << 16
"""Maximum number of tracks remembered as described."""
_BOOT_BITS, _MOST_BOOTS = 36, 16
"""Log2 of the number of tracks reserved for each boot, and number of boots with tracks of their own."""
_PLACE_BITS = 40
"""Log2 of the number of tracks reserved for each trace in a file."""


class PerfettoTrace:
    """Perfetto writer for one host; see the module."""

    notes: tuple[str, ...] = ()
    omitted = 0

    def __init__(self, source: ExportSource, out: BinaryIO, waiting: int = MOST_WAITING, place: int = 0) -> None:
        """Start a trace.

        Args:
            source: properties of the events.
            out: the file; other traces may be written to it too.
            waiting: number of events that wait for the end of a call; see `events.export.spans`.
            place: number of the trace, if the file has several.
        """
        self._source = source
        self._waiting = waiting
        self._base, self._sequence = place << _PLACE_BITS, _SEQUENCE + place
        self._boot: int | None = None
        """Number of the boot that events are of; None: there was none yet."""
        self._boots = 1
        self._out = out
        self._spans = Spans(source, waiting)
        self._tracks: dict[int, str] = {}
        """Name last written for each track."""
        self._crossing: dict[tuple[int, str], int] = {}
        """Track of crossing calls, by the task's track and the event of the entry."""
        self._crossings = 0
        self._describe_root(number(_SEQUENCE_FLAGS, _STATE_CLEARED) + number(_FIRST_PACKET, 1))

    def take(self, record: Record) -> None:
        if is_mark(record):
            self._write_outage(record)
        else:
            self._see_boot(record)
            self._write(self._spans.take(record))

    def _describe_root(self, flags: bytes = b"") -> None:
        """Write the track above all others of a boot."""
        title = (self._source.title or "probewright") + (f", boot {self._boots}" if self._boots > 1 else "")
        root = number(_UUID, self._base + _ROOT) + string(_TRACK_NAME, title)
        self._packet(flags + content(_TRACK_DESCRIPTOR, root))

    def _see_boot(self, record: Record) -> None:
        """Give the events of another boot tracks of their own: their times and task ids begin again."""
        if record.format is None or record.boot == self._boot:
            return
        if self._boot is not None and record.boot > self._boot and self._boots < _MOST_BOOTS:
            self._write(self._spans.finish())
            self._spans = Spans(self._source, self._waiting)
            self._boots += 1
            self._base += 1 << _BOOT_BITS
            self._describe_root()
        self._boot = record.boot

    def _write_outage(self, record: Record) -> None:
        """Write an outage to the connection's track."""
        track, outage = self._base + _CONNECTION, outage_of_record(record)
        if track not in self._tracks:
            self._tracks[track] = "line"
            descriptor = number(_UUID, track) + string(_TRACK_NAME, "line") + number(_PARENT_UUID, self._base + _ROOT)
            self._packet(content(_TRACK_DESCRIPTOR, descriptor))
        annotations = b"".join(_annotation(name, value) for name, value in mark_values(record).items())
        description = string(_NAME, "line cut") + string(_CATEGORIES, "gap") + annotations
        begin = self._source.time(record)
        if outage is None or outage.lost is None or outage.back is None:
            self._at(begin, track, _INSTANT, description)
            return
        if isinstance(record, HostRecord):  # with several hosts, the mark's time is that at which events continue
            begin -= outage.back - outage.lost
        self._at(begin, track, _SLICE_BEGIN, description)
        self._at(begin + outage.back - outage.lost, track, _SLICE_END, b"")

    def _at(self, time: int, track: int, kind: int, rest: bytes) -> None:
        event = number(_TYPE, kind) + number(_TRACK_UUID, track) + rest
        self._packet(number(_TIMESTAMP, time) + content(_TRACK_EVENT, event))

    def finish(self) -> None:
        self._write(self._spans.finish())

    def _write(self, items: Iterator[SpanItem]) -> None:
        for item in items:
            if not item.passes:
                continue
            if item.part is SpanPart.BEGIN:
                self._begin(item.record)
            elif item.part is SpanPart.END:
                self._end(item.record)
            elif item.leave is not None:
                track = self._crossing_track(item.record) if item.part is SpanPart.CROSSING else None
                self._begin(item.record, track)
                self._end(item.leave, track)
            elif item.part is SpanPart.EVENT:
                self._instant(item.record, item.unpaired_reason)

    def _begin(self, record: Record, track: int | None = None) -> None:
        description = string(_NAME, self._source.function(record)) + string(_CATEGORIES, "call")
        self._event(record, _SLICE_BEGIN, description + self._values(record, "entry."), track)

    def _end(self, record: Record, track: int | None = None) -> None:
        self._event(record, _SLICE_END, self._values(record, "exit."), track)

    def _instant(self, record: Record, alone: str) -> None:
        description = string(_NAME, event_name(record.event)) + string(_CATEGORIES, "event")
        why = _annotation("alone", alone) if alone else b""
        self._event(record, _INSTANT, description + self._values(record, "") + why)

    def _event(self, record: Record, kind: int, rest: bytes, track: int | None = None) -> None:
        """Write an event on `track`; None: on the track of its task."""
        self._at(self._source.time(record), self._track(record) if track is None else track, kind, rest)

    def _crossing_track(self, entry: Record) -> int:
        """Return a track below the task's for crossing calls, as slices within one track must be nested."""
        task = self._track(entry)
        track = self._crossing.get((task, entry.event))
        if track is None:
            if len(self._crossing) >= _MOST_TRACKS:
                self._crossing.clear()
            track = self._crossing[task, entry.event] = self._base + _FIRST_CROSSING + self._crossings
            self._crossings += 1
            name = string(_TRACK_NAME, event_name(entry.event))
            self._packet(content(_TRACK_DESCRIPTOR, number(_UUID, track) + name + number(_PARENT_UUID, task)))
        return track

    def _track(self, record: Record) -> int:
        """Return the task's track; describe it before its first event, and again when its name becomes known."""
        task = record.pid or idle_task(record.cpu)
        track = self._base + (_FIRST_TASK + task if task > 0 else _FIRST_IDLE - task)
        last_name = self._tracks.get(track)
        if last_name is None or (last_name == UNNAMED and record.comm != last_name):
            if last_name is None and len(self._tracks) >= _MOST_TRACKS:  # the oldest track would be described again
                del self._tracks[next(iter(self._tracks))]
            self._tracks[track] = record.comm
            name = f"{record.comm}-{record.pid}" + ("" if record.pid else f" on CPU {record.cpu}")
            descriptor = number(_UUID, track) + string(_TRACK_NAME, name) + number(_PARENT_UUID, self._base + _ROOT)
            self._packet(content(_TRACK_DESCRIPTOR, descriptor))
        return track

    def _values(self, record: Record, prefix: str) -> bytes:
        values = self._source.exact_values(record)
        requested = self._source.fields(record.format) if record.format else tuple(values)
        texts = dict(self._source.field_texts(record))
        found = bytearray()
        for name in requested:
            value = values.get(name)
            found += _annotation(prefix + name, value)
            text = texts.get(name, "")
            if is_name(value, text):
                found += _annotation(f"{prefix}{name} (name)", text)
        for name, frames in stack_values(record, self._source.symbols).items():
            found += _annotation(prefix + name, frames)
        return bytes(found)

    def _packet(self, fields: bytes) -> None:
        self._out.write(content(_TRACE_PACKET, fields + number(_SEQUENCE_ID, self._sequence)))


class PerfettoHosts:
    """Perfetto writer for several hosts: each has a track above those of its tasks; times are of one clock."""

    notes: tuple[str, ...] = ()
    omitted = 0

    def __init__(self, source: ExportSource, out: BinaryIO) -> None:
        self._source = source
        self._out = out
        self._traces: dict[str, PerfettoTrace] = {}

    def take(self, record: Record) -> None:
        host = str(self._source.head(record)["host"])
        trace = self._traces.get(host)
        if trace is None:
            own = self._source.own(record)
            own = replace(own, time=self._source.time, passes=self._source.passes, title=f"{host}: {own.title}")
            trace = self._traces[host] = PerfettoTrace(own, self._out, place=len(self._traces))
        trace.take(record)

    def finish(self) -> None:
        for trace in self._traces.values():
            trace.finish()


def _annotation(name: str, value: Value | float) -> bytes:
    if isinstance(value, tuple):
        parts = b"".join(content(_VALUE_ARRAY, _scalar(part)) for part in value)
        return content(_DEBUG_ANNOTATIONS, string(_ANNOTATION_NAME, name) + parts)
    return content(_DEBUG_ANNOTATIONS, string(_ANNOTATION_NAME, name) + _scalar(value))


def _scalar(value: Scalar | float) -> bytes:
    if isinstance(value, bool):
        return number(_VALUE_BOOL, value)
    if isinstance(value, int):
        return number(_VALUE_INT if value < 1 << 63 else _VALUE_UINT, value)
    if isinstance(value, float):
        return double(_VALUE_DOUBLE, value)
    if value is None:
        return string(_VALUE_STRING, "(fault)")
    return string(_VALUE_STRING, value.hex() if isinstance(value, bytes) else value)
