"""Export events of several hosts, each with its host: into one file, rotated files or a collector."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import BinaryIO

from events.export.catalogue import FORMATS
from events.export.filtered import ExportFilter
from events.export.formats.otlp import HostsLogEncoder, LogEncoder
from events.export.hosts import HostRecord, HostsSource, hosts_source, passes
from events.export.job import prepare, writer_of
from events.export.source import Writer
from events.record import Record
from kernel.hosts.fleet import Fleet
from kernel.watch.watch import Watch
from tui.cli.exports.event_writer import Export
from tui.cli.exports.export_options import BadExportOption, ExportRequest, export_request_of
from tui.cli.exports.open_export import opened_export
from tui.cli.exports.sinks import OTLP, SinkRequest, encoder_of, open_rotating_files, sink_of
from tui.output.event_source import source_of
from tui.output.sink import Sink

_FILES = "hosts"
"""Name in rotated files in place of a single host's name."""


def hosts_export_request_of(arguments: argparse.Namespace) -> ExportRequest | None:
    """Return the export that the arguments request; None: no export.

    Raises BadExportOption, also where a format supports one host only.
    """
    wanted = export_request_of(arguments)
    if wanted is None or not wanted.form.one_host:
        return wanted
    others = ", ".join(form.name for form in FORMATS if form.of_events and not form.one_host)
    raise BadExportOption(
        f"{wanted.form.name}: {wanted.form.one_host}; of several hosts there are {others}, {OTLP.name}, "
        f"and {wanted.form.name} of each alone"
    )


@contextlib.contextmanager
def opened_hosts_export(fleet: Fleet, wanted: ExportRequest, *, filtered: bool = False) -> Iterator[Export]:
    """Open the export of the events of all hosts; `filtered`: some do not pass.

    As `tui.cli.exports.open_export.opened_export`, with the same errors.
    """
    passing = ExportFilter(passes if filtered else None, pairs=wanted.form.whole_calls)

    def begin(out: BinaryIO) -> Writer:
        return _DeferredWriter(lambda: writer_of(wanted.form, replace(_source(fleet), passes=passing.passes), out))

    def outlet(asked: SinkRequest) -> Sink:
        if asked.otlp is not None and asked.http is not None:
            return sink_of(asked.otlp, asked.http, HostsLogEncoder(partial(_encoder, fleet)), lambda _: None)
        return open_rotating_files(asked, begin, asked.host or _FILES)

    if wanted.form.of_events:
        prepare(wanted.form)
    with opened_export(wanted, begin, outlet, passing=passing) as export:
        yield export


def _source(fleet: Fleet) -> HostsSource:
    watches = [host.watch for host in fleet.hosts if host.watch is not None and host.watch.event_fields.plans]
    return hosts_source([source_of(watch, _all_events(watch)) for watch in watches])


def _encoder(fleet: Fleet, record: HostRecord) -> LogEncoder:
    """Return the encoder for the host of a record, under the host's name in all output."""
    (watch,) = (host.watch for host in fleet.hosts if host.name == record.host)
    assert watch is not None  # noqa: S101 - the watch delivered the record
    return encoder_of(watch, record.source, record.host, many=True)


def _all_events(watch: Watch) -> dict[str, frozenset[str]]:
    """Return all events of a watch's probes; no field is left out."""
    return {event.path: frozenset() for plan in watch.event_fields.plans for event in plan.events}


class _DeferredWriter:
    """Writer that is made at the first event: the columns are known when every host is settled."""

    def __init__(self, make: Callable[[], Writer]) -> None:
        self._make = make
        self._made: Writer | None = None

    @property
    def omitted(self) -> int:
        return self._writer().omitted

    @property
    def notes(self) -> tuple[str, ...]:
        return self._writer().notes

    def take(self, record: Record) -> None:
        self._writer().take(record)

    def finish(self) -> None:
        self._writer().finish()

    def _writer(self) -> Writer:
        if self._made is None:
            self._made = self._make()
        return self._made
