"""The mark that a cut line leaves among the events: a row of its own, as a value, as text, and read back.

It is a line of trace_pipe, in the file of a recording too:

    3.9 s lost-0 [000] 12345678901: line_cut: lost=12345678901 back=16296000000 seconds=3.950 note="…"

`lost` and `back` are nanoseconds of the kernel's trace clock, left out where they are not known; older recordings
have neither.
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
from events.text import parse_line

EVENT: Final = "line_cut"
"""Name of its event; it has no group and no format."""
FIELDS: Final = ("lost", "back", "seconds", "note")
"""Names of its values, as exports have them."""
_MARK: Final = re.compile(
    r'line_cut: (?:lost=(\d{1,20}) )?(?:back=(\d{1,20}) )?seconds=(\d{1,12}\.\d{1,3}) note="([^"]*)"', re.ASCII
)
_ANEW: Final = "; the machine was booted anew"
_LOST: Final = "; events of that time are lost"
_NOTHING: Final = "; nothing was recorded then"
_LARGEST: Final = 1 << 10
"""Bytes; a mark is a short line."""


class LineCut(NamedTuple):
    """The line was cut, and the far side took the probes away: events of that time are lost, if there were probes."""

    seconds: float
    """From when the far side was heard last until the probes were about to be switched on again; whole milliseconds,
    rounded down: no events around it are nearer to each other."""
    booted: bool = False
    """Whether the machine was booted anew meanwhile: its clock began again, and its symbols moved."""
    lost: int | None = None
    """When the far side was heard last, in nanoseconds of the kernel's trace clock; None: not known."""
    back: int | None = None
    """When the probes were about to be switched on again, by the same clock; None: not known, or never, which is so
    where `lost` is known."""
    missing: bool = True
    """Whether something was recorded when the line was cut, so that events are missing."""

    @property
    def marked(self) -> bool:
        """Whether it stands among the events: what is on both sides of it does not belong together."""
        return self.missing or self.booted

    @classmethod
    def between(cls, lost: int, back: int) -> Self:
        """Return the cut from one time of a kernel's trace clock to another, in nanoseconds."""
        back = max(lost, back)
        return cls((back - lost) // 1_000_000 / 1000, lost=lost, back=back)

    @classmethod
    def lasting(cls, seconds: float, *, booted: bool = False, back: int | None = None) -> Self:
        """Return a cut of so many seconds by our clock, where that of the kernel says nothing of its beginning."""
        return cls(int(max(0.0, seconds) * 1000) / 1000, booted, back=back)

    @property
    def shown(self) -> str:
        """`3.9 s`."""
        return seconds_text(self.seconds)

    @property
    def for_good(self) -> bool:
        """Whether no other line was made: `seconds` ends when that was known."""
        return self.lost is not None and self.back is None

    @property
    def text(self) -> str:
        """In a line, for people."""
        when = "" if self.lost is None else f" from {seconds(self.lost)}"
        when += "" if self.back is None else f" to {seconds(self.back)}"
        by = f",{when} by its kernel's clock" if when else ""
        if self.for_good:
            return f"the line was cut{by}, and was not made anew; events from then on are lost"
        return f"the line was cut for {self.shown}{by}{_ANEW * self.booted}{_LOST if self.missing else _NOTHING}"

    def batch(self, ts: int) -> Batch:
        """Return it as a line of trace_pipe; nothing of before is paired with what comes after.

        `ts`: nanoseconds of the trace clock that it stands behind.
        """
        # A line's end first: the text of before may have been cut in the middle of one.
        # In the place of a task's name, which every view shows, stands how much is missing.
        task = "all lost" if self.for_good else f"{self.shown} {'lost' if self.missing else 'cut'}"[:16]
        known = "".join(f"{name}={at} " for name, at in (("lost", self.lost), ("back", self.back)) if at is not None)
        when = max(ts, self.lost or 0)
        line = f'\n  {task}-0 [000] {when}: {EVENT}: {known}seconds={self.seconds:.3f} note="{self.text}"\n'
        return Batch((Chunk(-1, line.encode(), text=True),), drained=False, after_gap=True, booted=self.booted)


def cut_of(batch: Batch) -> LineCut | None:
    """Return the cut whose mark a pass of a recording is; None: it is none."""
    if not batch.after_gap or len(batch.chunks) != 1:
        return None
    (chunk,) = batch.chunks
    if not chunk.text or chunk.cpu >= 0 or len(chunk.data) > _LARGEST:
        return None
    line = parse_line(chunk.data.decode("utf-8", "replace").strip("\n"))
    return _parsed(line.text) if line is not None else None


def _parsed(text: str) -> LineCut | None:
    match = _MARK.fullmatch(text)
    if match is None:
        return None
    lost, back = (int(word) if word else None for word in match.group(1, 2))
    return LineCut(float(match[3]), _ANEW in match[4], lost, back, _NOTHING not in match[4])


def cut_of_record(record: Record) -> LineCut | None:
    """Return the cut whose mark an event is; None: it is another event."""
    return _parsed(record.text) if is_mark(record) else None


def is_mark(record: Record) -> bool:
    """Whether an event says that the line was cut, and not what a task did."""
    return record.event == EVENT and record.format is None


def task_name(record: Record) -> str:
    """Name of the task of an event; a mark has none: what stands there is for those who read a table."""
    return "" if is_mark(record) else record.comm


def task_text(comm: str, pid: int, event: str) -> str:
    """Return a task as tables and lines show it, `cat-812`; of a mark what stands in its place, without a number."""
    return comm if event == EVENT or pid < 0 else f"{comm}-{pid}"


def mark_values(record: Record) -> dict[str, Value | float]:
    """Return the values of a mark as exports have them: `lost` and `back` (ns) where known, `seconds`, `note`."""
    cut = cut_of_record(record)
    if cut is None:  # of a version that wrote it in another way
        return dict(record.values)
    known = {name: at for name, at in (("lost", cut.lost), ("back", cut.back)) if at is not None}
    return {**known, "seconds": cut.seconds, "note": cut.text}


def gap_of(cuts: Sequence[LineCut]) -> str:
    """Return for how long events are missing in sum, and how often: `3.9 s`, `8.1 s, 2 times`; empty: none is."""
    number = sum(cut.missing for cut in cuts)
    often = f", {number} times" if number > 1 else ""
    return seconds_text(gap_seconds(cuts)) + often if number else ""


def gap_seconds(cuts: Iterable[LineCut]) -> float:
    """Return for how many seconds events are missing in sum."""
    return sum(cut.seconds for cut in cuts if cut.missing)
