"""Tree of the kernel stacks of a watch's events, by number or by the sum of a value. Imports no screen code.

Equal stacks are one group of an `Aggregate`; only groups are put into the tree.
"""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Container
from typing import TYPE_CHECKING, Final, NamedTuple

from events.aggregates.aggregate import MOST_GROUPS, Aggregate, GroupKey
from events.aggregates.groups import OTHERS
from events.stacks.call_tree import StackTree, TreeComparison, Weights
from events.stacks.stack import stack_frames
from events.stacks.stack_paths import FrameKind, Path, PathFrame, Shape, kernel_path, task_path
from foreign.count_text import counted
from tui.filter.filter import PassCount
from tui.present.call_ends import ends_of
from tui.views.aggregate.labels import KeyLabels
from tui.views.aggregate.plan_columns import PlanColumns, ends_for
from tui.views.aggregate.table_source import is_time
from tui.views.stacks.choice import StackChoice
from widgets.number_format import duration, grouped

if TYPE_CHECKING:
    from events.decode import Value
    from events.names.kallsyms import Symbols
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.watch.watch import Watch

_NO_FUNCTION: Final = (PathFrame("[only the code of the probe]", FrameKind.UNKNOWN),)
_MORE: Final = (PathFrame("[more different stacks than are kept]", FrameKind.UNKNOWN),)


class WeighedTree(NamedTuple):
    """Tree with the weights of one moment."""

    tree: StackTree
    totals: Weights
    """Weight of each node with all below it; where stacks are compared, since the mark."""
    own: Weights
    """Weight of the stacks that end at each node."""
    before: Weights | None
    """Totals before the mark; None: nothing is compared."""

    @property
    def comparison(self) -> TreeComparison | None:
        """Comparison of before and after; None: nothing is compared."""
        return TreeComparison(self.before, self.totals) if self.before is not None else None

    @property
    def widths(self) -> Weights:
        """Widths of the nodes in a picture."""
        return self.totals if self.before is None else TreeComparison(self.before, self.totals).widths


class _Part:
    """Stacks of some of the rows: an aggregate, and the paths of its groups."""

    def __init__(self, aggregate: Aggregate) -> None:
        self.aggregate = aggregate
        self.paths: list[Path | None] = [_MORE]
        """Path of each group; None: the events of the group have no stack."""
        self.nodes: list[int | None] = []
        """Node of each group in the tree."""

    def weights(self) -> list[int]:
        """Return the weight of each group; one below 0 is 0."""
        groups = self.aggregate.groups
        if not groups.values:
            found: list[int] = groups.counts.tolist()
            return found
        sums = zip(groups.values[0].high.tolist(), groups.values[0].low.tolist(), strict=True)
        return [max(0, (high << 32) + low) for high, low in sums]

    @property
    def stackless(self) -> int:
        """Number of events without a recorded stack."""
        counts = self.aggregate.groups.counts
        return sum(int(counts[group]) for group, path in enumerate(self.paths) if path is None)


