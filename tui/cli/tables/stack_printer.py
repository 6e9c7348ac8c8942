"""`--stacks`: print a tree of kernel stacks at the end in place of events, or write the stacks to a file."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Final

from events.aggregates.event_columns import STACKS
from events.aggregates.request import AggregateError, AggregateFunction, AggregateRequest, Statistic
from events.stacks.call_tree import ROOT
from kernel.errors import KernelError
from kernel.watch.watch import Watch
from tui.cli.args.options import STACK_FORMS, is_aggregate
from tui.cli.console.output import emit, line
from tui.cli.follow.filter import OptionRefused
from tui.cli.follow.follow import follow
from tui.cli.follow.loss_printer import print_no_events
from tui.cli.status import DONE
from tui.cli.tables.aggregate_printer import export_table
from tui.filter.filter import Filter
from widgets.number_format import grouped

if TYPE_CHECKING:
    from tui.cli.exports.export_options import ExportRequest
    from tui.views.stacks.model import StackModel, WeighedTree

TOP: Final = 50
"""Frames that are printed, unless another number is requested."""
_BUDGET: Final = 0.1
"""Seconds of counting for each batch of new events."""
_ALONE: Final = {
    "summary": "--summary prints another table",
    "hist": "the kernel's own counts by stack are those of --by kstack --hist",
    "count_only": "with --count-only the kernel records no event",
    "view": "--view names another table",
}
"""Options beside which there is no tree of stacks, with the reason."""


def stacks_request_of(arguments: argparse.Namespace) -> AggregateRequest | None:
    """Return the groups that --stacks is made of; None: it is not asked for. Raises OptionRefused."""
    if arguments.stacks is None:
        if given := next((name for name in STACK_FORMS if getattr(arguments, name)), ""):
            raise OptionRefused(f"--{given.replace('_', '-')} is a form of the tree that --stacks prints")
        return None
    if is_aggregate(arguments):
        raise OptionRefused("--stacks makes a tree, and --by and its values make a table: one of them at a time")
    for name, why in _ALONE.items():
        if getattr(arguments, name, None) not in (None, False):
            raise OptionRefused(f"--stacks makes a tree of recorded events, and {why}")
    statistics = (Statistic(AggregateFunction.SUM, arguments.stacks),) if arguments.stacks else ()
    return AggregateRequest(STACKS[:1], statistics)


class StackCounter:
    """Adds up the stacks of a watch as they arrive."""

    def __init__(
        self, watch: Watch, arguments: argparse.Namespace, chosen: Filter, only: Collection[str] | None
    ) -> None:
        """Set what to count; `only`: paths of the events, None: all. Raises OptionRefused."""
        self._watch = watch
        self._arguments = arguments
        self._filter = chosen
        self._only = only
        self.model: StackModel | None = None
        """The stacks; None: no event came."""
        self._check()

    def _check(self) -> None:
        from tui.views.aggregate.plan_columns import PlanColumns, check_request

        request = stacks_request_of(self._arguments)
        try:
            check_request(self._watch, request or AggregateRequest(), PlanColumns(self._watch))
        except AggregateError as error:
            raise OptionRefused(f"--stacks: {error}") from None

    def tick(self, budget: float = _BUDGET) -> int:
        """Count new events for `budget` seconds; return the number of events counted in all."""
        store = self._watch.store
        if store is None:
            return 0
        if self.model is None:
            from events.stacks.stack_paths import Shape
            from tui.views.stacks.choice import StackChoice
            from tui.views.stacks.model import StackModel  # imports numpy

            given = self._arguments
            choice = StackChoice(given.stacks, Shape(given.bottom_up, given.by_module), given.by_task)
            passing = self._filter.of(self._watch, store)
            most = getattr(given, "count", None) or 0
            self.model = StackModel(self._watch, store, choice, passing=passing, only=self._only, most=most)
        self.model.tick(budget)
        return self.model.passing_count

    def catch_up(self) -> None:
        """Count all events that have arrived, before later ones displace them."""
        self.tick()
        while self.model is not None and self.model.backlog:
            self.model.tick(_BUDGET)

    def finish(self) -> StackModel | None:
        """Count all remaining events; return the stacks with the names that are known now."""
        self.catch_up()
        model = self.model
        if model is not None:
            self._watch.info.symbols.load(by_name=False)
            model.names_changed()
        return model


def print_stacks(
    watch: Watch,
    arguments: argparse.Namespace,
    events: Collection[str],
    chosen: Filter,
    wanted: ExportRequest | None,
) -> int:
    """Follow the armed probes until the end, then print or write their stacks; return the exit status.

    Raises OptionRefused, ProbeRefused, FileRefused, TargetUnusable, TargetLost.
    """
    counter = StackCounter(watch, arguments, chosen, events)
    lost: KernelError | None = None
    try:
        follow(watch, arguments, events, lambda _: None, counter.tick, chosen=chosen)
    except KernelError as error:  # the connection is lost: what was counted before is printed all the same
        lost = error
    status = write_stack_tree(watch, counter.finish(), arguments, wanted)
    if lost is not None:
        raise lost
    return status


def write_stack_tree(
    watch: Watch, model: StackModel | None, arguments: argparse.Namespace, wanted: ExportRequest | None
) -> int:
    """Print the stacks, or write all of them to a file; return the exit status."""
    as_json = getattr(arguments, "json", False)
    if model is None or (wanted is None and not model.of):
        print_no_events(watch)
        return DONE
    from tui.output.stack_table import StackTable

    table = StackTable(model, Filter(arguments.filter))
    if wanted is not None:
        return export_table(table, wanted, as_json=as_json)
    if as_json:
        emit({"summary": "stacks", "unit": model.unit, "value": model.choice.value or None, **table.figures})
        for row in table.objects():
            emit(row)
        return DONE
    for text in tree_lines(model, TOP if arguments.top is None else arguments.top):
        print(line(text))
    return DONE


def tree_lines(model: StackModel, top: int) -> Iterator[str]:
    """Yield the heaviest frames as a tree, each with its share and its weight; `top`: number of frames, 0: all.

    A frame is never heavier than the one around it: those that are printed hang together.
    """
    weighed = model.weighed()
    nodes = [node for node in range(1, len(weighed.tree)) if weighed.totals[node]]
    nodes.sort(key=lambda node: (-weighed.totals[node], node))
    kept = {*(nodes[:top] if top else nodes)}
    yield f"{', '.join((model.head, *model.lacking))}: {model.title}"
    if not kept:
        return
    widest = len(grouped(weighed.totals[ROOT]))
    for node, level in _in_order(weighed, kept):
        weight, total = weighed.totals[node], weighed.totals[ROOT]
        name = weighed.tree.frames[node].name
        text = model.weight_text(weight) if model.is_time else grouped(weight)
        yield f"{100 * weight / total:5.1f}% {text:>{widest}}  {'  ' * level}{name}"
    if rest := len(nodes) - len(kept):
        yield f"{grouped(rest)} more frames: --top 0 prints all"


def _in_order(weighed: WeighedTree, kept: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield nodes with their levels, each before those below it, the heaviest first."""
    rest = [(ROOT, -1)]
    while rest:
        node, level = rest.pop()
        if node != ROOT:
            yield node, level
        children = [child for child in weighed.tree.children[node] if child in kept]
        rest += [(child, level + 1) for child in sorted(children, key=lambda one: weighed.totals[one])]
