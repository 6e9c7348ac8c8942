"""Format event names for the screen and for exports; details and lines of text use the kernel's own names.

Separate, together with the words of conditions, for modules that show rows without reading one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

CGROUP: Final = ("cgroup", "container")
"""Condition words for the cgroup of a task; see `events.conditions.comparison.InCgroup`."""
_SESSION_SYNTHETIC: Final = re.compile(r"synthetic/pw_\d+_[0-9a-z]+(?:_\d+)?__(.+)", re.DOTALL)
"""Paths of our synthetic events: the kernel puts all synthetic events in one group, so ours carry the session's group
in their names."""
_SESSION_EVENT: Final = re.compile(r"pw_\d+_[0-9a-z]+(?:_\d+)?/(.+)", re.DOTALL)


def event_name(path: str) -> str:
    """Return the displayed name: `vfs_read__exit` for `pw_136_cv/vfs_read__exit`, `slow_open` for
    `synthetic/pw_136_cv__slow_open`.
    """
    ours = _SESSION_SYNTHETIC.fullmatch(path)
    return ours[1] if ours else path.rpartition("/")[2]


def regrouped_path(path: str, old: str, new: str) -> str:
    """Return an event's path with the group of session `old` replaced by that of `new`; other paths are unchanged."""
    for begin in ("{}/", "synthetic/{}__"):
        if path.startswith(begin.format(old)):
            return begin.format(new) + path.removeprefix(begin.format(old))
    return path


@lru_cache(1 << 10)
def exported_name(path: str) -> str:
    """Return the name for exports: `sched/sched_switch` is unchanged, events of our own sessions lose the session's
    group.

    That group differs on each host and in each run, although the event is the same.
    """
    ours = _SESSION_EVENT.fullmatch(path) or _SESSION_SYNTHETIC.fullmatch(path)
    return ours[1] if ours else path


FIELD_SYNONYMS: Final = {
    "task": "comm", "process": "comm", "command": "comm", "program": "comm", "name": "comm", "thread": "pid",
    "tid": "pid", "tgid": "pid", "function": "func", "processor": "cpu", "error": "errno", "stack": "kstack",
}  # fmt: skip
"""Fields by other words for them."""
