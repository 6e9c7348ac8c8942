"""Calls in one place on the stack of their task, and the exits from there: which exit is of which call.

What a function calls as its last act stands in its place (a tail call), and returns just before it does. So does a
later call of the same caller, where the exit of the earlier one was missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.calls.call_values import End

STACK_BITS: Final = 14
"""THREAD_SIZE of the kernel is not smaller."""


class MatchResult(NamedTuple):
    """A pair, or an end without a partner."""

    entry: End | None
    exit: End | None
    ambiguous: bool = False
    """It may be a partner of several; else nothing that was seen is its partner."""


def shares_stack(one: End, other: End) -> bool:
    """Whether two ends are on one stack of the kernel, which begins at a multiple of its size, `1 << STACK_BITS` at
    least. A program may have many stacks, anywhere.
    """
    in_kernel = one.frame < 0 or one.frame >> 63
    return bool(in_kernel) and one.frame >> STACK_BITS == other.frame >> STACK_BITS


def is_same(one: End, other: End) -> bool:
    """Whether two ends may be of one call: their function and proof are the same."""
    return one.function == other.function and one.proof == other.proof


def same_as(end: End, among: Sequence[End]) -> list[End]:
    """Those that may be of one call with an end, or of one in its place."""
    return [one for one in among if is_same(one, end)]


def places_of(stack: Sequence[End], leave: End) -> list[int]:
    """Places of the open calls that an exit may be of, the outermost first."""
    places: list[int] = []
    for at in range(len(stack) - 1, -1, -1):
        entry = stack[at]
        if is_same(entry, leave):
            places.append(at)
        elif places and entry.frame > leave.frame and shares_stack(entry, leave):
            break  # what is farther out stands higher on the stack
    return places[::-1]


def settle(entries: Sequence[End], exits: Sequence[End]) -> list[MatchResult]:
    """Say what became of calls that are over, with the exits that came since the first of them was entered.

    Args:
        entries: in the order in which they were entered.
        exits: in their order. Of none there are more than entries that are the same.
    """
    partner: dict[End, End] = {}
    for leave in exits:
        own, same = same_as(leave, entries), same_as(leave, exits)
        if len(own) == len(same):
            partner[own[-1 - same.index(leave)]] = leave
    settled = [MatchResult(None, leave, True) for leave in exits if leave not in partner.values()]
    for at in range(len(entries) - 1, -1, -1):
        entry, inner = entries[at], entries[at + 1 : at + 2]
        if entry not in partner:
            settled.append(MatchResult(entry, None, bool(same_as(entry, exits))))
        elif inner and is_same(entry, inner[0]) and shares_stack(entry, inner[0]):
            # A function comes back to itself in its place by way of others only: this may be a later call of it.
            settled += [MatchResult(entry, None, True), MatchResult(None, partner[entry], True)]
        else:
            settled.append(MatchResult(entry, partner[entry]))
    return settled
