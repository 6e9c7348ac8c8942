"""Start and stop a tracer in our instance, with its settings of the whole kernel, each with its undo.

The kernel changes no tracer of an instance while somebody reads it as a pipe (tracing_set_tracer: EBUSY for
`trace_ref`), so our own reader leaves it meanwhile.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Final

from foreign.text import whole_number
from kernel.cleanup.undo import UndoFailure, UndoList
from kernel.errors import FileRefused, KernelError, TargetUnusable
from kernel.target import Step, Target
from kernel.tracefs import Instance, Tracefs
from kernel.tracers.users import BY_THRESHOLD, other_tracer_users
from probes.plans.tracer import PlannedTracer, TracerSetting

IDLE: Final = "nop"
"""Name of the tracer that does nothing."""
_RIVALS: Final = {
    "osnoise": frozenset(("osnoise", "timerlat")),
    "hwlat_detector": frozenset(("hwlat",)),
    "tracing_thresh": BY_THRESHOLD,
}
"""Tracers that use a setting, by the first part of its path."""
_REMEDY: Final = "end the other one first, or give this one the settings that are there"

Released = Callable[[], AbstractContextManager[None]]
"""Maker of a context in which nobody reads our instance as a pipe, and nothing is lost. It raises FileRefused,
TargetLost.
"""


class TracerUndo(UndoList):
    """Undo steps of a probe that may run a tracer: our reader leaves the instance while they run."""

    def __init__(self, target: Target, released: Released) -> None:
        super().__init__(target)
        self._released = released
        self.tracer = ""
        """Name of the tracer that runs; empty: none does."""

    def run(self, down_to: int = 0) -> list[UndoFailure]:
        """Undo the steps; see `UndoList.run`."""
        if not self.tracer or len(self) <= down_to:
            return super().run(down_to)
        try:
            with self._released():
                failures = super().run(down_to)
        except KernelError:  # the connection is lost: each step tells so
            failures = super().run(down_to)
        self.tracer = self.tracer if len(self) > down_to else ""
        return failures


class TracerSteps:
    """Starter of tracers in one instance."""

    def __init__(self, target: Target, tracefs: Tracefs, instance: Instance, released: Released) -> None:
        self._target = target
        self._tracefs = tracefs
        self._instance = instance
        self._released = released

    def undo_list(self) -> TracerUndo:
        """Return an empty list for the steps of one probe."""
        return TracerUndo(self._target, self._released)

    def start(self, tracer: PlannedTracer, undo: UndoList) -> None:
        """Set everything, then start the tracer.

        Raises:
            TargetUnusable: this instance runs another tracer, or somebody else uses a setting that would have to
                change, or runs a tracer that excludes this one.
            FileRefused: the kernel rejected a setting.
            TargetLost: the connection is lost.
        """
        present = self._instance.read("current_tracer").strip()
        if present != IDLE:
            raise TargetUnusable(f"{present} runs in this session, and an instance has one tracer", "disarm it first")
        try:
            for setting in self._ordered(tracer.settings):
                self._set(setting, undo)
            with self._released():
                stop = self._instance.write("current_tracer", IDLE)
                undo.do(self._instance.write("current_tracer", tracer.name), stop)
        except FileRefused as error:
            undo.run()
            users = other_tracer_users(self._tracefs, self._instance)
            if error.errno == errno.EBUSY and users:
                raise TargetUnusable(f"{tracer.name} can't start: {users[0]}", _REMEDY) from error
            raise
        except BaseException:
            undo.run()
            raise
        if isinstance(undo, TracerUndo):
            undo.tracer = tracer.name

    def _ordered(self, settings: tuple[TracerSetting, ...]) -> list[TracerSetting]:
        """Return the settings in an order that the kernel accepts: of two that bound each other, first the larger one
        where it grows beyond what the smaller one is now.
        """
        ordered = list(settings)
        for setting in settings:
            larger = next((one for one in settings if one.file == setting.below), None)
            if larger is None:
                continue
            room = whole_number(self._tracefs.read(larger.file).strip())
            if room is not None and int(setting.value) > room:
                ordered.remove(larger)
                ordered.insert(ordered.index(setting), larger)
        return ordered

    def _set(self, setting: TracerSetting, undo: UndoList) -> None:
        if not setting.shared:
            self._target.perform(self._instance.write(setting.file, setting.value))
            return
        before = _present(self._tracefs.read(setting.file))
        if before == setting.value:
            if _has_choices(setting.file):  # hwlat leaves round-robin by itself (move_to_next_cpu)
                undo.prepare(self._restored(setting, before))
            return
        rivals = _RIVALS.get(setting.file.partition("/")[0], frozenset())
        users = [user for user in other_tracer_users(self._tracefs, self._instance) if user.tracer in rivals]
        if users:
            reason = f"{setting.file} is of the whole kernel and would have to change, but {users[0]}"
            raise TargetUnusable(reason, _REMEDY)
        undo.do(self._write(setting.file, setting.value), self._restored(setting, before))

    def _restored(self, setting: TracerSetting, before: str) -> Step:
        """Return the step that restores a setting, unless somebody else has changed it since."""
        step = self._write(setting.file, before)
        # A file that lists its choices shows no single word that could be compared.
        return step if _has_choices(setting.file) else step._replace(expects=setting.value.encode())

    def _write(self, file: str, value: str) -> Step:
        return self._tracefs.write(file, f"{value}\n")


def _has_choices(file: str) -> bool:
    return file == "hwlat_detector/mode"


def _present(text: str) -> str:
    """Return a file's value: the word in brackets where it lists all choices."""
    _, bracket, rest = text.partition("[")
    return rest.partition("]")[0] if bracket else text.strip()
