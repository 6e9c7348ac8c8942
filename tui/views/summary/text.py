"""Texts of the summary: counts of events, or of the kernel's own histograms, in words and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from events.names.event_names import event_name
from foreign.count_text import counted
from kernel.session.probe_steps import Mode
from kernel.watch.watch import Watch
from probes.hist.kept import LATENCY, untimed_patterns
from tui.present.activity import after_counting
from tui.present.call_ends import titled_latencies
from tui.present.hist_tables import alike_text
from tui.present.status import note_of_gap
from tui.present.summary_values import (
    QUANTILES,
    SHOWN,
    Subject,
    SummaryValue,
    distinct_values,
    kernel_tasks,
    kernel_values,
    powers_of,
    quantile_of,
    total_of,
)
from tui.present.ways_out import BOTH_ENDS, RUNNING_KERNEL
from widgets.events.summary_panel import Bars, SummaryText
from widgets.events.summary_rows import Bar, Rate
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from events.summary.distribution import Distribution
    from events.summary.summary import Summary
    from kernel.watch.histogram import HistogramReading

_MOST_LATENCIES: Final = 20
"""Functions whose latencies are shown, those with the largest sum first."""
_UNTIMED: Final = (
    "several functions: not timed in the",
    "kernel, which can't tell calls within",
    "calls apart. Recorded events have the",
    "latency of each, and so has one",
    "function alone",
)
"""Reason why a probe on several functions has no latencies in the kernel, in lines for a narrow list."""


def bars_of(title: str, shown: list[SummaryValue], total: int) -> Bars:
    """Return values below their title, and at the end the sum of those not shown."""
    bars = [Bar(one.label, one.hits, one.error, one.number) for one in shown]
    rest = total - sum(one.hits for one in shown)
    return Bars(title, (*bars, *((Bar("others", rest, dim=True),) if rest else ())), total)


def of_events(
    watch: Watch, summary: Summary, subject: Subject, values: list[SummaryValue], tasks: list[SummaryValue]
) -> SummaryText:
    """Return the summary of events; `values` and `tasks` as `tui.present.summary_values` returns them."""
    title = f"process  {_how_many(len(summary.tasks), summary.counted, summary.tasks.exact)}"
    of_tasks = of_values = bars_of(title, tasks, summary.counted)
    if summary.values is not None and subject.field:
        counted = summary.values
        number = distinct_values(counted, values)
        title = f"{subject.label}  {_how_many(number, counted.total, counted.exact)}"
        of_values = bars_of(title, values, counted.total)
    return SummaryText(
        _head(watch, summary),
        _rate_title(summary),
        tuple(_rates(summary)),
        summary.timeline.width,
        _latencies(watch, summary),
        of_values,
        of_tasks,
        "k: count in the kernel" if watch.live else "",
    )


def _how_many(values: int, events: int, exact: bool) -> str:
    return f"{grouped(values)}{'' if exact else ' or more'} in {counted(events, 'event')}" + (
        "" if exact else ", approximate"
    )


def _head(watch: Watch, summary: Summary) -> str:
    parts = [f"on the screen: {counted(summary.counted, 'event')}, {_pairs(summary.pairs)}"]
    if summary.skipped_events:
        parts.append(f"{grouped(summary.skipped_events)} dropped before they were counted")
    if gap := note_of_gap(watch):
        parts.append(gap)
    if (alone := sum(summary.calls.unpaired_counts.values())) and summary.counted == summary.of:
        parts.append(f"{counted(alone, 'end')} alone")
    if summary.backlog:
        parts.append(f"{grouped(summary.backlog)} to go")
    return ", ".join(parts)


def _pairs(number: int) -> str:
    return counted(number, "pair")


def _rate_title(summary: Summary) -> str:
    line = summary.timeline
    return f"events over {duration(line.used * line.width)}"


def _rates(summary: Summary) -> Iterable[Rate]:
    line = summary.timeline
    for kind in line.kinds:
        yield Rate(event_name(kind), tuple(line.counts(kind)), line.total(kind))


def _latencies(watch: Watch, summary: Summary) -> Bars:
    latencies = titled_latencies(watch, summary.latencies)
    bars: list[Bar] = []
    for title, found in latencies[:_MOST_LATENCIES]:
        bars += [Bar(f"{title}  {_pairs(found.count)}"), *figures_of(found)]
        bars += power_bars((power.exponent, power.hits) for power in found.powers)
    if rest := [found.count for _, found in latencies[_MOST_LATENCIES:]]:
        bars.append(Bar(f"{counted(len(rest), 'more function')}  {_pairs(sum(rest))}", dim=True))
    if not bars:
        return Bars("latency", (Bar(_no_latency(watch, summary)),))
    return Bars("latency of pairs", tuple(bars))


def _no_latency(watch: Watch, summary: Summary) -> str:
    """Return why there are no latencies."""
    if not any(event.frame for plan in watch.event_fields.plans for event in plan.events):
        return f"no probe has both ends: {BOTH_ENDS if watch.info.target.is_kernel else RUNNING_KERNEL}"
    if summary.counted < summary.of and not summary.backlog:
        return "no ended call passes the filter" if summary.counted else "no event passes the filter"
    return "no call has ended yet"


def figures_of(found: Distribution) -> list[Bar]:
    """Return percentiles as `p50 3.21 us  p90 …`, `p99 …  max …`, two in a line so that they fit."""
    texts = [f"{name} {duration(found.quantile(share))}" for name, share in QUANTILES]
    return _by_two([*texts, f"max {duration(found.most)}"])


def _by_two(texts: list[str]) -> list[Bar]:
    return [Bar("  ".join(("", *part)), dim=True) for part in (texts[:2], texts[2:4], texts[4:]) if part]


def power_bars(powers: Iterable[tuple[int, int]]) -> list[Bar]:
    """Return a bar for each power of two, with its upper bound."""
    return [Bar(f"≤ {duration(1 << exponent)}", hits, right=True) for exponent, hits in powers]


# -- counted in the kernel ----------------------------------------------------------------------------------------


def of_kernel(watch: Watch, reads: tuple[HistogramReading, ...], subject: Subject) -> SummaryText:
    """Return the summary of the kernel's histograms."""
    if not reads:
        return SummaryText("in the kernel: its histograms are being set up")
    tasks = kernel_tasks(reads)
    wanted = [r for r in reads if r.watched.value == subject.field and r.watched.event.path == subject.event]
    hits = sum(read.histogram.hits for read in reads if read.watched.is_task)
    dropped = sum(read.histogram.dropped for read in reads)
    head = f"in the kernel: {counted(hits, 'hit')} since it began"
    if dropped:
        head += f", {grouped(dropped)} without room"
    modes = watch.armed.modes
    recorded = sum(mode is Mode.RECORD for mode in modes)
    head += f", {recorded} of {counted(len(modes), 'probe')} recorded" if recorded else ", nothing recorded"
    title = f"process (first name)  {grouped(len(tasks))} in {counted(hits, 'hit')}"
    of_tasks = bars_of(title, tasks, hits)
    values = of_tasks
    if wanted:
        total = sum(read.histogram.hits for read in wanted)
        shown = kernel_values(watch, wanted[0], subject)
        values = bars_of(f"{subject.label}  {grouped(len(shown))} in {counted(total, 'hit')}", shown[:SHOWN], total)
        if alike := wanted[0].histogram.readings:
            values = Bars(subject.label, (Bar(alike_text(alike)),))
    elif subject.field:
        values = Bars(subject.label, (Bar("the kernel has no histogram of such a field"),))
    rates, latencies = tuple(_kernel_rates(reads)), _kernel_latencies(reads)
    key = f"k: {after_counting(watch.histograms.own_modes)}"
    return SummaryText(head, "hits", rates, 0, latencies, values, of_tasks, key)


