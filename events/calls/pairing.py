"""Pair entry and exit of calls; a pair is made only if it is proven.

A task leaves its calls in reverse order of entering them, so an exit belongs to the youngest open entry of its
function. That alone would pair wrongly if an end was missed; therefore both ends carry the same proof: the stack
pointer at the call, and argument values that the kernel saved at the entry. Nothing is proven across a time in which
events were lost. An end without a matching partner is reported as such, never guessed.

A call that another function makes as its last act (a tail call) takes the caller's position on the stack, so several
calls of one function may be open at one position; their exits follow one another directly, the innermost first. Only
if there are as many exits as entries is it proven that none was missed; otherwise each exit may belong to several
calls (`UnpairedReason.UNKNOWN`). For the probes in `Pairing.result_filtered`, a filter on the return value removes
exits: a tail call returns what its caller returns, so such a filter removes all exits from a position or none, and
the youngest entry is the partner. That holds as long as the kernel has missed none of the probe's exits: a probe with
missed exits is not in `result_filtered`.

The kernel misses exits (`maxactive`, `nmissed`), not entries. If the entry of an outer call at the same position may
have been lost (`events.calls.chain_starts`), the exit of either call may be the other's: neither becomes a pair.

Several probes on one function report each call several times, at one position. The kernel reports the exits in the
order of the entries or in reverse (fprobes on the function graph, kernel/trace/fprobe.c:fprobe_return; programs), so
an exit proves nothing about other functions' calls at its position until an event follows that is no exit from there.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Container, Mapping
from typing import Final, NamedTuple

from events.calls.call_values import PROBE_MASK, TRACER_FUNCTION, Call, End, EndRole, UnpairedReason
from events.calls.chain_starts import ChainStarts, unknown_task
from events.calls.tail_calls import match_exits, matching_ends, places_of, shares_stack

MOST_OPEN: Final = 1 << 16
"""Default for the maximum number of open calls."""
_MASK: Final = (1 << 64) - 1


# Looking up an enum member in its class costs more than processing an end.
_NO_ENTRY, _NO_EXIT, _LOST, _TOO_MANY, _UNKNOWN = UnpairedReason


class _ExitGroup(NamedTuple):
    """Consecutive exits of a task from one stack position, with no other event of the task in between."""

    last: End
    held: list[End]
    """Exits that may each belong to several calls."""
    beside: list[End]
    """Entries at the position of returned calls: of another probe on the function, or of a tail call."""


class Pairing:
    """Pairing of ends, taken in order of time. Bounded: at most `limit` calls are open at the same time."""

    def __init__(
        self,
        lost_between: Callable[[int, int], bool],
        limit: int = MOST_OPEN,
        result_filtered: Container[int] = (),
        events_lost: Callable[[int, int], bool] | None = None,
        newest_task: Callable[[int, int], int] = unknown_task,
    ) -> None:
        """Take the callbacks and limits.

        Args:
            lost_between: returns whether ends may be missing between two time stamps.
            limit: maximum number of open calls.
            result_filtered: numbers of the probes whose exits a filter removes.
            events_lost: returns whether any events were lost, not only ends of calls of probes that were removed or
                changed; None: as `may_lack_ends`.
            newest_task: see `events.store.gaps.LossSpans.newest_task`.
        """
        self.limit = limit
        self.result_filtered = result_filtered
        self.open = 0
        """Number of calls without a known end."""
        self.pairs: list[tuple[End, End]] = []
        """Entry and exit of each pair made by the last `take`, in the order of its result."""
        self.starts = ChainStarts(events_lost or lost_between, newest_task)
        """Tracks the stack positions where an entry may have been lost."""
        self._lost_between = lost_between
        self._stacks: OrderedDict[int, list[End]] = OrderedDict()
        """Open entries by task, the outermost first; the task that entered a call most recently is last."""
        self._exit_groups: dict[int, _ExitGroup] = {}
        """Exits in progress by task, for tasks with open entries whose last event was an exit."""

    @property
    def open_entries(self) -> list[int]:
        """Rows of the entries of open calls."""
        return [entry.seq for stack in self._stacks.values() for entry in stack]

    @property
    def waiting(self) -> int:
        """Number of exits that may each belong to several calls, held until it is known whether more exits follow
        directly.
        """
        return sum(len(leaving.held) for leaving in self._exit_groups.values())

    def take(self, end: End) -> list[Call]:
        """Process an end. Return its result and the calls that it proves to be over."""
        return self.take_known(end._replace(unsure=True) if self.starts.hides(end) else end)

    def take_known(self, end: End) -> list[Call]:
        """Process an end whose `End.unsure` is already set; otherwise as `take`."""
        self.pairs = []
        calls = self._end_exit_group(end)
        return calls + (self._take_exit(end) if end.at_exit else self._take_entry(end))

    def judge(self, ends: Mapping[str, EndRole], missed: Mapping[str, int | None]) -> None:
        """Update which exits may be missing.

        Args:
            ends: roles of events by path.
            missed: number of calls that the kernel missed, by path; None: the kernel does not count them.
        """
        exits = {path: end.function for path, end in ends.items() if end.at_exit}
        number = {path: missed.get(path) for path in exits}
        # If both a filter and the kernel drop exits, there is no telling which did.
        ambiguous = {function for path, function in exits.items() if number[path]}
        self.result_filtered = (
            frozenset(end.function for end in ends.values() if end.is_filtered_by_result) - ambiguous
        )
        self.starts.never_missed = (
            frozenset(function for path, function in exits.items() if number[path] == 0) - ambiguous
        )

    def has_open(self, task: int) -> bool:
        """Return whether a task has open calls."""
        return task in self._stacks

    def open_frames(self, task: int) -> list[int]:
        """Return the stack pointers of a task's open calls, without sign."""
        return [entry.frame & _MASK for entry in self._stacks.get(task, ())]

    def has_open_after(self, task: int, seq: int) -> bool:
        """Return whether a task has an open call whose entry came after row `seq`."""
        return any(entry.seq > seq for entry in self._stacks.get(task, ()))

    def is_waiting(self, task: int) -> bool:
        """Return whether exits of a task are held back; see `waiting`."""
        return task in self._exit_groups and bool(self._exit_groups[task].held)

    def went_by(self, entry: End) -> list[Call]:
        """Return the calls that an entry proves to be over; the entry's own call has already been paired."""
        self.pairs = []
        if entry.task not in self._stacks:
            return []
        calls = self._end_exit_group(entry)
        stack = self._stacks.get(entry.task)
        if stack is not None:
            calls += self._end_over(stack, entry)
            self._drop_empty_task(entry.task)
        return calls

    def forget(self, until: int) -> list[Call]:
        """Handle events missed up to time `until`: return all open calls as ends without a partner, the earliest
        first.
        """
        held_exits = sorted(leave.seq for leaving in self._exit_groups.values() for leave in leaving.held)
        entries = sorted(self.open_entries)
        self._stacks.clear()
        self._exit_groups.clear()
        self.open = 0
        self.starts.forget(until)
        return [*(Call(seq, None, _LOST) for seq in entries), *(Call(None, seq, _LOST) for seq in held_exits)]

    def _take_entry(self, end: End) -> list[Call]:
        stack = self._stacks.setdefault(end.task, [])
        calls = self._end_over(stack, end)
        stack.append(end)
        self._stacks.move_to_end(end.task)
        self.open += 1
        if self.open <= self.limit:
            return calls
        # The task that has been inactive for longest is the most likely to have exited.
        task, stack = next(iter(self._stacks.items()))
        abandoned = [stack.pop(0)] if task == end.task else self._stacks.pop(task)
        held_exits = self._exit_groups.pop(task, _ExitGroup(end, [], [])).held
        self.open -= len(abandoned)
        calls += [Call(entry.seq, None, _TOO_MANY) for entry in abandoned]
        return calls + [Call(None, leave.seq, _UNKNOWN) for leave in held_exits]

    def _end_over(self, stack: list[End], entry: End) -> list[Call]:
        """Remove and return the calls that an entry proves to be over: calls at the same or a lower stack address, as
        the stack grows downwards, or at its position if a filter removes their exits. Calls of the function_graph
        tracer have a position each, even tail calls.
        """
        ended_calls = []
        highest = entry.frame if entry.function == TRACER_FUNCTION else entry.frame - 1
        while stack and shares_stack(stack[-1], entry) and stack[-1].frame <= highest:
            ended_calls.append(stack.pop())
        if entry.function & PROBE_MASK in self.result_filtered:
            same = [call for call in stack if call.function == entry.function and call.frame == entry.frame]
            if same:
                stack[:] = [call for call in stack if call not in same]
                ended_calls += same
        self.open -= len(ended_calls)
        return [Call(call.seq, None, _NO_EXIT) for call in ended_calls]

    def _end_exit_group(self, end: End) -> list[Call]:
        """Return the calls proven to be over by an event that follows exits but is no exit from their position."""
        if end.task not in self._exit_groups:
            return []
        last, held_exits, beside = self._exit_groups[end.task]
        if end.at_exit and end.frame == last.frame:
            return []
        del self._exit_groups[end.task]
        stack = self._stacks[end.task]
        calls = self._give_up(stack, held_exits)
        size = len(stack)
        while stack and (stack[-1] in beside or (shares_stack(stack[-1], last) and stack[-1].frame <= last.frame)):
            calls.append(Call(stack.pop().seq, None, _NO_EXIT))
        self.open -= size - len(stack)
        self._drop_empty_task(end.task)
        return calls

    def _take_exit(self, end: End) -> list[Call]:
        stack = self._stacks.get(end.task)
        if stack is None:
            return [Call(None, end.seq, _NO_ENTRY)]
        last, held_exits, beside = self._exit_groups.setdefault(end.task, _ExitGroup(end, [], []))
        places = places_of(stack, end)
        if not places:
            is_filtered = last is not end and end.function & PROBE_MASK in self.result_filtered
            return [Call(None, end.seq, _UNKNOWN if is_filtered else _NO_ENTRY)]
        youngest = stack[places[-1]]
        # For calls that were open when events were lost, nothing is proven any more.
        earlier = [stack[at] for at in places if self._lost_between(stack[at].ts, youngest.ts)][: len(places) - 1]
        places = [at for at in places if stack[at] not in earlier]
        doubtful: list[End] = []
        lost_calls: list[Call] = []
        if earlier and end.function & PROBE_MASK not in self.starts.never_missed:
            # This may be the exit of one of those calls, while the kernel missed the exit of a call inside it.
            doubtful = [stack[at] for at in places]
            stack[:] = [entry for entry in stack if entry not in earlier]
            places = [stack.index(entry) for entry in doubtful]
            self.open -= len(earlier)
            lost_calls = [Call(entry.seq, None, _LOST) for entry in earlier]
        exit_count = len(matching_ends(end, held_exits)) + 1
        if exit_count < len(places) and end.function & PROBE_MASK not in self.result_filtered:
            held_exits.append(end)
            return lost_calls
        at = places[max(len(places) - exit_count, 0)]
        inner, exits, held_back = stack[at:], [*held_exits, end], bool(held_exits)
        held_exits.clear()
        if any(len(matching_ends(leave, inner)) < len(matching_ends(leave, exits)) for leave in exits):
            calls = self._give_up(stack, exits)
        else:
            # More exits may follow: of another probe on the function, or of a tail call whose exit was missed.
            others = [item for item in inner if end.frame and _is_other_at_position(item, end)]
            if held_back:  # calls whose exits were held back are over; those without an exit so far may still get one
                others = [item for item in others if not matching_ends(item, exits)]
            inner = [item for item in inner if item not in others]
            stack[at:] = others
            beside += others
            self.open -= len(inner)
            calls = [
                call
                for item in match_exits(inner, exits)
                for call in self._call_results(*item, item.entry in doubtful)
            ]
        self._drop_empty_task(end.task)
        return lost_calls + calls

    def _call_results(self, entry: End | None, leave: End | None, ambiguous: bool, doubtful: bool) -> list[Call]:
        if entry is None or leave is None:
            return [Call(entry and entry.seq, leave and leave.seq, _UNKNOWN if ambiguous else _NO_EXIT)]
        if entry.unsure or doubtful or self._lost_between(entry.ts, leave.ts):
            return [Call(entry.seq, None, _LOST), Call(None, leave.seq, _LOST)]
        self.pairs.append((entry, leave))
        return [Call(entry.seq, leave.seq)]

    def _give_up(self, stack: list[End], exits: list[End]) -> list[Call]:
        """Return exits that may each belong to several calls, and these calls, as over and without a partner."""
        ended_calls = [entry for entry in stack if matching_ends(entry, exits)] if exits else []
        if ended_calls:
            stack[:] = [entry for entry in stack if not matching_ends(entry, exits)]
            self.open -= len(ended_calls)
        return [Call(end.seq, None, _UNKNOWN) for end in ended_calls] + [
            Call(None, end.seq, _UNKNOWN) for end in exits
        ]

    def _drop_empty_task(self, task: int) -> None:
        """Remove a task that has no open calls."""
        if not self._stacks[task]:
            del self._stacks[task]
            self._exit_groups.pop(task, None)


def _is_other_at_position(entry: End, leave: End) -> bool:
    """Return whether a call of another function or probe is at the stack position of an exit."""
    return entry.frame == leave.frame and entry.function != leave.function
