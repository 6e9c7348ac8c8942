"""Hist triggers that keep a trace instance from being removed after its session has died, taken away.

One with a variable holds a reference to its instance, so that rmdir is refused. The kernel takes away all of an event
whose trigger file is opened with O_TRUNC, but none whose variables those of another event still read (save_hist_vars
and hist_unreg_all, kernel/trace/trace_events_hist.c).
"""

from __future__ import annotations

import contextlib

from kernel.errors import FileRefused
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance


def clear_hist_triggers(target: Target, instance: Instance) -> None:
    """Switch off all events of an instance, then take away its hist triggers, those that read variables first.

    Triggers of other kinds stay: they go with the instance. Raises FileRefused, TargetLost.
    """
    target.perform(instance.write("events/enable", "0"))
    events, more = _events_in_use(instance), True
    while more:
        for event in events:
            with contextlib.suppress(FileRefused):  # the list shows whether it is in use still
                target.perform(Step(Effect.WRITE, instance.file(f"events/{event}/trigger")))
        left = _events_in_use(instance)
        events, more = left, len(left) < len(events)


def _events_in_use(instance: Instance) -> list[str]:
    """Return `group/event` of all that are on or have a trigger. Raises FileRefused, TargetLost."""
    return [line.replace(":", "/", 1) for line in instance.read("set_event").splitlines()]
