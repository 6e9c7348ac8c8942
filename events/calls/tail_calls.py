"""Match exits with calls at the same stack position of a task.

A function called as another's last act (a tail call) takes over its stack position and returns just before it. A
later call of the same caller also has this position, and looks alike if the earlier call's exit was missed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from events.calls.call_values import End

STACK_BITS: Final = 14
"""Log2 of the minimum THREAD_SIZE of the kernel."""


class MatchResult(NamedTuple):
    """Pair, or end without a partner."""

    entry: End | None
    exit: End | None
    ambiguous: bool = False
    """True if the end may be the partner of several ends; False: none of the ends seen is its partner."""


def shares_stack(first: End, second: End) -> bool:
    """Return whether two ends are on the same kernel stack, which is aligned to its size of at least `1 <<
    STACK_BITS`. User space may have many stacks at any address.
    """
    in_kernel = first.frame < 0 or first.frame >> 63
    return bool(in_kernel) and first.frame >> STACK_BITS == second.frame >> STACK_BITS


def may_match(first: End, second: End) -> bool:
    """Return whether two ends may belong to one call: their function and proof are equal."""
    return first.function == second.function and first.pair_key == second.pair_key


def matching_ends(end: End, among: Sequence[End]) -> list[End]:
    """Return the ends that may belong to the same call as `end`, or to another call at its position."""
    return [candidate for candidate in among if may_match(candidate, end)]


def places_of(stack: Sequence[End], leave: End) -> list[int]:
    """Return the indexes of the open calls that an exit may belong to, the outermost first."""
    places: list[int] = []
    for at in range(len(stack) - 1, -1, -1):
        entry = stack[at]
        if may_match(entry, leave):
            places.append(at)
        elif places and entry.frame > leave.frame and shares_stack(entry, leave):
            break  # calls farther out are higher on the stack
    return places[::-1]


def match_exits(entries: Sequence[End], exits: Sequence[End]) -> list[MatchResult]:
    """Match finished calls with the exits seen since the first of them was entered.

    Args:
        entries: entries of the calls, in order.
        exits: exits in order, at most as many as there are equal entries.
    """
    partner: dict[End, End] = {}
    for leave in exits:
        own, same = matching_ends(leave, entries), matching_ends(leave, exits)
        if len(own) == len(same):
            partner[own[-1 - same.index(leave)]] = leave
    results = [MatchResult(None, leave, True) for leave in exits if leave not in partner.values()]
    for at in range(len(entries) - 1, -1, -1):
        entry, inner = entries[at], entries[at + 1 : at + 2]
        if entry not in partner:
            results.append(MatchResult(entry, None, bool(matching_ends(entry, exits))))
        elif inner and may_match(entry, inner[0]) and shares_stack(entry, inner[0]):
            # A function re-enters its own position only by way of other functions: this exit may be that of a later
            # call of it.
            results += [MatchResult(entry, None, True), MatchResult(None, partner[entry], True)]
        else:
            results.append(MatchResult(entry, partner[entry]))
    return results
