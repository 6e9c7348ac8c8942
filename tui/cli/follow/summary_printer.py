"""`run --summary` and `run --hist`: what came in sum, counted here or in the kernel, printed at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from events.names.event_names import regrouped_path
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from probes.hist.kept import LATENCY, NO_IDLE
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
"""Seconds between two looks at what came."""


def summarize(watch: Watch, arguments: argparse.Namespace, events: Collection[str], chosen: Filter) -> None:
    """Count what passes a filter until it is time to stop, then print.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    if arguments.hist:
        _in_kernel(watch, arguments, events)
        return
    counting = _Counting(
        watch, arguments.summary or "", events, chosen, exact=arguments.json, most=arguments.count or 0
    )
    ended_by: KernelError | None = None
    try:
        follow(watch, arguments, events, lambda _: None, counting.tick, chosen=chosen)
    except KernelError as error:  # of a line that was cut: what was counted by then is given out all the same
        ended_by = error
    counting.finish()
    for found in counting.found():
        _print(found, as_json=arguments.json)
    if watch.forgotten_names:
        many = f"{grouped(watch.forgotten_names)} names of tasks were forgotten"
        print(f"probewright: {many}: there is room for {grouped(watch.bounds.tasks)}", file=sys.stderr)
    if ended_by is not None:
        raise ended_by


class _Counting:
    """The events of a watch, counted as they come."""

    def __init__(
        self, watch: Watch, field: str, events: Collection[str], chosen: Filter, *, exact: bool, most: int = 0
    ) -> None:
        """Take what is counted; `most`: events after which nothing is counted any more, 0: all are."""
        self._watch = watch
        self._exact = exact
        self._most = most
        self._chosen = chosen
        self._field = field
        self._events = events
        self._summary: Summary | None = None
        self._store: Store | None = None
        self._counted: dict[Subject, FieldValues] = {}
        self._group = watch.known.group

    def tick(self, budget: float = _BUDGET) -> int:
        """Count what came; gives how many events were."""
        store = self._watch.store
        if store is None:
            return 0
        if self._summary is None:
            from events.summary.summary import Summary  # numpy comes with it

            bounds = self._watch.bounds
            passing = self._chosen.of(self._watch, store)
            self._summary = Summary(
                store, bounds.values, self._events, bounds.calls, passing, bounds.piece, self._most
            )
            self._store = store
        if (group := self._watch.known.group) != self._group:
            now = partial(regrouped_path, old=self._group, new=group)
            self._summary.rename(now)
            self._counted = {one._replace(event=now(one.event)): values for one, values in self._counted.items()}
            self._group = group
        self._summary.use(ends_of(self._watch.known.plans))
        for subject in subjects_of(self._watch, store):
            wanted = subject.field == self._field and subject.event in self._events
            if subject.field and wanted and subject not in self._counted:
                self._counted[subject] = self._summary.count_also(subject.event, subject.field)
        self._summary.tick(budget)
        return self._summary.seen

    def finish(self) -> None:
        """Count the rest."""
        self.tick()
        while self._summary is not None and self._summary.behind:
            self.tick()

    def found(self) -> Iterator[dict[str, Any]]:
        """What was counted, as objects."""
        summary, store = self._summary, self._store
        if summary is None or store is None:
            return
        if self._field and not self._counted:
            print(plain(f"probewright: no event has a field {self._field}"), file=sys.stderr)
        yield from objects_of(
            self._watch, store, summary, self._counted, exact=self._exact, filtered=bool(self._chosen.text)
        )


def count_in_kernel(watch: Watch, field: str) -> None:
    """Let the kernel count what is armed, and the values of a field, in place of recording; closing ends it.

    Raises ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    paths = [event.path for armed in watch.armed for event in armed.plan.events]
    formats = {fmt.path: fmt for armed in watch.armed for fmt in armed.formats.values()}
    has = [path for path in paths if path in formats and field in formats[path].names]
    watch.histograms.begin(watch.armed, tuple((path, field) for path in has))


def _in_kernel(watch: Watch, arguments: argparse.Namespace, events: Collection[str]) -> None:
    count_in_kernel(watch, arguments.summary or "")
    follow(watch, arguments, events, lambda _: None, lambda: 0)
    reads = watch.histograms.read()
    for found in objects_of_kernel(watch, reads, exact=arguments.json):
        _print(found, as_json=arguments.json)
    if any(read.kept.what == LATENCY for read in reads):
        print(f"probewright: {NO_IDLE}", file=sys.stderr)


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
        of = f" of {grouped(found['of'])}" if "of" in found else ""
        yield f"{grouped(found['events'])}{of} events{uncounted}"
    elif kind == "rate":
        seconds = max(1, len(found["counts"])) * found["step"] / 1e9
        peak = max(found["counts"], default=0) * 1e9 / found["step"]
        rates = f"{short(found['events'] / seconds)}/s, at most {short(peak)}/s"
        yield f"{_name(found['event'])}: {grouped(found['events'])} events, {rates}"
    elif kind == "hits":
        yield f"{_name(found['event'])}: {grouped(found['events'])} hits in the kernel"
    elif kind == "latency":
        yield from _latency(found)
    else:
        what = f"{_name(found['event'])} {found['field']}" if found["field"] else "process"
        yield f"{what}: {grouped(found['events'])} events{'' if found['exact'] else ', approximate'}"
        rows = [(one["value"], one["count"], one["error"]) for one in found["values"]]
        yield from _bars([*rows, *([("others", found["others"], 0)] if found["others"] else [])])


def _latency(found: dict[str, Any]) -> Iterator[str]:
    sign = "≤ " if found["in_kernel"] else ""
    figures = "".join(f"  {n} {sign}{duration(found[n])}" for n in ("p50", "p90", "p99", "max") if n in found)
    what = "calls in the kernel" if found["in_kernel"] else "pairs"
    mean = f"  mean {duration(found['mean'])}" if found["calls"] else ""
    yield f"{found['function']}: {grouped(found['calls'])} {what}{figures}{mean}"
    yield from _bars([(f"≤ {duration(1 << exponent)}", hits, 0) for exponent, hits in found["log2"]])


def _bars(rows: list[tuple[str, int, int]]) -> Iterator[str]:
    most = max((hits for _, hits, _ in rows), default=0)
    widest = min(40, max((len(label) for label, _, _ in rows), default=0))
    for label, hits, error in rows:
        drawn = "#" * (-(-hits * _BAR // most) if most else 0)
        yield f"  {label:>{widest}} |{drawn:<{_BAR}}| {'>= ' if error else ''}{grouped(hits)}"


def _name(path: str) -> str:
    return path.rpartition("/")[2]
