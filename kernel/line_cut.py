"""The mark that a cut line leaves among the events: a row of its own, where they go on after it."""

from __future__ import annotations

from typing import Final, NamedTuple

from events import cut_mark
from events.batch import Batch, Chunk

EVENT: Final = cut_mark.EVENT
"""Name of its event in a store; `events.cut_mark` reads it."""


class LineCut(NamedTuple):
    """Events of some time are lost: the line was cut, and the far side took the probes away."""

    seconds: float
    """From the last that was heard until the probes were armed again."""
    booted: bool = False
    """Whether the machine was booted anew meanwhile: its clock began again, and its symbols moved."""

    @property
    def text(self) -> str:
        """In a line, for people."""
        boot = "; the machine was booted anew" if self.booted else ""
        return f"the line was cut for {self.seconds:.1f} s{boot}; events of that time are lost"

    def batch(self, ts: int) -> Batch:
        """As a line of trace_pipe at a time in nanoseconds; nothing of before is paired with what comes after."""
        # A line's end first: the text of before may have been cut in the middle of one.
        # In the place of a task's name, which every view shows, stands how much is missing.
        task = f"{self.seconds:.1f} s lost"[:16]
        line = f'\n  {task}-0 [000] {ts}: {EVENT}: seconds={self.seconds:.1f} note="{self.text}"\n'
        return Batch((Chunk(-1, line.encode(), text=True),), drained=False, after_gap=True, booted=self.booted)
