"""Convert events to OpenTelemetry log records: the JSON of OTLP's ExportLogsServiceRequest.

Each event is one LogRecord: its fields are attributes under their own names; properties of every event use the names
of the semantic conventions (`thread.id`, `thread.name`, `cpu.logical_number`). If a field is displayed by a name (an
enum, an error, a symbol), `FIELD.text` has that too. `stack` has the functions of a recorded stack, the innermost
first. Integers that do not fit in 64 signed bits are decimal text, and values that the kernel could not read are
empty, as in "Mapping Arbitrary Data to OTLP AnyValue" of the specification. Strings are escaped by
`events.export.escape`.

Sources: opentelemetry/proto/logs/v1/logs.proto, common/v1/common.proto; the JSON mapping of OTLP 1.x (64-bit integers
as strings, lowerCamelCase keys, enums as numbers, bytes in base64).
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from events.decode import Value
from events.export.hosts import HostRecord
from events.export.source import ExportSource, is_name
from events.json_text import json_line
from events.names.event_names import event_name, exported_name
from events.record import Record
from events.stacks.stack import stack_values
from events.store.outage_mark import is_mark, mark_values, task_name

SCOPE = "probewright"
"""Name of the instrumentation scope."""
_INFO = 9
"""SEVERITY_NUMBER_INFO of OpenTelemetry."""
_HOST_NUMBER_BYTES = 4
"""Bytes of the host number that precedes each record."""
_INT64 = range(-(1 << 63), 1 << 63)


def any_value(value: Value | float) -> dict[str, Any]:
    """Return a value as an AnyValue."""
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
    """Return names and values as a list of KeyValue."""
    return [{"key": name, "value": any_value(value)} for name, value in values.items()]


class Encoder(Protocol):
    """Encoder of log records and of requests; see `LogEncoder`."""

    def record(self, record: Record, wall: int | None, observed: int) -> bytes: ...
    def request(self, records: Iterable[bytes]) -> bytes: ...


class LogEncoder:
    """Encoder of log records and of requests, for one host."""

    def __init__(self, source: ExportSource, resource: Mapping[str, str], version: str = "") -> None:
        """Encode the resource and the scope.

        Args:
            source: properties of the events.
            resource: attributes of their origin: `host.name`, `service.name`.
            version: probewright's version.
        """
        self._source = source
        where = json_line({"attributes": attributes(resource)})
        scope = json_line({"name": SCOPE, "version": version})
        self._head = f'{{"resource":{where},"scopeLogs":[{{"scope":{scope},"logRecords":['.encode()

    def record(self, record: Record, wall: int | None, observed: int) -> bytes:
        """Return one LogRecord.

        Args:
            record: the event.
            wall: nanoseconds since 1970 at which it happened; None: unknown, as its clock is.
            observed: nanoseconds since 1970 at which it was received.
        """
        source = self._source
        values = mark_values(record) if is_mark(record) else source.exact_values(record)
        requested = source.fields(record.format) if record.format else tuple(values)
        own = {name: values[name] for name in requested if name in values}
        texts = {name: text for name, text in source.field_texts(record) if name in own}
        name_texts = {f"{name}.text": text for name, text in texts.items() if is_name(own[name], text)}
        heads: dict[str, Value | float] = {
            "thread.id": record.pid,
            "thread.name": task_name(record),
            "cpu.logical_number": record.cpu,
            "probewright.event": exported_name(record.event),
            "probewright.trace_time": record.ts,
        }
        name = event_name(record.event)
        words = (f"{field}={text}" for field, text in texts.items())
        found = {
            **({} if wall is None else {"timeUnixNano": str(wall)}),
            "observedTimeUnixNano": str(observed),
            "severityNumber": _INFO,
            "body": any_value(" ".join((name, *words))),
            "attributes": attributes({**heads, **own, **name_texts, **stack_values(record, source.symbols)}),
            "eventName": name,
        }
        return json_line(found).encode()

    def request(self, records: Iterable[bytes]) -> bytes:
        """Return the request that holds these records."""
        return request_of([self.resource_logs(records)])

    def resource_logs(self, records: Iterable[bytes]) -> bytes:
        """Return the ResourceLogs of a request: records with their origin."""
        return self._head + b",".join(records) + b"]}]}"


def request_of(parts: Iterable[bytes]) -> bytes:
    """Return the request that holds these ResourceLogs."""
    return b'{"resourceLogs":[' + b",".join(parts) + b"]}"


class HostsLogEncoder:
    """Encoder for several hosts: each host is a separate resource, and a request holds the hosts with records in
    it.
    """

    def __init__(self, encoder_of: Callable[[HostRecord], LogEncoder]) -> None:
        """Take a function that creates the encoder of a host from the host's first event."""
        self._encoder_of = encoder_of
        self._encoders: dict[str, LogEncoder] = {}
        self._in_order: list[LogEncoder] = []
        """Encoders by host number, which precedes each record so that a request can group the records by host."""
        self._host_numbers: dict[str, bytes] = {}

    def record(self, record: Record, wall: int | None, observed: int) -> bytes:
        """Return one LogRecord of the event's host, with the time by one clock."""
        if not isinstance(record, HostRecord):
            raise TypeError("an event of no host")
        encoder = self._encoders.get(record.host)
        if encoder is None:
            encoder = self._encoders[record.host] = self._encoder_of(record)
            self._host_numbers[record.host] = len(self._in_order).to_bytes(_HOST_NUMBER_BYTES)
            self._in_order.append(encoder)
        return self._host_numbers[record.host] + encoder.record(record, wall or record.time, observed)

    def request(self, records: Iterable[bytes]) -> bytes:
        """Return the request that holds these records; those of one host keep their order."""
        by_place: dict[int, list[bytes]] = {}
        for numbered_record in records:
            by_place.setdefault(int.from_bytes(numbered_record[:_HOST_NUMBER_BYTES]), []).append(
                numbered_record[_HOST_NUMBER_BYTES:]
            )
        return request_of(self._in_order[place].resource_logs(own) for place, own in by_place.items())
