"""What a stream of a ring buffer hands over: bytes, never events."""

from __future__ import annotations

from typing import NamedTuple


class Chunk(NamedTuple):
    """What was read from one CPU."""

    cpu: int
    """-1 where the text does not belong to one CPU."""
    data: bytes
    """Whole sub-buffers one behind the other (each as read(2) of trace_pipe_raw gave it), or lines of trace_pipe."""
    text: bool = False


class Batch(NamedTuple):
    """One pass over all CPUs."""

    chunks: tuple[Chunk, ...]
    drained: bool
    """True: every CPU was read until it was empty, so whatever comes later is younger than this pass."""
    after_gap: bool = False
    """True: passes before this one were dropped; without chunks: a probe was taken away here, and calls went by."""
    booted: bool = False
    """True: the machine was booted anew behind this pass: times that follow are of a clock that began again."""
    changed: bool = False
    """True: that gap is only of a probe that was taken away or changed; nothing that was recorded is missing."""
