"""What did not reach us: counted by the kernel and by our own queue, each kind apart."""

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
    """Since the session began."""

    overrun: Mapping[int, int]
    """By CPU: events that were overwritten in the ring buffer before we read them."""
    full: Mapping[int, int]
    """By CPU: events that found no room in the ring buffer."""
    nmissed: Mapping[str, int | None]
    """By `group/event`: calls during which the probe did not run. None: the kernel does not say it of this kind
    of event (it does of kprobes and kretprobes only)."""
    dropped: int
    """Events that our own queue dropped."""
    dropped_bytes: int
    read_errors: int
    """Reads of the ring buffer that the kernel refused."""
    written: int = 0
    """Events that were written to the ring buffer, the lost ones included."""
    hits: Mapping[str, int] = field(default_factory=dict)
    """By `group/event`, of the probes that are armed now: how often they ran. Of kprobes and kretprobes, and of what
    is only counted; of a probe that came back with its line also what was seen before."""
    passed: Mapping[str, int] = field(default_factory=dict)
    """Of those of `hits` that are only counted and have a filter: how often it let them pass."""

    @property
    def counted(self) -> Mapping[str, int]:
        """Hits by `group/event`; of what is only counted those that pass its filter."""
        return {**self.hits, **self.passed}

    def after(self, earlier: LossCounts | None) -> LossCounts:
        """These together with those of a session before, whose line was cut; see `ended`."""
        if earlier is None:
            return self
        return replace(
            self,
            overrun=_together(earlier.overrun, self.overrun),
            full=_together(earlier.full, self.full),
            nmissed={**earlier.nmissed, **self.nmissed},  # the events of two sessions have different groups
            dropped=earlier.dropped + self.dropped,
            dropped_bytes=earlier.dropped_bytes + self.dropped_bytes,
            read_errors=earlier.read_errors + self.read_errors,
            written=earlier.written + self.written,
            hits=_together(earlier.hits, self.hits),
            passed=_together(earlier.passed, self.passed),
        )

    def ended(self, pump: Pump, earlier: LossCounts | None, groups: tuple[str, str]) -> LossCounts:
        """These as they are when their session has ended: the pump still knows what it dropped since they were read.

        Args:
            pump: of the session.
            earlier: of the sessions before it, which these have in them.
            groups: of its events, and of the next session's: hits go on under the name that the event has there.
        """
        old, new = groups
        return replace(
            self,
            dropped=pump.dropped_events + (earlier.dropped if earlier else 0),
            dropped_bytes=pump.dropped_bytes + (earlier.dropped_bytes if earlier else 0),
            read_errors=pump.read_errors + (earlier.read_errors if earlier else 0),
            hits=_moved(self.hits, old, new),
            passed=_moved(self.passed, old, new),
        )

    def without_hits(self, events: Iterable[PlannedEvent]) -> LossCounts:
        """These, and nothing of what events were hit that are not armed any more."""
        gone = {event.path for event in events}
        hits, passed = (
            {path: number for path, number in found.items() if path not in gone} for found in (self.hits, self.passed)
        )
        return replace(self, hits=hits, passed=passed)

    @property
    def lost(self) -> int:
        """Events lost in the ring buffer, all CPUs."""
        return sum(self.overrun.values()) + sum(self.full.values())


class LossCounter:
    """Adds up the ring buffer's counts, which the kernel sets to zero whenever it empties the buffer."""

    def __init__(self, tracefs: Tracefs, instance: Instance) -> None:
        self._tracefs = tracefs
        self._instance = instance
        self._overrun: dict[int, _Sum] = {}
        self._full: dict[int, _Sum] = {}
        self._written: dict[int, _Sum] = {}
        self._gone: dict[str, int | None] = {}

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
        """Look, and add what is not the ring buffer's. Raises TargetLost.

        Args:
            events: of the probes that are armed.
            pump: what reads.
            counting: those of them that only count.
            resting: events of probes that are not armed any more, but still defined.
        """
        self.look()
        nmissed = dict(self._gone)
        events, resting = tuple(events), tuple(resting)
        profile = self._profile([*events, *resting])
        hits = {path: profile[path].hits for path in profile.keys() & {event.path for event in events}}
        passed: dict[str, int] = {}
        for event in counting:
            with contextlib.suppress(FileRefused):
                found = hits_of(self._instance.read(f"events/{event.path}/hist"))
                hits[event.path] = found.get(False, 0)
                if event.filter:
                    passed[event.path] = found.get(True, 0)
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
        """Keep the misses of probes that were removed: an event may be armed again, or still have others' probes.

        Args:
            events: they were on.
            before: what `missed` said of these when they still were.

        Raises TargetLost.
        """
        left = self.missed(events)
        for path, count in before.items():
            known = self._gone.get(path)
            self._gone[path] = known if count is None else (known or 0) + count - (left[path] or 0)

    def missed(self, events: Iterable[PlannedEvent]) -> dict[str, int | None]:
        """Misses of the probes that are on some events now, by `group/event`. Raises TargetLost."""
        events = tuple(events)
        return _missed(events, self._profile(events))

    def _profile(self, events: Sequence[PlannedEvent]) -> Mapping[str, Profile]:
        if any(event.line[:1] in ("p", "r") for event in events):
            with contextlib.suppress(FileRefused):
                return self._tracefs.kprobe_profile()
        return {}


def _together(one: Mapping[Key, int], other: Mapping[Key, int]) -> dict[Key, int]:
    return {key: one.get(key, 0) + other.get(key, 0) for key in {**one, **other}}


def _moved(found: Mapping[str, int], old: str, new: str) -> dict[str, int]:
    """Return counts by the paths that events have in another group."""
    return {regrouped_path(path, old, new): number for path, number in found.items()}


def _missed(events: Sequence[PlannedEvent], profile: Mapping[str, Profile]) -> dict[str, int | None]:
    return {event.path: profile[event.path].missed if event.path in profile else None for event in events}


class _Sum:
    """A count that starts again from zero now and then."""

    def __init__(self) -> None:
        self._before = 0
        self._now = 0

    def see(self, value: int) -> None:
        if value < self._now:
            self._before += self._now
        self._now = value

    @property
    def total(self) -> int:
        return self._before + self._now
