"""What did not reach us, for the screens and the commands alike; no screen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kernel.guards.loss_counts import LossCounts
    from kernel.watch.watch import Watch


class LossSums(NamedTuple):
    """Four ways to lose an event, as `widgets.events.status_bar.LossTotals` has them."""

    lost: int = 0
    missed: int = 0
    dropped: int = 0
    unread: int = 0

    @property
    def text(self) -> str:
        """In a line."""
        lost, missed, dropped, unread = self
        return f"lost {lost:,}, missed {missed:,}, dropped {dropped:,}, unread {unread:,}"


def hit_lines(hits: Mapping[str, int], all_hits: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each event: hits that pass its filter, and beside them all, where they are more."""
    for path, number in hits.items():
        more = f" that pass the filter, of {every:,}" if (every := all_hits.get(path, number)) != number else ""
        yield f"{path.rpartition('/')[2]}: {number:,} hits{more}"


def lost_of(watch: Watch, counts: LossCounts | None) -> LossSums:
    """What did not reach us of a watch.

    The pages tell of events that were lost, too: the counts of a recording may be missing or damaged.

    Args:
        watch: what is armed.
        counts: what its kernel says; None: nothing yet.
    """
    store = watch.store
    if store is None:
        return LossSums()
    if counts is None:
        return LossSums(lost=store.lost, unread=store.undecodable)
    missed = sum(number or 0 for number in counts.nmissed.values())
    return LossSums(max(store.lost, counts.lost), missed, counts.dropped, store.undecodable)
