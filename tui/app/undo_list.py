"""What was done last and can be taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

_MOST: Final = 20
"""Steps that are kept; the oldest go first."""


class UndoStep(NamedTuple):
    """Something that was done."""

    what: str
    """In a few words, as it is said on the screen."""
    back: Callable[[], object]
    """Takes it back."""


class TakeBackList:
    """The steps that can be taken back, the newest first."""

    def __init__(self) -> None:
        self._steps: list[UndoStep] = []

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, what: str, back: Callable[[], object]) -> None:
        """Remember a step."""
        self._steps = [*self._steps[1 - _MOST :], UndoStep(what, back)]

    def take(self) -> UndoStep | None:
        """Return the newest step, and forget it; None: there is none."""
        return self._steps.pop() if self._steps else None

    def clear(self) -> None:
        """Forget all: they are about a target that is left."""
        self._steps.clear()
