"""Give events out, from the live place: in steps between its ticks, on the thread that feeds the store."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from textual import on, work

from events.export.formats import FORMATS, Format, format_named
from events.export.job import Job, prepare, writer_of
from events.export.parquet import NoPyarrow
from events.export.passing import Passing
from kernel.errors import KernelError
from tui.event_export import load_symbols, source_of_rows
from tui.export_file import ExportFile, FileRefused
from tui.filter import Counted, Filter
from widgets.event_export_dialog import EventExportDialog, Offered
from widgets.figures import grouped
from widgets.safe_text import safe

if TYPE_CHECKING:
    from textual.app import App

    from events.record import Record
    from events.selected import Selected
    from events.store import Store
    from kernel.watch import Watch
    from tui.view_job import ViewJob
    from tui.view_table import ViewTable

_BUDGET = 0.02
"""Seconds of a step."""
_PAUSE = 0.01
"""Seconds for everything else between two of them."""
_COUNT_EVERY = 0.5
"""Seconds between two looks at how many events there are."""


_OF_VIEW = " of "
"""Stands between the name of a format and that of the view whose table is written."""
_KEEPS = "the table of this view, with all digits; --view writes the same"
_COUNTED = "what the kernel has counted when it is written; {} writes the same"
_TABLES = {
    "calls": ("calls", _KEEPS),
    "hot-spots": ("hot spots", _KEEPS),
    "summary": ("summary", _KEEPS),
    "kernel-summary": ("summary", _COUNTED.format("run --hist --view summary")),
    "histograms": ("histograms", _COUNTED.format("run --view histograms")),
}
"""Titles of the tables of `tui.view_tables`, and what is in them."""


class EventExportScreen(EventExportDialog):
    """Writes what the store held when it was asked to; what comes meanwhile goes on coming."""

    def __init__(self, watching: Watch, store: Store, chosen: Filter, view: str = "") -> None:
        """Take whose events they are, their store, the filter, and whose table is offered (`tui.view_tables`)."""
        self._filter = chosen
        self._view = view
        self._selected = chosen.of(watching, store)
        offered = [Offered(form.name, form.title, form.suffix, form.keeps) for form in FORMATS]
        offered += _tables_of(view)
        super().__init__("", offered, time.strftime("probewright-%Y%m%d-%H%M%S"))
        self._watching = watching
        self._store = store
        self._job: Job | ViewJob | None = None
        self._of_view = False
        """The table of the view is written, and not events."""
        self._file: ExportFile | None = None

    def on_mount(self) -> None:
        """Until something is written, what would be grows."""
        self._count()
        self.set_interval(_COUNT_EVERY, self._count)

    def _count(self) -> None:
        if not self.running:
            if self._selected is not None:
                self._selected.tick(_BUDGET)
            self.say_of_what(self._of_what())

    def _of_what(self) -> str:
        """What a file that is begun now has."""
        store, selected = self._store, self._selected
        dropped = f"; {grouped(store.evicted)} older ones were dropped from memory" if store.evicted else ""
        every = f"events of {self._watching.connection.target.name}"
        if selected is None:
            return f"{grouped(len(store))} {every}{dropped}"
        few = Counted(selected.next - selected.first, len(store), every, selected.behind).text
        return f"{few}{dropped}; filter {safe(self._filter.text)}"

    @on(EventExportDialog.Requested)
    def _requested(self, event: EventExportDialog.Requested) -> None:
        event.stop()
        name, _, of_view = event.name.partition(_OF_VIEW)
        form, self._of_view = format_named(name), bool(of_view)
        if form is None:
            return
        try:
            self._file = ExportFile(Path(event.path).expanduser(), overwrite=event.overwrite)
        except (FileRefused, OSError, RuntimeError) as error:  # RuntimeError: ~ of nobody
            self.refuse(_why(error), taken=isinstance(error, FileRefused) and error.taken)
            return
        if form.of_events:
            self.report("getting ready", None)
            self._get_ready(form)
        else:
            file, self._file = self._file, None
            self.dismiss(None)
            self.app.call_after_refresh(_save_picture, self.app, file)

    @work(thread=True, group="export", exit_on_error=False)
    def _get_ready(self, form: Format) -> None:
        """What takes long at the first time: modules to import, symbols to read."""
        try:
            prepare(form)
            load_symbols(self._watching, form)
        except NoPyarrow as error:
            self.app.call_from_thread(self._fail, error)
        else:
            self.app.call_from_thread(self._begin, form)

    def _begin(self, form: Format) -> None:
        if self._file is None:  # given up meanwhile
            return
        self.say_of_what(self._of_what())
        if self._of_view:
            from tui.view_tables import TABLES

            self._read(TABLES[self._view](self._watching, self._store, self._filter), form)
            return
        try:
            self._job = self._of_events(form, self._file.out)
        except OSError as error:
            self._fail(error)
            return
        self._step()

    @work(thread=True, group="export", exit_on_error=False)
    def _read(self, table: ViewTable, form: Format) -> None:
        """Read what the kernel holds of a table."""
        try:
            table.read()
        except KernelError as error:
            self.app.call_from_thread(self._fail, error)
        else:
            self.app.call_from_thread(self._begin_table, table, form)

    def _begin_table(self, table: ViewTable, form: Format) -> None:
        from tui.view_job import ViewJob

        if self._file is not None:  # else given up meanwhile
            self._job = ViewJob(table, form, self._file.out)
            self._step()

    def _of_events(self, form: Format, out: BinaryIO) -> Job:
        """Return what writes the events. Raises OSError."""
        passes = None if self._selected is None else partial(_passes, self._selected)
        source = replace(source_of_rows(self._watching), passes=passes)
        return Job(self._store, writer_of(form, source, out), Passing(passes, pairs=form.whole_calls))

    def _step(self) -> None:
        job, file = self._job, self._file
        if job is None or file is None:
            return
        try:
            finished = job.step(_BUDGET)
            if not finished:
                self.report(f"{grouped(job.done)} of {grouped(job.total)} events", job.done / max(1, job.total))
                self.set_timer(_PAUSE, self._step)
                return
            file.keep()
        except (OSError, FileRefused) as error:
            self._fail(error)
            return
        self._job = self._file = None
        size = file.path.stat().st_size / 1e6
        for note in job.notes:
            self.app.notify(note, title="left out", markup=False)
        self.app.notify(f"{file.path}: {job.text}, {size:.1f} MB", markup=False)
        self.dismiss(None)

    def _fail(self, error: Exception) -> None:
        if self._give_up():
            self.refuse(_why(error))

    @on(EventExportDialog.CancelRequested)
    def _cancel_requested(self, event: EventExportDialog.CancelRequested) -> None:
        event.stop()
        if self._give_up():
            self.refuse("stopped: nothing was written")

    def on_unmount(self) -> None:
        """The application may end in the middle."""
        self._give_up()

    def _give_up(self) -> bool:
        """Take away what was begun; whether something was."""
        file, self._file, self._job = self._file, None, None
        if file is not None:
            file.discard()
        return file is not None


def _tables_of(view: str) -> list[Offered]:
    """Return the formats of a view's table; none where it has none."""
    if not view:
        return []
    title, keeps = _TABLES[view]
    return [
        Offered(f"{form.name}{_OF_VIEW}{view}", f"{title}: {form.title}", form.suffix, keeps)
        for form in FORMATS
        if form.of_tables
    ]


def _passes(selected: Selected, record: Record) -> bool:
    return selected.passes(record.seq)


def _why(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.filename or 'the file'}: {error.strerror or error}"
    return str(error)


def _save_picture(app: App[object], file: ExportFile) -> None:
    """What is on the screen, once the dialog is gone."""
    try:
        with file:
            file.out.write(app.export_screenshot(title="probewright").encode())
    except (OSError, FileRefused) as error:
        app.notify(_why(error), title="no picture", severity="error", markup=False)
    else:
        app.notify(f"{file.path}: a picture of this screen", markup=False)
