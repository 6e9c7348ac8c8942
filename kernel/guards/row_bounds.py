"""Bound the memory for events, for a screen that scrolls back in them and for commands that print them."""

from __future__ import annotations

from typing import Final, NamedTuple


class RowBounds(NamedTuple):
    """Memory bounds; beyond one of them the oldest data are dropped and counted."""

    rows: int
    """Bytes of events in the store."""
    queued: int
    """Bytes read and waiting for the store."""
    unwritten: int
    """Bytes waiting for the file of a recording."""
    tasks: int
    """Tasks whose names and cgroups are known, beside those that the kernel itself remembers."""
    moves: int
    """Moves between cgroups of one task."""
    calls: int
    """Calls that have begun and not ended; those of the tasks idle for longest are dropped."""
    values: int
    """Values of a field, and tasks, that a summary distinguishes at least."""
    at_once: int
    """Approximate bytes that one step decodes into the store."""
    piece: int
    """Rows that are counted in one step: their columns and strings take memory, which an allocator may retain."""

    def shared(self, hosts: int) -> RowBounds:
        """Return these bounds for each of several hosts, so that all together take little more than one."""
        rows, queued = (max(min(_LEAST, bound), bound // hosts) for bound in (self.rows, self.queued))
        return self._replace(rows=rows, queued=queued)


_LEAST: Final = 2 << 20
"""Least bytes per host: some batches of all CPUs."""
SCREEN: Final = RowBounds(
    rows=256 << 20, queued=64 << 20, unwritten=64 << 20, tasks=1 << 17, moves=256, calls=1 << 16,
    values=1 << 12, at_once=1 << 20, piece=1 << 15,
)  # fmt: skip
"""Bounds of the application, whose users scroll back."""
HEADLESS: Final = RowBounds(
    rows=5 << 20, queued=7 << 20, unwritten=12 << 20, tasks=1 << 12, moves=16, calls=1 << 13,
    values=1 << 12, at_once=1 << 18, piece=1 << 11,
)  # fmt: skip
"""Bounds of commands, which need no event once it is printed."""
HEADLESS_GRAPH: Final = HEADLESS._replace(rows=8 << 20)
"""Bounds of a printed call graph: a call is printed on its return, so events inside must be in memory until then."""
HEADLESS_HOSTS: Final = HEADLESS._replace(rows=16 << 20)
"""Bounds of commands for all hosts together: events wait for those of the others."""
