"""Entry and exit of one call: a pair is only made where it is proven.

A task leaves its calls in the reverse order of entering them, so an exit belongs to the youngest open entry of its
function. That alone would pair wrongly where one was missed; both ends therefore carry the same proof:
the stack pointer at the call, and the argument values that the kernel kept from the entry. Nothing is proven over a
time in which events were lost. What has no partner that matches is told as such, never guessed.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, NamedTuple

MOST_OPEN: Final = 1 << 16
"""Calls that are open at once, if nothing else is said."""
STACK_BITS: Final = 14
"""THREAD_SIZE of the kernel is not smaller."""


class Alone(enum.Enum):
    """Why an end has no other end."""

    NO_ENTRY = "its entry was not seen"
    """It began before the probe was armed, or the entry was missed or filtered out."""
    NO_EXIT = "its exit was not seen"
    """Calls around it have ended, or what stood on the stack in its place, so it has too, and the exit was missed or
    filtered out."""
    LOST = "what came between may be missing"
    """What matches it may belong to another call, whose other end is among the lost."""
    TOO_MANY = "too many calls are open"
    """It was forgotten to stay within bounds."""


# To look a member up in its class costs more than the rest of an end.
_NO_ENTRY, _NO_EXIT, _LOST, _TOO_MANY = Alone


class EndOf(NamedTuple):
    """How an event is an end of a call."""

    function: int
    """Number of the probe."""
    at_exit: bool
    frame: str
    """Field with the stack pointer."""
    shift: int
    """Bytes by which it is above the one at the entry."""
    kept: tuple[str, ...]
    """Fields with values that both ends have in common."""


class End(NamedTuple):
    """One end of a call."""

    seq: int
    """Row of the event."""
    ts: int
    """Its time stamp."""
    task: int
    """Thread id; of an idle task, which all have the id 0, `idle_task`."""
    function: int
    """Number of the probe with its two events."""
    at_exit: bool
    proof: int
    """Made of what both ends of one call have in common, see the module."""
    frame: int = 0
    """Stack pointer at the call, with or without sign; 0: not known."""


class Call(NamedTuple):
    """A pair, or an end that stays alone."""

    entry: int | None
    """Row of the entry."""
    exit: int | None
    """Row of the exit."""
    alone: Alone | None = None
    """None: a proven pair."""


def idle_task(cpu: int) -> int:
    """The idle task of a CPU, for `End.task`."""
    return -1 - cpu


def _is_over(call: End, entry: End) -> bool:
    """Whether an entry shows an open call of its task to be over: it stands where that stood on the kernel's stack.

    Stacks grow downwards, and begin at multiples of their size, which is `1 << STACK_BITS` at least. What a function
    calls as its last act may take its place, but for the function itself. A program may have many stacks, anywhere.
    """
    in_kernel = call.frame < 0 or call.frame >> 63
    if not in_kernel or call.frame >> STACK_BITS != entry.frame >> STACK_BITS:
        return False
    return entry.frame > call.frame or (entry.frame == call.frame and entry.function == call.function)


class Pairing:
    """Takes the ends in the order of time. Bounded: at most `limit` calls are open at once."""

    def __init__(self, lost_between: Callable[[int, int], bool], limit: int = MOST_OPEN) -> None:
        """Take who knows whether events were lost between two time stamps, and the most calls that are open."""
        self.limit = limit
        self._lost_between = lost_between
        self.open = 0
        """Calls that have begun and not ended yet."""
        self.took = 0
        """Nanoseconds from entry to exit of the pair that was made last."""
        self._stacks: OrderedDict[int, list[End]] = OrderedDict()
        """Task -> its open entries, the outermost first; the task that entered a call last comes last."""

    @property
    def open_entries(self) -> list[int]:
        """Rows of the entries of open calls."""
        return [entry.seq for stack in self._stacks.values() for entry in stack]

    def take(self, end: End) -> list[Call]:
        """What became of it, and of the calls that it shows to be over."""
        return self._leave(end) if end.at_exit else self._enter(end)

    def has_open(self, task: int) -> bool:
        """Whether a task has begun calls that have not ended yet."""
        return task in self._stacks

    def went_by(self, entry: End) -> list[Call]:
        """The calls that the entry of another call shows to be over; that one has ended and is paired already."""
        stack = self._stacks.get(entry.task)
        if stack is None:
            return []
        calls = self._end_over(stack, entry)
        if not stack:
            del self._stacks[entry.task]
        return calls

    def _end_over(self, stack: list[End], entry: End) -> list[Call]:
        if not stack or not _is_over(stack[-1], entry):
            return []
        calls = []
        while stack and _is_over(stack[-1], entry):
            calls.append(Call(stack.pop().seq, None, _NO_EXIT))
        self.open -= len(calls)
        return calls

    def forget(self) -> list[Call]:
        """Events went by unseen: what is open stays alone, the earliest first."""
        entries = sorted(entry.seq for stack in self._stacks.values() for entry in stack)
        self._stacks.clear()
        self.open = 0
        return [Call(seq, None, _LOST) for seq in entries]

    def _enter(self, end: End) -> list[Call]:
        stack = self._stacks.setdefault(end.task, [])
        calls = self._end_over(stack, end)
        stack.append(end)
        self._stacks.move_to_end(end.task)
        self.open += 1
        if self.open <= self.limit:
            return calls
        # The task that has been still for longest is the likeliest to be gone.
        task, stack = next(iter(self._stacks.items()))
        forgotten = [stack.pop(0)] if task == end.task else self._stacks.pop(task)
        self.open -= len(forgotten)
        return [Call(entry.seq, None, _TOO_MANY) for entry in forgotten]

    def _leave(self, end: End) -> list[Call]:
        stack = self._stacks.get(end.task, [])
        for at in range(len(stack) - 1, -1, -1):
            entry = stack[at]
            if entry.function == end.function and entry.proof == end.proof:
                over = stack[at + 1 :]
                del stack[at:]
                self.open -= 1 + len(over)
                if not stack:
                    del self._stacks[end.task]
                calls = [Call(inner.seq, None, _NO_EXIT) for inner in over]
                if self._lost_between(entry.ts, end.ts):
                    return [*calls, Call(entry.seq, None, _LOST), Call(None, end.seq, _LOST)]
                self.took = end.ts - entry.ts
                return [*calls, Call(entry.seq, end.seq)]
        return [Call(None, end.seq, _NO_ENTRY)]
