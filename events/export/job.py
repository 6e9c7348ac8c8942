"""An export as work that goes on in steps: how far it is, and what was left out."""

from __future__ import annotations

import importlib
import time
from typing import TYPE_CHECKING, BinaryIO, cast

from events.export.catalogue import Format
from events.export.filtered import ExportFilter
from events.export.formats.parquet import require_pyarrow
from events.export.source import Source, Writer
from events.graph.record_ends import NO_RETURNS, lacks_returns

if TYPE_CHECKING:
    from events.store.store import Store

_AT_ONCE = 64
"""Events between two looks at the clock."""

_WRITERS = {
    "jsonl": ("json_lines", "JsonLines"),
    "csv": ("csv_table", "CsvTable"),
    "parquet": ("parquet", "ParquetTable"),
    "perfetto": ("perfetto", "PerfettoTrace"),
    "folded": ("folded", "FoldedStacks"),
    "text": ("text", "KernelText"),
}
"""Format -> module here and class in it."""
_OF_HOSTS = {"perfetto": "PerfettoHosts"}
"""The classes that are others where events are of several hosts."""


def writer_of(form: Format, source: Source, out: BinaryIO) -> Writer:
    """What writes a format of events.

    Raises:
        events.export.formats.parquet.NoPyarrow: it can't be written here; the text says what is missing.
        OSError: of the file.
    """
    module, name = _WRITERS[form.name]
    name = _OF_HOSTS.get(form.name, name) if source.heads else name
    made = getattr(importlib.import_module(f"events.export.formats.{module}"), name)
    return cast("Writer", made(source, out))


def prepare(form: Format) -> None:
    """Import what writes a format, which takes long for some; for a worker.

    Raises:
        events.export.formats.parquet.NoPyarrow: it can't be written here.
    """
    importlib.import_module(f"events.export.formats.{_WRITERS[form.name][0]}")
    if form.name == "parquet":
        require_pyarrow()


class Job:
    """The rows that a store has, into one file; belongs to the thread that feeds the store."""

    def __init__(
        self, store: Store, writer: Writer, passing: ExportFilter | None = None, *, grows: bool = False
    ) -> None:
        """Take the rows that there are now, what writes them, and the filter.

        `grows`: `extend` takes more rows, and who calls it ends the file.
        """
        self._grows = grows
        self.total = len(store)
        """Rows to be written."""
        self.done = 0
        """Rows that were looked at."""
        self.dropped = 0
        """Rows that the store let go of before they were written."""
        self.finished = False
        self.passing = passing or ExportFilter()
        self._store = store
        self._writer = writer
        self._seq, self._stop = store.first_seq, store.next_seq

    @property
    def notes(self) -> tuple[str, ...]:
        """What is not in the file, a line each."""
        gone = f"{self.dropped:,} events were dropped for newer ones before they were written"
        returns = (NO_RETURNS,) if lacks_returns(self._store.decoder.formats.values()) else ()
        return (*((gone,) if self.dropped else ()), *self._writer.notes, *returns)

    @property
    def written(self) -> int:
        """Rows that are in the file."""
        return self.passing.number - self._writer.left_out

    @property
    def text(self) -> str:
        """See `ExportFilter.text`."""
        return self.passing.text(self._writer.left_out)

    def extend(self) -> None:
        """Take the rows that have come since as well."""
        self.total += self._store.next_seq - self._stop
        self._stop = self._store.next_seq

    def step(self, budget: float = 0.02) -> bool:
        """Go on for about so many seconds; True when all is written. Raises OSError."""
        deadline = time.monotonic() + budget
        while self._seq < self._stop:
            if self._seq < self._store.first_seq:  # dropped since the start
                gone = min(self._store.first_seq, self._stop) - self._seq
                self._seq += gone
                self.done += gone
                self.dropped += gone
            stop = min(self._seq + _AT_ONCE, self._stop)
            for record in map(self._store.record, range(self._seq, stop)):
                if self.passing.gives(record):
                    self._writer.take(record)
            self.done += max(0, stop - self._seq)
            self._seq = max(self._seq, stop)
            if time.monotonic() >= deadline:
                return False
        if not (self.finished or self._grows):
            self.finished = True
            self._writer.finish()
        return True
