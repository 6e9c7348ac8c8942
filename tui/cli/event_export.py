"""Events given out to a file or to standard output: `probewright FILE.pwr --export FORMAT`, and `run … --export`."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from events.export.formats import FORMATS
from events.export.job import writer_of
from events.export.parquet import NoPyarrow
from events.export.passing import Passing
from events.export.source import Writer
from events.export.stacks import STACK_EVENT
from events.record import Record
from kernel.bounds import HEADLESS, SCREEN
from kernel.errors import KernelError
from kernel.watch import Watch
from tui.cli.clock import UNKNOWN
from tui.cli.journal import Level, saying
from tui.cli.main import DONE, REFUSED, UNUSABLE, USAGE
from tui.cli.outlets import BadSetting, WantedOutlet, outlet_of
from tui.cli.output import PlainTerminal, connect, emit, plain, size_of
from tui.cli.stopping import Forced, force, has_been_asked
from tui.cli.wanted_export import STDOUT, NotWanted, Wanted, wanted_of, words_of
from tui.event_export import source_of, timed_source_of
from tui.export_file import ExportFile, FileRefused
from tui.outlet import Outlet, counted

if TYPE_CHECKING:
    from kernel.connection import Connection
    from tui.filter import Filter

_STACKS = f"ftrace/{STACK_EVENT}"
_TOLD_EVERY = 0.2
"""Seconds between two words of progress."""


def run(arguments: argparse.Namespace) -> int:
    """All that a recording holds."""
    try:
        wanted = wanted_of(arguments)
    except NotWanted as error:
        return refuse(error, USAGE)
    if wanted is None:
        return USAGE
    connection = connect(getattr(arguments, "recording", None) or arguments.target)
    try:
        if not connection.holds_events:
            name = connection.target.name
            return refuse(
                f"{name} holds no events; `probewright run SPEC --export` gives out those of a kernel", UNUSABLE
            )
        return _all_of(connection, wanted, arguments.filter)
    finally:
        connection.close()


def _all_of(connection: Connection, wanted: Wanted, text: str) -> int:
    from events.condition_text import ConditionError
    from tui.cli.watching import account
    from tui.filter import Filter, told

    # What a recording knows of tasks is bounded by its end; its events are given out as they are read.
    watch = Watch(connection, HEADLESS._replace(tasks=SCREEN.tasks, moves=SCREEN.moves))
    watch.begin()
    if any(watch.known.wants_symbols(armed) for armed in watch.armed):
        connection.load_symbols()
    every = {event.path: frozenset[str]() for plan in watch.known.plans for event in plan.events}
    bounds = argparse.Namespace(seconds=None, count=None)
    chosen = Filter()
    if wanted.timed and not watch.clock.known:
        print(plain(f"probewright: {connection.target.name}: {UNKNOWN}: no event has a `time`"), file=sys.stderr)
    try:
        chosen.choose(text, watch)
    except ConditionError as error:
        return refuse(f"--filter {told(error)}", USAGE)
    try:
        with exporting(watch, wanted, every, chosen) as export:
            export.follow(watch, bounds, every)
    except REFUSALS as error:
        return refused(wanted, error)
    account(watch, unshown=watch.unshown)
    return export.tell()


REFUSALS = (FileRefused, NoPyarrow, OSError, BadSetting, Forced)
"""What `exporting` raises where it can't go on."""


def refused(wanted: Wanted, error: BaseException) -> int:
    """Say what went wrong; gives the exit status."""
    if isinstance(error, BrokenPipeError):
        raise error
    where = "standard output" if wanted.path == STDOUT else wanted.path
    if isinstance(error, OSError):
        return refuse(f"{where}: {error.strerror or error}", REFUSED)
    if isinstance(error, Forced):
        return refuse(f"{where}: ended in the midst of it, by a second signal: what is there is not whole", REFUSED)
    if isinstance(error, BadSetting):
        return refuse(error, USAGE)
    if isinstance(error, FileRefused):
        return refuse(words_of(error), USAGE)
    return refuse(error, UNUSABLE)


def refuse(why: object, status: int) -> int:
    """Say why nothing is given out; gives the exit status."""
    with saying(Level.ERROR):
        print(f"probewright: {plain(str(why))}", file=sys.stderr)
    return status


