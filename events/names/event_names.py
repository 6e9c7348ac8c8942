"""How the name of an event reads on the screen and in exports; details and lines of text have the kernel's own.

Apart, with the words of conditions, for who shows rows without reading one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

CGROUP: Final = ("cgroup", "container")
"""Words of a condition for the cgroup of a task; see `events.search.comparison.InCgroup`."""
_OURS: Final = re.compile(r"synthetic/pw_\d+_[0-9a-z]+(?:_\d+)?__(.+)", re.DOTALL)
"""The kernel has one group for all synthetic events, so those of a session of ours carry its group in their names."""
_OF_A_SESSION: Final = re.compile(r"pw_\d+_[0-9a-z]+(?:_\d+)?/(.+)", re.DOTALL)


def event_name(path: str) -> str:
    """`vfs_read__exit` of `pw_136_cv/vfs_read__exit`, `slow_open` of `synthetic/pw_136_cv__slow_open`."""
    ours = _OURS.fullmatch(path)
    return ours[1] if ours else path.rpartition("/")[2]


def regrouped_path(path: str, old: str, new: str) -> str:
    """Return the path of an event of one session as another one has it, by the groups of both; else the same path."""
    for begin in ("{}/", "synthetic/{}__"):
        if path.startswith(begin.format(old)):
            return begin.format(new) + path.removeprefix(begin.format(old))
    return path


@lru_cache(1 << 10)
def exported_name(path: str) -> str:
    """The same for data: `sched/sched_switch` stays, and what has the group of a session of ours goes without it.

    That group is another one on each host and in each run, where the event is the same.
    """
    ours = _OF_A_SESSION.fullmatch(path) or _OURS.fullmatch(path)
    return ours[1] if ours else path
