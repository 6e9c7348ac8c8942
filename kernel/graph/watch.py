"""A running function_graph tracer and the store of its events: a `Watch` whose session has no probes.

It stands beside the watch of the probes: its instance, its pump and its store are its own.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence

from kernel.connection.planner import Planner
from kernel.errors import KernelError
from kernel.graph.function_graph import GraphTracing, open_graph
from kernel.guards.row_bounds import SCREEN, RowBounds
from kernel.session.protocol import AnySession
from kernel.session.session import Session
from kernel.watch.watch import Entry, Watch
from probes.plans.graph_plan import GraphPlan, GraphSupport


class GraphWatch(Watch):
    """`begin` starts the tracer, `close` puts everything back."""

    traces = True

    def __init__(self, planner: Planner, plan: GraphPlan, bounds: RowBounds = SCREEN) -> None:
        super().__init__(planner, bounds)
        self.graph_plan = self.plan = plan
        self._tracing: GraphTracing | None = None

    @property
    def support(self) -> GraphSupport:
        """Capabilities of the tracer on this kernel; known once it runs."""
        return self._tracing.support if self._tracing else GraphSupport("it does not run")

    @property
    def live(self) -> bool:
        """The tracer runs."""
        return self._session is not None and not self.ended

    def _open(self) -> AnySession:
        if self._session is None and not self._closed:
            tracing = open_graph(self.info.target, self.plan, limit_bytes=self.bounds.queued)
            session = tracing.session
            session.pump.on_data = self._tell
            self._tracing, self._session = tracing, session
            self._formats = dict(tracing.formats)
            self.store = self._new_store(self._formats, session.header, session.cmdlines())
        return super()._open()

    def another_session(self, ready: Callable[[Session], None]) -> Session:
        """Start the tracer again, in another session."""
        self._tracing = open_graph(self.info.target, self.plan, ready=ready)
        return self._tracing.session

    def settle_queue(self) -> None:
        """Stop recording, and bring what is in the buffers into the queue; what is in the store stays there."""
        with self._lock:
            if self._tracing is not None and self._session is not None:
                with contextlib.suppress(KernelError):
                    self._tracing.pause(True)
                self._session.pump.settle()
                self._take_queue(self._session)
        self.on_data()

    def _next(self) -> Sequence[Entry]:
        """Move queued batches into the store, also after the end."""
        if self._session is None and self._inbox:
            arrived, self._inbox = self._inbox, []
            return arrived
        return super()._next()
