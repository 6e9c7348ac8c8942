"""Report the step that arming a probe is at, and let another thread stop it between two steps."""

from __future__ import annotations

import threading

from kernel.errors import ArmingCancelled

MEASURING = "measuring its rate"
"""Step in which hits are counted and nothing is recorded."""


class ArmProgress:
    """Progress of arming one probe; one thread arms, others read `step` and `cancel`."""

    def __init__(self) -> None:
        self.step = ""
        """The present step, in words; empty: none was begun."""
        self._cancelled = threading.Event()

    def cancel(self) -> None:
        """Have arming stop before its next step; what was done by then is undone."""
        self._cancelled.set()

    def begin(self, step: str) -> None:
        """Report the next step. Raises ArmingCancelled, so that each report is a place to stop."""
        self.check()
        self.step = step

    def check(self) -> None:
        """Raise ArmingCancelled if it is cancelled."""
        if self._cancelled.is_set():
            raise ArmingCancelled

    def wait(self, seconds: float) -> None:
        """Sleep. Raises ArmingCancelled at once if it is cancelled."""
        self._cancelled.wait(seconds)
        self.check()
