"""Collect the samples of monitors: their extremes, and the last value of each second of the last minutes.

Rows are processed in bounded steps, on demand; samples that were counted remain counted when the store drops them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import TYPE_CHECKING, Final, NamedTuple

from events.search.new_rows import NewRows
from events.store.columns import FormatTable, is_number

if TYPE_CHECKING:
    from events.format import Field
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store

SECONDS: Final = 300
"""Seconds of which the last value is kept."""
_RATE_SECONDS: Final = 10
"""Seconds that the present rate is of."""
_NS: Final = 1_000_000_000
_NO_CPU: Final = -1


class SeriesKey(NamedTuple):
    """Name of a series."""

    path: str
    """`group/event` of its samples."""
    cpu: int
    """CPU of a per-CPU variable; -1: there is one number for all."""


@dataclass
class NumberSeries:
    """Samples of one number."""

    is_address: bool = False
    """True for a hexadecimal number: it has no difference."""
    count: int = 0
    """Samples with a number."""
    unread: int = 0
    """Samples at which the number could not be read."""
    now: int | None = None
    """Newest value; None: it could not be read."""
    least: int = 0
    most: int = 0
    boot: int = 0
    """Number of the boot that the newest sample is of."""
    by_second: dict[int, int] = field(default_factory=dict)
    """Last value of each second of the kernel's clock since the boot, the oldest first."""
    _stamps: dict[int, int] = field(default_factory=dict)
    """Time of that value in ns."""

    def add(self, stamp: int, value: int | None, boot: int = 0) -> None:
        """Take a sample, which is newer than those before, of a boot; None: it could not be read."""
        if boot != self.boot:  # the clock began again
            self.boot = boot
            self.by_second.clear()
            self._stamps.clear()
        self.now = value
        if value is None:
            self.unread += 1
            return
        self.least = min(self.least, value) if self.count else value
        self.most = max(self.most, value) if self.count else value
        self.count += 1
        second = stamp // _NS
        self.by_second[second], self._stamps[second] = value, stamp
        if len(self.by_second) > SECONDS:
            oldest = next(iter(self.by_second))
            del self.by_second[oldest], self._stamps[oldest]

    @property
    def per_second(self) -> float | None:
        """Change a second of the last ten seconds; None: of an address, or while there are no two values."""
        seconds = list(self.by_second)
        recent = [one for one in seconds if one >= seconds[-1] - _RATE_SECONDS]
        if self.is_address or len(recent) < 2:
            return None
        first, last = recent[0], recent[-1]
        return (self.by_second[last] - self.by_second[first]) * _NS / max(1, self._stamps[last] - self._stamps[first])

    def recent(self) -> list[int | None]:
        """Return the value of each second from the oldest kept on; None: there was no sample."""
        if not self.by_second:
            return []
        last = max(self.by_second)
        first = max(min(self.by_second), last - SECONDS + 1)
        return [self.by_second.get(second) for second in range(first, last + 1)]


class NumberSamples:
    """Series of all monitors in a store."""

    def __init__(self, store: Store, events: Mapping[str, bool], passing: FilteredRows | None = None) -> None:
        """Take a store.

        Args:
            store: events.
            events: paths of the events that are samples, with True for those of each CPU.
            passing: events that pass a filter; None: all do.
        """
        self.series: dict[SeriesKey, NumberSeries] = {}
        self.samples = 0
        """Number of samples counted."""
        self.events = dict(events)
        self.rows = NewRows(store, passing)

    def tick(self, budget: float) -> None:
        """Process new rows for about `budget` seconds."""
        self.rows.give(self._take, budget)

    def _take(self, table: FormatTable) -> None:
        """Take the samples of a table: few at a time, as a row."""
        path = table.layout.format.path
        value = _number(table, "value")
        if path not in self.events or value is None or not len(table):
            return
        values, missing = table.column(value)
        is_address = _number(table, "delta") is None
        cpus = table.cpus.tolist() if self.events[path] else repeat(_NO_CPU)
        missed = missing.tolist() if missing is not None else repeat(False)
        self.samples += len(table)
        for cpu, stamp, number, is_missing in zip(cpus, table.stamps.tolist(), values.tolist(), missed, strict=False):
            series = self.series.get(SeriesKey(path, cpu))
            if series is None:
                series = self.series[SeriesKey(path, cpu)] = NumberSeries(is_address)
            series.add(stamp, None if is_missing else number, table.layout.format.boot)


def _number(table: FormatTable, name: str) -> Field | None:
    return next((one for one in table.layout.format.fields if one.name == name and is_number(one)), None)
