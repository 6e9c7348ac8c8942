"""Values that widgets show of events, losses and targets; apart, as exports and the command line make them, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from events.durations import seconds_text
from widgets.number_format import grouped

Run = tuple[str, str]
"""Text, and the style of it."""


class DetailField(NamedTuple):
    """Field of the event."""

    name: str
    value: str
    type: str
    """Type as in the format file."""
    offset: int
    """Bytes from the start of the record."""
    size: int
    """Bytes; for a dynamic string, those of its pointer."""
    raw: bytes
    """Bytes that the value was decoded from; empty: the event came as text."""


@dataclass(frozen=True, slots=True)
class LossTotals:
    """Events by the way in which they were lost; each has another remedy."""

    lost: int = 0
    """Events overwritten in the kernel's buffer before they were read."""
    missed: int = 0
    """Hits that the kernel had no room to record (nmissed)."""
    dropped: int = 0
    """Events read, and dropped by our own queue."""
    unread: int = 0
    """Events read, and not decoded: damaged, or without a known format."""
    gap: float = 0.0
    """Seconds of outages, with an unknown number of events."""

    def runs(self, quiet: bool) -> Iterator[Run]:
        """Return `lost 0  missed 0  dropped 0  unread 0`; `quiet`: only `lost`, and counts other than 0."""
        counts = (
            ("lost", self.lost),
            ("missed", self.missed),
            ("dropped", self.dropped),
            ("unread", self.unread),
        )
        for name, count in counts:
            if count:
                yield (f"  ! {name} {grouped(count)}", "bold $text-error")
            elif not quiet or name == "lost":
                yield (f"  {name} 0", "dim")
        if self.gap:
            yield (f"  ! gap {seconds_text(self.gap)}", "bold $text-error")


@dataclass(frozen=True, slots=True)
class Status:
    """Content of the top line."""

    target: str = ""
    """Name of the target: `lab`, `local`, `ssh://host`, a file's name."""
    kernel: str = ""
    """Kernel, as `Linux 7.2.13 x86-64`."""
    functions: int = 0
    armed: int = 0
    losses: LossTotals = LossTotals()
    recording: bool = False
    """True while events are written to a file."""
    is_disconnected: bool = False
    """True while disconnected."""
    overdue_text: str = ""
    """Text `last heard 5 s ago`, while an answer is overdue; empty: none is."""
    tracing: bool = False
    """True while calls are traced."""


@dataclass(frozen=True, slots=True)
class LiveState:
    """Content of the line above live events."""

    following: bool = True
    overdue_text: str = ""
    """Text `last heard 5 s ago`, if events can't arrive for that reason; empty: they can."""
    new: int = 0
    """Rows received since the display was paused."""
    per_second: float | None = 0.0
    """Events per second; None: unknown. Hidden if no events can arrive (`no_events_text`)."""
    row_count: int | None = 0
    """Rows, or events, on the screen or reachable by scrolling; None: the view has no rows."""
    total: int = 0
    """Number of all rows if some are hidden; 0: none are."""
    losses: LossTotals | None = None
    """Losses; None: shown elsewhere."""
    note: str = ""
    """Note, as `3 probes armed`, `recording to x.pwr`, `the recording has ended`."""
    urgent: bool = False
    """True if the note must be shown in full, before the names of other views."""
    no_events_text: str = ""
    """Words in place of "following" if no event can arrive; empty: it may."""
    views: tuple[str, ...] = ()
    """Names of all views."""
    view: int = 0
    """Number of the current view."""


class CpuLoss(NamedTuple):
    """Losses of one CPU's ring buffer."""

    cpu: int
    overrun: int
    """Events overwritten before they were read."""
    full: int
    """Events for which the buffer had no room."""


class ProbeLoss(NamedTuple):
    """Losses of one armed probe."""

    name: str
    mode: str
    """Mode: `record`, `count only` or `stopped`."""
    rate: float | None
    """Events per second that reach the screen; None: unknown."""
    hits: int | None
    """Number of hits; None: the kernel does not count them for this kind."""
    missed: int | None
    """Value of nmissed; None: the kernel does not count it for this kind."""
    maxactive: int | None = None
    """Calls that a kretprobe can follow at once; None: it is no kretprobe."""


@dataclass(frozen=True, slots=True)
class LossSheet:
    """All losses at one moment."""

    losses: LossTotals = LossTotals()
    cpus: tuple[CpuLoss, ...] = ()
    probes: tuple[ProbeLoss, ...] = ()
    buffer_kb: int = 0
    """KB of each CPU's buffer; 0: there is none (a recording)."""
    usual_kb: int = 0
    """KB of each CPU's buffer before it was enlarged."""
    read_errors: int = 0
    """Reads of the buffer that the kernel rejected: no event is lost by that while there is room."""
