"""Write a file from a dialog: in steps between the ticks of its place, on the thread that feeds the stores."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

from textual import on, work

from events.export.catalogue import FORMATS, STACK_FILES, Format, format_named
from foreign.count_text import counted, size_text
from foreign.files import home_path
from kernel.errors import KernelError
from tui.output.export_file import ExportFile, ExportRefused
from widgets.call_after import call_after
from widgets.dialogs.event_export_dialog import EventExportDialog, OfferedFormat
from widgets.number_format import grouped

if TYPE_CHECKING:
    from events.export.job import Job
    from tui.output.view_job import ViewJob
    from tui.output.view_table import ViewTable

BUDGET = 0.02
"""Seconds of a step."""
_PAUSE = 0.01
"""Seconds for everything else between two of them."""
OF_VIEW = " of "
"""Stands between the name of a format and that of the view whose table is written."""

_KEEPS = "the table of this view, with all digits, times in ns; --view writes the same"
_COUNTED = "what the kernel has counted when it is written; {} writes the same"
_TABLES = {
    "calls": ("calls", f"in the order of time: {_KEEPS}"),
    "hot-spots": ("hot spots", _KEEPS),
    "failures": ("failures", _KEEPS),
    "latencies": ("latencies", _KEEPS),
    "comparison": ("compare", "all comparisons of both recordings; compare A.pwr B.pwr --export writes the same"),
    "summary": ("summary", _KEEPS),
    "kernel-summary": ("summary", _COUNTED.format("run --hist --view summary")),
    "aggregate": ("by key", "the rows of this table, all of them; --by writes the same"),
    "stacks": ("stacks", "the stacks as they are shown, all of them; run --stacks writes the same"),
    "hosts": ("hosts", "how each host is, and what was lost there; run --view hosts writes the same"),
    "histograms": ("histograms", _COUNTED.format("run --view histograms")),
}
"""Titles of the tables of `tui.output.view_tables`, and what is in them."""


class ExportScreen(EventExportDialog):
    """Writes what is asked for, never over what is there and never half."""

    _job: Job | ViewJob | None = None
    _file: ExportFile | None = None
    _format_title = ""

    @abstractmethod
    def begin(self, form: Format, view: str) -> None:
        """Begin with a file that is open: `start` or `start_table` goes on. `view`: its table; empty: events."""

    @property
    def file(self) -> ExportFile | None:
        """The file that was begun; None: none was, or it was given up."""
        return self._file

    @on(EventExportDialog.Requested)
    def _requested(self, event: EventExportDialog.Requested) -> None:
        event.stop()
        name, _, view = event.name.partition(OF_VIEW)
        form = format_named(name)
        if form is None:
            return
        try:
            self._file = ExportFile(home_path(event.path), overwrite=event.overwrite)
        except (ExportRefused, OSError) as error:
            self.refuse(file_error_text(error), taken=isinstance(error, ExportRefused) and error.file_exists)
            return
        self._format_title = form.title
        self.report("getting ready", None)
        self.begin(form, view)

    @work(thread=True, group="export", exit_on_error=False)
    def start_table(self, table: ViewTable, form: Format) -> None:
        """Read what the kernel holds of a table, then write it."""
        try:
            table.read()
        except KernelError as error:
            self.app.call_from_thread(self.fail, error)
        else:
            self.app.call_from_thread(self._begin_table, table, form)

    def _begin_table(self, table: ViewTable, form: Format) -> None:
        from tui.output.view_job import ViewJob

        if self._file is not None:  # else given up meanwhile
            self.start(ViewJob(table, form, self._file.out))

    def start(self, job: Job | ViewJob) -> None:
        """Write what a job makes."""
        self._job = job
        self._step()

    def take_file(self) -> ExportFile | None:
        """Return the file that was begun, which somebody else writes."""
        file, self._file = self._file, None
        return file

    def _step(self) -> None:
        job, file = self._job, self._file
        if job is None or file is None:
            return
        try:
            finished = job.step(BUDGET)
            if not finished:
                self.report(f"{grouped(job.done)} of {counted(job.total, 'event')}", job.done / max(1, job.total))
                call_after(self, _PAUSE, self._step)
                return
            file.keep()
        except (OSError, ExportRefused) as error:
            self.fail(error)
            return
        self._job = self._file = None
        size = size_text(file.path.stat().st_size)
        for note in job.notes:
            self.app.notify(note, title="left out", markup=False)
        self.app.notify(f"{file.path}: {self._format_title}, {job.text}, {size}", markup=False)
        self.dismiss(None)

    def fail(self, error: Exception) -> None:
        """Say why nothing is written."""
        if self._give_up():
            self.refuse(file_error_text(error))

    @on(EventExportDialog.CancelRequested)
    def _cancel_requested(self, event: EventExportDialog.CancelRequested) -> None:
        event.stop()
        if self._give_up():
            self.refuse("stopped: nothing was written")

    def on_unmount(self) -> None:
        """Discard a file that is not finished: the application ends."""
        self._give_up()

    def _give_up(self) -> bool:
        """Take away what was begun; whether something was."""
        file, self._file, self._job = self._file, None, None
        if file is not None:
            file.discard()
        return file is not None


def tables_of(view: str) -> list[OfferedFormat]:
    """Return the formats of a view's table; none where it has none."""
    if not view:
        return []
    title, keeps = _TABLES[view]
    return [
        OfferedFormat(f"{form.name}{OF_VIEW}{view}", f"{title}: {form.title}", form.suffix, keeps, view)
        for form in (*FORMATS, *STACK_FILES)
        if form.of_tables
        or (form.name == "parquet" and view in ("aggregate", "comparison"))
        or (form.of_stacks and view == "stacks")
    ]


def file_error_text(error: Exception) -> str:
    """Return what is said of an error of a file."""
    if isinstance(error, OSError):
        return f"{error.filename or 'the file'}: {error.strerror or error}"
    return str(error)
