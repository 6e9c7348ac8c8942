"""Table of the latencies of CPUs, for exports. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from events.latencies.cpu_latencies import CpuLatencies
from tui.filter.filter import Filter, PassCount
from tui.output.view_table import Cells, EventsTable
from tui.present.latencies.objects import objects

if TYPE_CHECKING:
    from events.store.store import Store
    from kernel.watch.watch import Watch

_COLUMNS: Final = (
    *("kind", "source", "measure", "cpu", "by", "name", "count", "min", "avg", "p99", "p99_9", "max", "total"),
    *("runtime", "noise", "available", "hw", "nmi", "irq", "softirq", "thread", "ts", "pid", "comm"),
)


class LatenciesTable(EventsTable):
    """Latencies by CPU, noise by CPU, what interrupted, and the worst sample."""

    name = "latencies"

    def __init__(self, watch: Watch, store: Store, chosen: Filter) -> None:
        super().__init__(watch, store, chosen)
        self._found = CpuLatencies(store, chosen.of(watch, store))

    @property
    def backlog(self) -> int:
        """Number of rows not yet counted."""
        return self._found.rows.backlog

    @property
    def counted(self) -> PassCount:
        """Number of samples."""
        return PassCount(self._found.samples, self._found.samples, "sample")

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns; each row has some of them."""
        return _COLUMNS

    def tick(self, budget: float) -> None:
        """Count samples."""
        self._found.tick(budget)

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the objects of `run timerlat --json`."""
        yield from objects(self.watch, self.store, self._found)

    def cells(self, row: Mapping[str, Any]) -> Iterator[Cells]:
        """Yield one row, without its lists; the name of the measure is that of its column."""
        named = {"measure": row["name"]} if row["kind"] in ("latency", "worst") else {}
        yield {name: value for name, value in {**row, **named}.items() if name in _COLUMNS}
