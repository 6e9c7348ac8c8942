"""A trigger for the probes of several hosts, by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual import on

from kernel.hosts.arm_request import ArmRequest
from widgets.dialogs.trigger_dialog import TriggerDialog, TriggerVerdict

if TYPE_CHECKING:
    from kernel.hosts.fleet import Fleet


class HostsTriggerScreen(TriggerDialog):
    """Orders the trigger on every host, for each event of its probes that takes it."""

    def __init__(self, fleet: Fleet, order: Callable[[ArmRequest], object]) -> None:
        """Take the hosts, and what has something done on all of them."""
        super().__init__("a trigger for all probes of all hosts", (), self._verdict)
        self._fleet = fleet
        self._order = order

    def _verdict(self, text: str) -> TriggerVerdict:
        """Judge it by any host that takes it, else by the first; when it is ordered each says its own."""
        watches = [host.watch for host in self._fleet.hosts if host.state == "armed" and host.watch is not None]
        errors = [
            watch.connection.trigger_verdict(armed.plan, event, text).error
            for watch in watches
            for armed in watch.armed
            for event in armed.plan.events
        ]
        if None in errors:
            return TriggerVerdict(True)
        error = next(filter(None, errors), None)
        if error is None:
            return TriggerVerdict(False, "no probe is armed")
        return TriggerVerdict(False, error.message, error.column, error.hint)

    @on(TriggerDialog.Added)
    def _added(self, event: TriggerDialog.Added) -> None:
        event.stop()
        self._order(ArmRequest((), triggers=(event.text,)))
        self.dismiss(None)
