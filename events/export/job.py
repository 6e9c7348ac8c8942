"""Run an export in steps, with its progress and its omissions."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, BinaryIO, cast

from events.export.catalogue import Format
from events.export.filtered import ExportFilter
from events.export.formats.parquet import require_pyarrow
from events.export.source import ExportSource, Writer
from events.graph.record_ends import NO_RETURNS, lacks_returns
from foreign.count_text import counted

if TYPE_CHECKING:
    from events.store.store import Store

_ROWS_PER_CHECK = 64
"""Events between two checks of the time."""

_WRITERS = {
    "jsonl": ("json_lines", "JsonLines"),
    "csv": ("csv_table", "CsvTable"),
    "parquet": ("parquet", "ParquetTable"),
    "perfetto": ("perfetto", "PerfettoTrace"),
    "folded": ("folded", "FoldedStacks"),
    "text": ("text", "KernelText"),
}
"""Module in this package and class by format."""
_HOSTS_WRITERS = {"perfetto": "PerfettoHosts"}
"""Classes that replace those of `_WRITERS` for events of several hosts."""


def writer_of(form: Format, source: ExportSource, out: BinaryIO) -> Writer:
    """Return the writer for a format of events.

    Raises:
        events.export.formats.parquet.NoPyarrow: a library is missing; the text names it.
        OSError: writing to the file failed.
    """
    module, name = _WRITERS[form.name]
    name = _HOSTS_WRITERS.get(form.name, name) if source.heads else name
    writer = getattr(importlib.import_module(f"events.export.formats.{module}"), name)
    return cast("Writer", writer(source, out))


def prepare(form: Format) -> None:
    """Import the writer of a format, which takes long for some; call it from a worker.

    Raises:
        events.export.formats.parquet.NoPyarrow: a library is missing.
    """
    importlib.import_module(f"events.export.formats.{_WRITERS[form.name][0]}")
    if form.name == "parquet":
        require_pyarrow()


class Job:
    """Export of a store's rows to one file; used by the thread that feeds the store."""

    def __init__(
        self, store: Store, writer: Writer, export_filter: ExportFilter | None = None, *, grows: bool = False
    ) -> None:
        """Take the rows that exist now, the writer, and the filter.

        `grows`: `extend` adds more rows, and the caller finishes the file.
        """
        self._grows = grows
        self.total = len(store)
        """Number of rows to write."""
        self.done = 0
        """Number of rows processed."""
        self.dropped = 0
        """Number of rows that the store dropped before they were written."""
        self.finished = False
        self.export_filter = export_filter or ExportFilter()
        self._store = store
        self._writer = writer
        self._seq, self._stop = store.first_seq, store.next_seq

    @property
    def notes(self) -> tuple[str, ...]:
        """Omissions, one line each."""
        dropped_note = (
            f"{counted(self.dropped, 'event was', 'events were')} dropped for newer ones before they were written"
        )
        returns = (NO_RETURNS,) if lacks_returns(self._store.decoder.formats.values()) else ()
        return (*((dropped_note,) if self.dropped else ()), *self._writer.notes, *returns)

    @property
    def written(self) -> int:
        """Number of rows in the file."""
        return self.export_filter.number - self._writer.omitted

    @property
    def text(self) -> str:
        """Number of events as text; see `ExportFilter.text`."""
        return self.export_filter.text(self._writer.omitted)

    def extend(self) -> None:
        """Add the rows that have arrived since."""
        self.total += self._store.next_seq - self._stop
        self._stop = self._store.next_seq

    def step(self, budget: float = 0.02) -> bool:
        """Write for about `budget` seconds; return True when all rows are written.

        Raises:
            OSError: writing to the file failed.
        """
        deadline = time.monotonic() + budget
        while self._seq < self._stop:
            if self._seq < self._store.first_seq:  # dropped since the start
                dropped = min(self._store.first_seq, self._stop) - self._seq
                self._seq += dropped
                self.done += dropped
                self.dropped += dropped
            stop = min(self._seq + _ROWS_PER_CHECK, self._stop)
            for record in map(self._store.record, range(self._seq, stop)):
                if self.export_filter.gives(record):
                    self._writer.take(record)
            self.done += max(0, stop - self._seq)
            self._seq = max(self._seq, stop)
            if time.monotonic() >= deadline:
                return False
        if not (self.finished or self._grows):
            self.finished = True
            self._writer.finish()
        return True
