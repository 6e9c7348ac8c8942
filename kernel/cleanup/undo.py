"""Effects that can be taken back: each undo is known before its effect happens, and all are tried, newest first."""

from __future__ import annotations

import errno
import time
from collections.abc import Sequence
from typing import NamedTuple

from kernel.agent.journal import is_untouched
from kernel.errors import FileRefused, KernelError, SettingChanged, TargetLost
from kernel.target import Effect, Step, Target

_BUSY_TRIES = 5
_BUSY_PAUSE = 0.05
"""Seconds; what keeps an instance or an event busy for a moment is a reader that is just letting go."""


class UndoFailure(NamedTuple):
    """One step back that was not taken; LeftAlone: because what it would change is someone else's by now."""

    step: Step
    error: KernelError


def words_of(failures: Sequence[UndoFailure]) -> tuple[str, ...]:
    """Return what is left behind, by name: a line each, one for all that a lost connection kept from us."""
    lost = [failure for failure in failures if isinstance(failure.error, TargetLost)]
    lines = [_words(failure) for failure in failures if failure not in lost]
    if lost:
        names = ", ".join(dict.fromkeys(failure.step.path for failure in lost))
        lines.append(f"{lost[0].error}: the far side takes away by itself {names}")
    return tuple(lines)


def _words(failure: UndoFailure) -> str:
    text, path = str(failure.error), failure.step.path
    return text if path in text else f"{path}: {text}"


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
        self.prepare(undo)
        try:
            self._target.perform(effect)
        except FileRefused:
            # An undo of what did not happen could hit what someone else made (mkdir: EEXIST).
            self._steps.pop()
            self._target.unguard(undo)
            raise

    def prepare(self, undo: Step) -> None:
        """Register `undo` for an effect that is not one step. Raises TargetLost."""
        self._target.guard(undo)
        self._steps.append(undo)

    def amend(self, undo: Step, better: Step) -> None:
        """Replace a step by one that says more of what was done. Raises TargetLost."""
        self._target.guard(better)
        self._steps[self._steps.index(undo)] = better
        self._target.unguard(undo)

    def forget(self, undo: Step) -> None:
        """Leave a step to someone else, who has registered the same. Raises TargetLost."""
        if undo in self._steps:
            self._steps.remove(undo)
            self._target.unguard(undo)

    def first(self, path: str) -> int:
        """How many of the steps, from the oldest on, write to a file."""
        return next((n for n, step in enumerate(self._steps) if step.path != path), len(self._steps))

    def run(self, down_to: int = 0) -> list[UndoFailure]:
        """Take the steps back, newest first, until `down_to` are left; every one is tried.

        What fails stays in the list, so that a later run tries it again. What is already gone counts as done; what
        someone else has changed since is told once and left alone.
        """
        failures: list[UndoFailure] = []
        kept: list[Step] = []
        while len(self._steps) > down_to:
            step = self._steps.pop()
            try:
                if (left := take_back(self._target, step)) is not None:
                    failures.append(UndoFailure(step, left))
                self._target.unguard(step)
            except KernelError as error:
                failures.append(UndoFailure(step, error))
                kept.insert(0, step)
        self._steps += kept
        return failures


def take_back(target: Target, step: Step) -> SettingChanged | None:
    """Take one step back, unless what it would change is not ours any more; what is gone counts as done.

    Returns:
        Why it was left alone; None: it was taken.

    Raises:
        FileRefused, TargetLost: it could not be taken.
    """
    try:
        if step.expects:
            now = target.read(step.path)
            if not is_untouched(step.effect.value.encode(), now, step.expects):
                return None if _is_back(step, now) else SettingChanged(step.path)
        _perform(target, step)
    except FileRefused as error:
        if error.errno != errno.ENOENT:
            raise
    return None


def _is_back(step: Step, now: bytes) -> bool:
    """Whether there is nothing to take back: the file says what it would say, or the event is gone."""
    if step.effect is Effect.APPEND:
        name = step.data.partition(b":")[2].strip()
        return not any(words and words[0].endswith(b":" + name) for words in map(bytes.split, now.splitlines()))
    return is_untouched(b"write", now, step.data)


def _perform(target: Target, step: Step) -> None:
    for left in reversed(range(_BUSY_TRIES)):
        try:
            target.perform(step)
            return
        except FileRefused as error:
            if error.errno != errno.EBUSY or not left:
                raise
            time.sleep(_BUSY_PAUSE)
