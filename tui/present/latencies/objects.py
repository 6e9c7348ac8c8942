"""Make objects for JSON of the latencies of CPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from events.latencies.cpu_latencies import ALL_CPUS, CpuLatencies, LatencySum, Measure
from tui.present.latencies.rows import cause_rows, latency_rows
from tui.present.latencies.worst import WorstSample, worst_of

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.watch.watch import Watch


def objects(watch: Watch, store: Store, found: CpuLatencies) -> Iterator[dict[str, Any]]:
    """Yield everything as objects for JSON; times in nanoseconds, `cpu` null for the sum of all."""
    for measure, cpu, total in latency_rows(found):
        yield _latency(measure, cpu, total)
    for cpu, noise in sorted(found.noise.items()):
        yield {
            "kind": "noise",
            "cpu": cpu,
            "count": noise.samples,
            "runtime": noise.runtime,
            "noise": noise.noise,
            "available": noise.available,
            **{name.removesuffix("_count"): count for name, count in noise.counts.items()},
        }
    for row in cause_rows(found):
        yield {
            "kind": "cause",
            "by": row.kind,
            "name": row.name,
            "cpu": row.cpu,
            "count": row.total.count,
            "total": row.total.total,
            "max": row.total.most,
        }
    if (worst := worst_of(watch, store, found)) is not None:
        yield _worst(worst)


def _latency(measure: Measure, cpu: int, total: LatencySum) -> dict[str, Any]:
    values = total.values
    return {
        "kind": "latency",
        **measure._asdict(),
        "cpu": None if cpu == ALL_CPUS else cpu,
        "count": values.count,
        "min": total.least,
        "avg": values.mean,
        "p99": values.quantile(99),
        "p99_9": values.thousandths(999),
        "max": values.most,
        "log2": {str(power.exponent): power.hits for power in values.powers},
    }


def _worst(worst: WorstSample) -> dict[str, Any]:
    return {
        "kind": "worst",
        **worst.measure._asdict(),
        "cpu": worst.sample.cpu,
        "max": worst.sample.value,
        "ts": worst.sample.ts,
        "pid": worst.record.pid,
        "comm": worst.record.comm,
        "around": [
            {"ts": record.ts, "event": record.event, "values": dict(record.values)} for record in worst.around
        ],
        "stack": list(worst.stack),
    }
