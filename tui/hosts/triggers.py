"""A trigger for the probes of several hosts, by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual import on

from kernel.hosts.arm_request import ArmRequest
from probes.plans.trigger_examples import trigger_examples
from tui.present.option_keys import BEHIND_DIALOG
from widgets.dialogs.trigger_dialog import TriggerDialog, TriggerVerdict

if TYPE_CHECKING:
    from kernel.hosts.fleet import Fleet
    from kernel.watch.watch import Watch
    from probes.command import Armable


class HostsTriggerScreen(TriggerDialog):
    """Orders the trigger on every host, for each event of its probes that takes it."""

    def __init__(
        self, fleet: Fleet, order: Callable[[ArmRequest], object], meant: Callable[[Armable], Sequence[str]]
    ) -> None:
        """Take the hosts.

        Args:
            fleet: the hosts.
            order: arms on all hosts.
            meant: returns the triggers in the text from which a probe was made; the dialog offers the first one that
                a host lacks.
        """
        self._fleet = fleet
        self._order = order
        probes = dict.fromkeys(armed.plan.probe for watch in self._watches() for armed in watch.armed.probes)
        texts = dict.fromkeys(text for probe in probes for text in meant(probe))
        offered = next((text for text in texts if self._verdict(text).ok), "")
        plans = [armed.plan for watch in self._watches() for armed in watch.armed.probes]
        found = (trigger_examples(plan, lambda text: self._verdict(text).ok) for plan in plans)
        examples = next(filter(None, found), () if plans else ("stacktrace",))
        super().__init__("a trigger for all probes of all hosts", (), self._verdict, offered, examples)

    def _watches(self) -> list[Watch]:
        return [host.watch for host in self._fleet.hosts if host.state == "armed" and host.watch is not None]

    def _verdict(self, text: str) -> TriggerVerdict:
        """Judge it by any host that takes it, else by the first; when it is ordered each says its own."""
        is_present = False
        errors = []
        for watch in self._watches():
            for armed in watch.armed.probes:
                if watch.session is not None and any(
                    text == trigger for _, trigger in watch.session.probes.triggers(armed)
                ):
                    is_present = True
                    continue
                verdicts = [watch.planner.trigger_verdict(armed.plan, event, text) for event in armed.plan.events]
                errors += [verdict.error for verdict in verdicts]
        if None in errors:
            return TriggerVerdict(True)
        if is_present:
            return TriggerVerdict(False, "They have this trigger already")
        error = next(filter(None, errors), None)
        if error is None:
            return TriggerVerdict(False, "no probe is armed")
        return TriggerVerdict(False, error.message, error.column, BEHIND_DIALOG.text(error.hint))

    @on(TriggerDialog.Added)
    def _added(self, event: TriggerDialog.Added) -> None:
        event.stop()
        self._order(ArmRequest((), triggers=(event.text,)))
        self.dismiss(None)
