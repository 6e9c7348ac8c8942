"""Bytes read from a ring buffer in one pass, without decoding events."""

from __future__ import annotations

from typing import Final, NamedTuple

from events.losses import NewestTask

NO_CPU: Final = -1
"""CPU of sub-buffers that no ring buffer had: lines that a command wrote."""


class Chunk(NamedTuple):
    """Data read from one CPU."""

    cpu: int
    """CPU number; -1 if the text is not of a single CPU."""
    data: bytes
    """Consecutive whole sub-buffers (each as returned by read(2) of trace_pipe_raw), or lines of trace_pipe."""
    text: bool = False
    ring: int = 0
    """Number of the BPF ring buffer on that CPU; 0: the ring buffer of the trace instance."""
    is_being_written: bool = False
    """True if a record follows that a program is still writing: it may be older than events of other CPUs. Then the
    data may be empty."""


class Batch(NamedTuple):
    """Data of one pass over all CPUs."""

    chunks: tuple[Chunk, ...]
    drained: bool
    """True if every CPU was read until it was empty, so that all later events are younger than this pass."""
    after_gap: bool = False
    """True if passes before this one were dropped; without chunks: a probe was removed here, and calls were
    missed."""
    booted: bool = False
    """True if the machine rebooted after this pass: later times are of a new clock."""
    changed: bool = False
    """True if the gap is only of a removed or changed probe; no recorded events are missing."""
    newest_task: NewestTask | None = None
    """Task id read after all earlier passes and their gaps; such a pass has no chunks. None: none was requested."""

    @property
    def is_pass(self) -> bool:
        """False if no CPU was read for it, so that it tells nothing of the events that may still come."""
        return not self.chunks or any(chunk.cpu != NO_CPU or chunk.text for chunk in self.chunks)


GAP: Final = Batch((), drained=False, after_gap=True)
"""Behind what was read before a time in which events were not recorded."""
PROBE_CHANGED: Final = GAP._replace(changed=True)
"""Behind what was read before a probe was taken away or changed."""
