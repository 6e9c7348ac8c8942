"""Entry and exit of one call: a pair is only made where it is proven.

A task leaves its calls in the reverse order of entering them, so an exit belongs to the youngest open entry of its
function. That alone would pair wrongly where one was missed; both ends therefore carry the same proof:
the stack pointer at the call, and the argument values that the kernel kept from the entry. Nothing is proven over a
time in which events were lost. What has no partner that matches is told as such, never guessed.

A call that another makes as its last act (a tail call) stands in its place on the stack, so several calls of one
function may be open in one place; their exits follow one another at once, the innermost first. Only where there are
as many of them as entries is it proven that none was missed; else each may be of several calls (`Alone.UNKNOWN`). Of
the probes in `Pairing.chosen` exits are missing all the time, by a filter on what is returned: a tail call returns
what its caller does, so such a filter leaves out all exits from a place or none, and the youngest entry counts. That
holds as long as the kernel has missed none of their exits: a probe of which it has is not in `chosen`.

The kernel misses exits (`maxactive`, `nmissed`), not entries. Where the entry of a call around another one in its
place may have been lost (`events.calls.chain_starts`), the exit of either may be that of the other: neither is a
pair.

Several probes on one function see each call several times, in one place. The kernel reports the exits in the order of
the entries or in the reverse one (fprobes on the function graph, kernel/trace/fprobe.c:fprobe_return; programs), so
an exit shows nothing of other functions' calls in its place until something comes that is no exit from there.
"""

from __future__ import annotations

import enum
from collections import OrderedDict
from collections.abc import Callable, Container, Mapping
from typing import Final, NamedTuple

from events.calls.chain_starts import OF_THE_TRACER, PROBE, ChainStarts
from events.calls.tail_calls import places_of, same_as, settle, shares_stack
from events.losses import Loss

MOST_OPEN: Final = 1 << 16
"""Calls that are open at once, if nothing else is said."""
PROBE_BITS: Final = PROBE.bit_length()
"""Of `End.function`, which say the number of the probe; the others are those of the function's address."""
_MASK: Final = (1 << 64) - 1


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
    UNKNOWN = "exit unknown: several calls were in this place on the stack"
    """There were fewer exits than calls in one place, which may each be of any of them; nothing was lost."""


# To look a member up in its class costs more than the rest of an end.
_NO_ENTRY, _NO_EXIT, _LOST, _TOO_MANY, _UNKNOWN = Alone


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
    address: str = ""
    """Field with the address of the function, where the probe is on several."""
    chosen: bool = False
    """A filter leaves exits out, by what was returned."""


class End(NamedTuple):
    """One end of a call."""

    seq: int
    """Row of the event."""
    ts: int
    """Its time stamp."""
    task: int
    """Thread id; of an idle task, which all have the id 0, `idle_task`."""
    function: int
    """Made by `function_of`."""
    at_exit: bool
    proof: int
    """Made of what both ends of one call have in common, see the module."""
    frame: int = 0
    """Stack pointer at the call, with or without sign; 0: not known."""
    unsure: bool = False
    """Whether the entry of a call around this one, in its place, may have been lost; of entries only."""


class Call(NamedTuple):
    """A pair, or an end that stays alone."""

    entry: int | None
    """Row of the entry."""
    exit: int | None
    """Row of the exit."""
    alone: Alone | None = None
    """None: a proven pair."""
    loss: Loss | None = None
    """It is no call, but what the ring buffer lost before the row `exit`."""

    @property
    def is_mark(self) -> bool:
        """Whether it is no call: `loss`, or else the mark of a cut line, which is the row `exit`."""
        return self.entry is None and self.alone is None


def function_of(probe: int, address: int = 0) -> int:
    """One number for a probe and the function, where it is on several; with a sign, as columns have it."""
    number = (address << PROBE_BITS | probe) & _MASK
    return number - (1 << 64) if number >> 63 else number


def probe_and_address(function: int) -> tuple[int, int]:
    """Number of the probe and address of the function, without sign, that `function_of` was given; 0: it has one."""
    number = function - (1 << 64) if function >> 63 == 1 else function
    return number & PROBE, (number >> PROBE_BITS) & _MASK


def idle_task(cpu: int) -> int:
    """The idle task of a CPU, for `End.task`."""
    return -1 - cpu


class _Leaving(NamedTuple):
    """Exits from one place on the stack of a task, as long as nothing else comes of the task."""

    last: End
    held: list[End]
    """Exits that may each be of several calls."""
    beside: list[End]
    """Entries in the place of calls that returned: of another probe on the function, or of a tail call."""


