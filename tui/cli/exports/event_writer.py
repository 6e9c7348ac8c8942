"""Events on their way into one format: no signal cuts one, progress is told, and in the end what is left out."""

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
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from tui.cli.console.journal import Level, saying
from tui.cli.console.output import emit, plain, size_of
from tui.cli.exports.export_options import STDOUT, ExportRequest
from tui.cli.follow.filter import tell_passing
from tui.cli.follow.signals import Forced, force, has_been_asked
from tui.cli.status import DONE, REFUSED
from tui.output.sink import Sink

if TYPE_CHECKING:
    from tui.filter.filter import Filter

_TOLD_EVERY = 0.2
"""Seconds between two words of progress."""


class Export:
    """Events on their way into one format."""

    def __init__(self, wanted: ExportRequest, writer: Writer, passing: ExportFilter) -> None:
        self.passing = passing
        """Decides which events are to be taken, and counts them."""
        self._wanted = wanted
        self._writer = writer
        self._told = time.monotonic()
        self._lacks_returns = False
        """Whether the calls are of a tracer that records no return values."""
        self._told_of = 0
        """Events that were told when progress was told last."""
        self._busy = False
        self._cut = False
        """An event was given out by half."""
        self._late: tuple[int, FrameType | None] | None = None
        self._handlers: dict[int, Any] = {}
        self._ended_by: KernelError | None = None

    @property
    def written(self) -> int:
        """Events that are where they were to go."""
        return self.passing.number - self.left_out

    @property
    def left_out(self) -> int:
        """See `events.export.source.Writer`."""
        return self._writer.left_out

    @property
    def notes(self) -> tuple[str, ...]:
        """Of the writer."""
        return self._writer.notes

    def take_all(self, watch: Watch) -> None:
        """Take all rows of a recording as they are read, by the job of the screen; errors are those of `follow`."""
        store = watch.store
        if store is None:
            return
        job = Job(store, self, self.passing, grows=True)
        over = False
        while not over:
            over = watch.ended
            if over:
                store.flush()
            job.extend()
            watch.tick(0.0)  # what comes next says whether something was lost behind the rows that are written now
            job.step(math.inf)
            self.idle()
        watch.unshown += job.dropped
        self._lacks_returns = lacks_returns(store.decoder.formats.values())
        self._ended_by = watch.error
        self.end()

    def follow(
        self, watch: Watch, bounds: argparse.Namespace, events: Collection[str], chosen: Filter | None = None
    ) -> None:
        """Take events as they come, see `tui.cli.follow.follow.follow`.

        An error that ends them is raised by `tell`: what came by then is written all the same.
        """
        from tui.cli.follow.follow import follow

        try:
            follow(watch, bounds, events, self.take, None, self.idle, self.passing, chosen)
        except KernelError as error:
            self._ended_by = error
        self.end()

    def end(self) -> None:
        """No event comes any more. Raises Forced where one was given out by half."""
        self._busy = True
        if self._cut:
            raise Forced

    def idle(self) -> None:
        """Some time has gone by."""
        if isinstance(self._writer, Sink):
            with self._undisturbed():
                self._writer.idle()
        is_due = time.monotonic() - self._told > _TOLD_EVERY
        if is_due and self.passing.of > self._told_of and sys.stderr.isatty():
            self._told, self._told_of = time.monotonic(), self.passing.of
            print(f"\r\x1b[K{self.passing.text()}", end="", file=sys.stderr, flush=True)

    def take(self, record: Record) -> None:
        """Write an event that `passing` gave, whole: a signal that comes meanwhile counts when that is done."""
        with self._undisturbed():
            self._writer.take(record)

    @contextlib.contextmanager
    def _undisturbed(self) -> Iterator[None]:
        self._busy = True
        try:
            yield
        finally:
            self._busy = False
        if self._late is not None:
            (number, frame), self._late = self._late, None
            self._handlers[number](number, frame)

    def no_more(self) -> None:
        """All events were taken: a signal that asks for the end changes nothing any more."""
        self._busy = True

    def finish(self) -> None:
        """Write the end."""
        self._writer.finish()

    def tell(self, *, as_json: bool = False) -> int:
        """Say what was written and what was left out; gives the exit status.

        Raises KernelError where one has ended it.
        """
        if sys.stderr.isatty():
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
        for note in (*self.notes, *((NO_RETURNS,) if self._lacks_returns else ())):
            with saying(Level.WARNING):
                print(f"probewright: {plain(note)}", file=sys.stderr)
        failed = bool(self.notes) and not isinstance(self._writer, Sink)
        if isinstance(self._writer, Sink):
            told = self._writer.told()
            failed = told.failed
            if as_json:
                emit(dict(told.values))
            else:
                print(plain(told.text), file=sys.stderr)
        elif self._wanted.path != STDOUT:
            self._tell_file(as_json=as_json)
        else:
            tell_passing(self.passing, self.left_out)
        if self._ended_by is not None:
            raise self._ended_by
        return REFUSED if failed else DONE

    def _tell_file(self, *, as_json: bool) -> None:
        size = Path(self._wanted.path).stat().st_size
        if as_json:
            emit({"file": self._wanted.path, "format": self._wanted.form.name, "events": self.written, "bytes": size})
        else:
            print(plain(f"{self._wanted.path}: {self.passing.text(self.left_out)}, {size_of(size)}"), file=sys.stderr)

    @contextlib.contextmanager
    def whole_records(self) -> Iterator[None]:
        """See `take`; around whatever handlers of signals there are.

        The next one ends it by half: whoever reads what is given out may have stopped reading.
        """

        def came(number: int, frame: FrameType | None) -> None:
            again = self._late is not None or (self._wanted.path == STDOUT and has_been_asked())
            if self._busy and not again:
                self._late = (number, frame)
                return
            if self._busy:
                self._cut, self._late = True, None
                force()
            self._handlers[number](number, frame)

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            before = signal.getsignal(number)
            if callable(before):
                self._handlers[number] = before
                signal.signal(number, came)
        try:
            yield
        finally:
            for caught, handler in self._handlers.items():
                if signal.getsignal(caught) is came:  # else it is ignored from now on
                    signal.signal(caught, handler)
