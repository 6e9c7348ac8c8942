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
    """Function that undoes the step; a text that it returns says why it can't."""


class TakeBackList:
    """The steps that can be undone, the newest last."""

    def __init__(self, app: App[None], notices: Notices) -> None:
        self._app = app
        self._notices = notices
        self._steps: list[UndoStep] = []
        self._changes: list[Worker[None]] = []
        """Workers of changes, each of which may add a step at its end."""

    def __len__(self) -> int:
        return len(self._steps)

    def add(self, what: str, back: Callable[[], object]) -> None:
        """Keep a step; notify of it, and that `u` undoes it."""
        self._steps = [*self._steps[1 - _MOST :], UndoStep(what, back)]
        self._notices.notify(f"{what}; {take_back(self._app)}", topic="undo")
        self._app.refresh_bindings()

    def follow(self, change: Worker[None]) -> Worker[None]:
        """Return the worker of a change; no step before it is undone until its end."""
        self._changes.append(change)
        return change

    @property
    def change_runs(self) -> bool:
        """True while a change is being made that may add a step."""
        self._changes = [change for change in self._changes if not change.is_finished]
        return bool(self._changes)

    def take_back(self) -> None:
        """Undo the newest step, where there is one, and forget it; none while a newer one is being made."""
        if self.change_runs:
            self._notices.notify(f"the last change is still being made; then {take_back(self._app)}", topic="undo")
            return
        self._notices.forget("undo")
        if self._steps:
            step = self._steps.pop()
            result = step.undo()
            self._changes.clear()  # the worker of an undo adds no step
            why_not = result if isinstance(result, str) else ""
            done = "taking" if isinstance(result, Worker) else "taken"  # a worker's end has a notification of its own
            self._notices.notify(why_not or f"{done} back: {step.description}", topic="undo")
        self._app.refresh_bindings()

    def clear(self) -> None:
        """Forget all steps: their target is left."""
        self._steps.clear()
