"""Name the tasks of a store by thread id and boot, and keep which are not known yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from events.clocks.boots import ID_BITS, ID_MASK, Boots
from events.text import UNNAMED

_MOST_UNKNOWN: Final = 1 << 12
"""Thread ids whose names are requested at a time."""
_IDLE: Final = "<idle>"


class TaskNames:
    """Names of the tasks of all boots."""

    def __init__(self, boots: Boots) -> None:
        """Take the boots of the rows."""
        self._boots = boots
        self.known: Mapping[int, str] = {}
        """Names by `events.clocks.boots.task_key` (saved_cmdlines)."""
        self.unknown: set[int] = set()
        """Thread ids of the latest boot whose name was requested but is unknown."""

    @property
    def all_names(self) -> set[str]:
        """Names that `name` may return."""
        return {*self.known.values(), _IDLE, UNNAMED}

    def name(self, key: int) -> str:
        """Return the name of a task by its `events.clocks.boots.task_key`: in boot 0 its thread id."""
        name = self.known.get(key)
        if name:
            return name
        boot, pid = key >> ID_BITS, key & ID_MASK
        if pid and boot == self._boots.latest and len(self.unknown) < _MOST_UNKNOWN:
            self.unknown.add(pid)
        return UNNAMED if pid else _IDLE
