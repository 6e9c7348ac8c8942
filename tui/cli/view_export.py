"""`probewright FILE.pwr --export FORMAT --view VIEW`: the table of a view, of all that the screen would hold."""

from __future__ import annotations

import contextlib
import math
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from events.export.formats import format_named
from kernel.watch import Watch
from tui.cli.event_export import REFUSALS, refuse, refused
from tui.cli.filtering import filter_of
from tui.cli.main import DONE, REFUSED, USAGE
from tui.cli.output import PlainTerminal, plain, size_of
from tui.cli.wanted_export import STDOUT, Wanted
from tui.cli.watching import account
from tui.event_export import load_symbols
from tui.export_file import ExportFile

if TYPE_CHECKING:
    from kernel.connection import Connection


def give_view(connection: Connection, wanted: Wanted, view: str, text: str) -> int:
    """Write the table of a view of a recording, of the events that pass a filter; gives the exit status."""
    from tui.view_tables import FORMATS, TABLES, ViewJob

    if wanted.form.name not in FORMATS or wanted.outlet is not None:
        titles = " and ".join(FORMATS)
        what = "a row of files or a collector" if wanted.outlet is not None else wanted.form.name
        return refuse(
            f"--view: {what} holds events; the table of a view is given out as {titles}, in one file", USAGE
        )
    if wanted.timed:
        return refuse("--view: a table has the kernel's own times; without --view --clock adds those of day", USAGE)
    watch = Watch(connection)
    watch.begin()
    while not watch.ended:
        watch.tick()
    if watch.store is None:
        return REFUSED
    watch.store.flush()
    form = format_named(wanted.form.name)
    assert form is not None  # noqa: S101 - it is one of FORMATS
    load_symbols(watch, form)
    try:
        table = TABLES[view](watch, watch.store, filter_of(watch, text))
        with _opened(wanted) as out:
            job = ViewJob(table, form, out)
            while not job.step(math.inf):
                pass
    except REFUSALS as error:
        return refused(wanted, error)
    account(watch)
    for note in job.notes:
        print(plain(f"probewright: {note}"), file=sys.stderr)
    if wanted.path != STDOUT:
        size = size_of(Path(wanted.path).stat().st_size)
        print(plain(f"{wanted.path}: {job.text}, {size}"), file=sys.stderr)
    elif text:
        print(f"probewright: {job.text} pass the filter", file=sys.stderr)
    return REFUSED if job.notes else DONE


@contextlib.contextmanager
def _opened(wanted: Wanted) -> Iterator[BinaryIO]:
    if wanted.path == STDOUT:
        out = cast("BinaryIO", PlainTerminal() if sys.stdout.isatty() else sys.stdout.buffer)
        yield out
        out.flush()
        return
    with ExportFile(Path(wanted.path), overwrite=wanted.overwrite) as file:
        yield file.out
