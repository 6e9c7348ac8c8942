"""Print the latencies of CPUs as tables, with a histogram of each measure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from events.latencies.cpu_latencies import ALL_CPUS, CpuLatencies, LatencySum, Measure
from foreign.count_text import counted
from tui.present.latencies.rows import (
    CAUSE_TITLES,
    NOISE_TITLES,
    TITLES,
    cause_cells,
    cause_rows,
    is_judged,
    latency_rows,
    noise_cells,
    text_cells,
)
from tui.present.latencies.worst import worst_lines, worst_of
from widgets.number_format import bar, duration

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.watch.watch import Watch

_MOST_CAUSES: Final = 12
"""Causes that are printed, those with the most time."""
_BAR: Final = 30
"""Columns of a bar."""


def histogram_lines(measure: Measure, total: LatencySum) -> list[str]:
    """Return the values of a measure by powers of two, a line each."""
    powers = total.values.powers
    most = max((power.hits for power in powers), default=1)
    lines = [f"{measure.source} {measure.name}, {counted(total.values.count, 'sample')}"]
    return lines + [
        f"  up to {duration(1 << power.exponent):>8} |{bar(power.hits / most, _BAR)}| {power.hits:,}"
        for power in powers
    ]


def table_lines(titles: Sequence[str], rows: Sequence[Sequence[str]], texts: int) -> list[str]:
    """Return a table as lines; the first `texts` columns are texts, the others stand to the right."""
    widths = [max(len(row[n]) for row in (titles, *rows)) for n in range(len(titles))]

    def line(row: Sequence[str]) -> str:
        cells = (
            cell.ljust(w) if n < texts else cell.rjust(w) for n, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        return "  ".join(cells).rstrip()

    return [line(row) for row in (titles, *rows)]


def printed(watch: Watch, store: Store, found: CpuLatencies) -> Iterator[str]:
    """Yield everything as lines; foreign text."""
    yield from table_lines(TITLES, [text_cells(*row) for row in latency_rows(found)], 2)
    if found.noise:
        yield ""
        yield from table_lines(NOISE_TITLES, [noise_cells(found, cpu) for cpu in sorted(found.noise)], 0)
    if causes := cause_rows(found):
        yield ""
        yield from table_lines(CAUSE_TITLES, [cause_cells(row) for row in causes[:_MOST_CAUSES]], 2)
        if len(causes) > _MOST_CAUSES:
            yield f"and {counted(len(causes) - _MOST_CAUSES, 'other cause')} (--json has all)"
    for measure in sorted(found.sums):
        if is_judged(measure):
            yield ""
            yield from histogram_lines(measure, found.sums[measure][ALL_CPUS])
    if (worst := worst_of(watch, store, found)) is not None:
        yield ""
        yield from worst_lines(worst)
