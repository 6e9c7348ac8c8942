"""Failed calls of a store by their first failure, for the screen, the command line and exports."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from btf.functions.error_returns import ErrorReturn, error_return
from events.clocks.boots import task_key
from events.failures.failed_calls import FailedCalls
from events.graph.live_tree import LiveTree, has_graph
from events.graph.record_ends import lacks_returns
from events.graph.tree import LIMIT
from events.names.errnos import errno_name
from probes.attaching.entry_points import name_test
from probes.presets.failure_request import FailureRequest
from tui.present.call_ends import ends_of
from tui.views.graph.row_text import GraphRowText

if TYPE_CHECKING:
    from events.failures.first_failure import FailureChain
    from events.search.filtered_rows import FilteredRows
    from events.store.store import Store
    from kernel.connection.kernel_info import KernelInfo
    from kernel.watch.watch import Watch
    from tui.views.calls.call_text import CallTexts
    from tui.views.graph.names import GraphNames


class ChainCall(NamedTuple):
    """Call of a chain, in words."""

    function: str
    """Name, with its module."""
    arguments: str
    """Arguments with brackets; empty: none are recorded."""
    returned: str
    seq: int
    """Sequence number of its first event."""


class Failure(NamedTuple):
    """Failed call, with the calls that handed its error up."""

    ts: int
    """Nanoseconds of the kernel's clock at its beginning."""
    seq: int
    task: int
    """Thread id, as in the tree."""
    boot: int
    errno: str
    """Name of the error, without a sign: `ENOENT`."""
    calls: tuple[ChainCall, ...]
    """The failed call first, the first failure last."""
    is_ambiguous: bool
    """True if several calls inside one of them returned the error: the last one was taken."""
    is_incomplete: bool
    """True if the return of a call inside the first failure was not recorded."""
    has_unseen_calls: bool
    """True if the first failure calls other functions through pointers, of which nothing was recorded."""
    is_unwatched: bool
    """True if not all that the first failure calls was watched: only probed functions were, or calls to a depth."""
    replaced: ChainCall | None
    """Last call inside the first failure, if it returned another error."""

    @property
    def origin(self) -> str:
        """Name of the function that failed first."""
        return self.calls[-1].function

    @property
    def origin_text(self) -> str:
        """Name of that function, and whether the error may come from further down."""
        return f"{self.origin} or deeper" if self.is_unwatched else self.origin


@dataclass
class FailureGroup:
    """Failures of one origin with one error."""

    origin: str
    errno: str
    example: Failure
    """The first of them."""
    calls: int = 0
    by_call: Counter[str] = field(default_factory=Counter)
    """Number by the function that was called."""
    by_task: Counter[int] = field(default_factory=Counter)
    """Number by `events.clocks.boots.task_key`."""
    ambiguous: int = 0
    """Number of failures in which another function could be the first."""


