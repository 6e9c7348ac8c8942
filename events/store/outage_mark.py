"""Encode and decode the mark of an outage (lost connection) among the events, a row of its own.

The mark is a line of trace_pipe, also in a recording file:

    3.9 s lost-0 [000] 12345678901: line_cut: lost=12345678901 back=16296000000 seconds=3.950 note="…"

`lost` and `back` are nanoseconds of the kernel's trace clock, omitted where unknown; older recordings have neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, Self

from events.batch import Batch, Chunk
from events.decode import Value
from events.durations import seconds_text
from events.kernel_time import seconds
from events.record import Record
from events.text import UNNAMED, parse_line

OUTAGE_EVENT: Final = "line_cut"
"""Event name of the mark; it has no group and no format."""
OUTAGE_FIELDS: Final = ("lost", "back", "seconds", "note")
"""Names of the mark's values in exports."""
_MARK: Final = re.compile(
    r'line_cut: (?:lost=(\d{1,20}) )?(?:back=(\d{1,20}) )?seconds=(\d{1,12}\.\d{1,3}) note="([^"]*)"', re.ASCII
)
_REBOOT_NOTE: Final = "; the machine was booted anew"
_LOST_NOTE: Final = "; events of that time are lost"
_NOT_RECORDING_NOTE: Final = "; nothing was recorded then"
_LARGEST: Final = 1 << 10
"""Maximum bytes of a mark, which is a short line."""


class Outage(NamedTuple):
    """Lost connection: the remote host removed the probes, so events of that time are missing if probes were
    armed.
    """

    seconds: float
    """Duration in seconds, from the last data of the remote host until just before the probes are enabled again;
    whole milliseconds, rounded down, so that the events around the outage are never closer than this."""
    booted: bool = False
    """True if the machine rebooted meanwhile: its trace clock started again and its symbols moved."""
    lost: int | None = None
    """Time of the last data from the remote host, in nanoseconds of the kernel's trace clock; None: unknown."""
    back: int | None = None
    """Time just before the probes are enabled again, in nanoseconds of that clock; None: unknown or, if `lost` is
    known, never."""
    missing: bool = True
    """True if something was recorded when the connection was lost, so that events are missing."""

    @property
    def marked(self) -> bool:
        """True if the outage gets a row among the events: the events before and after it must not be paired."""
        return self.missing or self.booted

    @classmethod
    def between(cls, lost: int, back: int) -> Self:
        """Return the outage between two times of a kernel's trace clock, in nanoseconds."""
        back = max(lost, back)
        return cls((back - lost) // 1_000_000 / 1000, lost=lost, back=back)

    @classmethod
    def lasting(cls, seconds: float, *, booted: bool = False, back: int | None = None) -> Self:
        """Return an outage of `seconds` by the local clock, for when the kernel's clock does not give its
        beginning.
        """
        return cls(int(max(0.0, seconds) * 1000) / 1000, booted, back=back)

    @property
    def duration_text(self) -> str:
        """Duration as text: `3.9 s`."""
        return seconds_text(self.seconds)

    @property
    def is_between_events(self) -> bool:
        """True if it lies between events of one clock, so that the time from one to the other includes it."""
        return not (self.booted or self.for_good)

    @property
    def for_good(self) -> bool:
        """True if the connection was never restored; `seconds` then ends when that became known."""
        return self.lost is not None and self.back is None

    @property
    def text(self) -> str:
        """Description for people, in a single line."""
        when = "" if self.lost is None else f" from {seconds(self.lost)}"
        when += "" if self.back is None else f" to {seconds(self.back)}"
        by = f",{when} by its kernel's clock" if when else ""
        if self.for_good:
            return f"disconnected{by}, and not reconnected; events from then on are lost"
        events = _LOST_NOTE if self.missing else _NOT_RECORDING_NOTE
        return f"disconnected for {self.duration_text}{by}{_REBOOT_NOTE * self.booted}{events}"

    def batch(self, ts: int) -> Batch:
        """Return the mark as a line of trace_pipe; events before it are not paired with events after it.

        `ts`: earliest time of the mark, in nanoseconds of the trace clock.
        """
        # A newline first: the text before may end in the middle of a line. The task name, which every view shows,
        # holds the duration.
        task = "all lost" if self.for_good else f"{self.duration_text} {'lost' if self.missing else 'cut'}"[:16]
        times = "".join(f"{name}={at} " for name, at in (("lost", self.lost), ("back", self.back)) if at is not None)
        when = max(ts, self.lost or 0)
        line = f'\n  {task}-0 [000] {when}: {OUTAGE_EVENT}: {times}seconds={self.seconds:.3f} note="{self.text}"\n'
        return Batch((Chunk(-1, line.encode(), text=True),), drained=False, after_gap=True, booted=self.booted)


def outage_of_batch(batch: Batch) -> Outage | None:
    """Return the outage whose mark a batch of a recording is; None: the batch is no mark."""
    if not batch.after_gap or len(batch.chunks) != 1:
        return None
    (chunk,) = batch.chunks
    if not chunk.text or chunk.cpu >= 0 or len(chunk.data) > _LARGEST:
        return None
    line = parse_line(chunk.data.decode("utf-8", "replace").strip("\n"))
    return _parse_mark(line.text) if line is not None else None


def _parse_mark(text: str) -> Outage | None:
    match = _MARK.fullmatch(text)
    if match is None:
        return None
    lost, back = (int(word) if word else None for word in match.group(1, 2))
    return Outage(float(match[3]), _REBOOT_NOTE in match[4], lost, back, _NOT_RECORDING_NOTE not in match[4])


def outage_of_record(record: Record) -> Outage | None:
    """Return the outage whose mark an event is; None: it is another event."""
    return _parse_mark(record.text) if is_mark(record) else None


def is_mark(record: Record) -> bool:
    """Return whether an event is the mark of an outage, not an event of a task."""
    return record.event == OUTAGE_EVENT and record.format is None


def task_name(record: Record) -> str:
    """Return the task name of an event; empty for a mark, whose task field holds a duration."""
    return "" if is_mark(record) else record.comm


def task_text(comm: str, pid: int, event: str) -> str:
    """Return a task as tables and lines show it, `cat-812`, or `pid 812` without a name; for a mark the text in its
    place, without a thread id.
    """
    if event == OUTAGE_EVENT or pid < 0:
        return comm
    return f"pid {pid}" if comm == UNNAMED else f"{comm}-{pid}"


def mark_values(record: Record) -> dict[str, Value | float]:
    """Return the values of a mark for exports: `lost` and `back` (ns) where known, `seconds`, `note`."""
    outage = outage_of_record(record)
    if outage is None:  # written in another format by another version
        return dict(record.values)
    times = {name: at for name, at in (("lost", outage.lost), ("back", outage.back)) if at is not None}
    return {**times, "seconds": outage.seconds, "note": outage.text}


def total_outage_text(outages: Sequence[Outage]) -> str:
    """Return the total time with missing events and the number of outages: `3.9 s`, `8.1 s, 2 times`; empty: none."""
    number = sum(outage.missing for outage in outages)
    often = f", {number} times" if number > 1 else ""
    return seconds_text(total_outage_seconds(outages)) + often if number else ""


def total_outage_seconds(outages: Iterable[Outage]) -> float:
    """Return the total seconds for which events are missing."""
    return sum(outage.seconds for outage in outages if outage.missing)
