"""`--export FORMAT --view VIEW`: write the table of a view, with all rows that the screen would hold."""

from __future__ import annotations

import argparse
import contextlib
import math
import sys
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from foreign.count_text import size_text
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from tui.cli.console.output import PlainTerminal, emit, plain
from tui.cli.exports.export_options import STDOUT, BadExportOption, ExportRequest, check_view
from tui.cli.exports.open_export import REFUSALS, print_export_error, print_refusal
from tui.cli.follow.filter import filter_of
from tui.cli.follow.follow import follow
from tui.cli.follow.loss_printer import print_losses
from tui.cli.status import DONE, REFUSED, UNUSABLE, USAGE
from tui.cli.tables.summary_printer import count_in_kernel
from tui.output.event_source import load_symbols
from tui.output.export_file import ExportFile
from tui.output.view_job import ViewJob

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.connection.planner import Planner
    from tui.filter.filter import Filter
    from tui.output.view_table import ViewTable


def write_recording_view(planner: Planner, wanted: ExportRequest, arguments: argparse.Namespace) -> int:
    """Write the table of a view of a recording, of the events that pass a filter; return the exit status."""
    try:
        check_view(arguments, wanted)
    except BadExportOption as error:
        return print_refusal(error, USAGE)
    if arguments.view == "histograms":
        return print_refusal(
            "--view histograms: a recording holds events and no histogram; `run` gives those out", UNUSABLE
        )
    watch = Watch(planner)
    watch.begin()
    while not watch.ended:
        watch.tick()
    if watch.store is None:
        return REFUSED
    watch.store.flush()
    try:
        return _write_view(watch, watch.store, wanted, arguments.view, filter_of(watch, arguments.filter))
    except REFUSALS as error:
        return print_export_error(wanted, error)
    finally:
        print_losses(watch)


def run_view(
    watch: Watch, arguments: argparse.Namespace, events: Collection[str], wanted: ExportRequest, event_filter: Filter
) -> int:
    """Follow the armed probes until the end, then write the table of a view; return the exit status.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    view = arguments.view
    if arguments.hist:
        view = f"kernel-{view}"
        count_in_kernel(watch, arguments.summary or "")
    connection_error: KernelError | None = None
    try:
        follow(watch, arguments, events, lambda _: None, lambda: 0, chosen=event_filter)
    except KernelError as error:  # the connection is lost: events received before are exported all the same
        connection_error = error
    with contextlib.suppress(KernelError):
        watch.intake.know_names(watch.names())
    status = DONE
    if watch.store is not None:
        try:
            status = _write_view(watch, watch.store, wanted, view, event_filter, as_json=arguments.json)
        except REFUSALS as error:
            status = print_export_error(wanted, error)
    if connection_error is not None:
        raise connection_error
    return status


def _write_view(
    watch: Watch, store: Store, wanted: ExportRequest, view: str, event_filter: Filter, *, as_json: bool = False
) -> int:
    """Write the table of a view of a store. Raises `REFUSALS`, and the errors of `read`."""
    from tui.output.view_tables import TABLES  # imports code that measures text for a screen

    load_symbols(watch, wanted.form)
    return write_table(
        TABLES[view](watch, store, event_filter), wanted, as_json=as_json, filtered=bool(event_filter.text)
    )


def write_table(table: ViewTable, wanted: ExportRequest, *, as_json: bool = False, filtered: bool = False) -> int:
    """Write a table to its destination, and print a summary; return the exit status.

    Raises the errors of `ViewTable.read` and `tui.output.export_file.ExportFile`.
    """
    table.read()
    with _opened(wanted) as out:
        job = ViewJob(table, wanted.form, out)
        while not job.step(math.inf):
            pass
    for note in job.notes:
        print(plain(f"probewright: {note}"), file=sys.stderr)
    size = Path(wanted.path).stat().st_size if wanted.path != STDOUT else 0
    if as_json and wanted.path != STDOUT:
        emit({"file": wanted.path, "format": wanted.form.name, "rows": job.rows, "bytes": size})
    if wanted.path != STDOUT and not as_json:
        print(plain(f"{wanted.path}: {job.text}, {size_text(size)}"), file=sys.stderr)
    elif table.lacking or (filtered and wanted.path == STDOUT):
        passing = f"{table.text} pass the filter" if filtered else table.text
        print(plain(f"probewright: {', '.join((passing, *table.lacking))}"), file=sys.stderr)
    return REFUSED if job.notes else DONE


@contextlib.contextmanager
def _opened(wanted: ExportRequest) -> Iterator[BinaryIO]:
    if wanted.path == STDOUT:
        out = cast("BinaryIO", PlainTerminal() if sys.stdout.isatty() else sys.stdout.buffer)
        yield out
        out.flush()
        return
    with ExportFile(Path(wanted.path), overwrite=wanted.overwrite) as file:
        yield file.out
