"""Print the maps of compiled BPF objects at the end of `run`, as tables, histograms, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence

from foreign.count_text import counted
from kernel.bpf.objects.tables import MOST_ROWS
from kernel.errors import KernelError
from kernel.watch.object_maps import read_maps
from kernel.watch.watch import Watch
from probes.objects.shown_maps import ShownMap
from tui.cli.console.output import emit, plain

_BAR = 40
"""Characters of the longest bar."""


def print_maps(watch: Watch, *, as_json: bool) -> None:
    """Print the contents of the maps of all armed objects."""
    try:
        found = [(one.name, shown) for one in read_maps(watch.armed) for shown in one.maps]
    except KernelError as error:
        print(plain(f"probewright: the maps can't be read: {error}"), file=sys.stderr)
        return
    for name, one in found:
        if as_json:
            emit(json_value(name, one))
            continue
        print()
        for text in lines_of(name, one):
            print(plain(text))


def json_value(name: str, one: ShownMap) -> dict[str, object]:
    """Return a map as a JSON object: keys and values with their members, sums of all CPUs and each of them."""
    rows = []
    for row in one.rows:
        plain_row: dict[str, object] = {"key": row.key, "value": row.value}
        if row.by_cpu:
            plain_row["by_cpu"] = list(row.by_cpu)
        rows.append(plain_row)
    return {"object": name, "map": one.map.name, "type": one.map.type_name, "rows": rows, "zeros": one.zeros}


def lines_of(name: str, one: ShownMap) -> Iterator[str]:
    """Yield the lines of a map: its histograms, else a table."""
    sums = ", sums of all CPUs" if one.map.is_by_cpu else ""
    yield f"{name}: {one.map.name} ({one.map.type_name}{sums}): {counted(len(one.rows), 'element')}"
    if one.histograms:
        for key, counts in one.histograms:
            yield from _histogram(key, counts)
    elif one.rows:
        yield from _table(one)
    if one.zeros:
        yield f"  {counted(one.zeros, 'element')} of zeros"
    if one.is_cut:
        yield f"  the first {counted(MOST_ROWS, 'element')} of more"


def _table(one: ShownMap) -> Iterator[str]:
    columns = one.columns
    texts = [columns, *(tuple(str(row.columns.get(name, "")) for name in columns) for row in one.rows)]
    widths = [max(len(row[at]) for row in texts) for at in range(len(columns))]
    numeric = [all(isinstance(row.columns.get(name, 0), int) for row in one.rows) for name in columns]
    for row in texts:
        cells = zip(row, widths, numeric, strict=True)
        yield (
            "  "
            + "  ".join(text.rjust(width) if right else text.ljust(width) for text, width, right in cells).rstrip()
        )


def _histogram(key: str, counts: Sequence[int]) -> Iterator[str]:
    """Yield a histogram of powers of two, from the first slot that is not empty to the last."""
    used = [at for at, count in enumerate(counts) if count]
    if key:
        yield f"  {key}"
    if not used:
        return
    largest = max(counts)
    rows = [(f"{1 << at if at else 0} -> {(1 << at + 1) - 1}", counts[at]) for at in range(used[0], used[-1] + 1)]
    left, right = max(len(text) for text, _ in rows), max(len(f"{count:,}") for _, count in rows)
    for text, count in rows:
        yield f"    {text:>{left}}  {count:>{right},}  {'#' * round(count * _BAR / largest)}".rstrip()
