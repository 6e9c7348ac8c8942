"""Give events out, from the live place, or the table of the view that is on the screen."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

from textual import work

from events.export.catalogue import FORMATS, Format
from events.export.filtered import ExportFilter
from events.export.formats.parquet import NoPyarrow
from events.export.job import Job, prepare, writer_of
from foreign.count_text import counted
from tui.filter.filter import Filter, PassCount
from tui.live.export_dialog import BUDGET, ExportScreen, file_error_text, tables_of
from tui.output.event_source import load_symbols, source_of_rows
from tui.output.export_file import ExportFile, ExportRefused
from widgets.dialogs.event_export_dialog import OfferedFormat
from widgets.safe_text import safe

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import App

    from events.record import Record
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.watch.watch import Watch
    from tui.output.view_table import ViewTable

_ORDER = "in the order of time"
"""Order of events in a file, whatever the rows on the screen are sorted by."""
_COUNT_EVERY = 0.5
"""Seconds between two counts of the events."""


class EventExportScreen(ExportScreen):
    """Dialog that exports the events of a store as of the request; later events are not written."""

    def __init__(
        self,
        watching: Watch,
        store: Store,
        chosen: Filter,
        view: str,
        make_table: Callable[[Watch, Store], ViewTable],
    ) -> None:
        """Take whose events they are, their store, the filter, whose table is offered (empty: none), and the function
        that makes it.
        """
        self._filter = chosen
        self._make_table = make_table
        self._selected = chosen.of(watching, store)
        offered = [OfferedFormat(form.name, form.title, form.suffix, form.keeps) for form in FORMATS]
        super().__init__("", [*tables_of(view), *offered], time.strftime("probewright-%Y%m%d-%H%M%S"))
        self._watching = watching
        self._store = store

    def on_mount(self) -> None:
        """Count the events to export again and again, until writing begins."""
        self._count()
        self.set_interval(_COUNT_EVERY, self._count)

    def _count(self) -> None:
        if not self.running:
            if self._selected is not None:
                self._selected.tick(BUDGET)
            self.say_of_what(self._of_what())

    def _of_what(self) -> str:
        """Return the subject of a file that is begun now."""
        store, selected = self._store, self._selected
        dropped = (
            f"; {counted(store.evicted, 'older one was', 'older ones were')} dropped from memory"
            if store.evicted
            else ""
        )
        owner = f" of {self._watching.info.target.name}"
        if selected is None:
            return f"{counted(len(store), 'event')}{owner}{dropped}; {_ORDER}"
        few = PassCount(selected.next - selected.first, len(store), f"event{owner}", selected.backlog).text
        return f"{few}{dropped}; {_ORDER}; filter {safe(self._filter.text)}"

    def begin(self, form: Format, view: str) -> None:
        """Begin to export; a picture is taken when the dialog is gone."""
        if form.of_events or view:
            self._get_ready(form, view)
            return
        file = self.take_file()
        self.dismiss(None)
        if file is not None:
            self.app.call_after_refresh(_save_picture, self.app, file)

    @work(thread=True, group="export", exit_on_error=False)
    def _get_ready(self, form: Format, view: str) -> None:
        """Import modules and read symbols, which takes long the first time."""
        try:
            if not view:
                prepare(form)
            load_symbols(self._watching, form)
        except NoPyarrow as error:
            self.app.call_from_thread(self.fail, error)
        else:
            self.app.call_from_thread(self._begin, form, view)

    def _begin(self, form: Format, view: str) -> None:
        if self.file is None:  # given up meanwhile
            return
        self.say_of_what(self._of_what())
        if view:
            self.start_table(self._make_table(self._watching, self._store), form)
            return
        try:
            self.start(self._of_events(form, self.file.out))
        except OSError as error:
            self.fail(error)

    def _of_events(self, form: Format, out: BinaryIO) -> Job:
        """Return what writes the events. Raises OSError."""
        passes = None if self._selected is None else partial(_passes, self._selected)
        source = replace(source_of_rows(self._watching), passes=passes)
        return Job(self._store, writer_of(form, source, out), ExportFilter(passes, pairs=form.whole_calls))


def _passes(selected: FilteredRows, record: Record) -> bool:
    return selected.passes(record.seq)


def _save_picture(app: App[object], file: ExportFile) -> None:
    """Save a picture of the screen, once the dialog is gone."""
    try:
        with file:
            file.out.write(app.export_screenshot(title="probewright").encode())
    except (OSError, ExportRefused) as error:
        app.notify(file_error_text(error), title="no picture", severity="error", markup=False)
    else:
        app.notify(f"{file.path}: a picture of this screen", markup=False)