class FailureModel:
    """Failed calls of a store; `tick` must always be called from the same thread."""

    def __init__(
        self,
        watch: Watch,
        store: Store,
        names: GraphNames,
        call_text: CallTexts | None = None,
        is_chosen: Callable[[str], bool] | None = None,
        errnos: frozenset[int] = frozenset(),
        limit: int = LIMIT,
        has_unseen_calls: Callable[[str], bool] = lambda _: False,
        passing: FilteredRows | None = None,
        since: int = 0,
    ) -> None:
        """Set the source of the calls.

        Args:
            watch: watch of the calls.
            store: store of their events.
            names: names of functions.
            call_text: texts of the values that our own probes recorded.
            is_chosen: returns whether failures of a function are wanted, by its name without module; None: of all
                calls that no other call encloses.
            errnos: negative error numbers that are wanted; empty: all.
            limit: greatest number of calls in memory.
            has_unseen_calls: returns whether calls inside a function are not recorded, by its name without module.
            passing: events that pass the filter, of which a failed call has to have one; None: all do.
            since: time, in nanoseconds of the kernel's clock, from which on calls that begin are looked at.
        """
        self.store = store
        self.live_tree = LiveTree(store, ends_of(watch.event_fields.plans, results=True), limit)
        self.lines = GraphRowText(watch, store, names, call_text, traced=self.live_tree.traced)
        self.groups: dict[tuple[str, str], FailureGroup] = {}
        """By origin and error, in the order of their first failures."""
        plan = watch.graph_plan
        self._max_depth = plan.max_depth if plan else 0
        self._has_probes_alone = plan is None and not self.live_tree.traced
        """True if functions are watched because a person chose them, not because others call them."""
        self._btf = watch.info.btf
        self._has_unseen_calls = has_unseen_calls
        self.passing = passing
        chosen = None if is_chosen is None else (lambda function, boot: is_chosen(self._name(function, boot)))
        self._failed = FailedCalls(
            self.live_tree.tree, self._error_return, chosen, errnos, self._given, since, store.boots
        )

    @property
    def checked(self) -> int:
        """Number of chosen calls that have returned a value."""
        return self._failed.checked

    @property
    def failed(self) -> int:
        """Number of calls that failed."""
        return self._failed.failed

    @property
    def shown(self) -> int:
        """Number of calls that failed and pass the filter."""
        return sum(group.calls for group in self.groups.values())

    @property
    def dropped(self) -> int:
        """Number of chosen calls, and of events of calls, that were dropped before they were looked at."""
        return self._failed.dropped + self.live_tree.skipped_events

    @property
    def without_values(self) -> int:
        """Number of chosen calls without a recorded result or beginning."""
        return self._failed.without_values

    @property
    def lacks_returns(self) -> bool:
        """True if no return values are recorded."""
        return self.live_tree.traced and lacks_returns(self.store.decoder.formats.values())

    def outdated(self, watch: Watch) -> bool:
        """Tell whether another model would differ: a tracer records now, or other events are ends of calls."""
        if self.live_tree.traced:
            return False
        return has_graph(self.store) or ends_of(watch.event_fields.plans, results=True) != self.live_tree.ends

    def tick(self, budget: float) -> tuple[bool, list[Failure]]:
        """Process new events for about `budget` seconds; return whether more remain, and the new failures."""
        more = self.live_tree.tick(budget)
        found = [self._add(chain) for chain in self._failed.take() if self._passes(chain.rows[0])]
        self.live_tree.tree.let_go(self._failed.oldest_needed)
        return more, found

    def by_count(self) -> list[FailureGroup]:
        """Return the groups, the one with most failures first."""
        return sorted(self.groups.values(), key=lambda group: -group.calls)

    def comms(self, group: FailureGroup) -> Counter[str]:
        """Return the number of failures of a group by the name of the process."""
        found: Counter[str] = Counter()
        for task, count in group.by_task.items():
            found[self.store.task_names.name(task)] += count
        return found

    def task_text(self, failure: Failure) -> str:
        """Return name and number of a failure's task: `cat-812`."""
        return self.lines.task(failure.task, failure.boot)

    def _passes(self, number: int) -> bool:
        row = self.live_tree.tree.row(number)
        return self.passing is None or any(seq >= 0 and self.passing.passes(seq) for seq in (row.seq, row.leave))

    def _add(self, chain: FailureChain) -> Failure:
        failure = self._failure(chain)
        key = failure.origin, failure.errno
        group = self.groups.setdefault(key, FailureGroup(*key, failure))
        group.calls += 1
        group.by_call[failure.calls[0].function] += 1
        group.by_task[task_key(failure.task, failure.boot)] += 1
        group.ambiguous += chain.is_ambiguous
        return failure

    def _failure(self, chain: FailureChain) -> Failure:
        row, origin = self.live_tree.tree.row(chain.rows[0]), self.live_tree.tree.row(chain.rows[-1])
        is_unwatched = self._has_probes_alone or 0 < self._max_depth <= origin.level + 1
        name = (errno_name(chain.errno) or str(chain.errno)).removeprefix("-")
        replaced = self._call(chain.handled) if chain.handled >= 0 else None
        boot = self.store.boots.of(row.seq)
        calls = tuple(map(self._call, chain.rows))
        unseen = self._has_unseen_calls(calls[-1].function.split(" ")[0])
        return Failure(
            *(row.ts, row.seq, row.task, boot, name, calls, chain.is_ambiguous, chain.is_incomplete),
            has_unseen_calls=unseen,
            is_unwatched=is_unwatched,
            replaced=replaced,
        )

    def _call(self, number: int) -> ChainCall:
        row = self.live_tree.tree.row(number)
        text = self.lines.line(row, None)
        if self.live_tree.traced:
            return ChainCall(text.name, text.arguments, text.returned, row.seq)
        returned, _ = self.lines.names_of(row).returned(text.name, row)
        return ChainCall(text.name, self.lines.probed_text(row), returned, row.seq)

    def _given(self, number: int) -> tuple[int, ...]:
        """Return the arguments of a call that the tracer recorded."""
        return self.lines.given_values(self.live_tree.tree.row(number))

    def _name(self, function: int, boot: int) -> str:
        return self.lines.name_of(function, boot).split(" ")[0]

    def _error_return(self, function: int, boot: int) -> ErrorReturn:
        return error_return(self._btf, self._name(function, boot))


def wanted_failures(watch: Watch, request: FailureRequest | None) -> FailureRequest:
    """Return the functions and errors whose failures are wanted of a watch.

    A request is for a recording, or for the tracer that it began; another tracer tells the failures of its own
    functions.
    """
    plan = watch.graph_plan
    roots = plan.roots if plan is not None and plan.returns else ()
    if request is not None and not (watch.info.target.is_kernel and roots and roots != request.calls):
        return request
    return FailureRequest(roots)


def chooser(words: Sequence[str], info: KernelInfo) -> Callable[[str], bool] | None:
    """Return a test whether a function's failures are wanted, by its name; None: of all outermost calls."""
    if not words:
        return None
    return name_test(words, info.facts)
