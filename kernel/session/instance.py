"""The trace instance of a session: whether there can be one, and making it under a name that says whose it is."""

from __future__ import annotations

import errno

from kernel.cleanup.owner import INSTANCE_PREFIX
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance, Tracefs

_MOST_SESSIONS = 64
"""Of one process on one target."""


def require_usable(target: Target) -> None:
    """Raises TargetUnusable where nothing can be armed; it carries the troubles of the target's facts."""
    facts = target.facts()
    if not facts.usable or not target.owner:
        fatal = [trouble for trouble in facts.troubles if trouble.fatal]
        why = "; ".join(trouble.what for trouble in fatal) or "it is not a living kernel"
        raise TargetUnusable(f"{target.name}: {why}", fatal[0].remedy if fatal else "", facts.troubles)


def make_instance(target: Target, tracefs: Tracefs, undo: UndoList) -> Instance:
    """Make it under the first name of this owner that is free. Raises TargetUnusable, FileRefused, TargetLost."""
    for number in range(1, _MOST_SESSIONS + 1):
        suffix = f"_{number}" if number > 1 else ""
        instance = tracefs.instance(f"{INSTANCE_PREFIX}{target.owner}{suffix}")
        try:
            undo.do(Step(Effect.MKDIR, instance.path), Step(Effect.RMDIR, instance.path))
            return instance
        except FileRefused as error:
            if error.errno != errno.EEXIST:
                raise
    raise TargetUnusable(f"{target.name}: this process has {_MOST_SESSIONS} sessions there")
