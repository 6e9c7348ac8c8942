"""A watch of a running function_graph tracer: `begin` starts the tracer, `close` puts everything back.

It stands beside the watch of the probes: its instance, its pump and its store are its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import ClassVar, NamedTuple

from events.format import EventFormat
from kernel.connection.planner import Planner
from kernel.errors import KernelError
from kernel.graph.exit_probes import ExitProbes
from kernel.graph.failure_means import ReturnMeans, return_means
from kernel.graph.function_graph import GraphTracing, open_graph
from kernel.graph.program_tracer import ProgramSource
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.session.session import Session
from kernel.target import Target
from kernel.watch.watch import Watch
from probes.plans.graph_plan import GraphPlan


class TracerSource:
    """Source of sessions in which the tracer runs, and no probe."""

    traces: ClassVar[bool] = True

    def __init__(self, target: Target, plan: GraphPlan) -> None:
        self.graph_plan: GraphPlan | None = plan
        self._plan = plan
        self._target = target
        self._tracing: GraphTracing | None = None

    @property
    def formats(self) -> Mapping[int, EventFormat]:
        """Formats of the tracer's events, by id; empty until it runs."""
        return self._tracing.formats if self._tracing is not None else MappingProxyType({})

    def open(self, limit_bytes: int) -> Session:
        """Start the tracer. Raises TargetUnusable, TargetLost."""
        self._tracing = open_graph(self._target, self._plan, limit_bytes=limit_bytes)
        return self._tracing.session

    def reopen(self, limit_bytes: int, ready: Callable[[Session], None]) -> Session:
        """Start the tracer again, in another session. Raises TargetUnusable, TargetLost."""
        self._tracing = open_graph(self._target, self._plan, limit_bytes=limit_bytes, ready=ready)
        return self._tracing.session

    def pause(self) -> None:
        """Stop recording; a lost connection records nothing."""
        if self._tracing is not None:
            with contextlib.suppress(KernelError):
                self._tracing.pause(True)

    def hold_programs(self) -> None:
        """Return without effect, as the tracer loads none: it excludes processes that ours make (function-fork)."""

    def limit_tasks(self, tasks: Sequence[int]) -> None:
        """Trace calls of some tasks and those that they make alone (thread ids); empty: of all tasks but ours.

        Raises TargetUnusable, TargetLost.
        """
        if self._tracing is not None:
            self._tracing.limit_tasks(tasks)


def graph_watch(planner: Planner, plan: GraphPlan, bounds: RowBounds = SCREEN) -> Watch:
    """Return a watch of the tracer, which `begin` starts."""
    return Watch(planner, bounds, source=TracerSource(planner.info.target, plan))


class FailureWatch(NamedTuple):
    """Watch of calls with their return values."""

    watch: Watch
    begin: Callable[[], object]
    """Starts tracing. Raises ProbeRefused, TargetUnusable, TargetLost."""
    note: Callable[[], str]
    """Returns what is traced, or is about to be, and what is not, in a line; empty: every function is, or nothing has
    begun.
    """
    has_unseen_calls: Callable[[str], bool] = lambda _: False
    """Returns whether a function calls others, through pointers, of which nothing is recorded."""


def failure_watch(planner: Planner, plan: GraphPlan, bounds: RowBounds = SCREEN) -> FailureWatch:
    """Return a watch of calls with their return values: of the tracer, else of programs, else of probes.

    Raises TargetUnusable: none of them does on this kernel; TargetLost.
    """
    means = return_means(planner.info)
    if means is ReturnMeans.TRACER:
        watch = graph_watch(planner, plan, bounds)
        return FailureWatch(watch, watch.begin, lambda: "")
    if means is ReturnMeans.PROGRAMS:
        source = ProgramSource(planner.info, plan)
        watch = Watch(planner, bounds, source=source)
        return FailureWatch(watch, watch.begin, lambda: source.note)
    watch = Watch(planner, bounds)
    probes = ExitProbes(watch, plan)
    return FailureWatch(watch, probes.begin, lambda: probes.note, lambda name: name in probes.callers_of_pointers)
