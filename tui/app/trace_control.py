"""The function_graph tracer of the application: begun and ended by its own threads, with its own refresh loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.app import App

from kernel.errors import KernelError
from tui.app.keyboard import Keyboard
from tui.dialogs import dialogs
from tui.messages import Disarmed, GraphFailed, GraphStarted, LossesCounted, SymbolsWanted
from tui.notifications import Notices
from tui.present.ways_out import GIVE_UP, LEAVE_END, OPEN_ANEW, RUNNING_KERNEL
from tui.refresh import RefreshLoop

if TYPE_CHECKING:
    from events.loss_counts import LossCounts
    from kernel.connection.planner import Planner
    from kernel.watch.watch import Watch
    from probes.plans.graph_plan import GraphPlan

TRACING = "tracing"
"""Operation that keys typed ahead wait for, and topic of the notifications about it."""
_GOES_ON = "the tracer is being taken away meanwhile; quitting waits for that, and says so"
_PATIENCE = 2
"""Seconds after which a notification says how long an operation takes, and how to end it."""


class TraceControl:
    """The function_graph tracer, one at a time; its calls stay when it has ended."""

    def __init__(
        self,
        app: App[None],
        notices: Notices,
        keyboard: Keyboard,
        ticked: Callable[[], None],
        refresh: Callable[[], None],
    ) -> None:
        """Take the parts that tracing needs.

        Args:
            app: has the timers and the workers.
            notices: notifies.
            keyboard: holds letters while the tracer begins.
            ticked: called after calls came in, as by `tui.refresh.RefreshLoop`.
            refresh: shows the places anew; also while the kernel owes an answer.
        """
        self.current_watch: Watch | None = None
        """The watch of the tracer; None: none was begun on this target."""
        self.counts: LossCounts | None = None
        """Losses, at most a second old."""
        self._app = app
        self._notices = notices
        self._keyboard = keyboard
        self._refresh = refresh
        self._refresh_loop = RefreshLoop(app, ticked, refresh)
        self._planner: Planner | None = None
        """The connection on which a tracer was asked for; None: none was since the target was left."""
        self._asked = 0
        """Number of requests so far: a worker whose request is not the newest does nothing."""
        self._changing = threading.Lock()
        """Lock of the worker that begins or ends a tracer."""
        self.begins = False
        """True while a tracer is asked for, and neither runs nor has failed yet."""
        self._asked_at = 0.0
        """Time by time.monotonic() at which it was asked for."""
        self._means: Callable[[], str] = str
        """Returns by what its calls are about to be traced; empty: nothing is known."""
        self.given_up = False
        """True where the last tracer that was asked for was given up."""
        self.ends = False
        """True while the tracer is being ended in the kernel."""
        self._end_is_left = False
        """True once the user no longer wants to be told how long the end takes."""
        self.threads: list[threading.Thread] = []
        """Threads that begin and end tracers; Textual would wait for workers at the application's end in silence."""
        self._begun: Watch | None = None
        """The tracer that a worker began last; the screen may not know of it yet."""

    @property
    def runs(self) -> bool:
        """True while the tracer is on, and its end was not asked for."""
        return self.current_watch is not None and self.current_watch.live and not self.ends

    # -- on the screen ---------------------------------------------------------------------------------------------

    def ask_depth(self, planner: Planner, name: str) -> None:
        """Ask for the depth of a function's call graph, or for its errors, and begin to trace."""
        from probes.plans.graph_plan import GraphPlan

        def trace(depth: int | None) -> None:
            if depth is None:
                self.begin_failures(planner, (name,))
                return
            # Interrupts without a handler show by the functions in which they enter.
            plan = GraphPlan((name,), max_depth=depth, switches=True, interrupts=True, vectors=False)
            self.begin(planner, plan)

        self._app.post_message(SymbolsWanted())
        dialogs.ask_depth(self._app, name, trace)

    def begin_failures(self, planner: Planner, functions: tuple[str, ...]) -> None:
        """Begin to trace the calls of functions with their return values, for the view of failures."""
        from probes.plans.graph_plan import GraphPlan

        self.begin(planner, GraphPlan(functions, irqs=False, returns=True))

    def begin(self, planner: Planner, plan: GraphPlan) -> None:
        """Begin to trace, and notify of how long that takes; on a recording say why not."""
        if not planner.info.target.is_kernel:
            self._notices.notify_not_armed(f"{planner.info.target.name} is a recording: {RUNNING_KERNEL}")
            return
        self._notices.forget("arming")
        self._notify_while(f"beginning to trace {plan} …", lambda: self.begins, str(GIVE_UP))
        self._keyboard.begins(TRACING)
        self._app.post_message(SymbolsWanted())
        self.start(planner, plan)
        self._app.refresh_bindings()

    def end(self) -> None:
        """End the tracer; the calls that it recorded stay."""
        self.stop()
        self._notify_while("taking the call graph's tracer away …", lambda: self.end_is_told, str(LEAVE_END))
        self._refresh()

    def _notify_while(self, doing: str, goes_on: Callable[[], bool], way_out: str = "") -> None:
        """Notify of what a worker does, and for how long, until it is over."""
        since = time.monotonic()

        def notify() -> None:
            if not goes_on():
                timer.stop()
                self._notices.forget(TRACING)
                return
            took = int(time.monotonic() - since)
            rest = f" {took} s{f'; {way_out}' if way_out else ''}" if took >= _PATIENCE else ""
            self._notices.notify_until_forgotten(f"{doing}{rest}", TRACING)
            self._refresh()

        timer = self._app.set_interval(1.0, notify, name=TRACING)
        self._notices.notify_until_forgotten(doing, TRACING)

    def begun(self, event: GraphStarted) -> bool:
        """Take the tracer that runs, and notify of what could not be put back; close it and return False where
        another target was chosen meanwhile, or the tracer was given up.
        """
        if event.watch.planner is not self._planner or self.given_up:
            self._app.run_worker(event.watch.close, thread=True)
            return False
        self._keyboard.ends(TRACING)
        self._notices.forget("arming")
        self._notices.forget(TRACING)
        for failure in event.failures:
            self._notices.notify(failure, title="left behind", severity="error")
        self.started(event.watch)
        return True

    def failed(self, event: GraphFailed) -> None:
        """Notify of why the tracer could not be begun."""
        self._keyboard.ends(TRACING)
        self.begins = False
        self._notices.forget(TRACING)
        self._app.refresh_bindings()
        self._notices.notify_not_armed(f"{event.plan}: {event.reason}\n{event.remedy}".strip())

    def abandon(self) -> None:
        """Give up the tracer that is being begun, and say so."""
        self.give_up()
        self._keyboard.ends(TRACING)
        self._notices.forget(TRACING)
        self._notices.notify("given up: the kernel puts back what it has begun", topic="graph")
        self._app.refresh_bindings()

    def abandon_end(self) -> None:
        """Stop notifying of the tracer's end, which goes on, and say so."""
        self.leave_end()
        self._notices.forget(TRACING)
        self._notices.notify(_GOES_ON, topic="graph")
        self._app.refresh_bindings()

    def notify_end(self) -> None:
        """Notify of an error that ended the tracer."""
        if self.current_watch is not None and (error := self.current_watch.take_error()):
            text = f"{error}; {OPEN_ANEW}"
            self._notices.notify(text, title="the call graph has ended", severity="error", topic="graph")

    # -- the tracer ------------------------------------------------------------------------------------------------

    def start(self, planner: Planner, plan: GraphPlan) -> None:
        """Begin a tracer in a worker, and end the one before; `GraphStarted` or `GraphFailed` reports it."""
        self._planner = planner
        self._asked += 1
        self.begins, self.given_up = True, False
        self._asked_at, self._means = time.monotonic(), str
        asked = self._asked
        self._run(lambda: self._start(planner, plan, asked))

    def give_up(self) -> None:
        """Give up the tracer that was asked for: it is ended as soon as the kernel has begun it."""
        self._asked += 1
        self.begins, self.given_up = False, True

    def _run(self, work: Callable[[], None]) -> None:
        self.threads[:] = [thread for thread in self.threads if thread.is_alive()]
        thread = threading.Thread(target=work, name="graph")
        self.threads.append(thread)
        thread.start()

    @property
    def beginning_text(self) -> str:
        """Text about the tracer that is being begun, and for how long; empty: none is."""
        if not self.begins:
            return ""
        means = self._means()
        return f"starting the tracer{f' ({means})' if means else ''}: {int(time.monotonic() - self._asked_at)} s"

    @property
    def busy(self) -> bool:
        """True while a tracer is being begun, runs or is being ended."""
        return self.begins or self.ends or self.runs

    @property
    def end_is_told(self) -> bool:
        """True while the tracer is being ended, and a notification says how long that takes."""
        return self.ends and not self._end_is_left

    def leave_end(self) -> None:
        """Stop notifying of how long the tracer's end takes; the end goes on."""
        self._end_is_left = True

    def _start(self, planner: Planner, plan: GraphPlan, asked: int) -> None:
        from kernel.cleanup.undo import failure_lines
        from kernel.graph.watch import failure_watch, graph_watch

        with self._changing:
            if asked != self._asked:  # while this one waited for its turn another was asked for
                return
            failures = failure_lines(self._begun.close() if self._begun else ())
            watching: Watch | None = None
            try:
                if plan.returns:
                    watching, begin, self._means, _ = failure_watch(planner, plan)
                else:
                    watching = graph_watch(planner, plan)
                    begin = watching.begin
                begin()
            except KernelError as error:
                if watching is not None:
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

    def started(self, watching: Watch) -> None:
        """Set the tracer that runs now, and end the one before."""
        self.begins = self.ends = False
        earlier = self.current_watch
        if earlier is not None and earlier is not watching and earlier.live:
            self._run(lambda: self._end(earlier))
        self.current_watch, self.counts = watching, None
        self._refresh_loop.follow(watching)
        self._refresh_loop.count()
        self._refresh_loop.schedule_tick()

    def stop(self) -> None:
        """Stop the tracer and put everything back, in a worker; its calls stay."""
        watching = self.current_watch
        if watching is not None and watching.live and not self.ends:
            self.ends, self._end_is_left = True, False
            self._run(lambda: self._end(watching))

    def _end(self, watching: Watch) -> None:
        from kernel.cleanup.undo import failure_lines

        with self._changing:
            watching.queue.settle()
            failures = watching.close()
        if watching is self.current_watch:
            self.ends = False
        self._app.post_message(Disarmed(failure_lines(failures)))

    def schedule_tick(self) -> None:
        """Call the next tick after a pause, where a tracer runs."""
        if self.current_watch is not None:
            self._refresh_loop.schedule_tick()

    def counted(self, event: LossesCounted) -> bool:
        """Take counts and names of tasks; return False where they are not of this tracer."""
        if event.watch is not self.current_watch or self.current_watch is None:
            return False
        self.counts = event.counts
        self.current_watch.intake.know_names(event.names)
        return True

    def last(self) -> Watch | None:
        """Return the newest tracer, also one that the screen does not know of; wait for a worker that begins one."""
        self._asked += 1
        with self._changing:
            return self._begun or self.current_watch

    def leave(self) -> Watch | None:
        """Leave the target; return the watch that has to be closed."""
        self.give_up()  # what waits for its turn is of the target that is left
        self.ends, self._planner = False, None
        watching, self.current_watch, self.counts = self.current_watch, None, None
        self._refresh_loop.follow(None)
        return watching
