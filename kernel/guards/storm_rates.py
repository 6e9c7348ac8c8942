"""Which armed probe's events come faster than they may: a decision over two looks at the counts; no effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kernel.guards.loss_counts import LossCounts

LEAST = 0.5
"""Seconds between two looks that say something about a rate."""
AT_ONCE = 4
"""Times the limit: that fast, one look is enough; else it takes two in a row."""
COUNTING = 5
"""Times the limit, for a probe that only counts: it writes nothing."""


class RateSample(NamedTuple):
    """What was counted up to a moment."""

    at: float
    """Seconds of a monotonic clock."""
    written: int
    """Events of all probes that the kernel wrote to the ring buffer, the lost ones included."""
    hits: Mapping[str, int]
    """By `group/event`: how often it ran, where the kernel says it."""
    seen: Mapping[str, int]
    """By `group/event`: events that reached the store."""


class Storm(NamedTuple):
    """A probe that is too fast."""

    number: int
    """Which of the probes that were asked about."""
    rate: float
    """Events a second."""


class WatchedProbe(NamedTuple):
    """A probe that is looked after."""

    paths: frozenset[str]
    """Of its events."""
    counting: bool = False


def look_at(counts: LossCounts, seen: Mapping[str, int], now: float) -> RateSample:
    """What the kernel and the store say now."""
    return RateSample(now, counts.written, dict(counts.hits), dict(seen))


def rates(before: RateSample, after: RateSample, paths: Sequence[str]) -> dict[str, float]:
    """Events a second of some events, the ones that were lost included.

    What was overwritten has no name any more. It is shared out as what was seen is: the events of one moment lie in
    the same sub-buffers. Where nothing at all was seen, everybody may be the one.
    """
    seconds = after.at - before.at
    if seconds <= 0:
        return dict.fromkeys(paths, 0.0)
    seen = {path: max(0, count - before.seen.get(path, 0)) for path, count in after.seen.items()}
    total = sum(seen.values())
    lost = max(0, after.written - before.written - total)
    found = {}
    for path in paths:
        mine = seen.get(path, 0)
        part = mine / total if total else 1.0
        events = mine + lost * part
        if path in after.hits:  # a filter may let few of them pass: each runs all the same
            events = max(mine, after.hits[path] - before.hits.get(path, after.hits[path]))
        found[path] = events / seconds
    return found


class StormGuard:
    """Looks again and again; one for a session."""

    def __init__(self, limit: float) -> None:
        """Take the events a second of one probe that are too many; 0: none are."""
        self.limit = limit
        self._before: RateSample | None = None
        self._suspects: set[frozenset[str]] = set()

    def restart(self) -> None:
        """What was seen is counted anew: the next look has none before it."""
        self._before = None

    def look(self, now: RateSample, probes: Sequence[WatchedProbe]) -> list[Storm]:
        """Probes that have been too fast for two looks, or far too fast in one; the fastest first."""
        before = self._before
        if before is not None and now.at - before.at < LEAST:
            return []
        self._before = now
        if before is None or not self.limit or _went_down(before.seen, now.seen):
            return []
        of_event = rates(before, now, [path for probe in probes for path in probe.paths])
        storms: list[Storm] = []
        suspects: set[frozenset[str]] = set()
        for number, probe in enumerate(probes):
            rate = sum(of_event[path] for path in probe.paths)
            limit = self.limit * (COUNTING if probe.counting else 1)
            if rate > limit * AT_ONCE or (rate > limit and probe.paths in self._suspects):
                storms.append(Storm(number, rate))
            elif rate > limit:
                suspects.add(probe.paths)
        self._suspects = suspects
        return sorted(storms, key=lambda storm: -storm.rate)


def _went_down(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """The store was emptied: what is missing in it was seen all the same, and is not lost."""
    return any(after.get(path, 0) < count for path, count in before.items())