class Export:
    """Events on their way into one format."""

    def __init__(self, wanted: Wanted, writer: Writer, passing: Passing) -> None:
        self.passing = passing
        """Events so far."""
        self._wanted = wanted
        self._writer = writer
        self._told = time.monotonic()
        self._stacks = 0
        """Of the kernel, in a format that has no place for them."""
        self._busy = False
        self._cut = False
        """An event was given out by half."""
        self._late: tuple[int, FrameType | None] | None = None
        self._handlers: dict[int, Any] = {}
        self._ended_by: KernelError | None = None

    def follow(self, watch: Watch, bounds: argparse.Namespace, events: Collection[str]) -> None:
        """Take events as they come, see `tui.cli.watching.follow`; and their stacks, for formats that have them.

        An error that ends them is raised by `tell`: what came by then is written all the same.
        """
        from tui.cli.watching import follow

        wanted = {*events, _STACKS} if self._wanted.form.names_addresses else events
        try:
            follow(watch, bounds, wanted, self.take, idle=self.idle, passed=self.passed)
        except KernelError as error:
            self._ended_by = error
        self.end()

    def end(self) -> None:
        """No event comes any more. Raises Forced where one was given out by half."""
        self._busy = True
        if self._cut:
            raise Forced

    def passed(self, record: Record) -> None:
        """An event that is none of those that are wanted."""
        self._stacks += record.event == _STACKS

    def idle(self) -> None:
        """Some time has gone by."""
        if isinstance(self._writer, Outlet):
            with self._undisturbed():
                self._writer.idle()

    def take(self, record: Record) -> None:
        """Write one event; a signal that comes meanwhile counts when that is done, so that none is cut in two."""
        with self._undisturbed():
            if self.passing.gives(record):
                self._writer.take(record)
        if self.passing.of % 256 == 0 and sys.stderr.isatty() and time.monotonic() - self._told > _TOLD_EVERY:
            self._told = time.monotonic()
            print(f"\r\x1b[K{self.passing.text}", end="", file=sys.stderr, flush=True)

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
        for note in (*self._writer.notes, *self._stacks_note()):
            with saying(Level.WARNING):
                print(f"probewright: {plain(note)}", file=sys.stderr)
        failed = False
        if isinstance(self._writer, Outlet):
            told = self._writer.told()
            failed = told.failed
            if as_json:
                emit(dict(told.values))
            else:
                print(plain(told.text), file=sys.stderr)
        elif self._wanted.path != STDOUT:
            self._tell_file(as_json=as_json)
        elif self.passing.filtered:
            print(f"probewright: {self.passing.text} pass the filter", file=sys.stderr)
        if self._ended_by is not None:
            raise self._ended_by
        return REFUSED if failed else DONE

    def _stacks_note(self) -> tuple[str, ...]:
        if not self._stacks:
            return ()
        having = ", ".join(form.name for form in FORMATS if form.names_addresses)
        left_out = f"{counted(self._stacks, 'kernel stack')} {'is' if self._stacks == 1 else 'are'} left out"
        return (f"{left_out}: {self._wanted.form.name} has no place for them; {having} have",)

    def _tell_file(self, *, as_json: bool) -> None:
        size = Path(self._wanted.path).stat().st_size
        if as_json:
            events = self.passing.number
            emit({"file": self._wanted.path, "format": self._wanted.form.name, "events": events, "bytes": size})
        else:
            print(plain(f"{self._wanted.path}: {self.passing.text}, {size_of(size)}"), file=sys.stderr)

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


@contextlib.contextmanager
def exporting(
    watch: Watch, wanted: Wanted, unasked: Mapping[str, frozenset[str]], chosen: Filter | None = None
) -> Iterator[Export]:
    """Where events of a watch go that pass a filter; see `giving`."""
    passes = partial(_passes, watch, chosen) if chosen is not None and chosen.text else None

    def learn() -> None:
        with contextlib.suppress(KernelError):  # a line that is gone has no names; what came is written all the same
            watch.know_names(watch.names())

    def begin(out: BinaryIO) -> Writer:
        return writer_of(
            wanted.form, replace((timed_source_of if wanted.timed else source_of)(watch, unasked), passes=passes), out
        )

    passing = Passing(passes, pairs=wanted.form.whole_calls)
    with giving(
        wanted, begin, lambda outlet: outlet_of(watch, outlet, unasked, timed=wanted.timed), learn, passing
    ) as export:
        yield export


def _passes(watch: Watch, chosen: Filter, record: Record) -> bool:
    selected = chosen.of(watch, watch.store) if watch.store is not None else None
    return selected is None or selected.passes(record.seq)


@contextlib.contextmanager
def giving(
    wanted: Wanted,
    begin: Callable[[BinaryIO], Writer],
    open_outlet: Callable[[WantedOutlet], Outlet],
    before_end: Callable[[], None] = lambda: None,
    passing: Passing | None = None,
) -> Iterator[Export]:
    """Where events go; the file is there when the block ends well, and its part is gone when it does not.

    Args:
        wanted: the format and the place.
        begin: makes what writes a file.
        open_outlet: makes what is no file.
        before_end: called when all events were taken.
        passing: the filter; None: there is none.

    Raises:
        FileRefused, NoPyarrow, OSError, BadSetting: nothing can be written there.
    """
    passing = passing or Passing()
    if wanted.outlet is not None:
        outlet = open_outlet(wanted.outlet)
        try:
            with _written(wanted, outlet, passing, before_end) as export:
                yield export
        except BaseException:
            outlet.discard()
            raise
        return
    if wanted.path == STDOUT:
        out = cast("BinaryIO", PlainTerminal() if sys.stdout.isatty() else sys.stdout.buffer)
        with _written(wanted, begin(out), passing, before_end, out) as export:
            yield export
        return
    with (
        ExportFile(Path(wanted.path), overwrite=wanted.overwrite) as file,
        _written(wanted, begin(file.out), passing, before_end) as export,
    ):
        yield export


@contextlib.contextmanager
def _written(
    wanted: Wanted, writer: Writer, passing: Passing, before_end: Callable[[], None], out: BinaryIO | None = None
) -> Iterator[Export]:
    export = Export(wanted, writer, passing)
    with export.whole_records():
        yield export
        export.no_more()
        before_end()
        export.finish()
        if out is not None:
            out.flush()
