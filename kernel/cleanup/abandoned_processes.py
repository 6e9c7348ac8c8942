"""Remove the effects of processes that served a target until their connection was lost.

A live process undoes its effects itself, once it notices the disconnect or after
`kernel.remote.protocol.agent_client.SILENCE`. A killed one cannot: its sessions are found by its name and removed as
`probewright clean` does. Sessions of other processes are not touched.
"""

from __future__ import annotations

import time

from kernel.cleanup import leftovers
from kernel.cleanup.owner import INSTANCE_PREFIX, is_alive, parse_owner
from kernel.cleanup.undo import UndoFailure
from kernel.errors import KernelError, SettingChanged
from kernel.target import Effect, Step, Target
from kernel.tracefs import Tracefs

UNDOING = 5.0
"""Seconds to wait for a process that is undoing its effects: when its target is closed, and when it holds names we
need.
"""
_PAUSE = 0.25
"""Seconds between two checks of a live process."""


class AbandonedProcesses:
    """Names (`PID_STARTTIME`) of such processes, each until all of its effects are gone."""

    def __init__(self) -> None:
        self._processes: list[str] = []
        self._changed_settings: list[SettingChanged] = []

    def __len__(self) -> int:
        return len(self._processes)

    def add(self, process: str) -> None:
        """Add a process whose connection is lost; an empty name had no effects."""
        if process and process not in self._processes:
            self._processes.append(process)

    def forget(self) -> None:
        """Forget all processes after a reboot of the machine."""
        self._processes.clear()

    def take_away(self, target: Target, patience: float = 0.0) -> list[UndoFailure]:
        """Remove the effects of dead processes.

        Args:
            target: target, served by another process now.
            patience: seconds to wait for live processes.

        Returns:
            Remaining effects of dead and live processes, and settings left as they are because someone has changed
                them.

        Raises:
            FileRefused, TargetLost: the target could not be searched.
        """
        until = time.monotonic() + patience
        while self._processes:
            failures = self._remove(target)
            living = self._live_instances(target)
            if not living or time.monotonic() >= until:
                changed, self._changed_settings = self._changed_settings, []
                return failures + living + [UndoFailure(_removal(setting.path), setting) for setting in changed]
            time.sleep(_PAUSE)
        return []

    def _remove(self, target: Target) -> list[UndoFailure]:
        alive = [
            process for process in self._processes if (owner := parse_owner(process)) and is_alive(target, owner)
        ]
        failures: list[UndoFailure] = []
        stuck: set[str] = set()
        for leftover in leftovers.find(target):
            if leftover.process in self._processes and leftover.process not in alive:
                for reason in leftovers.remove(target, leftover, self._changed_settings.append):
                    path = leftover.instance or leftover.group
                    failures.append(UndoFailure(_removal(path), KernelError(reason)))
                    stuck.add(leftover.process)
        self._processes = [process for process in self._processes if process in alive or process in stuck]
        return failures

    def _live_instances(self, target: Target) -> list[UndoFailure]:
        """Return the instances of live processes."""
        tracefs = Tracefs(target, target.facts().tracefs)
        failures: list[UndoFailure] = []
        for name in tracefs.instances():
            owner = parse_owner(name.removeprefix(INSTANCE_PREFIX)) if name.startswith(INSTANCE_PREFIX) else None
            if owner is not None and owner.process in self._processes and is_alive(target, owner):
                reason = f"process {owner.pid} from before the outage still runs, and removes its probes by itself"
                failures.append(UndoFailure(_removal(tracefs.instance(name).path), KernelError(reason)))
        return failures


def _removal(path: str) -> Step:
    return Step(Effect.RMDIR, path)


def remove_effects_of_predecessors(target: Target) -> list[UndoFailure]:
    """Remove the effects of previous processes on a target that is being closed; return the remaining ones.

    Returns none if the connection is lost: the closing of the session reports that.
    """
    try:
        return take_away_predecessors(target, UNDOING)
    except KernelError:
        return []


def take_away_predecessors(target: Target, patience: float) -> list[UndoFailure]:
    """Remove the effects of previous processes on a target, see `AbandonedProcesses.take_away`."""
    predecessors: AbandonedProcesses | None = getattr(target, "predecessors", None)
    return predecessors.take_away(target, patience) if predecessors else []
