"""Remove hist triggers that prevent the removal of a dead session's trace instance.

A trigger with a variable holds a reference to its instance, so that rmdir is rejected. The kernel removes all
triggers of an event whose trigger file is opened with O_TRUNC, but none whose variables are still read by those of
another event (save_hist_vars and hist_unreg_all, kernel/trace/trace_events_hist.c).
"""

from __future__ import annotations

import contextlib

from kernel.errors import FileRefused
from kernel.target import Effect, Step, Target
from kernel.tracefs import Instance


def clear_hist_triggers(target: Target, instance: Instance) -> None:
    """Disable all events of an instance, then remove its hist triggers, those that read variables first.

    Triggers of other kinds stay: they disappear with the instance. Raises FileRefused, TargetLost.
    """
    target.perform(instance.write("events/enable", "0"))
    events, progress = _events_in_use(instance), True
    while progress:
        for event in events:
            with contextlib.suppress(FileRefused):  # the list shows whether it is still in use
                target.perform(Step(Effect.WRITE, instance.file(f"events/{event}/trigger")))
        remaining = _events_in_use(instance)
        events, progress = remaining, len(remaining) < len(events)


def _events_in_use(instance: Instance) -> list[str]:
    """Return `group/event` of all events that are enabled or have a trigger. Raises FileRefused, TargetLost."""
    return [line.replace(":", "/", 1) for line in instance.read("set_event").splitlines()]
