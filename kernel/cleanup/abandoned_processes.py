"""Processes that served a target of ours until their connection was cut: what they leave there is taken away.

One that lives undoes by itself, as soon as it knows of the cut or after
`kernel.remote.protocol.agent_client.SILENCE`. One that was killed
cannot: its sessions are found by its name and removed as `probewright clean` does. No others are looked at.
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
"""Seconds for which one that is undoing is waited for: when its target is left, and where it has names we want."""
_PAUSE = 0.25
"""Seconds between two looks at one that lives."""


class AbandonedProcesses:
    """Names (`PID_STARTTIME`) of such processes, each until nothing of it is left."""

    def __init__(self) -> None:
        self._processes: list[str] = []
        self._left_alone: list[SettingChanged] = []

    def __len__(self) -> int:
        return len(self._processes)

    def add(self, process: str) -> None:
        """Add one whose connection is cut; an empty name had no effects."""
        if process and process not in self._processes:
            self._processes.append(process)

    def forget(self) -> None:
        """Forget all: the machine was booted anew."""
        self._processes.clear()

    def take_away(self, target: Target, patience: float = 0.0) -> list[UndoFailure]:
        """Remove what dead ones left.

        Args:
            target: it is served by another process now.
            patience: seconds to wait for those that live.

        Returns:
            What is left of dead ones and of living ones, and what was left alone because someone has changed it.

        Raises:
            FileRefused, TargetLost: it could not be looked at.
        """
        until = time.monotonic() + patience
        while self._processes:
            failures = self._remove(target)
            living = self._living(target)
            if not living or time.monotonic() >= until:
                told, self._left_alone = self._left_alone, []
                return failures + living + [UndoFailure(_removal(one.path), one) for one in told]
            time.sleep(_PAUSE)
        return []

    def _remove(self, target: Target) -> list[UndoFailure]:
        alive = [one for one in self._processes if (owner := parse_owner(one)) and is_alive(target, owner)]
        failures: list[UndoFailure] = []
        stuck: set[str] = set()
        for leftover in leftovers.find(target):
            if leftover.process in self._processes and leftover.process not in alive:
                for why in leftovers.remove(target, leftover, self._left_alone.append):
                    path = leftover.instance or leftover.group
                    failures.append(UndoFailure(_removal(path), KernelError(why)))
                    stuck.add(leftover.process)
        self._processes = [one for one in self._processes if one in alive or one in stuck]
        return failures

    def _living(self, target: Target) -> list[UndoFailure]:
        """Return the instances of those that live."""
        tracefs = Tracefs(target, target.facts().tracefs)
        found: list[UndoFailure] = []
        for name in tracefs.instances():
            owner = parse_owner(name.removeprefix(INSTANCE_PREFIX)) if name.startswith(INSTANCE_PREFIX) else None
            if owner is not None and owner.process in self._processes and is_alive(target, owner):
                why = f"process {owner.pid} of before the cut lives, and takes its probes away by itself"
                found.append(UndoFailure(_removal(tracefs.instance(name).path), KernelError(why)))
        return found


def _removal(path: str) -> Step:
    return Step(Effect.RMDIR, path)


def remove_what_predecessors_left(target: Target) -> list[UndoFailure]:
    """Remove what predecessors left on a target that is going to be left, and return what stays.

    Where the connection is gone return nothing: it is told by who closes a session there.
    """
    predecessors: AbandonedProcesses | None = getattr(target, "predecessors", None)
    if not predecessors:
        return []
    try:
        return predecessors.take_away(target, UNDOING)
    except KernelError:
        return []
