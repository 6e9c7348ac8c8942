"""The function_graph tracer of the application: begun and ended by threads of its own, with a feed of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App

from kernel.errors import KernelError
from tui.messages import Counted, Disarmed, GraphFailed, GraphStarted
from tui.refresh import Feed

if TYPE_CHECKING:
    from kernel.connection.planner import Connection
    from kernel.graph.watch import GraphWatch
    from kernel.guards.loss_counts import Counts
    from probes.plans.graph_plan import GraphPlan


class Graphing:
    """One tracer at a time; what it saw stays when it has ended."""

    def __init__(self, app: App[None], ticked: Callable[[], None], late: Callable[[], None]) -> None:
        """Take what is called on the screen's thread, as `tui.refresh.Feed` does: `late` while an answer is owed."""
        self.watching: GraphWatch | None = None
        """None until one was begun on this target."""
        self.counts: Counts | None = None
        """What was lost, as of the last second."""
        self._app = app
        self._feed = Feed(app, ticked, late)
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
        self._end_is_left = False
        """Whether nobody wants to be told any more how long that takes."""
        self.threads: list[threading.Thread] = []
        """Of their own, as the application's end waits without a word for those of its workers."""
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
        self._run(lambda: self._start(connection, plan, asked))

    def give_up(self) -> None:
        """Wait no longer for the one that was asked for: it ends as soon as the kernel has begun it."""
        self._asked += 1
        self.begins, self.given_up = False, True

    def _run(self, work: Callable[[], None]) -> None:
        self.threads[:] = [thread for thread in self.threads if thread.is_alive()]
        thread = threading.Thread(target=work, name="graph")
        self.threads.append(thread)
        thread.start()

    @property
    def busy(self) -> bool:
        """Whether something has to be taken out of the kernel, or is being."""
        return self.begins or self.ends or self.runs

    @property
    def end_is_told(self) -> bool:
        """Whether the one that ran is being taken away, and it is said how long that takes."""
        return self.ends and not self._end_is_left

    def leave_end(self) -> None:
        """Say no longer how long the end takes: it goes on."""
        self._end_is_left = True

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
            self._run(lambda: self._end(earlier))
        self.watching, self.counts = watching, None
        self._feed.follow(watching)
        self._feed.count()
        self._feed.data_came()

    def stop(self) -> None:
        """Stop the tracer and put everything back; what it saw stays."""
        watching = self.watching
        if watching is not None and watching.live and not self.ends:
            self.ends, self._end_is_left = True, False
            self._run(lambda: self._end(watching))

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

    def counted(self, event: Counted) -> bool:
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
