"""Read the id of the newest task of a kernel: with it, tasks created after a loss of events are known as such."""

from __future__ import annotations

from events.losses import UNKNOWN_TASK, newest_task
from kernel.cleanup.owner import is_initial_pid_namespace
from kernel.errors import FileRefused
from kernel.target import Target

_MOST = 1 << 20
"""Maximum bytes of a file; a line of /proc/stat has a word for each interrupt."""


def read_newest_task(target: Target) -> int:
    """Read the newest task id; `UNKNOWN_TASK` if older tasks may have higher ids. Raises TargetLost."""
    try:
        if not is_initial_pid_namespace(target.read("/proc/2/stat", 4096)):
            return UNKNOWN_TASK  # events have ids of the initial one
        listed = target.list("/proc")
        paths = "/proc/stat", "/sys/devices/system/cpu/possible", "/proc/loadavg"
        stat, possible, loadavg = (target.read(path, _MOST).decode("ascii", "replace") for path in paths)
        return newest_task(loadavg, stat, possible, listed)
    except FileRefused:
        return UNKNOWN_TASK
