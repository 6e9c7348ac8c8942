"""Open an export of events, to a file, a sink or standard output, and report its errors."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from events.export.filtered import ExportFilter
from events.export.formats.parquet import NoPyarrow
from events.export.job import writer_of
from events.export.source import Writer
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from tui.cli.console.journal import Level, at_priority
from tui.cli.console.output import PlainTerminal, plain
from tui.cli.exports.event_writer import Export
from tui.cli.exports.export_options import STDOUT, ExportRequest, export_error_text
from tui.cli.exports.sinks import BadSetting, SinkRequest, open_sink
from tui.cli.follow.filter import OptionRefused, export_filter_of, print_filter_error
from tui.cli.follow.signals import Forced
from tui.cli.status import REFUSED, UNUSABLE, USAGE
from tui.output.event_source import source_of, timed_source_of
from tui.output.export_file import ExportFile, ExportRefused
from tui.output.sink import Sink

if TYPE_CHECKING:
    from tui.filter.filter import Filter


REFUSALS = (ExportRefused, NoPyarrow, OSError, BadSetting, Forced, OptionRefused)
"""Errors that `opened_watch_export` raises."""


def print_export_error(wanted: ExportRequest, error: BaseException) -> int:
    """Print the error of an export; return the exit status."""
    if isinstance(error, BrokenPipeError):
        raise error
    where = "standard output" if wanted.path == STDOUT else wanted.path
    if isinstance(error, OSError):
        return print_refusal(f"{where}: {error.strerror or error}", REFUSED)
    if isinstance(error, Forced):
        return print_refusal(f"{where}: interrupted by a second signal: the file is incomplete", REFUSED)
    if isinstance(error, BadSetting):
        return print_refusal(error, USAGE)
    if isinstance(error, OptionRefused):
        print_filter_error(error)
        return USAGE
    if isinstance(error, ExportRefused):
        return print_refusal(export_error_text(error), USAGE)
    return print_refusal(error, UNUSABLE)


def print_refusal(why: object, status: int) -> int:
    """Print why nothing is exported; return the exit status."""
    with at_priority(Level.ERROR):
        print(f"probewright: {plain(str(why))}", file=sys.stderr)
    return status


@contextlib.contextmanager
def opened_watch_export(
    watch: Watch, wanted: ExportRequest, unasked: Mapping[str, frozenset[str]], event_filter: Filter | None = None
) -> Iterator[Export]:
    """Open the export of the events of a watch that pass a filter; see `opened_export`."""
    passing = export_filter_of(watch, event_filter, pairs=wanted.form.whole_calls)

    def learn() -> None:
        # names can't be read over a lost connection; the events are written all the same
        with contextlib.suppress(KernelError):
            watch.intake.know_names(watch.names())

    def begin(out: BinaryIO) -> Writer:
        source = (timed_source_of if wanted.timed else source_of)(watch, unasked)
        return writer_of(wanted.form, replace(source, passes=passing.passes), out)

    with opened_export(
        wanted, begin, lambda outlet: open_sink(watch, outlet, unasked, timed=wanted.timed), learn, passing
    ) as export:
        yield export


@contextlib.contextmanager
def opened_export(
    wanted: ExportRequest,
    begin: Callable[[BinaryIO], Writer],
    open_outlet: Callable[[SinkRequest], Sink],
    before_end: Callable[[], None] = lambda: None,
    passing: ExportFilter | None = None,
) -> Iterator[Export]:
    """Open an export; the file is complete when the block ends, and its temporary part is removed after an error.

    Args:
        wanted: format and destination.
        begin: makes the writer of a file.
        open_outlet: makes the sink where there is no file.
        before_end: called when all events were taken.
        passing: filter; None: all events pass.

    Raises:
        ExportRefused, NoPyarrow, OSError, BadSetting: nothing can be written there.
    """
    passing = passing or ExportFilter()
    if wanted.outlet is not None:
        outlet = open_outlet(wanted.outlet)
        try:
            with _opened(wanted, outlet, passing, before_end) as export:
                yield export
        except BaseException:
            outlet.discard()
            raise
        return
    if wanted.path == STDOUT:
        out = cast("BinaryIO", PlainTerminal() if sys.stdout.isatty() else sys.stdout.buffer)
        with _opened(wanted, begin(out), passing, before_end, out) as export:
            yield export
        return
    with (
        ExportFile(Path(wanted.path), overwrite=wanted.overwrite) as file,
        _opened(wanted, begin(file.out), passing, before_end) as export,
    ):
        yield export


@contextlib.contextmanager
def _opened(
    wanted: ExportRequest,
    writer: Writer,
    passing: ExportFilter,
    before_end: Callable[[], None],
    out: BinaryIO | None = None,
) -> Iterator[Export]:
    export = Export(wanted, writer, passing)
    with export.whole_records():
        yield export
        export.no_more()
        before_end()
        export.finish()
        if out is not None:
            out.flush()
