"""Triggers of one armed probe, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual import on

from kernel.session.armed import Armed
from probes.command import short_subject
from probes.hist.kept import is_session_trigger
from probes.plans.plan import PlannedEvent
from probes.plans.trigger_examples import trigger_examples
from tui import kernel_jobs
from tui.messages import Remedied
from tui.present.option_keys import BEHIND_DIALOG
from widgets.dialogs.trigger_dialog import TriggerDialog, TriggerRow, TriggerVerdict

if TYPE_CHECKING:
    from kernel.watch.watch import Watch
    from tui.workbench import Workbench


class TriggerScreen(TriggerDialog):
    """Adds to each event of the probe that takes the trigger."""

    def __init__(self, bench: Workbench, watching: Watch, armed: Armed, meant: Sequence[str] = ()) -> None:
        """Take a probe that is armed, and the triggers that the text it was made of had for it: one that it lacks is
        offered.
        """
        self.bench = bench
        self._watching = watching
        self._armed = armed
        offered = next((text for text in meant if self._verdict(text).ok), "")
        examples = trigger_examples(armed.plan, lambda text: bool(self._takers(text)))
        super().__init__(f"triggers of {short_subject(armed.plan.probe)}", (), self._verdict, offered, examples)

    def on_mount(self) -> None:
        self.look()
        self.set_interval(0.5, self.look)

    def look(self) -> None:
        """Show what is there now."""
        if (rows := self._found()) != self._rows:
            self.show(rows)

    def _found(self) -> tuple[TriggerRow, ...]:
        return tuple(TriggerRow(event.event, text) for event, text in self._there())

    def _there(self) -> tuple[tuple[PlannedEvent, str], ...]:
        """Return the triggers that a person asked for; counting in the kernel removes its own."""
        session = self._watching.session
        found = session.probes.triggers(self._armed) if session is not None else ()
        return tuple(one for one in found if not is_session_trigger(one[1]))

    def _takers(self, text: str) -> list[PlannedEvent]:
        plan, planner = self._armed.plan, self._watching.planner
        return [event for event in plan.events if planner.trigger_verdict(plan, event, text).ok]

    def _verdict(self, text: str) -> TriggerVerdict:
        if any(text == there for _, there in self._there()):
            return TriggerVerdict(False, "It has this trigger already")
        plan, planner = self._armed.plan, self._watching.planner
        found = [planner.trigger_verdict(plan, event, text) for event in plan.events]
        error = next((verdict.error for verdict in found if verdict.error is not None), None)
        if error is None or any(verdict.ok for verdict in found):
            return TriggerVerdict(True)
        return TriggerVerdict(False, error.message, error.column, BEHIND_DIALOG.text(error.hint))

    @on(TriggerDialog.Added)
    def _added(self, event: TriggerDialog.Added) -> None:
        event.stop()
        text, armed = event.text, self._armed
        takers = self._takers(text)

        def add(watching: Watch) -> Remedied:
            said = [kernel_jobs.add_trigger(watching, armed, event, text) for event in takers]
            return next((one for one in said if one.failed), said[0])

        if takers:
            self.bench.arming.remedy(add)

    @on(TriggerDialog.Removed)
    def _removed(self, event: TriggerDialog.Removed) -> None:
        event.stop()
        armed, (planned, text) = self._armed, self._there()[event.number]
        self.bench.arming.remedy(lambda watching: kernel_jobs.remove_trigger(watching, armed, planned, text))
