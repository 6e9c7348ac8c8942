"""Totals of lost events, for screens and commands. Imports no screen code."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from events.loss_counts import NO_LOSSES, LossCounts, LossTotals
from foreign.count_text import counted

if TYPE_CHECKING:
    from kernel.watch.watch import Watch


def hit_lines(hits: Mapping[str, int], all_hits: Mapping[str, int]) -> Iterator[str]:
    """Yield a line for each event: hits that pass its filter, and all hits if they are more."""
    for path, number in hits.items():
        more = f" that pass the filter, of {every:,}" if (every := all_hits.get(path, number)) != number else ""
        yield f"{path.rpartition('/')[2]}: {counted(number, 'hit')}{more}"


def losses_of(watch: Watch | None, counts: LossCounts | None) -> LossTotals:
    """Return the losses of a watch.

    The ring-buffer pages count lost events, too: the counts of a recording may be missing or damaged.

    Args:
        watch: watch with its store; None: there is none.
        counts: loss counts of its kernel; None: not yet known.
    """
    from events.store.outage_mark import total_outage_seconds

    if watch is None or (store := watch.store) is None:
        return NO_LOSSES
    lost, unread, gap = store.lost_events, store.undecodable, total_outage_seconds(watch.outages)
    if counts is None:
        return LossTotals(lost, unread=unread, gap=gap, missed_counted=not watch.armed.probes)
    numbers = counts.nmissed.values()
    missed, counted = sum(number or 0 for number in numbers), None not in numbers
    return LossTotals(max(lost, counts.lost), missed, counts.dropped, unread, gap, counted)
