"""Track whether all calls open at one position of a stack were entered after the most recent loss of events.

A function that makes a tail call stays open at the stack position of the called function. If its entry was lost and
the inner function's exit was missed, its exit looks like the inner function's. That is impossible if an event after
the loss shows that the position was free: an exit from there or from farther out, as all calls at one position return
together; or an entry farther out. It is impossible as well for a task created after the loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from events.calls.tail_calls import STACK_BITS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from events.calls.call_ends import CallEnds
    from events.calls.call_values import End
from events.calls.call_values import PROBE_MASK, TRACER_FUNCTION
from events.losses import UNKNOWN_TASK

_MAX_STACKS: Final = 1 << 14
"""Maximum number of stacks tracked; the least recently used one is dropped."""
_NONE_FREE: Final = -(1 << 62)


def unknown_task(ts: int, since: int) -> int:  # noqa: ARG001 - as `Store.newest_task` is called
    """Return that every task may be older than the last loss."""
    return UNKNOWN_TASK


class ChainStarts:
    """State of the stack positions that were free since the last loss. Takes ends in order of time, one by one or
    as columns, with equal results.
    """

    def __init__(
        self,
        lost_between: Callable[[int, int], bool],
        newest_task: Callable[[int, int], int],
    ) -> None:
        """Take functions that return whether events were lost between two time stamps, and
        `events.store.gaps.LossSpans.newest_task`.
        """
        self.never_missed: frozenset[int] = frozenset()
        """Numbers of probes whose missed exits are counted by the kernel and are 0."""
        self._lost_between = lost_between
        self._newest_task = newest_task
        self._missed_until = -1
        """Time until which events were missed that are no loss of `lost_between`; -1: none were."""
        self._last = 0
        """Time of the previous end."""
        self._lossy = False
        """True once events were lost."""
        self._free: dict[tuple[int, int], int] = {}
        """Highest position known to have been free since the last loss, by task and stack."""

    def forget(self, missed_until: int = -1) -> None:
        """Note that events were lost; `missed_until`: time up to which events were missed that `lost_between` does
        not know of.
        """
        self._lossy = True
        self._missed_until = max(self._missed_until, missed_until)
        self._free.clear()

    def begin_anew(self) -> None:
        """Handle a reboot, after which `lost_between` is of the new clock: no earlier call is open."""
        self._lossy, self._last, self._missed_until = False, 0, -1
        self._free.clear()

    def begin(self, ts: int) -> None:
        """Check whether events were lost between the previous end and time `ts`."""
        if self._lost_between(self._last, ts):
            self.forget(self._last if ts < self._last else -1)
        self._last = ts

    def hides(self, end: End) -> bool:
        """Process an end; return whether the entry of a call open at its position may have been lost."""
        self.begin(end.ts)
        if not self._lossy or end.function == TRACER_FUNCTION:
            return False
        frame = end.frame - (1 << 64) if end.frame >> 63 == 1 else end.frame
        free = _place(frame, end.at_exit)
        stack = end.task, _stack(frame)
        before = self._free.pop(stack, _NONE_FREE)
        self._free[stack] = max(before, free)
        if len(self._free) > _MAX_STACKS:
            del self._free[next(iter(self._free))]
        hides = before < frame and not end.at_exit and end.function & PROBE_MASK not in self.never_missed
        return hides and end.task <= self._newest_task(end.ts, self._missed_until)

    def hides_of(self, ends: CallEnds) -> NDArray[np.bool_] | None:
        """Process ends between which no events were lost. Return the result of `hides` for each; None: False for
        all.
        """
        self.begin(int(ends.stamps[0]))
        self._last = int(ends.stamps[-1])
        if not self._lossy:
            return None
        import numpy as np  # numpy is only needed for columns

        frames = ends.frames
        stacks = np.where(frames < 0, frames >> STACK_BITS, frames)
        order = np.lexsort((stacks, ends.tasks))
        tasks, stacks = ends.tasks[order], stacks[order]
        first = np.flatnonzero(np.append(True, (tasks[1:] != tasks[:-1]) | (stacks[1:] != stacks[:-1])))
        keys = list(zip(tasks[first].tolist(), stacks[first].tolist(), strict=True))
        frames, at_exit = frames[order], ends.at_exit[order]
        free = np.where(frames < 0, frames - ~at_exit, np.where(at_exit, frames, _NONE_FREE))
        before = _highest_before(free, first, np.array([self._free.get(key, _NONE_FREE) for key in keys], np.int64))
        last = np.append(first[1:], len(order)) - 1
        for key, place in zip(keys, np.maximum(before, free)[last].tolist(), strict=True):
            self._free.pop(key, None)
            self._free[key] = place
        while len(self._free) > _MAX_STACKS:
            del self._free[next(iter(self._free))]
        hides = np.empty(len(order), np.bool_)
        hides[order] = (before < frames) & ~at_exit
        if self.never_missed:
            hides &= ~np.isin(ends.functions & PROBE_MASK, list(self.never_missed))
        if hides.any():
            hides &= ends.tasks <= self._newest_task(self._last, self._missed_until)
        return hides


def _place(frame: int, at_exit: bool) -> int:
    """Return the highest position that an end proves to have been free; only kernel stacks are ordered."""
    if at_exit:
        return frame
    return frame - 1 if frame < 0 else _NONE_FREE


def _stack(frame: int) -> int:
    """Return a number that identifies the stack; in user space every position counts as a stack of its own."""
    return frame >> STACK_BITS if frame < 0 else frame


def _highest_before(
    places: NDArray[np.int64], first: NDArray[np.intp], at_first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the highest position before each element, within its group.

    Args:
        places: positions of all groups, concatenated.
        first: index where each group begins.
        at_first: highest position known before each group begins.
    """
    import numpy as np

    shifted = np.append(_NONE_FREE, places[:-1])
    shifted[first] = at_first
    # Ranks plus a group offset, so that every value of a later group exceeds all values of earlier groups.
    values, ranks = np.unique(shifted, return_inverse=True)
    group = np.zeros(len(places), np.int64)
    group[first[1:]] = 1
    offset = np.cumsum(group) * len(values)
    highest: NDArray[np.int64] = values[np.maximum.accumulate(ranks + offset) - offset]
    return highest
