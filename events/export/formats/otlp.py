"""Events as log records of OpenTelemetry: the JSON of OTLP's ExportLogsServiceRequest.

Each event is one LogRecord: its fields are attributes under their own names, and what the trace says of every event
has the names of the semantic conventions (`thread.id`, `thread.name`, `cpu.logical_number`). Where a field is shown
by a name (an enum, an error, a symbol), `FIELD.text` holds that too. `stack` has the
functions of a stack that was recorded, the innermost first. Integers that do not fit in 64 bits with a sign
are decimal text, and what the kernel could not read is an empty value, as "Mapping Arbitrary Data to OTLP AnyValue"
of the specification has it. Strings are escaped as `events.export.escape` says.

Sources: opentelemetry/proto/logs/v1/logs.proto, common/v1/common.proto; the JSON mapping of OTLP 1.x (64-bit integers
as strings, lowerCamelCase keys, enums as numbers, bytes in base64).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from events.decode import Value
from events.export.escape import exact_values
from events.export.hosts import HostRecord
from events.export.source import Source, is_name
from events.json_text import json_line
from events.names.event_names import event_name, exported_name
from events.record import Record
from events.stacks.stack import stack_values
from events.store.outage_mark import is_mark, mark_values, task_name

SCOPE = "probewright"
"""Name of the instrumentation scope."""
_INFO = 9
"""SEVERITY_NUMBER_INFO."""
_PLACE = 4
"""Bytes."""
_INT64 = range(-(1 << 63), 1 << 63)


def any_value(value: Value | float) -> dict[str, Any]:
    """A value as an AnyValue."""
    if value is None:
        return {}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)} if value in _INT64 else {"stringValue": str(value)}
    if isinstance(value, bytes):
        return {"bytesValue": base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple):
        return {"arrayValue": {"values": [any_value(part) for part in value]}}
    return {"stringValue": value}


def attributes(values: Mapping[str, Value | float]) -> list[dict[str, Any]]:
    """Names and values as a list of KeyValue."""
    return [{"key": name, "value": any_value(value)} for name, value in values.items()]


class Encoder(Protocol):
    """Makes log records, and requests of them; `LogEncoder` says how."""

    def record(self, record: Record, wall: int | None, observed: int) -> bytes: ...
    def request(self, records: Iterable[bytes]) -> bytes: ...


class LogEncoder:
    """Makes log records, and requests of them."""

    def __init__(self, source: Source, resource: Mapping[str, str], version: str = "") -> None:
        """Begin.

        Args:
            source: what is known of the events.
            resource: attributes of where they are from: `host.name`, `service.name`.
            version: ours.
        """
        self._source = source
        where = json_line({"attributes": attributes(resource)})
        scope = json_line({"name": SCOPE, "version": version})
        self._head = f'{{"resource":{where},"scopeLogs":[{{"scope":{scope},"logRecords":['.encode()

    def record(self, record: Record, wall: int | None, observed: int) -> bytes:
        """One LogRecord.

        Args:
            record: the event.
            wall: nanoseconds since 1970 when it happened; None: not known, as its clock is not.
            observed: nanoseconds since 1970 when it reached us.
        """
        source = self._source
        values = mark_values(record) if is_mark(record) else exact_values(record)
        asked = source.fields(record.format) if record.format else tuple(values)
        own = {name: values[name] for name in asked if name in values}
        shown = {name: text for name, text in source.shown(record) if name in own}
        named = {f"{name}.text": text for name, text in shown.items() if is_name(own[name], text)}
        heads: dict[str, Value | float] = {
            "thread.id": record.pid,
            "thread.name": task_name(record),
            "cpu.logical_number": record.cpu,
            "probewright.event": exported_name(record.event),
            "probewright.trace_time": record.ts,
        }
        name = event_name(record.event)
        words = (f"{field}={text}" for field, text in shown.items())
        found = {
            **({} if wall is None else {"timeUnixNano": str(wall)}),
            "observedTimeUnixNano": str(observed),
            "severityNumber": _INFO,
            "body": any_value(" ".join((name, *words))),
            "attributes": attributes({**heads, **own, **named, **stack_values(record, source.symbols)}),
            "eventName": name,
        }
        return json_line(found).encode()

    def request(self, records: Iterable[bytes]) -> bytes:
        """The request that holds these records."""
        return request_of([self.resource_logs(records)])

    def resource_logs(self, records: Iterable[bytes]) -> bytes:
        """These records with where they are from: the ResourceLogs of a request."""
        return self._head + b",".join(records) + b"]}]}"


def request_of(parts: Iterable[bytes]) -> bytes:
    """The request that holds these ResourceLogs."""
    return b'{"resourceLogs":[' + b",".join(parts) + b"]}"


class HostsLogEncoder:
    """The same of several hosts: each is a resource of its own, and a request holds those that have records in it."""

    def __init__(self, encoder_of: Callable[[HostRecord], LogEncoder]) -> None:
        """Take what makes the encoder of a host, of the first event of it."""
        self._encoder_of = encoder_of
        self._encoders: dict[str, LogEncoder] = {}
        self._in_order: list[LogEncoder] = []
        """A place in it stands in front of each record, so that a request knows whose it is."""
        self._places: dict[str, bytes] = {}

    def record(self, record: Record, wall: int | None, observed: int) -> bytes:
        """One LogRecord; as that of one host, at the time by one clock."""
        if not isinstance(record, HostRecord):
            raise TypeError("an event of no host")
        encoder = self._encoders.get(record.host)
        if encoder is None:
            encoder = self._encoders[record.host] = self._encoder_of(record)
            self._places[record.host] = len(self._in_order).to_bytes(_PLACE)
            self._in_order.append(encoder)
        return self._places[record.host] + encoder.record(record, wall or record.time, observed)

    def request(self, records: Iterable[bytes]) -> bytes:
        """The request that holds these records; those of one host stay in their order."""
        by_place: dict[int, list[bytes]] = {}
        for one in records:
            by_place.setdefault(int.from_bytes(one[:_PLACE]), []).append(one[_PLACE:])
        return request_of(self._in_order[place].resource_logs(own) for place, own in by_place.items())
