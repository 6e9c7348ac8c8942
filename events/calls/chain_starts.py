"""Whether all calls that are open in one place on a stack were entered since events were lost last.

A function that jumps to another one (a tail call) stays open in the place of that one. Where its entry was lost and
the exit of the inner one was missed, its exit looks like that of the inner one. This can't be where something came
behind the loss that shows the place to have been free: an exit from there or from farther out, as all calls in one
place return together; or an entry farther out.
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
from events.calls.call_values import OF_THE_TRACER, PROBE

_MOST_STACKS: Final = 1 << 14
"""Stacks of which it is known; of the one that was still for longest it is forgotten."""
_NOTHING: Final = -(1 << 62)


class ChainStarts:
    """Takes ends in the order of time, one by one or as columns, with the same answers."""

    def __init__(self, lost_between: Callable[[int, int], bool]) -> None:
        """Take who knows whether events were lost between two time stamps."""
        self.never_missed: frozenset[int] = frozenset()
        """Numbers of probes of which the kernel counts the exits that it misses, and missed none."""
        self._lost_between = lost_between
        self._last = 0
        """Time of the end before."""
        self._lossy = False
        """Events were lost, ever."""
        self._free: dict[tuple[int, int], int] = {}
        """Task and stack -> highest place on it that was free at some time since the last loss."""

    def forget(self) -> None:
        """Events went by unseen."""
        self._lossy = True
        self._free.clear()

    def begin_anew(self, ts: int) -> None:
        """Take that the machine has booted, with the time of its first event: no call of before is open."""
        self._lossy, self._last = False, ts
        self._free.clear()

    def begin(self, ts: int) -> None:
        """Look whether events were lost before a time, and since the time of the end before."""
        if self._lost_between(self._last, ts):
            self.forget()
        self._last = ts

    def hides(self, end: End) -> bool:
        """Take an end; return whether the entry of a call that is open in its place may have been lost."""
        self.begin(end.ts)
        if not self._lossy or end.function == OF_THE_TRACER:
            return False
        frame = end.frame - (1 << 64) if end.frame >> 63 == 1 else end.frame
        free = _place(frame, end.at_exit)
        stack = end.task, _stack(frame)
        before = self._free.pop(stack, _NOTHING)
        self._free[stack] = max(before, free)
        if len(self._free) > _MOST_STACKS:
            del self._free[next(iter(self._free))]
        return before < frame and not end.at_exit and end.function & PROBE not in self.never_missed

    def hides_of(self, ends: CallEnds) -> NDArray[np.bool_] | None:
        """Take ends between which nothing was lost; return the same of each, None: nowhere."""
        self.begin(int(ends.stamps[0]))
        self._last = int(ends.stamps[-1])
        if not self._lossy:
            return None
        import numpy as np  # only who has columns needs it

        frames = ends.frames
        stacks = np.where(frames < 0, frames >> STACK_BITS, frames)
        order = np.lexsort((stacks, ends.tasks))
        tasks, stacks = ends.tasks[order], stacks[order]
        first = np.flatnonzero(np.append(True, (tasks[1:] != tasks[:-1]) | (stacks[1:] != stacks[:-1])))
        keys = list(zip(tasks[first].tolist(), stacks[first].tolist(), strict=True))
        frames, at_exit = frames[order], ends.at_exit[order]
        free = np.where(frames < 0, frames - ~at_exit, np.where(at_exit, frames, _NOTHING))
        before = _highest_before(free, first, np.array([self._free.get(key, _NOTHING) for key in keys], np.int64))
        last = np.append(first[1:], len(order)) - 1
        for key, place in zip(keys, np.maximum(before, free)[last].tolist(), strict=True):
            self._free.pop(key, None)
            self._free[key] = place
        while len(self._free) > _MOST_STACKS:
            del self._free[next(iter(self._free))]
        hides = np.empty(len(order), np.bool_)
        hides[order] = (before < frames) & ~at_exit
        if self.never_missed:
            hides &= ~np.isin(ends.functions & PROBE, list(self.never_missed))
        return hides


def _place(frame: int, at_exit: bool) -> int:
    """Return the highest place that an end shows to have been free; only the kernel's stacks have an order."""
    if at_exit:
        return frame
    return frame - 1 if frame < 0 else _NOTHING


def _stack(frame: int) -> int:
    """Return a number of the stack; in a program each place is one of its own."""
    return frame >> STACK_BITS if frame < 0 else frame


def _highest_before(
    places: NDArray[np.int64], first: NDArray[np.intp], at_first: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the highest place before each, in its group.

    Args:
        places: of all groups, one behind the other.
        first: where each group begins.
        at_first: of each group the highest place before it.
    """
    import numpy as np

    shifted = np.append(_NOTHING, places[:-1])
    shifted[first] = at_first
    # Numbers in the order of the places, so that those of a later group are higher than all of an earlier one.
    values, ranks = np.unique(shifted, return_inverse=True)
    group = np.zeros(len(places), np.int64)
    group[first[1:]] = 1
    offset = np.cumsum(group) * len(values)
    highest: NDArray[np.int64] = values[np.maximum.accumulate(ranks + offset) - offset]
    return highest
