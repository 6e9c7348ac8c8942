"""The function_graph tracer of the application: begun and ended by workers, with a feed of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App

from kernel.errors import KernelError
from tui.messages import Disarmed, GraphFailed, GraphStarted, LossesCounted
from tui.refresh import RefreshLoop

if TYPE_CHECKING:
    from kernel.connection.planner import Connection
    from kernel.graph.watch import GraphWatch
    from kernel.guards.loss_counts import LossCounts
    from probes.plans.graph_plan import GraphPlan


class TraceControl:
    """One tracer at a time; what it saw stays when it has ended."""

    def __init__(self, app: App[None], ticked: Callable[[], None], late: Callable[[], None]) -> None:
        """Take what is called on the screen's thread, as `tui.refresh.RefreshLoop` does: `late` while an answer is
        owed.
        """
        self.watching: GraphWatch | None = None
        """None until one was begun on this target."""
        self.counts: LossCounts | None = None
        """What was lost, as of the last second."""
        self._app = app
        self._feed = RefreshLoop(app, ticked, late)
        self._asked = 0
        """How often one was asked for, or another target chosen."""
        self._changing = threading.Lock()
        """Held by the worker that begins one or ends it."""
        self.begins = False
        """Whether one is asked for, and neither runs nor has failed yet."""
        self.given_up = False
        """Whether nobody waits any more for the last that was asked for."""
        self.ends = False
        """Whether the one that ran is being taken out of the kernel."""
        self._begun: GraphWatch | None = None
        """The last that a worker began; the screen may not know of it yet."""

    @property
    def runs(self) -> bool:
        """Whether the tracer is on, and nobody has asked for its end."""
        return self.watching is not None and self.watching.live and not self.ends

    def start(self, connection: Connection, plan: GraphPlan) -> None:
        """Trace; `GraphStarted` or `GraphFailed` comes. What ran until now is ended."""
        self._asked += 1
        self.begins, self.given_up = True, False
        asked = self._asked
        self._app.run_worker(lambda: self._start(connection, plan, asked), thread=True, group="graph")

    def give_up(self) -> None:
        """Wait no longer for the one that was asked for: it ends as soon as the kernel has begun it."""
        self._asked += 1
        self.begins, self.given_up = False, True

    def _start(self, connection: Connection, plan: GraphPlan, asked: int) -> None:
        from kernel.cleanup.undo import words_of
        from kernel.graph.watch import GraphWatch

        connection.load_symbols()  # before anything is traced: the first call has its name
        with self._changing:
            if asked != self._asked:  # while this one waited for its turn another was asked for
                return
            failures = words_of(self._begun.close() if self._begun else ())
            watching = GraphWatch(connection, plan)
            try:
                watching.begin()
            except KernelError as error:
                watching.close()
                if asked != self._asked:
                    return
                self._app.post_message(GraphFailed(str(plan), str(error), error.remedy))
                return
            self._begun = watching
            if asked != self._asked:  # nobody waits for it any more
                watching.close()
                return
            self._app.post_message(GraphStarted(watching, failures))

    def started(self, watching: GraphWatch) -> None:
        """It runs, and none that ran before."""
        self.begins = self.ends = False
        earlier = self.watching
        if earlier is not None and earlier is not watching and earlier.live:
            self._app.run_worker(lambda: self._end(earlier), thread=True, group="graph")
        self.watching, self.counts = watching, None
        self._feed.follow(watching)
        self._feed.count()
        self._feed.data_came()

    def stop(self) -> None:
        """Stop the tracer and put everything back; what it saw stays."""
        watching = self.watching
        if watching is not None and watching.live and not self.ends:
            self.ends = True
            self._app.run_worker(lambda: self._end(watching), thread=True, group="graph")

    def _end(self, watching: GraphWatch) -> None:
        from kernel.cleanup.undo import words_of

        with self._changing:
            watching.settle_queue()
            failures = watching.close()
        if watching is self.watching:
            self.ends = False
        self._app.post_message(Disarmed(words_of(failures)))

    def data_came(self) -> None:
        """A tick is due."""
        if self.watching is not None:
            self._feed.data_came()

    def counted(self, event: LossesCounted) -> bool:
        """Take counts and names, where they are of this tracer."""
        if event.watching is not self.watching or self.watching is None:
            return False
        self.counts = event.counts
        self.watching.know_names(event.names)
        return True

    def last(self) -> GraphWatch | None:
        """The newest there is, also where the screen was never told of it; waits for a worker that begins one."""
        self._asked += 1
        with self._changing:
            return self._begun or self.watching

    def leave(self) -> GraphWatch | None:
        """Another target will be open; gives what has to be closed."""
        self.give_up()  # what waits for its turn is of the target that is left
        self.ends = False
        watching, self.watching, self.counts = self.watching, None, None
        self._feed.follow(None)
        return watching
