"""Write events in one format: no signal interrupts an event, progress is shown, and omissions are reported at the
end.
"""

from __future__ import annotations

import argparse
import contextlib
import math
import signal
import sys
import time
from collections.abc import Collection, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

from events.export.filtered import ExportFilter
from events.export.job import Job
from events.export.source import Writer
from events.graph.record_ends import NO_RETURNS, lacks_returns
from events.record import Record
from foreign.count_text import size_text
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from tui.cli.console.journal import Level, at_priority
from tui.cli.console.output import emit, plain
from tui.cli.exports.export_options import STDOUT, ExportRequest
from tui.cli.follow.filter import print_pass_count
from tui.cli.follow.signals import Forced, force_stop, is_stop_requested
from tui.cli.status import DONE, REFUSED
from tui.output.sink import Sink

if TYPE_CHECKING:
    from tui.filter.filter import Filter

_PROGRESS_EVERY = 0.2
"""Seconds between two updates of the progress."""


class Export:
    """Export of events in one format, with its filter, its writer and its handlers of signals."""

    def __init__(self, wanted: ExportRequest, writer: Writer, export_filter: ExportFilter) -> None:
        self.export_filter = export_filter
        """Filter that decides which events to take, and counts them."""
        self._wanted = wanted
        self._writer = writer
        self._progress_at = time.monotonic()
        self._lacks_returns = False
        """True if the calls are of a tracer that records no return values."""
        self._progress_of = 0
        """Number of events when progress was shown last."""
        self._busy = False
        self._is_torn = False
        """True if an event was written only in part."""
        self._deferred: tuple[int, FrameType | None] | None = None
        self._handlers: dict[int, Any] = {}
        self._ended_by: KernelError | None = None

    @property
    def written(self) -> int:
        """Number of events that reached their destination."""
        return self.export_filter.number - self.omitted

    @property
    def omitted(self) -> int:
        """Number of events that the writer left out (`events.export.source.Writer`)."""
        return self._writer.omitted

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes of the writer, for the user."""
        return self._writer.notes

    def take_all(self, watch: Watch) -> None:
        """Write all rows of a recording as they are read, with the job that the screen uses; errors are those of
        `follow`.
        """
        store = watch.store
        if store is None:
            return
        job = Job(store, self, self.export_filter, grows=True)
        over = False
        while not over:
            over = watch.ended
            if over:
                store.flush()
            job.extend()
            watch.tick(0.0)  # read ahead: later events reveal losses that belong behind the rows written now
            job.step(math.inf)
            self.idle()
        watch.evicted += job.dropped
        self._lacks_returns = lacks_returns(store.decoder.formats.values())
        self._ended_by = watch.error
        self.end()

    def follow(
        self, watch: Watch, bounds: argparse.Namespace, events: Collection[str], chosen: Filter | None = None
    ) -> None:
        """Write events as they arrive, see `tui.cli.follow.follow.follow`.

        An error that ends them is raised by `tell`: events received before are written all the same.
        """
        from tui.cli.follow.follow import follow

        try:
            follow(watch, bounds, events, self.take, None, self.idle, self.export_filter, chosen)
        except KernelError as error:
            self._ended_by = error
        self.end()

    def end(self) -> None:
        """Mark the end of the events. Raises Forced if one was written only in part."""
        self._busy = True
        if self._is_torn:
            raise Forced

    def idle(self) -> None:
        """Let a sink do periodic work, and show progress when it is due."""
        if isinstance(self._writer, Sink):
            with self._deferring_signals():
                self._writer.idle()
        is_due = time.monotonic() - self._progress_at > _PROGRESS_EVERY
        if is_due and self.export_filter.of > self._progress_of and sys.stderr.isatty():
            self._progress_at, self._progress_of = time.monotonic(), self.export_filter.of
            print(f"\r\x1b[K{self.export_filter.text()}", end="", file=sys.stderr, flush=True)

    def take(self, record: Record) -> None:
        """Write one event that passes the filter; a signal takes effect after the event is complete."""
        with self._deferring_signals():
            self._writer.take(record)

    @contextlib.contextmanager
    def _deferring_signals(self) -> Iterator[None]:
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._deferred is not None:
            (number, frame), self._deferred = self._deferred, None
            self._handlers[number](number, frame)

    def no_more(self) -> None:
        """Ignore later signals that request the end: all events were taken."""
        self._busy = True

    def finish(self) -> None:
        """Write the end of the format."""
        self._writer.finish()

    def tell(self, *, as_json: bool = False) -> int:
        """Print what was written and what was left out; return the exit status.

        Raises KernelError if one has ended the export.
        """
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        for note in (*self.notes, *((NO_RETURNS,) if self._lacks_returns else ())):
            with at_priority(Level.WARNING):
                print(f"probewright: {plain(note)}", file=sys.stderr)
        failed = bool(self.notes) and not isinstance(self._writer, Sink)
        if isinstance(self._writer, Sink):
            report = self._writer.report()
            failed = report.failed
            if as_json:
                emit(dict(report.values))
            else:
                print(plain(report.text), file=sys.stderr)
        elif self._wanted.path != STDOUT:
            self._tell_file(as_json=as_json)
        else:
            print_pass_count(self.export_filter, self.omitted)
        if self._ended_by is not None:
            raise self._ended_by
        return REFUSED if failed else DONE

    def _tell_file(self, *, as_json: bool) -> None:
        size = Path(self._wanted.path).stat().st_size
        if as_json:
            emit({"file": self._wanted.path, "format": self._wanted.form.name, "events": self.written, "bytes": size})
        else:
            print(
                plain(f"{self._wanted.path}: {self.export_filter.text(self.omitted)}, {size_text(size)}"),
                file=sys.stderr,
            )

    @contextlib.contextmanager
    def whole_records(self) -> Iterator[None]:
        """Install signal handlers that wait for a complete event, see `take`, and call the former handlers.

        Another signal ends the event in part: the reader of the output may have stopped reading.
        """

        def handle(number: int, frame: FrameType | None) -> None:
            again = self._deferred is not None or (self._wanted.path == STDOUT and is_stop_requested())
            if self._busy and not again:
                self._deferred = (number, frame)
                return
            if self._busy:
                self._is_torn, self._deferred = True, None
                force_stop()
            self._handlers[number](number, frame)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = signal.getsignal(number)
            if callable(before):
                self._handlers[number] = before
                signal.signal(number, handle)
        try:
            yield
        finally:
            for caught, handler in self._handlers.items():
                if signal.getsignal(caught) is handle:  # else the signal is ignored from now on
                    signal.signal(caught, handler)
