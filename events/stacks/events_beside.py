"""Tell events of probes from those beside them, stacks and lines of commands, for all that counts events."""

from __future__ import annotations

from collections.abc import Container
from typing import Final

from events.recording.lines_in_time import COMMAND_OUTPUT
from events.stacks.stack import KERNEL_STACKS, USER_STACKS

EVENTS_BESIDE: Final = frozenset((*KERNEL_STACKS, *USER_STACKS, COMMAND_OUTPUT))
"""Paths of stacks that are rows of their own, as their event is not proven, and of the lines of a command: they have
rows, and are in no count, rate or table of the events of probes.
"""


def is_counted(path: str, only: Container[str] | None) -> bool:
    """Return whether events of a path are counted; `only`: paths of those that are, None: of all probes."""
    return path not in EVENTS_BESIDE if only is None else path in only
