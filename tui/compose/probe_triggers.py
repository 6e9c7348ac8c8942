"""Decide which triggers are armed with a probe: that for its stacks, and hist triggers of another tool's text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tui.present.ways_out import ADD_TRIGGER

if TYPE_CHECKING:
    from kernel.connection.kernel_info import KernelInfo
    from probes.command import Armable

STACKTRACE: Final = "stacktrace"
"""Trigger that records the kernel stack; of probes that BPF programs record, these record it in its place."""


class ProbeTriggers:
    """Triggers of the probes that are armed from now on."""

    def __init__(self) -> None:
        self.with_stacks = False
        """True to record the kernel stack of each event of the probes that are armed."""
        self._counting: dict[Armable, tuple[str, ...]] = {}
        """Hist triggers by the probes that the last text of another tool came to."""

    def take(self, info: KernelInfo, text: str) -> None:
        """Keep the hist triggers of another tool's text, to be armed with its probes."""
        from tui.compose.specification import counted_by

        self._counting = counted_by(info, text) or self._counting

    def of(self, probe: Armable) -> tuple[str, ...]:
        """Return the triggers of a probe: hist triggers of an unchanged text of another tool, and that for stacks."""
        from probes.probe import Probe

        counting = self._counting.get(probe, ())
        return (*counting, STACKTRACE) if self.with_stacks and isinstance(probe, Probe) else counting

    def translated(self, probe: Armable) -> tuple[str, ...]:
        """Return the hist triggers that another tool's text had for what a probe is on, changed or not."""
        return tuple(
            one for meant, triggers in self._counting.items() if meant.subject == probe.subject for one in triggers
        )

    def noted(self, probe: Armable, notes: tuple[str, ...]) -> tuple[str, ...]:
        """Return the notes on a probe with those on its triggers."""
        if STACKTRACE in self.of(probe):
            notes = (*notes, f"with {STACKTRACE}: the kernel stack of each event")
        if triggers := self._counting.get(probe):
            note = f"with {', '.join(triggers)}, whose table is shown then"
        elif triggers := self.translated(probe):
            note = f"no longer what was pasted: {', '.join(triggers)} is left out; once it is armed {ADD_TRIGGER}"
        else:
            return notes
        return tuple(dict.fromkeys((note, *notes)))
