"""Create the trace instance of a session, under a name that identifies its owner; check that the target allows it."""

from __future__ import annotations

import errno

from kernel.cleanup.owner import INSTANCE_PREFIX
from kernel.cleanup.undo import UndoList
from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance, Tracefs

_MOST_SESSIONS = 64
"""Most sessions of one process on one target."""


def require_usable(target: Target) -> None:
    """Raise TargetUnusable if no probe can be armed; it carries the diagnoses of the target's facts."""
    facts = target.facts()
    if not facts.usable or not target.owner:
        fatal = [trouble for trouble in facts.troubles if trouble.fatal]
        reason = "; ".join(trouble.what for trouble in fatal) or "it is not a living kernel"
        raise TargetUnusable(f"{target.name}: {reason}", fatal[0].remedy if fatal else "", facts.troubles)


def make_instance(target: Target, tracefs: Tracefs, undo: UndoList) -> Instance:
    """Create the instance under the owner's first free name. Raises TargetUnusable, FileRefused, TargetLost."""
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
