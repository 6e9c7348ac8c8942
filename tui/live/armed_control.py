"""Disarms, filters and triggers the armed probe that a key is about: that under the cursor, or one of a list."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.screen import Screen

from tui.dialogs import dialogs
from tui.live.cursor_probe import probes_of_event
from tui.live.view_switch import ViewSwitch
from tui.present.ways_out import RUNNING_KERNEL
from tui.workbench import Workbench

if TYPE_CHECKING:
    from kernel.session.armed import Armed
    from probes.command import Armable


class ArmedControl:
    """The armed probes of the watch, for the commands of the live place."""

    def __init__(self, screen: Screen[None], bench: Workbench, views: ViewSwitch) -> None:
        self._screen = screen
        self._bench = bench
        self._views = views

    def with_probe(self, what: str, then: Callable[[Armed], object]) -> None:
        """Call a function with the armed probe that a key is about; where that may be several, have one chosen.

        Args:
            what: the beginning of the question, `disarm` or the like.
            then: gets the probe.
        """
        watching = self._bench.current_watch
        armed = watching.armed.probes if watching is not None else ()
        probes, reason = probes_of_event(armed, self._views.event_under_cursor())
        if len(probes) == 1:
            then(probes[0])
        elif reason:
            self._screen.notify(reason, markup=False)
        else:
            rows = [str(one.plan.probe) for one in probes]
            dialogs.pick(self._screen.app, f"{what} which probe?", rows, lambda row: then(probes[row]))

    def ask_watchpoint(self, address: int, event: str, column: str) -> None:
        """Ask for the options of a watchpoint at an address that a field of an event has, and set it."""
        from probes.lowering.sources.watched_field import pointed_structure
        from probes.sources.kinds import WATCHPOINT
        from tui.dialogs.source_form import ask_options

        planner, watching = self._bench.planner, self._bench.current_watch
        if planner is None or watching is None or not planner.info.target.is_kernel:
            self._screen.notify(f"a watchpoint needs a kernel that runs: {RUNNING_KERNEL}", markup=False)
            return
        structure = pointed_structure(planner.info.btf, watching.event_fields.type_of(event, column))

        def chosen(source: Armable) -> None:
            self._bench.arming.arm_all((source,))

        ask_options(self._screen.app, planner, WATCHPOINT.name, chosen, {"at": f"{address:#x}"}, structure)

    def disarm(self) -> None:
        """Disarm a probe; in a view of calls end the tracer, where it runs."""
        if self._views.current.of_graph and self._bench.tracing.runs:
            self._ask_to_end_graph()
        elif not self._is_of_recording():
            self.with_probe("disarm", lambda probe: self._bench.arming.disarm([probe]))

    def disarm_all(self) -> None:
        """Disarm all probes, and end the tracer."""
        watching = self._bench.current_watch
        probes = watching.armed.probes if watching is not None and watching.live else ()
        if self._is_of_recording():
            return
        if not self._bench.tracing.runs:
            self._disarm_probes()
        elif probes:
            texts = [str(one.plan.probe) for one in probes]
            dialogs.ask_end_of_all(self._screen.app, texts, self._bench.tracing.end, self._disarm_probes)
        else:
            self._ask_to_end_graph()

    def _is_of_recording(self) -> bool:
        """Return whether the watch is of a recording, on which nothing can be disarmed; say so then."""
        watching = self._bench.current_watch
        if watching is None or watching.info.target.is_kernel:
            return False
        self._screen.notify(f"the probes of a recording have ended; {RUNNING_KERNEL}", markup=False)
        return True

    def _disarm_probes(self) -> None:
        if self._bench.current_watch is not None:
            self._bench.arming.disarm(self._bench.current_watch.armed.probes)

    def _ask_to_end_graph(self) -> None:
        details = [dialogs.CALLS_STAY]
        dialogs.ask(self._screen.app, "End the call graph?", details, "End it", self._bench.tracing.end)

    def add_to_filter(self, clause: str) -> None:
        """Add a condition to the filter of a probe."""
        from tui import kernel_jobs

        def add(probe: Armed) -> None:
            self._bench.arming.remedy(lambda watching: kernel_jobs.add_to_filter(watching, probe, clause))

        self.with_probe(f"record only {clause} of", add)

    def show_triggers(self) -> None:
        """Show the triggers of a probe."""
        from tui.live.triggers import TriggerScreen

        watching = self._bench.current_watch
        if watching is not None and not watching.info.target.is_kernel:
            self._screen.notify("a recording takes no triggers", markup=False)
        elif watching is not None:

            def show(probe: Armed) -> None:
                of_text = self._bench.places.compose.specification.triggers.translated(probe.plan.probe)
                self._screen.app.push_screen(TriggerScreen(self._bench, watching, probe, of_text))

            self.with_probe("triggers of", show)
