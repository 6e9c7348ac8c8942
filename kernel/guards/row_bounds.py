"""The most that is held of what comes, for a screen that goes back in it and for commands that give it out."""

from __future__ import annotations

from typing import Final, NamedTuple


class RowBounds(NamedTuple):
    """What goes beyond one of these is let go, the oldest first, and counted."""

    rows: int
    """Bytes of events in the store."""
    queued: int
    """Bytes that were read and wait for the store."""
    unwritten: int
    """Bytes that wait for the file of a recording."""
    tasks: int
    """Tasks whose names and cgroups are known, beside those that the kernel itself remembers."""
    moves: int
    """From cgroup to cgroup, of one task."""
    calls: int
    """Calls that have begun and not ended; those of the tasks that were still for longest are given up."""
    values: int
    """Values of a field, and tasks, that a summary tells apart at least."""
    at_once: int
    """Bytes, about, that are brought into the store in one step."""
    piece: int
    """Rows that are counted at once: their columns and strings take memory, which an allocator may keep."""

    def shared(self, hosts: int) -> RowBounds:
        """Return these for each of several hosts, so that all together hold little more than one."""
        rows, queued = (max(min(_LEAST, all_of_it), all_of_it // hosts) for all_of_it in (self.rows, self.queued))
        return self._replace(rows=rows, queued=queued)


_LEAST: Final = 2 << 20
"""Bytes: some passes over the CPUs."""
SCREEN: Final = RowBounds(
    rows=256 << 20, queued=64 << 20, unwritten=64 << 20, tasks=1 << 17, moves=256, calls=1 << 16,
    values=1 << 12, at_once=1 << 20, piece=1 << 15,
)  # fmt: skip
"""Whoever watches goes back to what came."""
HEADLESS: Final = RowBounds(
    rows=5 << 20, queued=7 << 20, unwritten=12 << 20, tasks=1 << 12, moves=16, calls=1 << 13,
    values=1 << 12, at_once=1 << 18, piece=1 << 11,
)  # fmt: skip
"""What was given out is asked for by nobody."""
HEADLESS_GRAPH: Final = HEADLESS._replace(rows=8 << 20)
"""A call is printed when it has returned: what is inside has to be there until then."""
HEADLESS_HOSTS: Final = HEADLESS._replace(rows=16 << 20)
"""Of all hosts together: events wait for those of the others."""
