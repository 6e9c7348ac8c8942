"""Tables counted in the kernel, for exports: hist triggers and summaries. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from events.summary.hist_text import HistKey, keys_of, values_of
from foreign.count_text import counted
from kernel.watch.hist_tables import HistTable, read_tables
from tui.output.view_table import Cells, ViewTable
from tui.present.hist_tables import object_of
from tui.present.summary_objects import SUM_COLUMNS, cells_of_sum, objects_of_kernel
from tui.present.summary_values import SHOWN

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.watch.histogram import HistogramReading
    from kernel.watch.watch import Watch
    from tui.filter.filter import Filter

_HEADS: Final = ("summary", "event", "trigger", "active")
AMBIGUOUS_KEYS: Final = "keys"
"""Title of the column with all keys of an entry that can be read in several ways."""
_TOTALS: Final = ("hits", "entries_taken", "entries_alike", "without_room", "cuts")
_NUMBERED: Final = ("log2", "buckets", "hex", "sym", "sym-offset", "execname", "syscall")
"""Modifiers of keys whose text differs from the number."""


class HistogramsTable(ViewTable):
    """Tables of hist triggers on probes: in CSV a row for each entry, and one for the totals of a table."""

    name = "histograms"

    def __init__(self, watch: Watch | None = None) -> None:
        """Take the watch that `read` reads; None: `tables` are set."""
        self._watch = watch
        self.tables: list[tuple[HistTable, int, str]] = []
        """Each table with the number of outages and, for several hosts, the host's name."""

    @classmethod
    def of_watch(cls, watch: Watch, store: Store, chosen: Filter) -> ViewTable:  # noqa: ARG003 - the kernel counts all
        """Return the table of the probes of a watch."""
        return cls(watch)

    def read(self) -> None:
        if self._watch is not None:
            self.tables = [(table, len(self._watch.outages), "") for table in read_tables(self._watch.armed)]

    @property
    def text(self) -> str:
        entries = sum(len(table.histogram.entries) for table, _, _ in self.tables)
        many = len(self.tables)
        return f"{counted(many, 'histogram')}, {counted(entries, 'entry', 'entries')}"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of all tables: keys and values by name, with a number beside each key that has a text."""
        triggers = [table.histogram.trigger for table, _, _ in self.tables]
        keys = (titles_of_key(*key) for trigger in triggers for key in keys_of(trigger))
        values = (f"value.{name}" for trigger in triggers for name in values_of(trigger))
        host = ("host",) if any(host for _, _, host in self.tables) else ()
        own = (*_HEADS, *(title for titles in keys for title in titles), *values)
        alike = any(table.histogram.readings for table, _, _ in self.tables)
        totals = [name for name in _TOTALS if name != "entries_alike" or alike]
        ambiguous = (AMBIGUOUS_KEYS,) if any(table.histogram.ambiguous for table, _, _ in self.tables) else ()
        return (*host, *dict.fromkeys(own), *ambiguous, *totals)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of `run --json`."""
        for table, outages, host in self.tables:
            yield object_of(table, outages, host)

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield the entries in the kernel's order, then the totals."""
        about = {name: row[name] for name in ("host", *_HEADS) if name in row}
        for entry in row["entries"]:
            keys = {title: value for key in entry["keys"] for title, value in _cells_of(key)}
            values = {f"value.{name}": value for name, value in entry["values"].items()}
            yield {**about, **keys, **values}
        for entry in row.get("entries_unsure", ()):
            values = {f"value.{name}": value for name, value in entry["values"].items()}
            yield {**about, "summary": "hist unsure", AMBIGUOUS_KEYS: entry["text"], **values}
        yield {**about, "summary": "hist totals", **{name: row[name] for name in _TOTALS if name in row}}


def titles_of_key(name: str, modifier: str) -> Sequence[str]:
    """Return the title of a key's column, and the title of its number's column if the key has a text."""
    title = f"key.{name}.{modifier}" if modifier else f"key.{name}"
    return (title, f"{title}.number") if modifier.partition("=")[0] in _NUMBERED else (title,)


def _cells_of(key: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    modifier = key.get("modifier", "")
    title, *number_titles = titles_of_key(key["name"], modifier)
    number = key.get("number")
    if number_titles:
        yield number_titles[0], number
    read = HistKey(key["name"], modifier, key["text"])
    text = ";".join(frame.strip() for frame in read.label.split("\n")) if read.is_stack else read.label
    yield title, number if number is not None and not number_titles else text


class KernelSummaryTable(ViewTable):
    """Sums that the kernel counts while it records no events (`kernel.watch.histogram`)."""

    name = "kernel-summary"

    def __init__(self, watch: Watch) -> None:
        self._watch = watch
        self._reads: tuple[HistogramReading, ...] = ()

    @classmethod
    def of_watch(cls, watch: Watch, store: Store, chosen: Filter) -> ViewTable:  # noqa: ARG003 - the kernel counts all
        """Return the table of the counted probes of a watch."""
        return cls(watch)

    @property
    def text(self) -> str:
        hits = sum(read.histogram.hits for read in self._reads if read.watched.is_task)
        return f"{counted(hits, 'hit')} in the kernel"

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of a summary of events, and the events without room."""
        return (*SUM_COLUMNS, "without_room")

    def read(self) -> None:
        self._reads = self._watch.histograms.read()

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of `run --hist --json`, with as many values as the screen has."""
        yield from objects_of_kernel(self._watch, self._reads, exact=True, most=SHOWN)

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield a row for each count."""
        yield from cells_of_sum(row)
