"""Track time spans in which events were lost, so that missing events lead to no wrong conclusions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from events.losses import UNKNOWN_TASK, NewestTask

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from events.clocks.boots import Boots

_TIME = itemgetter(0)


class Gaps:
    """Set of time spans in nanoseconds; overlapping spans are merged."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._forgotten = -1
        """Latest end of the forgotten spans: a call may stay open for longer than its events are retained."""
        self._newest_tasks: list[tuple[int, NewestTask]] = []
        """Newest task ids in order of time, each read after the events up to its time and the spans up to there."""

    def __len__(self) -> int:
        return len(self._starts)

    def add(self, start: int, end: int) -> None:
        """Add a span of loss after an event at `start` and before an event at `end`."""
        end = max(start, end)
        # The id may have been read before the end of this span.
        del self._newest_tasks[bisect_left(self._newest_tasks, start, key=_TIME) :]
        first, after = bisect_left(self._ends, start), bisect_right(self._starts, end)
        if first < after:
            start, end = min(start, self._starts[first]), max(end, self._ends[after - 1])
        self._starts[first:after] = [start]
        self._ends[first:after] = [end]

    def between(self, start: int, end: int) -> bool:
        """Return whether events may have been lost from `start` to `end`; also True if `end` is before `start`."""
        if end < start:  # the clock was reset
            return True
        first = bisect_left(self._ends, start)
        return start <= self._forgotten or (first < len(self._starts) and self._starts[first] <= end)

    def spans(self) -> list[tuple[int, int]]:
        """Return the spans that are not forgotten, in order of time, as start and end in nanoseconds."""
        return list(zip(self._starts, self._ends, strict=True))

    def forget(self, before: int) -> None:
        """Drop spans that ended before a time; queries that begin at or before the latest end dropped return True."""
        count = bisect_left(self._ends, before)
        self._forgotten = self._ends[count - 1] if count else self._forgotten
        del self._starts[:count], self._ends[:count]
        del self._newest_tasks[: max(0, bisect_left(self._newest_tasks, before, key=_TIME) - 1)]

    def add_newest_task(self, ts: int, newest: NewestTask) -> None:
        """Add a task id that is read after the events up to `ts` were read, and after the last span added ended."""
        self._newest_tasks.append((max([ts, *self._ends[-1:]]), newest))

    def lacks_newest_task(self, since: int) -> bool:
        """Return whether no task id was requested since the last span, or since a time at which events were dropped
        (-1: none were).
        """
        last = max(since, self._forgotten, *self._ends[-1:])
        return last >= 0 and (not self._newest_tasks or self._newest_tasks[-1][0] < last)

    def newest_task(self, ts: int, since: int) -> int:
        """Return the highest id that a task older than the last span before `ts` may have.

        `since`: time of another loss, to be older than which counts as well; -1: there is none.
        """
        count = bisect_right(self._starts, ts)
        end = max(since, self._forgotten, *self._ends[max(0, count - 1) : count])
        later = self._newest_tasks[bisect_left(self._newest_tasks, end, key=_TIME) :]
        return next((newest.id for _, newest in later if newest.id != UNKNOWN_TASK), UNKNOWN_TASK)

    def before(self, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask: True where events may have been lost between a time stamp and its predecessor; the first is
        False.

        All time stamps are of one clock. A slightly earlier time stamp after a later one, as of an event that arrived
        late, does not count as a loss.
        """
        import numpy as np  # numpy is only needed for columns

        broken = np.zeros(len(stamps), np.bool_)
        if len(stamps) < 2 or not self.between(int(stamps[0]), int(stamps[-1])):
            return broken
        earlier, later = stamps[:-1], stamps[1:]
        first = np.searchsorted(self._ends, earlier, "left")
        starts = np.append(np.array(self._starts, np.int64), np.iinfo(np.int64).max)
        broken[1:] = (earlier <= self._forgotten) | (starts[first] <= later)
        return broken


class LossSpans:
    """Time spans in which events of one boot are missing in a store."""

    def __init__(self) -> None:
        self.gaps = Gaps()
        """Spans in which events were lost, in the kernel or in transit."""
        self.changes = Gaps()
        """Spans in which probes were removed or changed: ends of their calls are missing, but no other events."""
        self.removals: list[int] = []
        """Times at which probes were taken away, or did not record for a while."""

    def may_lack_ends(self, start: int, end: int) -> bool:
        """Return whether ends of calls may be missing from `start` to `end`."""
        return self.may_lack_events(start, end) or self.changes.between(start, end)

    def may_lack_events(self, start: int, end: int) -> bool:
        """Return whether events from `start` to `end` may have been lost."""
        return self.gaps.between(start, end)

    def lacks_ends_before(self, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Return a mask: True where an end of a call may be missing between a time and its predecessor."""
        return self.gaps.before(stamps) | self.changes.before(stamps)

    def newest_task(self, ts: int, since: int = -1) -> int:
        """Return the highest id of tasks that may be older than the last loss before `ts`, and than time `since`:
        see `Gaps.newest_task`.
        """
        return self.gaps.newest_task(ts, since)

    def forget(self, ts: int) -> None:
        """Drop spans that ended before a time; no query needs them any more."""
        self.gaps.forget(ts)
        self.changes.forget(ts)


NOTHING_LOST: Final = LossSpans()
"""Spans of events that are all there."""


class BootLossSpans:
    """Time spans in which events of a store are missing, by boot: each has a clock of its own."""

    def __init__(self, boots: Boots) -> None:
        self._boots = boots
        self._spans = {boots.latest: LossSpans()}

    @property
    def latest(self) -> LossSpans:
        """Spans of the latest boot."""
        return self._spans[self._boots.latest]

    def at(self, seq: int) -> LossSpans:
        """Return the spans of the boot of a row; those of a boot whose rows were dropped are empty."""
        return self._spans.get(self._boots.of(seq), NOTHING_LOST)

    def begin_anew(self) -> None:
        """Handle a reset of the clock: later input is of the latest boot."""
        self._spans[self._boots.latest] = LossSpans()

    def forget(self, seq: int, ts: int) -> None:
        """Drop the spans before a row, which is of a time; no query needs them any more."""
        boot = self._boots.of(seq)
        for earlier in [one for one in self._spans if one < boot]:
            del self._spans[earlier]
        self.at(seq).forget(ts)


class LossReader:
    """Losses among the rows that a reader goes through in order: those of the boot of the row that it has reached."""

    def __init__(self, spans_at: Callable[[int], LossSpans], seq: int = 0) -> None:
        """Take the function that returns the spans of a row's boot, and the row to begin with."""
        self._spans_at = spans_at
        self._spans = spans_at(seq)

    def go_to(self, seq: int) -> bool:
        """Go on to a row; return whether it is of another boot than the one before."""
        before, self._spans = self._spans, self._spans_at(seq)
        return self._spans is not before

    def may_lack_ends(self, start: int, end: int) -> bool:
        """As `LossSpans.may_lack_ends`, in this boot."""
        return self._spans.may_lack_ends(start, end)

    def may_lack_events(self, start: int, end: int) -> bool:
        """As `LossSpans.may_lack_events`, in this boot."""
        return self._spans.may_lack_events(start, end)

    def newest_task(self, ts: int, since: int) -> int:
        """As `LossSpans.newest_task`, in this boot."""
        return self._spans.newest_task(ts, since)
