"""`run timerlat` and other sources of latencies: a table by CPU in place of events, and a threshold."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from kernel.errors import KernelError
from kernel.watch.watch import Watch
from probes.command import Armable
from probes.sources.option import duration_text
from probes.sources.source import Source, is_latency
from tui.cli.args.options import is_aggregate
from tui.cli.console.output import emit, line, plain
from tui.cli.follow.filter import OptionRefused
from tui.cli.follow.follow import follow
from tui.cli.status import DONE, REFUSED
from widgets.number_format import duration

if TYPE_CHECKING:
    from events.latencies.cpu_latencies import CpuLatencies
    from tui.filter.filter import Filter

_STEADY: Final = ("timerlat", "osnoise")
"""Sources that have samples whatever the machine does."""
_BUDGET: Final = 0.1
_AFTERWARDS: Final = 0.5
"""Seconds in which what the kernel recorded up to its stop is read."""


def is_table(arguments: argparse.Namespace, probes: Sequence[Armable]) -> bool:
    """Return whether only sources are armed, and neither their events nor other tables are requested."""
    others = (
        arguments.export
        or arguments.output
        or arguments.view
        or arguments.count
        or arguments.hist
        or arguments.count_only
        or arguments.summary is not None
        or arguments.stacks is not None
        or is_aggregate(arguments)
    )
    return not others and bool(probes) and all(is_latency(probe) for probe in probes)


def with_threshold(arguments: argparse.Namespace, probes: list[Armable]) -> list[Armable]:
    """Return the sources with the threshold as the kernel's own limit, where it has one. Raises OptionRefused."""
    if arguments.threshold is None:
        return probes
    if not is_table(arguments, probes):
        raise OptionRefused("--threshold is for sources alone, and their table: run timerlat --threshold 50us")
    return [_limited(probe, arguments.threshold) if isinstance(probe, Source) else probe for probe in probes]


def _limited(source: Source, threshold: int) -> Source:
    limit = source.kind.limit
    return source.having(limit, duration_text(threshold)) if limit and not source.us(limit) else source


class LatencyPrinter:
    """Counter of the samples of a watch as they arrive."""

    def __init__(self, watch: Watch, threshold: int | None, chosen: Filter) -> None:
        """Take a watch, a threshold in microseconds (None: there is none), and a filter."""
        self._watch = watch
        self._threshold = threshold
        self._chosen = chosen
        self._found: CpuLatencies | None = None
        self._reached_at: float | None = None

    def tick(self) -> int:
        """Count new samples; return 1 once the threshold was reached, and what was recorded before it was read."""
        found = self._counted(_BUDGET)
        if self._threshold is None or found is None:
            return 0
        from tui.present.latencies.rows import reached

        if self._reached_at is None and reached(found, self._threshold) is not None:
            self._reached_at = time.monotonic()
        return int(self._reached_at is not None and time.monotonic() >= self._reached_at + _AFTERWARDS)

    def _counted(self, budget: float) -> CpuLatencies | None:
        store = self._watch.store
        if self._found is None and store is not None:
            from events.latencies.cpu_latencies import CpuLatencies  # imports numpy

            self._found = CpuLatencies(store, self._chosen.of(self._watch, store))
        if self._found is not None:
            self._found.tick(budget)
        return self._found

    def print_all(self, *, as_json: bool) -> None:
        """Count what remains, and print the tables."""
        from tui.present.latencies.objects import objects
        from tui.present.latencies.text import printed

        found, store = self._counted(_BUDGET), self._watch.store
        while found is not None and found.rows.backlog:
            found.tick(_BUDGET)
        if found is None or store is None:
            return
        if as_json:
            for one in objects(self._watch, store, found):
                emit(one)
        else:
            for text in printed(self._watch, store, found):
                print(line(text))

    def status(self, sources: Sequence[Source]) -> int:
        """Return the exit status, and print its reason where it is not 0."""
        from tui.present.latencies.rows import reached

        measured = {measure.source for measure in self._found.sums} if self._found is not None else set[str]()
        silent = [one.name for one in sources if one.name in _STEADY and one.name not in measured]
        if silent:
            print(plain(f"probewright: {', '.join(silent)}: no sample came"), file=sys.stderr)
            return REFUSED
        if self._threshold is None or self._found is None:
            return DONE
        if (passed := reached(self._found, self._threshold)) is None:
            return DONE
        measure, worst = passed
        text = f"{measure.source} {measure.name} took {duration(worst.value)} on CPU {worst.cpu}"
        print(plain(f"probewright: {text}: the threshold is {duration_text(self._threshold)}"), file=sys.stderr)
        return REFUSED


def print_latencies(
    watch: Watch, arguments: argparse.Namespace, events: Collection[str], probes: Sequence[Armable], chosen: Filter
) -> int:
    """Follow sources until the end or the threshold, and print their tables; return the exit status.

    Raises the errors of `follow`.
    """
    printer = LatencyPrinter(watch, arguments.threshold, chosen)
    until_reached = argparse.Namespace(**{**vars(arguments), "count": 1})
    lost: KernelError | None = None
    try:
        follow(watch, until_reached, events, lambda _: None, printer.tick, chosen=chosen)
    except KernelError as error:  # the connection is lost: samples received before are printed all the same
        lost = error
    printer.print_all(as_json=arguments.json)
    status = printer.status([probe for probe in probes if isinstance(probe, Source)])
    if lost is not None:
        raise lost
    return status
