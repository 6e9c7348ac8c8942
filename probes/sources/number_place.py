"""Read the place of a monitored number: a path that begins at a kernel variable, or a file of /proc or /sys.

vm_zone_stat[NR_FREE_PAGES]      init_task.active_mm->pgd      (task_struct)0xffff888003a40000.prio
/proc/meminfo:MemFree            /proc/loadavg::2              /sys/class/net/eth0/statistics/rx_bytes
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from probes.sources.memory_place import MemoryPlace

_ROOT: Final = re.compile(r"(?:\(([A-Za-z_]\w{0,127})\))?([\w:.$+]{1,700}?)((?:(?:\.|->)[A-Za-z_]|\[).*)?", re.ASCII)
_STEP: Final = re.compile(
    r"(?P<op>\.|->)(?P<field>[A-Za-z_]\w{0,127})|\[(?P<index>[A-Za-z_]\w{0,127}|[0-9]{1,9})\]", re.ASCII
)
_FILE: Final = re.compile(
    r"(/(?:proc|sys)/[^\s#]{1,400}/|/proc/)?([^\s/:#]{1,255})(?::([^\s/:#]{0,64})(?::([1-9][0-9]{0,2}))?)?"
)
_MOST_STEPS: Final = 16


class PathStep(NamedTuple):
    """Step of a path behind its variable."""

    field: str = ""
    """Name of a field; empty: it is an index."""
    element: str = ""
    """Number or enumerator."""

    def __str__(self) -> str:
        return f".{self.field}" if self.field else f"[{self.element}]"


class NumberPlace(NamedTuple):
    """Place of a number; of a file where `path` is one, else in memory."""

    text: str
    """Text as it was given."""
    path: str = ""
    """File of /proc or /sys; empty: the number is in memory."""
    key: str = ""
    column: int = 1
    """As of `probes.plans.sampled_number.FileNumberPlace`."""
    memory: MemoryPlace = MemoryPlace()
    """Beginning of the path."""
    cast: str = ""
    """Name of the structure there; empty: that of the variable."""
    steps: tuple[PathStep, ...] = ()

    @classmethod
    def parse(cls, text: str) -> NumberPlace | None:
        """Return the place of a text; None: it is none. `.` and `->` mean the same, a pointer is followed by both."""
        if text.startswith("/"):
            return cls._of_file(text)
        match = _ROOT.fullmatch(text)
        memory = MemoryPlace.parse(match[2]) if match is not None else None
        if match is None or memory is None:
            return None
        steps, at, rest = list[PathStep](), 0, match[3] or ""
        while at < len(rest):
            step = _STEP.match(rest, at)
            if step is None or len(steps) >= _MOST_STEPS:
                return None
            steps.append(PathStep(step["field"] or "", step["index"] or ""))
            at = step.end()
        return cls(text, memory=memory, cast=match[1] or "", steps=tuple(steps))

    @classmethod
    def _of_file(cls, text: str) -> NumberPlace | None:
        match = _FILE.fullmatch(text)
        if match is None or not match[1] or match[2] in (".", "..") or "/../" in match[1] or "//" in text:
            return None
        return cls(text, match[1] + match[2], match[3] or "", int(match[4] or "1"))

    def __str__(self) -> str:
        return self.text