class StackModel:
    """Stacks of a watch's store that are added up as they come."""

    def __init__(
        self,
        watch: Watch,
        store: Store,
        choice: StackChoice,
        *,
        passing: FilteredRows | None = None,
        only: Container[str] | None = None,
        limit: int = MOST_GROUPS,
        most: int = 0,
    ) -> None:
        """Add up the stacks of a store, see `events.aggregates.aggregate.Aggregate`."""
        self.watch = watch
        self.store = store
        self.choice = choice
        self.passing = passing
        self._only = only
        self._limit = limit
        self._most = most
        self._columns = PlanColumns(watch)
        self._labels = KeyLabels(watch, store)
        self._kernel_paths: dict[tuple[int, Value], Path] = {}
        """Paths of stacks by boot and addresses, with the names of `_resolved`."""
        self._resolved = self._symbols()
        self._tree = StackTree()
        self._seen = (watch.event_fields.plans, len(watch.event_fields.with_stacks))
        self.is_stale = False
        """True if by now calls are to be counted in place of events, or the other way round."""
        self.is_time = bool(choice.value) and is_time(watch, choice.value)
        """True if weights are nanoseconds."""
        self._before = _Part(self._aggregate(0, choice.mark)) if choice.mark is not None else None
        self._after = _Part(self._aggregate(choice.mark or 0))

    def _aggregate(self, first: int, end: int | None = None) -> Aggregate:
        request, bounds = self.choice.request, self.watch.bounds
        return Aggregate(
            self.store,
            request,
            self._columns.of,
            ends=ends_for(self.watch, request, self._columns),
            passing=self.passing,
            only=self._only,
            limit=self._limit,
            most_open=bounds.calls,
            piece=bounds.piece,
            first=first,
            end=end,
            most=self._most,
        )

    @property
    def parts(self) -> tuple[_Part, ...]:
        """Stacks before the mark, if there is one, then all others."""
        return (self._after,) if self._before is None else (self._before, self._after)

    @property
    def aggregate(self) -> Aggregate:
        """Groups of all stacks, or of those since the mark."""
        return self._after.aggregate

    @property
    def backlog(self) -> int:
        """Number of events not yet processed."""
        return sum(part.aggregate.backlog for part in self.parts)

    @property
    def unit(self) -> str:
        """Noun for what is counted."""
        return "call" if self.aggregate.of_calls else "event"

    @property
    def stacked(self) -> int:
        """Number of events or calls in the tree."""
        return sum(part.aggregate.counted - part.stackless for part in self.parts)

    @property
    def stack_count(self) -> int:
        """Number of different stacks in the tree."""
        return len({node for part in self.parts for node in part.nodes[1:] if node is not None})

    @property
    def passing_count(self) -> int:
        """Number of events or calls that pass the filter."""
        return sum(part.aggregate.passing_count for part in self.parts)

    @property
    def of(self) -> int:
        """Number of all events or calls."""
        return sum(part.aggregate.of for part in self.parts)

    def tick(self, budget: float) -> None:
        """Process new events for about `budget` seconds."""
        known = self.watch.event_fields
        if self._seen != (seen := (known.plans, len(known.with_stacks))):
            self._seen = seen
            wants_calls = ends_for(self.watch, self.choice.request, self._columns) is not None
            self.is_stale = wants_calls != self.aggregate.of_calls
            for part in self.parts:
                part.aggregate.forget_formats()
                part.aggregate.use(ends_of(known.plans))
        for part in self.parts:
            if part.aggregate.backlog or part is self._after:
                part.aggregate.tick(budget)

    def compare_from_here(self) -> StackChoice:
        """Compare what comes from now on with what was processed; return the choice with that mark."""
        mark = self._after.aggregate.end_here()
        self.choice = self.choice._replace(mark=mark)
        self._before, self._after = self._after, _Part(self._aggregate(mark))
        return self.choice

    def reshape(self, shape: Shape) -> None:
        """Put the stacks into a tree of another form."""
        self.choice = self.choice._replace(shape=shape)
        self._plant()

    def names_changed(self) -> None:
        """Look up names again, of functions only if there are other symbols: those of tasks change all the time."""
        symbols = self._symbols()
        known = len(symbols) == len(self._resolved) and all(map(operator.is_, symbols, self._resolved))
        if known and not self.choice.tasks:
            return
        if not known:
            self._resolved = symbols
            self._kernel_paths.clear()
        self._labels = KeyLabels(self.watch, self.store)
        for part in self.parts:
            part.paths = [_MORE]
        self._plant()

    def _symbols(self) -> list[Symbols | None]:
        info = self.watch.info
        return [info.symbols.loaded_of(boot) for boot in (info.symbols.boot, *info.symbols.recorded_boots)]

    def _plant(self) -> None:
        self._tree = StackTree()
        for part in self.parts:
            part.nodes = []

    def _name_groups(self, part: _Part) -> None:
        """Give new groups their paths and nodes."""
        for group in range(len(part.paths), len(part.aggregate.groups)):
            part.paths.append(self._path(part.aggregate.keys_of(group)))
        for group, path in enumerate(part.paths[len(part.nodes) :], len(part.nodes)):
            part.nodes.append(None if path is None or group == OTHERS else self._node(path))
        if part.nodes[OTHERS] is None and part.aggregate.groups.counts[OTHERS]:
            part.nodes[OTHERS] = self._node(_MORE)

    def _node(self, path: Path) -> int:
        return self._tree.add(self.choice.shape.of(path))

    def _path(self, keys: tuple[GroupKey, ...]) -> Path | None:
        source, value = keys[0]
        if value is None:
            return None
        boot = source.fmt.boot if source.fmt is not None else 0
        path = self._kernel_paths.get((boot, value))
        if path is None:
            frames = stack_frames(value, self.watch.info.symbols.loaded_of(boot))
            path = self._kernel_paths[boot, value] = kernel_path(frames) or _NO_FUNCTION
        return task_path(self._labels.label(keys[1])) + path if self.choice.tasks else path

    def weighed(self) -> WeighedTree:
        """Return the tree with the weights of now."""
        for part in self.parts:
            self._name_groups(part)
        owns = [self._own(part) for part in self.parts]
        totals = [self._tree.totals(own) for own in owns]
        return WeighedTree(self._tree, totals[-1], owns[-1], totals[0] if self._before is not None else None)

    def _own(self, part: _Part) -> Weights:
        own = [0] * len(self._tree)
        for node, weight in zip(part.nodes, part.weights(), strict=True):
            if node is not None:
                own[node] += weight
        return own

    def stacks(self) -> Counter[Path]:
        """Return the weight of each stack in the chosen form, where it is not 0; of what is compared since the
        mark.
        """
        weighed = self.weighed()
        return Counter({weighed.tree.path(node): weight for node, weight in enumerate(weighed.own) if weight})

    def weight_text(self, weight: int) -> str:
        """Return a weight with its unit: `1,234 events`, `12.3 ms`, `4,096`."""
        if not self.choice.value:
            return counted(weight, self.unit)
        return duration(weight) if self.is_time else grouped(weight)

    @property
    def title(self) -> str:
        """Weight and form in words: `count by stack, bottom-up`."""
        value, shape = self.choice.value, self.choice.shape
        parts = [f"{f'sum({value})' if value else 'count'} by stack"]
        parts += ["bottom-up"] if shape.bottom_up else []
        parts += ["by module"] if shape.by_module else []
        parts += ["by task"] if self.choice.tasks else []
        return ", ".join(parts)

    @property
    def pass_count(self) -> PassCount:
        """Number of events or calls in the tree, which pass the filter and have a stack, and of all."""
        return PassCount(self.stacked, self.of, self.unit, left_out=self.passing_count - self.stacked)

    @property
    def head(self) -> str:
        """Number of events or calls in the tree, in words."""
        return self.pass_count.text if self.passing_count < self.of else counted(self.stacked, self.unit)

    @property
    def lacking(self) -> list[str]:
        """Numbers of events or calls that are not in the tree, in words; empty: all are."""
        parts = []
        if left := self.passing_count - self.stacked:
            parts.append(
                f"{grouped(left)} without a stack" + (f" or {self.choice.value}" if self.choice.value else "")
            )
        if negative := self._negative():
            parts.append(f"{counted(negative, 'stack')} with a sum below 0")
        if skipped := sum(part.aggregate.skipped_events for part in self.parts[:1]):
            parts.append(f"{grouped(skipped)} dropped before they were counted")
        if self.backlog:
            parts.append(f"{grouped(self.backlog)} to go")
        return parts

    def _negative(self) -> int:
        values = [part.aggregate.groups.values for part in self.parts]
        return sum(int((one[0].high < 0).sum()) for one in values if one)
