r"""Write folded stacks, `frame;frame;frame NUMBER` per line, as read by flamegraph.pl, inferno and speedscope.

If kernel stacks were recorded (`stacktrace`), each counts once under its task, outermost frame first. Otherwise the
frames are the nested calls with both ends, and the number is the own time of a call in nanoseconds, without the calls
inside it. A `;` or control character in a frame is written `\xNN`. Events that are in neither are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from events.calls.call_values import idle_task
from events.clocks.boots import task_key
from events.export.catalogue import format_names, left_out_note
from events.export.escape import clean_frame
from events.export.source import ExportSource
from events.export.spans import MOST_WAITING, SpanItem, SpanPart, Spans
from events.export.stack_files import folded_lines
from events.graph.record_ends import measured_duration
from events.record import Record
from events.stacks.stack import Frame, field_frames, kernel_frames
from events.store.outage_mark import Outage, outage_of_record, total_outage_text
from events.text import UNNAMED

_MOST = 1 << 16
"""Maximum number of distinct stacks; further ones share one line."""
_OVERFLOW = ("[more different stacks than are kept]",)
_UNNAMED = "\0"
"""Marker before the thread id of a task without a name; no frame contains it."""

Stack = tuple[str, ...]


@dataclass
class _Frame:
    """Call that has begun."""

    seq: int
    name: str
    began: int
    inside: int = 0
    """Duration of the calls inside it, in nanoseconds."""
    late: bool = False
    """True if the call is not proven yet: it is not in the stacks of other calls."""


class FoldedStacks:
    """Writer of folded stacks; see the module."""

    def __init__(self, source: ExportSource, out: BinaryIO, waiting: int = MOST_WAITING) -> None:
        """Start the output; see `events.export.spans` for `waiting`."""
        self._source = source
        self._out = out
        self._spans = Spans(source, waiting)
        self._open: dict[int, list[_Frame]] = {}
        self._times: Counter[Stack] = Counter()
        self._counts: Counter[Stack] = Counter()
        self._events = 0
        self._stacked = 0
        """Number of events that have stacks and pass the filter."""
        self._any_call = False
        """True once a call had both ends."""
        self._not_in_calls = 0
        """Number of events that are not ends of such a call."""
        self._cuts: list[Outage] = []

    @property
    def _omitted(self) -> int:
        return self._events - self._stacked if self._counts else self._not_in_calls

    @property
    def omitted(self) -> int:
        return self._omitted + len(self._cuts)

    @property
    def notes(self) -> tuple[str, ...]:
        gap = total_outage_text(self._cuts)
        others = format_names(lambda form: form.name != "folded")
        outage = (f"disconnected for {gap}: folded stacks have no place for that; {others} have",) if gap else ()
        missing = self._omitted
        if not missing:
            return outage
        if not (self._counts or self._any_call):
            why = "no event has a kernel stack, and no call has both ends: there is nothing to fold"
        else:
            why = "without a kernel stack" if self._counts else "no call with both ends"
        return (*outage, left_out_note(missing, why))

    def take(self, record: Record) -> None:
        if (outage := outage_of_record(record)) is not None:
            if outage.missing:
                self._cuts.append(outage)
            return
        if self._source.passes is None or self._source.passes(record):
            symbols = self._source.symbols
            record_stack = kernel_frames(record, symbols)
            stacks = (*field_frames(record, symbols), *(() if record_stack is None else (record_stack,)))
            for frames in stacks:
                self._add(self._counts, (_task_frame(record), *map(_frame, reversed(frames))), 1)
            self._events += 1
            self._stacked += bool(stacks)
        self._follow(self._spans.take(record))

    def finish(self) -> None:
        self._follow(self._spans.finish())
        found: Counter[Stack] = Counter()
        for (task, *frames), amount in (self._counts or self._times).items():
            found[(self._task_name(task), *frames)] += amount
        for line in folded_lines(found):
            self._out.write(f"{line}\n".encode("utf-8", "backslashreplace"))

    def _task_name(self, task: str) -> str:
        """Return the frame of a task, whose name may have become known after its event."""
        name, mark, pid = task.partition(_UNNAMED)
        return clean_frame(self._source.comm(int(pid))) if mark else name

    def _add(self, where: Counter[Stack], stack: Stack, amount: int) -> None:
        where[stack if stack in where or len(where) < _MOST else _OVERFLOW] += amount

    def _follow(self, items: Iterator[SpanItem]) -> None:
        for item in items:
            record = item.record
            self._not_in_calls += item.part is SpanPart.EVENT and item.passes
            if item.part in (SpanPart.BEGIN, SpanPart.LATE):
                frames = self._open.setdefault(_task(record), [])
                name = clean_frame(self._source.function(record))
                frames.append(_Frame(record.seq, name, record.ts, late=item.part is SpanPart.LATE))
            elif item.part is SpanPart.END:
                frames = self._open.get(_task(record), [])
                at = max((at for at, frame in enumerate(frames) if not frame.late), default=None)
                if at is not None:
                    self._end(frames, at, record, counts=item.passes)
            elif item.leave is not None:
                self._end_late(item, item.leave)
            elif item.unpaired_reason:
                self._drop(record)

    def _end_late(self, item: SpanItem, leave: Record) -> None:
        frames = self._open.get(_task(leave), [])
        at = next((at for at, frame in enumerate(frames) if frame.seq == item.record.seq), None)
        if at is None:
            return
        # The next event is the exit of the call that crosses this one, of another probe on the function.
        crosses = item.part is SpanPart.CROSSING and at + 1 < len(frames)
        beside = leave.ts - frames[at + 1].began if crosses else 0
        self._end(frames, at, leave, counts=item.passes, beside=beside)

    def _end(self, frames: list[_Frame], at: int, leave: Record, *, counts: bool, beside: int = 0) -> None:
        """End a call; `beside`: its nanoseconds that are counted for another probe's call of the same function."""
        frame = frames.pop(at)
        self._any_call = True
        took = measured_duration(leave)
        took = leave.ts - frame.began if took is None else took
        names = (outer.name for outer in frames[:at] if not outer.late)
        if counts:
            self._add(self._times, (_task_frame(leave), *names, frame.name), max(0, took - frame.inside - beside))
        if at:
            frames[at - 1].inside += took - beside
        if not frames:
            self._open.pop(_task(leave), None)

    def _drop(self, record: Record) -> None:
        """Remove a late entry without an exit; the calls inside it are then inside its enclosing call."""
        frames = self._open.get(_task(record), [])
        at = next((at for at, frame in enumerate(frames) if frame.seq == record.seq), None)
        if at is not None:
            frame = frames.pop(at)
            if at:
                frames[at - 1].inside += frame.inside
            if not frames:
                del self._open[_task(record)]


def _frame(frame: Frame) -> str:
    return clean_frame(frame.function)


def _task_frame(record: Record) -> str:
    return f"{_UNNAMED}{task_key(record.pid, record.boot)}" if record.comm == UNNAMED else clean_frame(record.comm)


def _task(record: Record) -> int:
    return record.pid or idle_task(record.cpu)
