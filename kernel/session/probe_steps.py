"""Keep the effects of one armed probe: its mode, its triggers, and the undo steps."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, field

from kernel.cleanup.undo import UndoFailure, UndoList
from probes.hist.stack_triggers import records_stacks
from probes.plans.plan import PlannedEvent


class Mode(enum.Enum):
    """Effect of an armed probe."""

    RECORD = "record"
    COUNT = "count only"
    """Hits are counted by the kernel; no event is recorded."""
    OFF = "stopped"
    """Defined, but without effect."""


@dataclass(slots=True, eq=False)
class ProbeSteps:
    """Effects of one armed probe, and their undo steps."""

    defined: UndoList
    counted: UndoList
    """Our own triggers that count hits: they keep an event in use."""
    enabled: UndoList
    name: str = ""
    """Prefix of the names of its own histograms; unique among the probes of all sessions."""
    mode: Mode = Mode.OFF
    triggers: list[tuple[PlannedEvent, str]] = field(default_factory=list)
    """Triggers of its events, the oldest first."""
    by_hand: list[tuple[PlannedEvent, str]] = field(default_factory=list)
    """User-added triggers, not the plan's own: they are restored whenever the probe is armed again."""
    made: list[PlannedEvent] = field(default_factory=list)
    """Additional events, created by its triggers."""

    @property
    def stuck(self) -> bool:
        """True if an undo step has failed."""
        return bool(self.enabled or self.counted or self.defined)

    def stack_triggers(self, event: PlannedEvent) -> list[str]:
        """Return the triggers that record stacks of an event."""
        return [text for other, text in self.triggers if other.path == event.path and records_stacks(text)]

    def know(self, events: Sequence[PlannedEvent]) -> None:
        """Take the present events, with changed filters."""
        current = {event.path: event for event in events}
        for triggers in (self.triggers, self.by_hand):
            triggers[:] = [(current.get(event.path, event), text) for event, text in triggers]

    def switch_off(self) -> list[UndoFailure]:
        """Disable events and counts; definitions stay."""
        return self.enabled.run() + self.counted.run()

    def only(self, mode: Mode) -> list[UndoFailure]:
        """Undo the steps that a mode does not need; all steps but the definitions for OFF."""
        failures = self.enabled.run() if mode is not Mode.RECORD else []
        return failures + (self.counted.run() if mode is not Mode.COUNT else [])
