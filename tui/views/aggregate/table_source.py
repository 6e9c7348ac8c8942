"""Define a table of groups: its rows, its numbers, and their source. Imports neither numpy nor screen code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from events.aggregates.request import TIMED, AggregateFunction, AggregateRequest, Statistic
from tui.present.value_text import ValueStyle

if TYPE_CHECKING:
    from events.aggregates.aggregate import GroupKey
    from events.aggregates.value_sums import ValueTotal
    from kernel.watch.watch import Watch
    from tui.views.aggregate.labels import KeyLabels

OTHER_KEYS: Final = "others"


class AggregateRow(NamedTuple):
    """Groups with the same names of their keys."""

    labels: tuple[str, ...]
    """Names of the keys, foreign text; empty: all other groups."""
    keys: tuple[GroupKey, ...]
    """Keys of the first of the groups; empty: all other groups."""
    hits: int
    """Number of events or calls."""
    totals: Mapping[str, ValueTotal]
    """Values by name."""
    row: int = -1
    """Number of the row, which no later one changes until names do; -1: all other groups."""
    mixed: tuple[int, ...] = ()
    """Places of the keys whose name several values have: `keys` has the first."""


class AggregateRows(NamedTuple):
    """Rows in order."""

    rows: tuple[AggregateRow, ...]
    others: AggregateRow | None
    """Sums of all rows that are not among these; None: there are none."""
    size: int
    """Number of all rows."""


class Figures(NamedTuple):
    """Numbers of events, calls or hits."""

    counted: int
    """Number in the groups."""
    of: int
    """Number of all, whether they pass the filter or not."""
    left_out: int
    """Number of those that pass and have no group."""
    uncounted: int
    """Number of those dropped before they were counted, or without room."""


class AggregateTableSource(Protocol):
    """Table of groups, of events or of the kernel's histograms."""

    request: AggregateRequest

    @property
    def unit(self) -> str:
        """Noun for what is counted."""

    @property
    def labels(self) -> KeyLabels:
        """Names of keys."""

    @property
    def first_order(self) -> int:
        """Number of the column that rows are sorted by at first."""

    @property
    def figures(self) -> Figures:
        """Numbers of what is counted."""

    @property
    def head(self) -> str:
        """Numbers of rows that are counted and that are not, in words."""

    def rows(self, most: int, by: int | None = None, *, ascending: bool = False) -> AggregateRows:
        """Return the first rows in order of a column."""

    def is_time(self, value: str) -> bool:
        """Tell whether a value is nanoseconds that are shown as a time."""


def first_order(request: AggregateRequest) -> int:
    """Return the number of the column to sort by: the first statistic but minima, else the count."""
    count = len(request.keys)
    statistics = enumerate(request.columns, count + 1)
    return next((n for n, one in statistics if one.function is not AggregateFunction.MIN), count)


def is_time(watch: Watch, value: str) -> bool:
    """Tell whether a value is nanoseconds that are shown as a time."""
    if value in TIMED:
        return True
    measured = ValueStyle(watch.event_fields).measured
    return any(measured(event.path, value) for plan in watch.event_fields.plans for event in plan.events)


def statistic_of(statistic: Statistic, total: ValueTotal) -> float | None:
    """Return a statistic of the values of a row; None: there is no value."""
    if not total.number:
        return None
    found: dict[AggregateFunction, Callable[[], float | None]] = {
        AggregateFunction.SUM: lambda: total.sum,
        AggregateFunction.AVG: lambda: total.mean,
        AggregateFunction.MIN: lambda: total.least,
        AggregateFunction.MAX: lambda: total.most,
    }
    return found[statistic.function]()
