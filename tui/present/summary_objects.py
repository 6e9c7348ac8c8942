"""Sums of events as objects, for `--summary --json` and exports of the summary. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from events.names.event_names import exported_name
from probes.hist.kept import LATENCY
from tui.present.call_ends import titled_latencies
from tui.present.summary_values import (
    QUANTILES,
    Subject,
    SummaryValue,
    kernel_tasks,
    kernel_values,
    powers_of,
    quantile_of,
    tasks_of,
    total_of,
    values_of,
)

if TYPE_CHECKING:
    from events.store.store import Store
    from events.summary.distribution import Distribution, PowerOfTwo
    from events.summary.summary import Summary
    from events.summary.values import FieldValues
    from kernel.watch.histogram import HistogramReading
    from kernel.watch.watch import Watch

PRINTED = 20
"""Values of a field, and processes, that a summary prints; the others are added up."""


def objects_of(
    watch: Watch,
    store: Store,
    summary: Summary,
    counted: Mapping[Subject, FieldValues],
    *,
    exact: bool,
    filtered: bool,
    most: int = PRINTED,
) -> Iterator[dict[str, Any]]:
    """Yield the sums: events, rates, latencies, values of fields, processes.

    Args:
        watch: watch of the events.
        store: store of the events.
        summary: summary that has counted all events.
        counted: counted values of fields.
        exact: True: measured times have all their digits.
        filtered: True: only some events passed.
        most: greatest number of values of each field, and of processes.
    """
    of = {"of": summary.of} if filtered else {}
    yield {"summary": "events", "events": summary.counted, **of, "uncounted": summary.skipped_events}
    line = summary.timeline
    for kind in line.kinds:
        yield {
            "summary": "rate",
            "event": exported_name(kind),
            "events": line.total(kind),
            "start": line.start,
            "step": line.width,
            "counts": line.counts(kind),
        }
    for title, found in titled_latencies(watch, summary.latencies):
        yield _latency_object(title, found)
    for subject, values in counted.items():
        shown = values_of(watch, values, exact=exact)
        yield values_object(subject, shown, values.total, exact=values.exact, most=most)
    yield values_object(Subject(), tasks_of(store, summary), summary.counted, exact=summary.tasks.exact, most=most)


def _latency_object(function: str, found: Distribution) -> dict[str, Any]:
    """Return the object for the durations of a function's calls."""
    return {
        "summary": "latency",
        "function": function,
        "in_kernel": False,
        "calls": found.count,
        **{name: found.quantile(part) for name, part in QUANTILES},
        "max": found.most,
        "mean": found.mean,
        "total": found.total,
        "log2": log2(found.powers),
    }


def log2(powers: Iterable[PowerOfTwo]) -> list[list[int]]:
    """Return each exponent of a power of two with the number of calls up to that power."""
    return [[power.exponent, power.hits] for power in powers]


def values_object(
    subject: Subject, shown: list[SummaryValue], total: int, *, exact: bool, most: int = PRINTED
) -> dict[str, Any]:
    """Return the object for the values of a field, or for processes."""
    return {
        "summary": "values" if subject.field else "processes",
        "event": exported_name(subject.event),
        "field": subject.field,
        "events": total,
        "exact": exact,
        "values": [
            {"value": one.label, **_exact_fields(one), "count": one.hits, "error": one.error} for one in shown[:most]
        ],
        "others": total - sum(one.hits for one in shown[:most]),
    }


def _exact_fields(shown: SummaryValue) -> dict[str, Any]:
    """Return the recorded number beside its name; for processes their name and thread ids."""
    if shown.pids:
        return {"comm": shown.value, "pids": shown.pids}
    return {"number": int(shown.value)} if isinstance(shown.value, int) else {}


def objects_of_kernel(
    watch: Watch, reads: Iterable[HistogramReading], *, exact: bool, most: int = PRINTED
) -> Iterator[dict[str, Any]]:
    """Yield the sums counted in the kernel: latencies, hits, values of fields, processes.

    `exact` and `most` as for `objects_of`.
    """
    reads = tuple(reads)
    for read in reads:
        if read.watched.value == LATENCY:
            powers = powers_of(read.histogram.entries)
            calls = sum(power.hits for power in powers)
            total = total_of(read.histogram.entries)
            yield {
                "summary": "latency",
                "function": read.watched.subject,
                "in_kernel": True,
                "calls": calls,
                **{name: 1 << quantile_of(powers, part) for name, part in (*QUANTILES, ("max", 100)) if calls},
                "mean": total / max(1, calls),
                "total": total,
                "log2": log2(powers),
                "without_room": read.histogram.dropped,
            }
    hits = 0
    for read in reads:
        if read.watched.is_task:
            hits += read.histogram.hits
            yield {"summary": "hits", "event": exported_name(read.watched.event.path), "events": read.histogram.hits}
        elif read.watched.value != LATENCY:
            subject = Subject(read.watched.event.path, read.watched.value)
            shown = kernel_values(watch, read, subject, exact=exact)
            is_exact = not (read.histogram.dropped or read.histogram.readings)
            yield values_object(subject, shown, read.histogram.hits, exact=is_exact, most=most)
    had_room = not any(read.histogram.dropped for read in reads if read.watched.is_task)
    yield values_object(Subject(), kernel_tasks(reads), hits, exact=had_room, most=most)


SUM_COLUMNS: Final = (
    *("summary", "event", "function", "field", "value", "number", "comm"),
    *("count", "error", "start", "step", "p50", "p90", "p99", "max", "mean", "total"),
)
"""Titles of the columns of `cells_of_sum`; sums of the kernel have `without_room` as well."""
_OF_OBJECTS: Final = ("in_kernel", "calls", "log2")
"""Parts of a latency's object that are no cells of its row."""


def cells_of_sum(row: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a row of cells for each count: of events, of a time step, of a power of two, of a value."""
    kind = row["summary"]
    if kind == "hits":
        yield {"summary": kind, "event": row["event"], "count": row["events"]}
    elif kind == "events":
        yield {"summary": kind, "count": row["events"]}
        for name in ("of", "uncounted"):
            if row.get(name):
                yield {"summary": f"{kind} {name}", "count": row[name]}
    elif kind == "rate":
        for place, count in enumerate(row["counts"]):
            start = row["start"] + place * row["step"]
            yield {"summary": kind, "event": row["event"], "start": start, "step": row["step"], "count": count}
    elif kind == "latency":
        yield {**{name: value for name, value in row.items() if name not in _OF_OBJECTS}, "count": row["calls"]}
        for exponent, count in row["log2"]:
            yield {"summary": "log2", "function": row["function"], "number": 1 << exponent, "count": count}
    else:
        about = {"summary": kind, "event": row["event"] or None, "field": row["field"] or None}
        for one in row["values"]:
            yield {**about, **{name: value for name, value in one.items() if name != "pids"}}
        if row["others"]:
            yield {**about, "summary": f"{kind} others", "count": row["others"]}
