"""`run --summary` and `run --hist`: print sums of the events at the end, counted here or in the kernel."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from events.names.event_names import regrouped_path
from foreign.count_text import counted
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from probes.hist.kept import notes_on
from tui.cli.console.output import emit, line, plain
from tui.cli.follow.follow import follow
from tui.present.call_ends import ends_of
from tui.present.summary_objects import objects_of, objects_of_kernel
from tui.present.summary_values import Subject, subjects_of
from widgets.number_format import duration, grouped, short

if TYPE_CHECKING:
    from events.store.store import Store
    from events.summary.summary import Summary
    from events.summary.values import FieldValues
    from tui.filter.filter import Filter

_BAR: Final = 40
_BUDGET: Final = 0.1
"""Seconds of counting for each batch of new events."""


def summarize(watch: Watch, arguments: argparse.Namespace, events: Collection[str], event_filter: Filter) -> None:
    """Count the events that pass a filter until the end, then print.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    if arguments.hist:
        _summarize_in_kernel(watch, arguments, events)
        return
    counter = _Counter(
        watch, arguments.summary or "", events, event_filter, exact=arguments.json, most=arguments.count or 0
    )
    connection_error: KernelError | None = None
    try:
        follow(watch, arguments, events, lambda _: None, counter.tick, chosen=event_filter)
    except KernelError as error:  # the connection is lost: print what was counted before
        connection_error = error
    counter.finish()
    for found in counter.found():
        _print(found, as_json=arguments.json)
    if watch.intake.forgotten_names:
        many = counted(watch.intake.forgotten_names, "name of a task was", "names of tasks were") + " forgotten"
        print(f"probewright: {many}: there is room for {grouped(watch.bounds.tasks)}", file=sys.stderr)
    if connection_error is not None:
        raise connection_error


class _Counter:
    """Counts the events of a watch as they arrive."""

    def __init__(
        self, watch: Watch, field: str, events: Collection[str], event_filter: Filter, *, exact: bool, most: int = 0
    ) -> None:
        """Set what to count; `most`: number of events after which counting stops, 0: count all."""
        self._watch = watch
        self._exact = exact
        self._most = most
        self._filter = event_filter
        self._field = field
        self._events = events
        self._summary: Summary | None = None
        self._store: Store | None = None
        self._counted: dict[Subject, FieldValues] = {}
        self._group = watch.event_fields.group

    def tick(self, budget: float = _BUDGET) -> int:
        """Count new events for `budget` seconds; return the number of events counted in all."""
        store = self._watch.store
        if store is None:
            return 0
        if self._summary is None:
            from events.summary.summary import Summary  # imports numpy

            bounds = self._watch.bounds
            passing = self._filter.of(self._watch, store)
            self._summary = Summary(
                store, bounds.values, self._events, bounds.calls, passing, bounds.piece, self._most
            )
            self._store = store
        if (group := self._watch.event_fields.group) != self._group:
            now = partial(regrouped_path, old=self._group, new=group)
            self._summary.rename(now)
            self._counted = {one._replace(event=now(one.event)): values for one, values in self._counted.items()}
            self._group = group
        self._summary.use(ends_of(self._watch.event_fields.plans))
        for subject in subjects_of(self._watch, store):
            wanted = subject.field == self._field and subject.event in self._events
            if subject.field and wanted and subject not in self._counted:
                self._counted[subject] = self._summary.count_also(subject.event, subject.field)
        self._summary.tick(budget)
        return self._summary.counted

    def finish(self) -> None:
        """Count all remaining events."""
        self.tick()
        while self._summary is not None and self._summary.backlog:
            self.tick()

    def found(self) -> Iterator[dict[str, Any]]:
        """Yield the counts, as objects."""
        summary, store = self._summary, self._store
        if summary is None or store is None:
            return
        if self._field and not self._counted:
            print(plain(f"probewright: no event has a field {self._field}"), file=sys.stderr)
        yield from objects_of(
            self._watch, store, summary, self._counted, exact=self._exact, filtered=bool(self._filter.text)
        )


def count_in_kernel(watch: Watch, field: str) -> None:
    """Let the kernel count hits and values of a field of the armed probes instead of recording; closing ends it.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    paths = [event.path for armed in watch.armed.probes for event in armed.plan.events]
    formats = {fmt.path: fmt for armed in watch.armed.probes for fmt in armed.formats.values()}
    has = [path for path in paths if path in formats and field in formats[path].names]
    watch.histograms.begin(watch.armed.probes, tuple((path, field) for path in has))


def _summarize_in_kernel(watch: Watch, arguments: argparse.Namespace, events: Collection[str]) -> None:
    count_in_kernel(watch, arguments.summary or "")
    follow(watch, arguments, events, lambda _: None, lambda: 0)
    reads = watch.histograms.read()
    for found in objects_of_kernel(watch, reads, exact=arguments.json):
        _print(found, as_json=arguments.json)
    for note in notes_on(read.watched for read in reads):
        print(plain(f"probewright: {note}"), file=sys.stderr)


def _print(found: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        emit(found)
        return
    for text in _lines(found):
        print(line(text))


def _lines(found: dict[str, Any]) -> Iterator[str]:
    kind = found["summary"]
    if kind == "events":
        uncounted = f", {grouped(found['uncounted'])} dropped before they were counted" if found["uncounted"] else ""
        events = f"{grouped(found['events'])} of {counted(found['of'], 'event')}" if "of" in found else ""
        yield f"{events or counted(found['events'], 'event')}{uncounted}"
    elif kind == "rate":
        seconds = max(1, len(found["counts"])) * found["step"] / 1e9
        peak = max(found["counts"], default=0) * 1e9 / found["step"]
        rates = f"{short(found['events'] / seconds)}/s, at most {short(peak)}/s in {duration(found['step'])}"
        yield f"{_name(found['event'])}: {counted(found['events'], 'event')}, {rates}"
    elif kind == "hits":
        yield f"{_name(found['event'])}: {counted(found['events'], 'hit')} in the kernel"
    elif kind == "latency":
        yield from _latency(found)
    else:
        what = f"{_name(found['event'])} {found['field']}" if found["field"] else "process"
        yield f"{what}: {counted(found['events'], 'event')}{'' if found['exact'] else ', approximate'}"
        rows = [(one["value"], one["count"], one["error"]) for one in found["values"]]
        yield from _bars([*rows, *([("others", found["others"], 0)] if found["others"] else [])])


def _latency(found: dict[str, Any]) -> Iterator[str]:
    sign = "≤ " if found["in_kernel"] else ""
    figures = "".join(f"  {n} {sign}{duration(found[n])}" for n in ("p50", "p90", "p99", "max") if n in found)
    what = "calls in the kernel" if found["in_kernel"] else "pairs"
    mean = f"  mean {duration(round(found['mean']))}" if found["calls"] else ""
    yield f"{found['function']}: {grouped(found['calls'])} {what}{figures}{mean}"
    yield from _bars([(f"≤ {duration(1 << exponent)}", hits, 0) for exponent, hits in found["log2"]])


def _bars(rows: list[tuple[str, int, int]]) -> Iterator[str]:
    most = max((hits for _, hits, _ in rows), default=0)
    widest = min(40, max((len(label) for label, _, _ in rows), default=0))
    for label, hits, error in rows:
        bar = "#" * (-(-hits * _BAR // most) if most else 0)
        yield f"  {label:>{widest}} |{bar:<{_BAR}}| {'>= ' if error else ''}{grouped(hits)}"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
