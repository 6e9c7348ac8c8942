"""Sinks for `run … --export`: a collector (`otlp:URL`), or a folder of files rotated by size and age."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from events.export.catalogue import Format
from events.export.job import writer_of
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from tui.output.event_source import source_of, timed_source_of
from tui.output.otlp_settings import BadSetting, Settings, host_of, resource_of, settings_of
from tui.output.rotating_files import Begin, RotatingFiles, Rotation
from tui.output.sink import Sink

if TYPE_CHECKING:
    from events.export.formats.otlp import Encoder, LogEncoder
    from events.export.source import ExportSource
    from tui.output.otlp_http import OtlpHttp
    from tui.output.otlp_sink import Wall

OTLP = Format("otlp", "OTLP logs", "", "every field of every event, to a collector of OpenTelemetry", of_events=False)
"""Format without a file."""
_LOOK_EVERY = 10_000_000_000
"""Nanoseconds between two measurements of the offset between two clocks."""
_LOOKS = 3
"""Readings of a remote clock at each measurement."""
Unasked = Mapping[str, frozenset[str]]


class SinkRequest(NamedTuple):
    """Format and destination of an export to a sink."""

    form: Format
    path: str
    """URL or folder, as it is printed."""
    otlp: Settings | None = None
    http: OtlpHttp | None = None
    rotation: Rotation | None = None
    host: str = ""
    """Name of the machine, if the environment gives one."""


def sink_request_of(arguments: argparse.Namespace, form: Format | None, path: str) -> SinkRequest | None:
    """Return the sink that the options request; None: a file is meant. Raises BadSetting.

    Args:
        arguments: parsed command line.
        form: format of the events.
        path: path of the option; empty: not given.
    """
    rotation = {
        name: value
        for name in ("size", "age", "keep")
        if (value := getattr(arguments, f"rotate_{name}", None)) is not None
    }
    if form is OTLP:
        if rotation:
            raise BadSetting("--rotate-… and --keep are of files: otlp has none")
        settings = settings_of(path, os.environ)
        # reports errors of the environment at once
        resource_of(os.environ, host="", machine="", release="", title="")
        from tui.output.otlp_http import OtlpHttp

        return SinkRequest(OTLP, settings.url_text, settings, OtlpHttp(settings), host=host_of(os.environ))
    if form is not None and path and (path.endswith("/") or rotation):
        if form.whole_calls:
            raise BadSetting(
                f"{form.name}: a call that begins in one file of a folder and ends in the next would be lost; "
                f"give one file, {form.name}:FILE{form.suffix}, or another format"
            )
        return SinkRequest(form, path, rotation=Rotation(**rotation), host=host_of(os.environ))
    if rotation:
        raise BadSetting("--rotate-… and --keep want a folder: --export FORMAT:FOLDER/")
    return None


def open_sink(watch: Watch, wanted: SinkRequest, unasked: Unasked, *, timed: bool = False) -> Sink:
    """Open the sink of a request; `timed`: files get times of day as well.

    Raises BadSetting, NoPyarrow, OSError, ExportRefused.
    """
    if wanted.otlp is not None and wanted.http is not None:
        return _sink(watch, wanted.otlp, wanted.http, unasked)
    host = wanted.host or _host(watch)
    source = timed_source_of if timed else source_of
    return open_rotating_files(wanted, lambda out: writer_of(wanted.form, source(watch, unasked), out), host)


def open_rotating_files(wanted: SinkRequest, begin: Begin, host: str) -> Sink:
    """Open a series of rotated files, named after a host. Raises NoPyarrow, OSError, ExportRefused."""
    rotation = wanted.rotation or Rotation()
    return RotatingFiles(wanted.form, Path(wanted.path), begin, host, rotation)


def _sink(watch: Watch, settings: Settings, http: OtlpHttp, unasked: Unasked) -> Sink:
    return sink_of(settings, http, encoder_of(watch, source_of(watch, unasked), _host(watch)), _wall(watch))


def encoder_of(watch: Watch, source: ExportSource, host: str, *, many: bool = False) -> LogEncoder:
    """Return the encoder of a watch's events as log records; `many`: several hosts, so that the environment names
    none.
    """
    import importlib.metadata

    from events.export.formats.otlp import LogEncoder

    facts = watch.info.facts
    resource = resource_of(os.environ, host=host, machine=facts.machine, release=facts.release, title=facts.title)
    if many:
        resource["host.name"] = host
    return LogEncoder(source, resource, importlib.metadata.version("probewright"))


def sink_of(settings: Settings, http: OtlpHttp, encoder: Encoder, wall: Wall) -> Sink:
    """Return the sink that sends log records, and prints obstacles on standard error."""
    from tui.cli.console.journal import Level, at_priority
    from tui.cli.console.output import plain
    from tui.output.otlp_sink import OtlpSink

    def say(text: str) -> None:
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # the progress is on that line
        with at_priority(Level.WARNING):
            print(f"{clear}probewright: {plain(text)}", file=sys.stderr, flush=True)

    return OtlpSink(http, encoder, settings, wall, say=say)


def _host(watch: Watch) -> str:
    """Return the host name of the target's kernel; empty: unknown."""
    try:
        return watch.info.target.read("/proc/sys/kernel/hostname", 256).decode("utf-8", "replace").strip()
    except KernelError:  # a recording does not hold the host name
        return ""


def _wall(watch: Watch) -> Callable[[int], int | None]:
    """Return the conversion of kernel time to time since 1970: of this process' own clock, or by the measured
    offset.
    """
    target, session = watch.info.target, watch.session
    try:
        is_ours = target.name == "local" and session is not None and "[mono]" in _clocks(watch)
    except KernelError:
        is_ours = False
    return _Wall() if is_ours else _RemoteWall(watch)


class _Wall:
    """Converts this machine's monotonic time to time since 1970; the offset is read again periodically, as the clock
    may be set.
    """

    def __init__(self) -> None:
        self._due = 0
        self._offset = 0

    def __call__(self, ts: int) -> int:
        if ts >= self._due:
            self._offset = time.time_ns() - time.monotonic_ns()
            self._due = ts + _LOOK_EVERY
        return ts + self._offset


class _RemoteWall:
    """Converts a remote clock's time to time since 1970; the offset is measured periodically, and again after an
    outage.
    """

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._due = 0
        """Time of the next measurement, by time.monotonic_ns()."""
        self._outages = 0
        self._offset: int | None = None

    def __call__(self, ts: int) -> int | None:
        outages = len(getattr(self._watch, "outages", ()))
        if outages != self._outages:  # that clock may have started again
            self._outages, self._offset, self._due = outages, None, 0
        if (now := time.monotonic_ns()) >= self._due:
            self._due = now + _LOOK_EVERY
            self._look()
        return None if self._offset is None else ts + self._offset

    def _look(self) -> None:
        from events.clocks.clock_offset import offset_of
        from kernel.watch.clocks.readings import read_clock

        with contextlib.suppress(KernelError):  # the pump reports a lost connection
            offsets = [offset_of(one) for one in read_clock(self._watch.session, time.time_ns, _LOOKS)]
            if offsets:
                self._offset = min(offsets, key=lambda one: one.uncertainty).ns


def _clocks(watch: Watch) -> str:
    instance = getattr(watch.session, "instance", None)
    return str(instance.read("trace_clock")) if instance is not None else ""


__all__ = [
    "OTLP",
    "BadSetting",
    "SinkRequest",
    "encoder_of",
    "open_rotating_files",
    "open_sink",
    "sink_of",
    "sink_request_of",
]
