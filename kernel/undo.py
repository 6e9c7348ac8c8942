"""Effects that can be taken back: each undo is known before its effect happens, and all are tried, newest first."""

from __future__ import annotations

import errno
import time
from typing import NamedTuple

from kernel.errors import FileRefused, KernelError
from kernel.target import Step, Target

_BUSY_TRIES = 5
_BUSY_PAUSE = 0.05
"""Seconds; what keeps an instance or an event busy for a moment is a reader that is just letting go."""


class UndoFailure(NamedTuple):
    """One step back that could not be taken."""

    step: Step
    error: KernelError


class UndoList:
    """The steps back from what was done to a target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._steps: list[Step] = []

    def __len__(self) -> int:
        return len(self._steps)

    def do(self, effect: Step, undo: Step) -> None:
        """Register `undo`, here and on the far side, then carry out `effect`.

        Raises:
            FileRefused: the effect did not happen, and its undo is forgotten again.
            TargetLost: whether it happened is not known, and its undo stays.
        """
        self._target.guard(undo)
        self._steps.append(undo)
        try:
            self._target.perform(effect)
        except FileRefused:
            # An undo of what did not happen could hit what someone else made (mkdir: EEXIST).
            self._steps.pop()
            self._target.unguard(undo)
            raise

    def forget(self, undo: Step) -> None:
        """Leave a step to someone else, who has registered the same. Raises TargetLost."""
        if undo in self._steps:
            self._steps.remove(undo)
            self._target.unguard(undo)

    def run(self, down_to: int = 0) -> list[UndoFailure]:
        """Take the steps back, newest first, until `down_to` are left; every one is tried.

        What fails stays in the list, so that a later run tries it again. What is already gone counts as done.
        """
        failures: list[UndoFailure] = []
        kept: list[Step] = []
        while len(self._steps) > down_to:
            step = self._steps.pop()
            try:
                self._take(step)
                self._target.unguard(step)
            except KernelError as error:
                failures.append(UndoFailure(step, error))
                kept.insert(0, step)
        self._steps += kept
        return failures

    def _take(self, step: Step) -> None:
        for left in reversed(range(_BUSY_TRIES)):
            try:
                self._target.perform(step)
                return
            except FileRefused as error:
                if error.errno == errno.ENOENT:
                    return
                if error.errno != errno.EBUSY or not left:
                    raise
                time.sleep(_BUSY_PAUSE)
