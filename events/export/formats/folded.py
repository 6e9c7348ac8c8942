r"""Folded stacks, `frame;frame;frame NUMBER` a line: what flamegraph.pl, inferno and speedscope read.

Where kernel stacks were recorded (`stacktrace`), each counts once under its task, outermost frame first. Else the
frames are the calls that were seen inside each other, by both ends, and the number is the time in nanoseconds that
a call took without those inside it. Frames that hold a `;` or a control character have it as `\xNN`. Events that
are in neither are counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

from events.calls.call_values import idle_task
from events.export.catalogue import having, left_out_note
from events.export.source import UNNAMED, Source
from events.export.spans import MOST_WAITING, SpanItem, SpanPart, Spans
from events.graph.record_ends import measured
from events.record import Record
from events.stacks.stack import Frame, field_frames, kernel_frames
from events.store.outage_mark import Outage, cut_of_record, gap_of

_MOST = 1 << 16
"""Different stacks that are kept; what comes behind them is one line of its own."""
_REST = ("[more different stacks than are kept]",)
_UNNAMED = "\0"
"""Stands before the thread id of a task without a name: no frame has it."""
_SPECIAL = re.compile(r"[;\x00-\x1f\x7f-\x9f\u2028\u2029]")

Stack = tuple[str, ...]


@dataclass
class _Frame:
    """A call that has begun."""

    seq: int
    name: str
    began: int
    inside: int = 0
    """Time of the calls inside it."""
    late: bool = False
    """Not proven yet: it is no part of the stack of others."""


class FoldedStacks:
    """See the module."""

    def __init__(self, source: Source, out: BinaryIO, waiting: int = MOST_WAITING) -> None:
        """See `events.export.spans` for how many events wait for the end of a call."""
        self._source = source
        self._out = out
        self._spans = Spans(
            source.ends, source.lost_between, waiting, source.passes, source.missed, source.events_lost
        )
        self._open: dict[int, list[_Frame]] = {}
        self._times: Counter[Stack] = Counter()
        self._counts: Counter[Stack] = Counter()
        self._events = 0
        self._stacked = 0
        """Events that have stacks; all that are counted pass the filter."""
        self._called = False
        """Whether there was a call with both ends."""
        self._uncalled = 0
        """Events that are no end of such a call."""
        self._cuts: list[Outage] = []

    @property
    def _missing(self) -> int:
        return self._events - self._stacked if self._counts else self._uncalled

    @property
    def left_out(self) -> int:
        return self._missing + len(self._cuts)

    @property
    def notes(self) -> tuple[str, ...]:
        gap = gap_of(self._cuts)
        others = having(lambda form: form.name != "folded")
        cut = (f"the line was cut for {gap}: folded stacks have no place for that; {others} have",) if gap else ()
        missing = self._missing
        if not missing:
            return cut
        if not (self._counts or self._called):
            why = "no event has a kernel stack, and no call has both ends: there is nothing to fold"
        else:
            why = "without a kernel stack" if self._counts else "no call with both ends"
        return (*cut, left_out_note(missing, why))

    def take(self, record: Record) -> None:
        if (cut := cut_of_record(record)) is not None:
            if cut.missing:
                self._cuts.append(cut)
            return
        if self._source.passes is None or self._source.passes(record):
            symbols = self._source.symbols
            own = kernel_frames(record, symbols)
            stacks = (*field_frames(record, symbols), *(() if own is None else (own,)))
            for frames in stacks:
                self._add(self._counts, (_task_frame(record), *map(_frame, reversed(frames))), 1)
            self._events += 1
            self._stacked += bool(stacks)
        self._follow(self._spans.take(record))

    def finish(self) -> None:
        self._follow(self._spans.finish())
        found: Counter[Stack] = Counter()
        for (task, *frames), amount in (self._counts or self._times).items():
            found[(self._named(task), *frames)] += amount
        for stack, amount in sorted(found.items()):
            self._out.write(f"{';'.join(stack)} {amount}\n".encode("utf-8", "backslashreplace"))

    def _named(self, task: str) -> str:
        """The frame of a task; its name may have become known since its event."""
        name, mark, pid = task.partition(_UNNAMED)
        return _clean(self._source.comm(int(pid))) if mark else name

    def _add(self, where: Counter[Stack], stack: Stack, amount: int) -> None:
        where[stack if stack in where or len(where) < _MOST else _REST] += amount

    def _follow(self, items: Iterator[SpanItem]) -> None:
        for item in items:
            record = item.record
            self._uncalled += item.part is SpanPart.EVENT and item.passes
            if item.part in (SpanPart.BEGIN, SpanPart.LATE):
                frames = self._open.setdefault(_task(record), [])
                name = _clean(self._source.function(record))
                frames.append(_Frame(record.seq, name, record.ts, late=item.part is SpanPart.LATE))
            elif item.part is SpanPart.END:
                frames = self._open.get(_task(record), [])
                at = max((at for at, frame in enumerate(frames) if not frame.late), default=None)
                if at is not None:
                    self._end(frames, at, record, counts=item.passes)
            elif item.leave is not None:
                self._end_late(item, item.leave)
            elif item.alone:
                self._drop(record)

    def _end_late(self, item: SpanItem, leave: Record) -> None:
        frames = self._open.get(_task(leave), [])
        at = next((at for at, frame in enumerate(frames) if frame.seq == item.record.seq), None)
        if at is None:
            return
        # The exit of the call that crosses this one, of another probe on its function, comes next.
        crosses = item.part is SpanPart.CROSSING and at + 1 < len(frames)
        beside = leave.ts - frames[at + 1].began if crosses else 0
        self._end(frames, at, leave, counts=item.passes, beside=beside)

    def _end(self, frames: list[_Frame], at: int, leave: Record, *, counts: bool, beside: int = 0) -> None:
        """End a call; `beside`: nanoseconds of it that another probe's call of the same function will count."""
        frame = frames.pop(at)
        self._called = True
        took = measured(leave)
        took = leave.ts - frame.began if took is None else took
        names = (outer.name for outer in frames[:at] if not outer.late)
        if counts:
            self._add(self._times, (_task_frame(leave), *names, frame.name), max(0, took - frame.inside - beside))
        if at:
            frames[at - 1].inside += took - beside
        if not frames:
            self._open.pop(_task(leave), None)

    def _drop(self, record: Record) -> None:
        """A late entry whose exit was not seen: what was inside it was inside what is around it."""
        frames = self._open.get(_task(record), [])
        at = next((at for at, frame in enumerate(frames) if frame.seq == record.seq), None)
        if at is not None:
            frame = frames.pop(at)
            if at:
                frames[at - 1].inside += frame.inside
            if not frames:
                del self._open[_task(record)]


def _frame(frame: Frame) -> str:
    return _clean(frame.function)


def _task_frame(record: Record) -> str:
    return f"{_UNNAMED}{record.pid}" if record.comm == UNNAMED else _clean(record.comm)


def _task(record: Record) -> int:
    return record.pid or idle_task(record.cpu)


def _clean(frame: str) -> str:
    return _SPECIAL.sub(lambda match: "".join(f"\\x{byte:02x}" for byte in match.group().encode()), frame)
