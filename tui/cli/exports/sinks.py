"""Outlets for `run … --export`: a collector (`otlp:URL`), or a folder of files that are changed by size and time."""

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
    from events.export.source import Source
    from tui.output.otlp_http import OtlpHttp
    from tui.output.otlp_sink import Wall

OTLP = Format("otlp", "OTLP logs", "", "every field of every event, to a collector of OpenTelemetry", of_events=False)
"""No file holds it."""
_LOOK_EVERY = 10_000_000_000
"""Nanoseconds between two looks at how far two clocks are apart."""
_LOOKS = 3
"""Readings of a far clock at each."""
Unasked = Mapping[str, frozenset[str]]


class SinkRequest(NamedTuple):
    """What is given out, and where to."""

    form: Format
    path: str
    """The URL or the folder, as it is told."""
    otlp: Settings | None = None
    http: OtlpHttp | None = None
    rotation: Rotation | None = None
    host: str = ""
    """Name of the machine, where the environment says it."""


def wanted_outlet(arguments: argparse.Namespace, form: Format | None, path: str) -> SinkRequest | None:
    """The outlet that is meant; None: a file is. Raises BadSetting.

    Args:
        arguments: of the command line.
        form: of the events.
        path: that was given; empty: none was.
    """
    asked = {
        name: value
        for name in ("size", "age", "keep")
        if (value := getattr(arguments, f"rotate_{name}", None)) is not None
    }
    if form is OTLP:
        if asked:
            raise BadSetting("--rotate-… and --keep are of files: otlp has none")
        settings = settings_of(path, os.environ)
        resource_of(os.environ, host="", machine="", release="", title="")  # what is wrong there is told at once
        from tui.output.otlp_http import OtlpHttp

        return SinkRequest(OTLP, settings.shown, settings, OtlpHttp(settings), host=host_of(os.environ))
    if form is not None and path and (path.endswith("/") or asked):
        if form.whole_calls:
            raise BadSetting(
                f"{form.name}: a call that begins in one file of a folder and ends in the next would be lost; "
                f"give one file, {form.name}:FILE{form.suffix}, or another format"
            )
        return SinkRequest(form, path, rotation=Rotation(**asked), host=host_of(os.environ))
    if asked:
        raise BadSetting("--rotate-… and --keep want a folder: --export FORMAT:FOLDER/")
    return None


def outlet_of(watch: Watch, wanted: SinkRequest, unasked: Unasked, *, timed: bool = False) -> Sink:
    """What takes the events; `timed`: files have times of day, too.

    Raises BadSetting, NoPyarrow, OSError, FileRefused.
    """
    if wanted.otlp is not None and wanted.http is not None:
        return _sink(watch, wanted.otlp, wanted.http, unasked)
    host = wanted.host or _host(watch)
    source = timed_source_of if timed else source_of
    return files_of(wanted, lambda out: writer_of(wanted.form, source(watch, unasked), out), host)


def files_of(wanted: SinkRequest, begin: Begin, host: str) -> Sink:
    """A row of files, named after a host. Raises NoPyarrow, OSError, FileRefused."""
    rotation = wanted.rotation or Rotation()
    return RotatingFiles(wanted.form, Path(wanted.path), begin, host, rotation)


def _sink(watch: Watch, settings: Settings, http: OtlpHttp, unasked: Unasked) -> Sink:
    return sink_of(settings, http, encoder_of(watch, source_of(watch, unasked), _host(watch)), _wall(watch))


def encoder_of(watch: Watch, source: Source, host: str, *, many: bool = False) -> LogEncoder:
    """What makes log records of a watch's events; `many`: of several hosts, so that the environment names none."""
    import importlib.metadata

    from events.export.formats.otlp import LogEncoder

    facts = watch.connection.facts
    resource = resource_of(os.environ, host=host, machine=facts.machine, release=facts.release, title=facts.title)
    if many:
        resource["host.name"] = host
    return LogEncoder(source, resource, importlib.metadata.version("probewright"))


def sink_of(settings: Settings, http: OtlpHttp, encoder: Encoder, wall: Wall) -> Sink:
    """What sends log records, and says on standard error what is in the way."""
    from tui.cli.console.journal import Level, saying
    from tui.cli.console.output import plain
    from tui.output.otlp_sink import OtlpSink

    def say(text: str) -> None:
        clear = "\r\x1b[K" if sys.stderr.isatty() else ""  # how far it is stands there
        with saying(Level.WARNING):
            print(f"{clear}probewright: {plain(text)}", file=sys.stderr, flush=True)

    return OtlpSink(http, encoder, settings, wall, say=say)


def _host(watch: Watch) -> str:
    """Name of the machine whose kernel it is."""
    try:
        return watch.connection.target.read("/proc/sys/kernel/hostname", 256).decode("utf-8", "replace").strip()
    except KernelError:  # a recording does not hold it
        return ""


def _wall(watch: Watch) -> Callable[[int], int | None]:
    """Tells when an event happened: by this process' own clock, or by how far the kernel's is from it; else None."""
    target, session = watch.connection.target, watch.session
    try:
        is_ours = target.name == "local" and session is not None and "[mono]" in _clocks(watch)
    except KernelError:
        is_ours = False
    return _Wall() if is_ours else _FarWall(watch)


class _Wall:
    """Monotonic time as time since 1970; the distance is looked at now and then, as that clock is set."""

    def __init__(self) -> None:
        self._due = 0
        self._offset = 0

    def __call__(self, ts: int) -> int:
        if ts >= self._due:
            self._offset = time.time_ns() - time.monotonic_ns()
            self._due = ts + _LOOK_EVERY
        return ts + self._offset


class _FarWall:
    """Times of another clock as time since 1970; it is looked at now and then, and again behind a cut line."""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._due = 0
        """By time.monotonic_ns()."""
        self._cuts = 0
        self._offset: int | None = None

    def __call__(self, ts: int) -> int | None:
        cuts = len(getattr(self._watch, "cuts", ()))
        if cuts != self._cuts:  # that clock may have begun again
            self._cuts, self._offset, self._due = cuts, None, 0
        if (now := time.monotonic_ns()) >= self._due:
            self._due = now + _LOOK_EVERY
            self._look()
        return None if self._offset is None else ts + self._offset

    def _look(self) -> None:
        from events.clocks.clock_offset import offset_of
        from kernel.hosts.clocks import read_clock

        with contextlib.suppress(KernelError):  # the pump tells of a line that is gone
            offsets = [offset_of(one) for one in read_clock(self._watch.session, time.time_ns, _LOOKS)]
            if offsets:
                self._offset = min(offsets, key=lambda one: one.uncertainty).ns


def _clocks(watch: Watch) -> str:
    instance = getattr(watch.session, "instance", None)
    return str(instance.read("trace_clock")) if instance is not None else ""


__all__ = ["OTLP", "BadSetting", "SinkRequest", "encoder_of", "files_of", "outlet_of", "sink_of", "wanted_outlet"]
