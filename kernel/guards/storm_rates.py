"""Decide from two samples of counts which armed probe's events exceed the rate limit. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from events.loss_counts import LossCounts

MIN_INTERVAL = 0.5
"""Seconds between two samples that allow a statement about a rate."""
IMMEDIATE_FACTOR = 4
"""Multiple of the limit at which one interval suffices; else it takes two in a row."""
COUNTING_FACTOR = 5
"""Multiple of the limit for a probe that only counts: it writes no events."""


class RateSample(NamedTuple):
    """Counts up to a moment."""

    at: float
    """Seconds of a monotonic clock."""
    written: int
    """Events of all probes that the kernel wrote to the ring buffer, including lost ones."""
    hits: Mapping[str, int]
    """Runs of the probe by `group/event`, if the kernel counts them."""
    stored: Mapping[str, int]
    """Events that reached the store, by `group/event`."""


class Storm(NamedTuple):
    """A probe that is too fast."""

    number: int
    """Index among the probes passed to `look`."""
    rate: float
    """Events per second."""


class WatchedProbe(NamedTuple):
    """A probe to be watched."""

    paths: frozenset[str]
    """Paths of its events."""
    counting: bool = False


def sample_rates(counts: LossCounts, seen: Mapping[str, int], now: float) -> RateSample:
    """Return the present counts of the kernel and the store."""
    return RateSample(now, counts.written, dict(counts.hits), dict(seen))


def event_rates(before: RateSample, after: RateSample, paths: Sequence[str]) -> dict[str, float]:
    """Return the events per second of some events, including lost ones.

    Overwritten events are anonymous. They are shared out in proportion to the seen ones: events of one moment are in
    the same sub-buffers. If no event was seen, each probe is charged with all of them.
    """
    seconds = after.at - before.at
    if seconds <= 0:
        return dict.fromkeys(paths, 0.0)
    seen = {path: max(0, count - before.stored.get(path, 0)) for path, count in after.stored.items()}
    total = sum(seen.values())
    lost_events = max(0, after.written - before.written - total)
    by_path = {}
    for path in paths:
        own_events = seen.get(path, 0)
        share = own_events / total if total else 1.0
        events = own_events + lost_events * share
        if path in after.hits:  # a filter may pass few events, but each hit has its cost
            events = max(own_events, after.hits[path] - before.hits.get(path, after.hits[path]))
        by_path[path] = events / seconds
    return by_path


class StormGuard:
    """Rate decision over successive samples; one for a session."""

    def __init__(self, limit: float) -> None:
        """Take the highest allowed events per second of one probe; 0: unlimited."""
        self.limit = limit
        self._before: RateSample | None = None
        self._suspects: set[frozenset[str]] = set()

    def restart(self) -> None:
        """Drop the previous sample, as the events are counted anew."""
        self._before = None

    def look(self, now: RateSample, probes: Sequence[WatchedProbe]) -> list[Storm]:
        """Return the probes that exceeded the limit in two intervals, or far exceeded it in one; the fastest
        first.
        """
        before = self._before
        if before is not None and now.at - before.at < MIN_INTERVAL:
            return []
        self._before = now
        if before is None or not self.limit or _went_down(before.stored, now.stored):
            return []
        of_event = event_rates(before, now, [path for probe in probes for path in probe.paths])
        storms: list[Storm] = []
        suspects: set[frozenset[str]] = set()
        for number, probe in enumerate(probes):
            rate = sum(of_event[path] for path in probe.paths)
            limit = self.limit * (COUNTING_FACTOR if probe.counting else 1)
            if rate > limit * IMMEDIATE_FACTOR or (rate > limit and probe.paths in self._suspects):
                storms.append(Storm(number, rate))
            elif rate > limit:
                suspects.add(probe.paths)
        self._suspects = suspects
        return sorted(storms, key=lambda storm: -storm.rate)


def _went_down(before: Mapping[str, int], after: Mapping[str, int]) -> bool:
    """Return whether the store was emptied: the missing events were seen, and are not lost."""
    return any(after.get(path, 0) < count for path, count in before.items())
