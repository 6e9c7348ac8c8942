"""Totals of lost events, for screens and commands. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kernel.guards.loss_counts import LossCounts
    from kernel.watch.watch import Watch


class LossSums(NamedTuple):
    """Events by the way in which they were lost, as in `widgets.events.values.LossTotals`."""

    lost: int = 0
    missed: int = 0
    dropped: int = 0
    unread: int = 0

    @property
    def text(self) -> str:
        """All four numbers in a line."""
        lost, missed, dropped, unread = self
        return f"lost {lost:,}, missed {missed:,}, dropped {dropped:,}, unread {unread:,}"


def hit_lines(hits: Mapping[str, int], all_hits: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each event: hits that pass its filter, and all hits if they are more."""
    for path, number in hits.items():
        more = f" that pass the filter, of {every:,}" if (every := all_hits.get(path, number)) != number else ""
        yield f"{path.rpartition('/')[2]}: {number:,} hits{more}"


def lost_of(watch: Watch, counts: LossCounts | None) -> LossSums:
    """Return the losses of a watch.

    The ring-buffer pages count lost events, too: the counts of a recording may be missing or damaged.

    Args:
        watch: watch with its store.
        counts: loss counts of its kernel; None: not yet known.
    """
    store = watch.store
    if store is None:
        return LossSums()
    if counts is None:
        return LossSums(lost=store.lost_events, unread=store.undecodable)
    missed = sum(number or 0 for number in counts.nmissed.values())
    return LossSums(max(store.lost_events, counts.lost), missed, counts.dropped, store.undecodable)
