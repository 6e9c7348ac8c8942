"""Sum up the samples of latency sources by CPU: timerlat, osnoise, hwlat and wakeups, as columns of a store.

Rows are processed in bounded steps, on demand; rows that were counted remain counted when the store drops them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.latencies.cause import causes_in, number_column
from events.search.new_rows import NewRows
from events.store.columns import FormatTable
from events.summary.distribution import Distribution

if TYPE_CHECKING:
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store

Ints = NDArray[np.int64]
_CONTEXTS: Final = ("irq", "thread", "user")
"""Contexts of a timerlat sample (kernel/trace/trace_osnoise.c)."""
ALL_CPUS: Final = -1
"""Key of the sum of all CPUs."""
_MOST_CAUSES: Final = 4096
"""Most causes that are counted each by itself; further ones of a kind are counted together, without a name."""
_COUNTS: Final = ("hw_count", "nmi_count", "irq_count", "softirq_count", "thread_count")
_US: Final = 1000
"""Nanoseconds of a microsecond: osnoise records microseconds, everything else nanoseconds."""


class Measure(NamedTuple):
    """Measured value of a source, such as the latency of the thread of timerlat."""

    source: str
    """Kind of source: `timerlat`."""
    name: str


@dataclass
class LatencySum:
    """Values of one measure, in nanoseconds."""

    values: Distribution = field(default_factory=Distribution)
    least: int = 0

    def add(self, values: Ints) -> None:
        """Count values."""
        if len(values):
            lowest = int(values.min())
            self.least = min(self.least, lowest) if self.values.count else lowest
            self.values.add(values)


@dataclass
class CauseSum:
    """Interruptions by one cause on one CPU."""

    count: int = 0
    total: int = 0
    """Nanoseconds."""
    most: int = 0
    """Nanoseconds."""


@dataclass
class NoiseSum:
    """Samples of osnoise on one CPU."""

    samples: int = 0
    runtime: int = 0
    """Nanoseconds that were measured."""
    noise: int = 0
    """Nanoseconds of them that were taken."""
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_COUNTS, 0))
    """Interruptions by kind, `hw_count` of those that are none of the others."""

    @property
    def available(self) -> float:
        """Percentage of a CPU that a task had."""
        return 100.0 * (self.runtime - self.noise) / self.runtime if self.runtime else 0.0


class Worst(NamedTuple):
    """Largest sample of a measure."""

    seq: int
    """Sequence number of its event."""
    cpu: int
    ts: int
    """Nanoseconds of the kernel's clock at its event."""
    value: int
    """Nanoseconds."""


class CpuLatencies:
    """Sums of all samples in a store."""

    def __init__(self, store: Store, passing: FilteredRows | None = None) -> None:
        """Take a store; `passing`: the events that pass a filter; None: all do."""
        self.sums: dict[Measure, dict[int, LatencySum]] = {}
        """Sums by measure and CPU, and of `ALL_CPUS`."""
        self.noise: dict[int, NoiseSum] = {}
        """Sums of osnoise by CPU."""
        self.causes: dict[tuple[str, str], dict[int, CauseSum]] = {}
        """Interruptions by kind and name, and CPU."""
        self.worst: dict[Measure, Worst] = {}
        self.samples = 0
        """Number of samples counted."""
        self.rows = NewRows(store, passing)

    def tick(self, budget: float) -> None:
        """Process new rows for about `budget` seconds."""
        self.rows.give(self._take, budget)

    def _take(self, table: FormatTable) -> None:
        path = table.layout.format.path
        if path == "ftrace/timerlat":
            self._take_timerlat(table)
        elif path == "ftrace/osnoise":
            self._take_osnoise(table)
        elif path == "ftrace/hwlat":
            self._take_hwlat(table)
        elif is_wakeup(path):
            self._add(Measure("wakeup", "wakeup"), table, number_column(table, "lat"))
        else:
            self._take_causes(table)

    def _take_timerlat(self, table: FormatTable) -> None:
        latencies, contexts = number_column(table, "timer_latency"), number_column(table, "context")
        if latencies is None or contexts is None:
            return
        for context, name in enumerate(_CONTEXTS):
            self._add(Measure("timerlat", name), table, latencies, contexts == context)

    def _take_hwlat(self, table: FormatTable) -> None:
        for field_name, name in (("duration", "inner"), ("outer_duration", "outer")):
            values = number_column(table, field_name)
            self._add(Measure("hwlat", name), table, None if values is None else values * _US)

    def _take_osnoise(self, table: FormatTable) -> None:
        fields = ("runtime", "noise", "max_sample", *_COUNTS)
        found = {name: number_column(table, name) for name in fields}
        numbers = {name: values for name, values in found.items() if values is not None}
        if len(numbers) < len(fields):
            return
        self._add(Measure("osnoise", "noise"), table, numbers["noise"] * _US)
        self._add(Measure("osnoise", "single"), table, numbers["max_sample"] * _US)
        for cpu in np.unique(table.cpus).tolist():
            rows, total = table.cpus == cpu, self.noise.setdefault(cpu, NoiseSum())
            total.samples += int(rows.sum())
            total.runtime += int(numbers["runtime"][rows].sum()) * _US
            total.noise += int(numbers["noise"][rows].sum()) * _US
            for name in _COUNTS:
                total.counts[name] += int(numbers[name][rows].sum())

    def _take_causes(self, table: FormatTable) -> None:
        for rows in causes_in(table):
            key = (rows.kind, rows.name)
            if key not in self.causes and len(self.causes) >= _MOST_CAUSES:
                key = (rows.kind, "")
            by_cpu = self.causes.setdefault(key, {})
            for cpu in np.unique(rows.cpus).tolist():
                total, durations = by_cpu.setdefault(cpu, CauseSum()), rows.durations[rows.cpus == cpu]
                total.count += len(durations)
                total.total += int(durations.sum())
                total.most = max(total.most, int(durations.max()))

    def _add(
        self, measure: Measure, table: FormatTable, values: Ints | None, rows: NDArray[np.bool_] | None = None
    ) -> None:
        """Count the values of a measure; `rows`: mask of those that are; None: all."""
        if values is None:
            return
        chosen = np.arange(len(values)) if rows is None else np.flatnonzero(rows)
        if not len(chosen):
            return
        values, cpus = values[chosen], table.cpus[chosen]
        self.samples += len(values)
        by_cpu = self.sums.setdefault(measure, {})
        by_cpu.setdefault(ALL_CPUS, LatencySum()).add(values)
        for cpu in np.unique(cpus).tolist():
            by_cpu.setdefault(cpu, LatencySum()).add(values[cpus == cpu])
        place = int(values.argmax())
        worst = self.worst.get(measure)
        if worst is None or int(values[place]) > worst.value:
            row = int(chosen[place])
            self.worst[measure] = Worst(
                int(table.seqs[row]), int(cpus[place]), int(table.stamps[row]), int(values[place])
            )


def is_wakeup(path: str) -> bool:
    """Return whether an event is one of the source `wakeup`, by its path in any session."""
    group, _, name = path.partition("/")
    return group == "synthetic" and name.endswith("__wakeup")
