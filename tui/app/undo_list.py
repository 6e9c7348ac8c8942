"""The last steps of a person that can be undone, and the key that undoes the newest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from textual.app import App
from textual.worker import Worker

from tui.dialogs.screen_ways_out import take_back
from tui.notifications import Notices

_MOST: Final = 20
"""Number of steps that are kept; the oldest go first."""


class UndoStep(NamedTuple):
    """A step that a person took."""

    description: str
    """Description in a few words, as it stands on the screen."""
    undo: Callable[[], object]
    """Function that undoes the step."""


class TakeBackList:
    """The steps that can be undone, the newest last."""

    def __init__(self, app: App[None], notices: Notices) -> None:
        self._app = app
        self._notices = notices
        self._steps: list[UndoStep] = []

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, what: str, back: Callable[[], object]) -> None:
        """Keep a step; notify of it, and that `u` undoes it."""
        self._steps = [*self._steps[1 - _MOST :], UndoStep(what, back)]
        self._notices.notify(f"{what}; {take_back(self._app)}", topic="undo")
        self._app.refresh_bindings()

    def take_back(self) -> None:
        """Undo the newest step, where there is one, and forget it."""
        self._notices.forget("undo")
        if self._steps:
            step = self._steps.pop()
            under_way = isinstance(step.undo(), Worker)  # whose end has a notification of its own
            self._notices.notify(f"{'taking' if under_way else 'taken'} back: {step.description}", topic="undo")
        self._app.refresh_bindings()

    def clear(self) -> None:
        """Forget all steps: their target is left."""
        self._steps.clear()
