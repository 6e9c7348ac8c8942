"""The sums of events as objects, which `--summary --json` prints and an export of the summary has; no screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from events.event_names import exported_name
from probes.plan import titles_of
from tui.summed import QUANTILES, Shown, Subject, tasks_of, values_of

if TYPE_CHECKING:
    from events.store import Store
    from events.summary.distribution import Power
    from events.summary.summary import Summary
    from events.summary.values import FieldValues
    from kernel.watch import Watch

PRINTED = 20
"""Values of a field, and processes, that a summary prints; the others are summed up."""


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
    """Yield what was counted: events, rates, latencies, values of fields, processes.

    Args:
        watch: whose events they are.
        store: where they are.
        summary: that has counted all of them.
        counted: values of fields, counted beside it.
        exact: measured times have all their digits.
        filtered: only some events passed.
        most: values of each field, and processes, at most.
    """
    of = {"of": summary.of} if filtered else {}
    yield {"summary": "events", "events": summary.seen, **of, "uncounted": summary.unseen}
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
    titles = titles_of(watch.known.plans)
    for function in summary.functions:
        found = summary.latencies(function)
        yield {
            "summary": "latency",
            "function": titles[function],
            "in_kernel": False,
            "calls": found.count,
            **{name: found.quantile(part) for name, part in QUANTILES},
            "max": found.most,
            "mean": found.total // max(1, found.count),
            "total": found.total,
            "log2": log2(found.powers),
        }
    for subject, values in counted.items():
        shown = values_of(watch, values, exact=exact)
        yield values_object(subject, shown, values.frequent.total, exact=values.frequent.exact, most=most)
    yield values_object(Subject(), tasks_of(store, summary), summary.seen, exact=summary.tasks.exact, most=most)


def log2(powers: Iterable[Power]) -> list[list[int]]:
    """Return the exponents of powers of two with how many are up to each."""
    return [[power.exponent, power.hits] for power in powers]


def values_object(
    subject: Subject, shown: list[Shown], total: int, *, exact: bool, most: int = PRINTED
) -> dict[str, Any]:
    """Return the object of the values of a field, or of processes."""
    return {
        "summary": "values" if subject.field else "processes",
        "event": exported_name(subject.event),
        "field": subject.field,
        "events": total,
        "exact": exact,
        "values": [
            {"value": one.label, **_exactly(one), "count": one.hits, "error": one.error} for one in shown[:most]
        ],
        "others": total - sum(one.hits for one in shown[:most]),
    }


def _exactly(shown: Shown) -> dict[str, Any]:
    """A number as it was recorded, beside its name; of processes their name and thread ids."""
    if shown.pids:
        return {"comm": shown.value, "pids": shown.pids}
    return {"number": int(shown.value)} if isinstance(shown.value, int) else {}
