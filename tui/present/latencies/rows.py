"""Rows of the latencies of CPUs, of noise and of its causes, as texts and numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from events.latencies.cpu_latencies import ALL_CPUS, CauseSum, CpuLatencies, LatencySum, Measure, Worst
from widgets.number_format import duration, grouped

JUDGED: Final = {"timerlat": ("irq", "thread", "user"), "osnoise": ("single",), "hwlat": ("inner", "outer")}
"""Measures that a threshold is compared with, by source; of other sources all."""
TITLES: Final = ("source", "measure", "cpu", "samples", "min", "avg", "p99", "p99.9", "max")
CAUSE_TITLES: Final = ("by", "name", "cpu", "count", "total", "avg", "max")
NOISE_TITLES: Final = ("cpu", "samples", "available", "hw", "nmi", "irq", "softirq", "thread")
_ALL: Final = "all"


class CauseRow(NamedTuple):
    """Interruptions by one cause on one CPU."""

    kind: str
    name: str
    cpu: int
    total: CauseSum


def latency_rows(found: CpuLatencies) -> Iterator[tuple[Measure, int, LatencySum]]:
    """Yield each measure with its CPUs in order, then the sum of all where there are several."""
    for measure in sorted(found.sums):
        by_cpu = found.sums[measure]
        cpus = sorted(cpu for cpu in by_cpu if cpu != ALL_CPUS)
        for cpu in (*cpus, *((ALL_CPUS,) if len(cpus) > 1 else ())):
            yield measure, cpu, by_cpu[cpu]


def cause_rows(found: CpuLatencies) -> list[CauseRow]:
    """Return the causes of interruptions by CPU, those that took the most time first."""
    rows = [
        CauseRow(kind, name, cpu, total)
        for (kind, name), by_cpu in found.causes.items()
        for cpu, total in by_cpu.items()
    ]
    return sorted(rows, key=lambda row: (-row.total.total, row.kind, row.name, row.cpu))


def text_cells(measure: Measure, cpu: int, total: LatencySum) -> tuple[str, ...]:
    """Return the cells of `TITLES` for a row."""
    values = total.values
    times = (total.least, round(values.mean), values.quantile(99), values.thousandths(999), values.most)
    return (measure.source, measure.name, cpu_text(cpu), grouped(values.count), *map(duration, times))


def cause_cells(row: CauseRow) -> tuple[str, ...]:
    """Return the cells of `CAUSE_TITLES` for a cause."""
    total = row.total
    times = (total.total, round(total.total / max(1, total.count)), total.most)
    return (row.kind, row.name, cpu_text(row.cpu), grouped(total.count), *map(duration, times))


def noise_cells(found: CpuLatencies, cpu: int) -> tuple[str, ...]:
    """Return the cells of `NOISE_TITLES` for a CPU."""
    total = found.noise[cpu]
    return (
        cpu_text(cpu),
        grouped(total.samples),
        f"{total.available:.5f}%",
        *(grouped(count) for count in (total.counts[f"{title}_count"] for title in NOISE_TITLES[3:])),
    )


def cpu_text(cpu: int) -> str:
    """Return a CPU's number; `all` for the sum."""
    return _ALL if cpu == ALL_CPUS else str(cpu)


def reached(found: CpuLatencies, threshold: int) -> tuple[Measure, Worst] | None:
    """Return the largest sample of at least `threshold` microseconds, as the kernel compares them; None: none was."""
    judged = [
        (measure, worst)
        for measure, worst in found.worst.items()
        if is_judged(measure) and worst.value // 1000 >= threshold
    ]
    return max(judged, key=lambda one: one[1].value, default=None)


def is_judged(measure: Measure) -> bool:
    """Return whether a threshold is compared with a measure."""
    return measure.name in JUDGED.get(measure.source, (measure.name,))
