"""Carry out effects that can be undone: each undo is registered before its effect, and all are tried, newest
first.
"""

from __future__ import annotations

import errno
import posixpath
import time
from collections.abc import Sequence
from typing import NamedTuple

from kernel.agent.journal import is_untouched
from kernel.errors import FileRefused, KernelError, SettingChanged, TargetLost
from kernel.target import Effect, Step, Target

_BUSY_TRIES = 5
_RELEASE_TRIES = 20
_BUSY_PAUSE = 0.05
"""Seconds between retries; an instance or event is often busy only until some reader has closed its file."""


class UndoFailure(NamedTuple):
    """An undo step that was not done; SettingChanged: because someone else has changed the setting since."""

    step: Step
    error: KernelError


def failure_lines(failures: Sequence[UndoFailure]) -> tuple[str, ...]:
    """Return the remaining effects, a line each, and a single line for all that a lost connection left to the remote
    host.
    """
    connection_failures = [failure for failure in failures if isinstance(failure.error, TargetLost)]
    lines = [_failure_text(failure) for failure in failures if failure not in connection_failures]
    if connection_failures:
        names = ", ".join(dict.fromkeys(failure.step.path for failure in connection_failures))
        lines.append(f"{connection_failures[0].error}: the remote host removes by itself {names}")
    return tuple(lines)


def _failure_text(failure: UndoFailure) -> str:
    text, path = str(failure.error), failure.step.path
    return text if path in text else f"{path}: {text}"


class UndoList:
    """Undo steps of the effects on a target."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._steps: list[Step] = []

    def __len__(self) -> int:
        return len(self._steps)

    def do(self, effect: Step, undo: Step) -> None:
        """Register `undo`, here and on the remote host, then carry out `effect`.

        Raises:
            FileRefused: the effect did not happen, and its undo is dropped again.
            TargetLost: it is unknown whether the effect happened, and its undo stays.
        """
        self.prepare(undo)
        try:
            self._target.perform(effect)
        except FileRefused:
            # An undo without its effect could destroy something that someone else created (mkdir: EEXIST).
            self._steps.pop()
            self._target.unguard(undo)
            raise

    def prepare(self, undo: Step) -> None:
        """Register `undo` for an effect that is not one step. Raises TargetLost."""
        self._target.guard(undo)
        self._steps.append(undo)

    def amend(self, undo: Step, better: Step) -> None:
        """Replace an undo step by a more specific one. Raises TargetLost."""
        self._target.guard(better)
        self._steps[self._steps.index(undo)] = better
        self._target.unguard(undo)

    def forget(self, undo: Step) -> None:
        """Drop a step that someone else has registered too. Raises TargetLost."""
        if undo in self._steps:
            self._steps.remove(undo)
            self._target.unguard(undo)

    def first(self, path: str) -> int:
        """Return how many of the steps, from the oldest on, write to a file."""
        return next((n for n, step in enumerate(self._steps) if step.path != path), len(self._steps))

    def run(self, down_to: int = 0) -> list[UndoFailure]:
        """Undo the steps, newest first, until `down_to` are left; every one is tried.

        Failed steps stay in the list, so that a later run tries them again. Effects already gone count as undone;
        settings that someone else has changed since are reported once and stay as they are.
        """
        failures: list[UndoFailure] = []
        failed: list[Step] = []
        while len(self._steps) > down_to:
            step = self._steps.pop()
            try:
                if (changed := undo_step(self._target, step)) is not None:
                    failures.append(UndoFailure(step, changed))
                self._target.unguard(step)
            except KernelError as error:
                failures.append(UndoFailure(step, error))
                failed.insert(0, step)
        self._steps += failed
        return failures


def undo_step(target: Target, step: Step) -> SettingChanged | None:
    """Undo one step, unless someone else has changed its target since; effects already gone count as undone.

    Returns:
        The reason why it was skipped; None: it was done.

    Raises:
        FileRefused, TargetLost: it failed.
    """
    try:
        if step.expects:
            content = target.read(step.path)
            if not is_untouched(step.effect.value.encode(), content, step.expects):
                return None if _is_undone(step, content) else SettingChanged(step.path)
        _perform(target, step)
        if step.effect is Effect.RELEASE:
            return _event_left(target, step)
    except FileRefused as error:
        if error.errno != errno.ENOENT:
            raise
    return None


def _event_left(target: Target, step: Step) -> SettingChanged | None:
    """Return that an event of programs stays after its release; None: it is gone, as the kernel removes it a little
    later (delayed_destroy_user_event in kernel/trace/trace_events_user.c). Raises FileRefused, TargetLost.
    """
    name = step.data.partition(b" ")[0]
    for tries_left in reversed(range(_RELEASE_TRIES)):
        lines = target.read(f"{posixpath.dirname(step.path)}/dynamic_events").splitlines()
        if not any(line.partition(b" ")[0] == b"u:" + name for line in lines):
            return None
        if tries_left:
            time.sleep(_BUSY_PAUSE)
    event = name.decode("utf-8", "surrogateescape")
    return SettingChanged(step.path, f"user_events/{event} stays as long as a program, or another tool, holds it")


def _is_undone(step: Step, content: bytes) -> bool:
    """Return whether there is no effect to undo: the file has its previous content, or the event is gone."""
    if step.effect is Effect.APPEND:
        name = step.data.partition(b":")[2].strip()
        return not any(words and words[0].endswith(b":" + name) for words in map(bytes.split, content.splitlines()))
    return is_untouched(b"write", content, step.data)


def _perform(target: Target, step: Step) -> None:
    for tries_left in reversed(range(_BUSY_TRIES)):
        try:
            target.perform(step)
            return
        except FileRefused as error:
            if error.errno != errno.EBUSY or not tries_left:
                raise
            time.sleep(_BUSY_PAUSE)
