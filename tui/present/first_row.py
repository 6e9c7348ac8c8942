"""First rows of a recording as texts, which a child sends to the application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class FirstRow(NamedTuple):
    """An event with its texts (`widgets.events.event_rows.Event`)."""

    seq: int
    ts: int
    cpu: int
    pid: int
    comm: str
    event: str
    texts: Mapping[str, str]
    """Text by field name."""


class FirstRows(NamedTuple):
    """The rows of a recording as far as it was read."""

    fields: tuple[str, ...]
    """Names of the columns."""
    rows: tuple[FirstRow, ...]
    """The newest, the oldest of them first."""
    first: int
    """Sequence number of the oldest row, also where its texts are not among `rows`."""
    next: int
    """Sequence number behind the newest row."""
    armed: int
    """Number of probes."""
    lost: int
    """Events that were overwritten before they were read."""
    unread: int
    """Events that were read and not understood."""
    complete: bool
    """Whether the recording was read to its end."""
    cut_short: bool
    """Whether the file ends before its end."""
    gap: float = 0.0
    """Seconds for which the line was cut while it was recorded."""