class Pairing:
    """Takes the ends in the order of time. Bounded: at most `limit` calls are open at once."""

    def __init__(
        self,
        lost_between: Callable[[int, int], bool],
        limit: int = MOST_OPEN,
        chosen: Container[int] = (),
        events_lost: Callable[[int, int], bool] | None = None,
    ) -> None:
        """Take who knows whether ends may be missing between two time stamps, the most calls that are open, the
        numbers of the probes of which a filter leaves exits out, and who knows whether more is missing than the calls
        over which a probe was taken away or changed; None: wherever ends may be missing.
        """
        self.limit = limit
        self.chosen = chosen
        self.open = 0
        """Calls of which no end is known yet."""
        self.pairs: list[tuple[End, End]] = []
        """Entry and exit of each pair that was made last, in the order in which `take` gave them."""
        self.starts = ChainStarts(events_lost or lost_between)
        """Knows in which place an entry may have been lost."""
        self._lost_between = lost_between
        self._stacks: OrderedDict[int, list[End]] = OrderedDict()
        """Task -> its open entries, the outermost first; the task that entered a call last comes last."""
        self._leaving: dict[int, _Leaving] = {}
        """Task with open entries whose last event was an exit -> what may still return in the place of that."""

    @property
    def open_entries(self) -> list[int]:
        """Rows of the entries of open calls."""
        return [entry.seq for stack in self._stacks.values() for entry in stack]

    @property
    def waiting(self) -> int:
        """Exits that may each be of several calls, until it is known whether others follow at once."""
        return sum(len(leaving.held) for leaving in self._leaving.values())

    def take(self, end: End) -> list[Call]:
        """What became of it, and of the calls that it shows to be over."""
        return self.take_known(end._replace(unsure=True) if self.starts.hides(end) else end)

    def take_known(self, end: End) -> list[Call]:
        """The same, where `End.unsure` was found out already."""
        self.pairs = []
        calls = self._left(end)
        return calls + (self._leave(end) if end.at_exit else self._enter(end))

    def judge(self, ends: Mapping[str, EndOf], missed: Mapping[str, int | None]) -> None:
        """Take what is known of exits that are not there.

        Args:
            ends: by the paths of events.
            missed: by the same, how many the kernel missed; None: it does not say.
        """
        exits = {path: end.function for path, end in ends.items() if end.at_exit}
        number = {path: missed.get(path) for path in exits}
        # Of exits that a filter and the kernel left out, nothing tells which did.
        both = {function for path, function in exits.items() if number[path]}
        self.chosen = frozenset(end.function for end in ends.values() if end.chosen) - both
        self.starts.never_missed = frozenset(function for path, function in exits.items() if number[path] == 0) - both

    def has_open(self, task: int) -> bool:
        """Whether a task has begun calls that have not ended yet."""
        return task in self._stacks

    def open_frames(self, task: int) -> list[int]:
        """Stack pointers of the open calls of a task, without sign."""
        return [entry.frame & _MASK for entry in self._stacks.get(task, ())]

    def has_open_after(self, task: int, seq: int) -> bool:
        """Return whether a call of a task is open whose entry came after a row."""
        return any(entry.seq > seq for entry in self._stacks.get(task, ()))

    def is_waiting(self, task: int) -> bool:
        """Whether exits of a task wait, see `waiting`."""
        return task in self._leaving and bool(self._leaving[task].held)

    def went_by(self, entry: End) -> list[Call]:
        """The calls that the entry of another call shows to be over; that one has ended and is paired already."""
        self.pairs = []
        if entry.task not in self._stacks:
            return []
        calls = self._left(entry)
        stack = self._stacks.get(entry.task)
        if stack is not None:
            calls += self._end_over(stack, entry)
            self._tidy(entry.task)
        return calls

    def forget(self) -> list[Call]:
        """Events went by unseen: what is open stays alone, the earliest first."""
        held = sorted(leave.seq for leaving in self._leaving.values() for leave in leaving.held)
        entries = sorted(self.open_entries)
        self._stacks.clear()
        self._leaving.clear()
        self.open = 0
        self.starts.forget()
        return [*(Call(seq, None, _LOST) for seq in entries), *(Call(None, seq, _LOST) for seq in held)]

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
        held = self._leaving.pop(task, _Leaving(end, [], [])).held
        self.open -= len(forgotten)
        calls += [Call(entry.seq, None, _TOO_MANY) for entry in forgotten]
        return calls + [Call(None, leave.seq, _UNKNOWN) for leave in held]

    def _end_over(self, stack: list[End], entry: End) -> list[Call]:
        """Calls that an entry shows to be over: it stands higher on their stack, which grows downwards; or in their
        place, where their exits are left out on purpose. The tracer's own have their places for themselves, tail
        calls too.
        """
        over = []
        highest = entry.frame if entry.function == OF_THE_TRACER else entry.frame - 1
        while stack and shares_stack(stack[-1], entry) and stack[-1].frame <= highest:
            over.append(stack.pop())
        if entry.function & PROBE in self.chosen:
            same = [call for call in stack if call.function == entry.function and call.frame == entry.frame]
            if same:
                stack[:] = [call for call in stack if call not in same]
                over += same
        self.open -= len(over)
        return [Call(call.seq, None, _NO_EXIT) for call in over]

    def _left(self, end: End) -> list[Call]:
        """What an event shows to be over that comes behind exits, but is none from the place of those."""
        if end.task not in self._leaving:
            return []
        last, held, beside = self._leaving[end.task]
        if end.at_exit and end.frame == last.frame:
            return []
        del self._leaving[end.task]
        stack = self._stacks[end.task]
        calls = self._give_up(stack, held)
        size = len(stack)
        while stack and (stack[-1] in beside or (shares_stack(stack[-1], last) and stack[-1].frame <= last.frame)):
            calls.append(Call(stack.pop().seq, None, _NO_EXIT))
        self.open -= size - len(stack)
        self._tidy(end.task)
        return calls

    def _leave(self, end: End) -> list[Call]:
        stack = self._stacks.get(end.task)
        if stack is None:
            return [Call(None, end.seq, _NO_ENTRY)]
        last, held, beside = self._leaving.setdefault(end.task, _Leaving(end, [], []))
        places = places_of(stack, end)
        if not places:
            chosen = last is not end and end.function & PROBE in self.chosen
            return [Call(None, end.seq, _UNKNOWN if chosen else _NO_ENTRY)]
        youngest = stack[places[-1]]
        # Of what was open when events were lost, nothing is proven any more.
        earlier = [stack[at] for at in places if self._lost_between(stack[at].ts, youngest.ts)][: len(places) - 1]
        places = [at for at in places if stack[at] not in earlier]
        doubtful: list[End] = []
        lost: list[Call] = []
        if earlier and end.function & PROBE not in self.starts.never_missed:
            # This may be the exit of one of those, and the kernel missed that of a call within it.
            doubtful = [stack[at] for at in places]
            stack[:] = [entry for entry in stack if entry not in earlier]
            places = [stack.index(entry) for entry in doubtful]
            self.open -= len(earlier)
            lost = [Call(entry.seq, None, _LOST) for entry in earlier]
        known = len(same_as(end, held)) + 1
        if known < len(places) and end.function & PROBE not in self.chosen:
            held.append(end)
            return lost
        at = places[max(len(places) - known, 0)]
        inner, exits, held_back = stack[at:], [*held, end], bool(held)
        held.clear()
        if any(len(same_as(leave, inner)) < len(same_as(leave, exits)) for leave in exits):
            calls = self._give_up(stack, exits)
        else:
            # Exits of these may still come: of another probe on the function, or of a tail call that was missed.
            others = [] if held_back or not end.frame else [one for one in inner if _is_beside(one, end)]
            inner = [one for one in inner if one not in others]
            stack[at:] = others
            beside += others
            self.open -= len(inner)
            calls = [call for one in settle(inner, exits) for call in self._calls(*one, one.entry in doubtful)]
        self._tidy(end.task)
        return lost + calls

    def _calls(self, entry: End | None, leave: End | None, ambiguous: bool, doubtful: bool) -> list[Call]:
        if entry is None or leave is None:
            return [Call(entry and entry.seq, leave and leave.seq, _UNKNOWN if ambiguous else _NO_EXIT)]
        if entry.unsure or doubtful or self._lost_between(entry.ts, leave.ts):
            return [Call(entry.seq, None, _LOST), Call(None, leave.seq, _LOST)]
        self.pairs.append((entry, leave))
        return [Call(entry.seq, leave.seq)]

    def _give_up(self, stack: list[End], exits: list[End]) -> list[Call]:
        """Exits that may each be of several calls, and these: they are over."""
        over = [entry for entry in stack if same_as(entry, exits)] if exits else []
        if over:
            stack[:] = [entry for entry in stack if not same_as(entry, exits)]
            self.open -= len(over)
        return [Call(one.seq, None, _UNKNOWN) for one in over] + [Call(None, one.seq, _UNKNOWN) for one in exits]

    def _tidy(self, task: int) -> None:
        """Forget a task without open calls."""
        if not self._stacks[task]:
            del self._stacks[task]
            self._leaving.pop(task, None)


def _is_beside(entry: End, leave: End) -> bool:
    """Return whether a call is of another function or probe and in the place of one that an exit ends."""
    return entry.frame == leave.frame and entry.function != leave.function
