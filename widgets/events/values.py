"""Values that widgets show of events, losses and targets; apart, as exports and the command line make them, too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from events.loss_counts import NO_LOSSES, LossCounts, LossTotals


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
class Status:
    """Content of the top line."""

    target: str = ""
    """Name of the target: `lab`, `local`, `ssh://host`, a file's name."""
    kernel: str = ""
    """Kernel, as `Linux 7.2.13 x86-64`."""
    functions: int = 0
    armed: int = 0
    losses: LossTotals = NO_LOSSES
    recording: bool = False
    """True while events are written to a file."""
    is_disconnected: bool = False
    """True while disconnected."""
    overdue_text: str = ""
    """Text `last heard 5 s ago`, while an answer is overdue; empty: none is."""
    tracing: bool = False
    """True while calls are traced."""
    is_recording: bool = False
    """True for a recording: its probes were armed then."""


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
    is_recording: bool = False
    """True if the events are those of a recording: nothing is followed."""
    no_events_text: str = ""
    """Words in place of "following" if no event can arrive; empty: it may."""
    views: tuple[str, ...] = ()
    """Names of all views."""
    view: int = 0
    """Number of the current view."""


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

    losses: LossTotals = NO_LOSSES
    counts: LossCounts | None = None
    """Counts of the kernel, by CPU and by probe; None: not known yet."""
    probes: tuple[ProbeLoss, ...] = ()
    buffer_kb: int = 0
    """KB of each CPU's buffer; 0: there is none (a recording)."""
    usual_kb: int = 0
    """KB of each CPU's buffer before it was enlarged."""