def _kernel_rates(reads: Iterable[HistogramReading]) -> Iterable[Rate]:
    for read in reads:
        if read.watched.is_task:
            yield Rate(read.watched.event.event, (), read.histogram.hits)


def _kernel_latencies(reads: Sequence[HistogramReading]) -> Bars:
    bars: list[Bar] = []
    for read in reads:
        if read.watched.value != LATENCY:
            continue
        powers = powers_of(read.histogram.entries)
        total = sum(power.hits for power in powers)
        bars += [Bar(f"{read.watched.subject}  {counted(total, 'call')}"), *(kernel_figures(read) if total else ())]
        bars += power_bars((power.exponent, power.hits) for power in powers)
    for subject in untimed_patterns(read.watched for read in reads):
        bars += [Bar(subject, dim=True), *(Bar(f"  {text}", dim=True) for text in _UNTIMED)]
    timed = any(read.watched.value == LATENCY for read in reads)
    title = "latency: innermost calls, no idle tasks" if timed else "latency"
    return Bars(title, tuple(bars) or (Bar(f"no probe has both ends: {BOTH_ENDS}"),))


def kernel_figures(read: HistogramReading) -> list[Bar]:
    """Return percentiles as `p50 ≤ 4.10 us  …  mean …`: the kernel only has powers of two of each time."""
    powers = powers_of(read.histogram.entries)
    total = sum(power.hits for power in powers)
    texts = [f"{name} ≤ {duration(1 << quantile_of(powers, part))}" for name, part in (*QUANTILES, ("max", 100))]
    mean = total_of(read.histogram.entries) / max(1, total)
    return _by_two([*texts, f"mean {duration(round(mean))}"])
