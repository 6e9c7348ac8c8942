"""Count events that did not reach us, by the kernel and by our own queue, each kind apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from events.names.event_names import regrouped_path
from kernel.errors import FileRefused
from kernel.guards.rate_meter import hits_of
from kernel.pump import Pump
from kernel.tracefs import Instance, Profile, Tracefs
from probes.plans.plan import PlannedEvent

Key = TypeVar("Key")


@dataclass(frozen=True, slots=True)
class LossCounts:
    """Loss counts since the session began."""

    overrun: Mapping[int, int]
    """Events overwritten in the ring buffer before we read them, by CPU."""
    full: Mapping[int, int]
    """Events that found no room in the ring buffer, by CPU."""
    nmissed: Mapping[str, int | None]
    """Calls during which the probe did not run, by `group/event`. None: the kernel does not count them for this kind
    of event (it does for kprobes and kretprobes only).
    """
    dropped: int
    """Events that our own queue dropped."""
    dropped_bytes: int
    read_errors: int
    """Reads of the ring buffer that the kernel rejected."""
    written: int = 0
    """Events that were written to the ring buffer, including lost ones."""
    hits: Mapping[str, int] = field(default_factory=dict)
    """Runs of the probes armed now, by `group/event`: for kprobes, kretprobes, and count-only probes; for a probe
    armed again after a reconnect, including those before.
    """
    passed: Mapping[str, int] = field(default_factory=dict)
    """Hits that passed the filter, for count-only probes with a filter."""

    @property
    def counted(self) -> Mapping[str, int]:
        """Hits by `group/event`; for count-only probes the hits that pass its filter."""
        return {**self.hits, **self.passed}

    def after(self, earlier: LossCounts | None) -> LossCounts:
        """Return the sum of these counts and those of an earlier session that was disconnected; see `ended`."""
        if earlier is None:
            return self
        return replace(
            self,
            overrun=_sums(earlier.overrun, self.overrun),
            full=_sums(earlier.full, self.full),
            nmissed={**earlier.nmissed, **self.nmissed},  # the events of two sessions have different groups
            dropped=earlier.dropped + self.dropped,
            dropped_bytes=earlier.dropped_bytes + self.dropped_bytes,
            read_errors=earlier.read_errors + self.read_errors,
            written=earlier.written + self.written,
            hits=_sums(earlier.hits, self.hits),
            passed=_sums(earlier.passed, self.passed),
        )

    def ended(self, pump: Pump, earlier: LossCounts | None, groups: tuple[str, str]) -> LossCounts:
        """Return the counts at the end of their session, with the pump's drops since they were read.

        Args:
            pump: pump of the session.
            earlier: counts of the sessions before it, which are included in these.
            groups: event groups of this session and of the next one: hits continue under the event's name there.
        """
        old, new = groups
        return replace(
            self,
            dropped=pump.dropped_events + (earlier.dropped if earlier else 0),
            dropped_bytes=pump.dropped_bytes + (earlier.dropped_bytes if earlier else 0),
            read_errors=pump.read_errors + (earlier.read_errors if earlier else 0),
            hits=_regrouped(self.hits, old, new),
            passed=_regrouped(self.passed, old, new),
        )

    def without_hits(self, events: Iterable[PlannedEvent]) -> LossCounts:
        """Return these counts without the hits of events that are no longer armed."""
        disarmed = {event.path for event in events}
        hits, passed = (
            {path: number for path, number in counts.items() if path not in disarmed}
            for counts in (self.hits, self.passed)
        )
        return replace(self, hits=hits, passed=passed)

    @property
    def lost(self) -> int:
        """Events lost in the ring buffer, all CPUs."""
        return sum(self.overrun.values()) + sum(self.full.values())


class LossCounter:
    """Sum of the ring buffer's counts, which the kernel sets to zero whenever it empties the buffer."""

    def __init__(self, tracefs: Tracefs, instance: Instance) -> None:
        self._tracefs = tracefs
        self._instance = instance
        self._overrun: dict[int, _Sum] = {}
        self._full: dict[int, _Sum] = {}
        self._written: dict[int, _Sum] = {}
        self._removed_misses: dict[str, int | None] = {}

    def look(self) -> None:
        """Read the counts of all CPUs. Raises TargetLost."""
        with contextlib.suppress(FileRefused):
            for cpu, stats in self._instance.stats().items():
                self._overrun.setdefault(cpu, _Sum()).see(stats.overrun)
                self._full.setdefault(cpu, _Sum()).see(stats.dropped)
                self._written.setdefault(cpu, _Sum()).see(stats.entries + stats.overrun + stats.read)

    def counts(
        self,
        events: Iterable[PlannedEvent],
        pump: Pump,
        counting: Iterable[PlannedEvent] = (),
        resting: Iterable[PlannedEvent] = (),
    ) -> LossCounts:
        """Read the buffer's counts, and add the others. Raises TargetLost.

        Args:
            events: events of the armed probes.
            pump: reader of the buffer.
            counting: those of `events` that only count.
            resting: events of probes that are disarmed, but still defined.
        """
        self.look()
        nmissed = dict(self._removed_misses)
        events, resting = tuple(events), tuple(resting)
        profile = self._profile([*events, *resting])
        hits = {path: profile[path].hits for path in profile.keys() & {event.path for event in events}}
        passed: dict[str, int] = {}
        for event in counting:
            with contextlib.suppress(FileRefused):
                hist_hits = hits_of(self._instance.read(f"events/{event.path}/hist"))
                hits[event.path] = hist_hits.get(False, 0)
                if event.filter:
                    passed[event.path] = hist_hits.get(True, 0)
        for path, count in _missed([*events, *resting], profile).items():
            nmissed[path] = nmissed.get(path) if count is None else (nmissed.get(path) or 0) + count
        return LossCounts(
            overrun={cpu: count.total for cpu, count in self._overrun.items()},
            full={cpu: count.total for cpu, count in self._full.items()},
            nmissed=nmissed,
            dropped=pump.dropped_events,
            dropped_bytes=pump.dropped_bytes,
            read_errors=pump.read_errors,
            written=sum(count.total for count in self._written.values()),
            hits=hits,
            passed=passed,
        )

    def remember(self, events: Iterable[PlannedEvent], before: Mapping[str, int | None]) -> None:
        """Keep the misses of removed probes: an event may be armed again, or still have other probes.

        Args:
            events: events of the removed probes.
            before: result of `read_nmissed` for them before the removal.

        Raises TargetLost.
        """
        remaining = self.read_nmissed(events)
        for path, count in before.items():
            earlier = self._removed_misses.get(path)
            self._removed_misses[path] = earlier if count is None else (earlier or 0) + count - (remaining[path] or 0)

    def read_nmissed(self, events: Iterable[PlannedEvent]) -> dict[str, int | None]:
        """Return the present misses of the probes on some events, by `group/event`. Raises TargetLost."""
        events = tuple(events)
        return _missed(events, self._profile(events))

    def _profile(self, events: Sequence[PlannedEvent]) -> Mapping[str, Profile]:
        if any(event.line[:1] in ("p", "r") for event in events):
            with contextlib.suppress(FileRefused):
                return self._tracefs.kprobe_profile()
        return {}


def _sums(first: Mapping[Key, int], second: Mapping[Key, int]) -> dict[Key, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in {**first, **second}}


def _regrouped(counts: Mapping[str, int], old: str, new: str) -> dict[str, int]:
    """Return counts by the paths that the events have in another group."""
    return {regrouped_path(path, old, new): number for path, number in counts.items()}


def _missed(events: Sequence[PlannedEvent], profile: Mapping[str, Profile]) -> dict[str, int | None]:
    return {event.path: profile[event.path].missed if event.path in profile else None for event in events}


class _Sum:
    """A count that restarts at zero now and then."""

    def __init__(self) -> None:
        self._earlier = 0
        self._current = 0

    def see(self, value: int) -> None:
        if value < self._current:
            self._earlier += self._current
        self._current = value

    @property
    def total(self) -> int:
        return self._earlier + self._current
