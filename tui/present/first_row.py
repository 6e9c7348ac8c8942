"""First rows of a recording as texts, which a child process sends to the application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from events.loss_counts import LossTotals


class FirstRow(NamedTuple):
    """Event with its texts (`widgets.events.event_rows.ShownEvent`)."""

    seq: int
    ts: int
    cpu: int
    pid: int
    comm: str
    event: str
    texts: Mapping[str, str]
    """Text by field name."""


class FirstRows(NamedTuple):
    """Rows of a recording as far as it was read."""

    fields: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[FirstRow, ...]
    """Newest rows, in order of time."""
    first: int
    """Sequence number of the oldest row, even if `rows` lacks its texts."""
    next: int
    """Sequence number after the newest row."""
    armed: int
    """Number of probes."""
    losses: LossTotals
    complete: bool
    """True if the recording was read to its end."""
    is_truncated: bool
    """True if the file is truncated."""
    kinds: Mapping[str, frozenset[str]]
    """Fields of each event by its path, see `tui.present.watched_events.kinds_of`."""
    owners: Mapping[str, Mapping[str, str]]
    """Structures that fields of each event were read from, see `kernel.watch.event_fields.EventFields.owners`."""


class Preview(NamedTuple):
    """Content of the first picture."""

    target: str
    kernel: str
    """Description of the kernel, as `Linux 7.2.13 x86-64`."""
    names: tuple[str, ...]
    """Functions that can be traced, sorted."""
    events: FirstRows | None = None
    """Rows of a recording; None: it has none, or they can't be read."""
