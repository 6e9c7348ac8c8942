"""Read the loss counts of a session from the kernel: its ring buffer, its probes, and our own queue."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence

from events.loss_counts import LossCounts
from kernel.errors import FileRefused
from kernel.guards.rate_meter import hits_of
from kernel.pump import Pump
from kernel.tracefs import Instance, Profile, Tracefs
from probes.plans.plan import PlannedEvent


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
        parked: Iterable[PlannedEvent] = (),
    ) -> LossCounts:
        """Read the buffer's counts, and add the others. Raises TargetLost.

        Args:
            events: events of the armed probes.
            pump: reader of the buffer.
            counting: those of `events` that only count.
            parked: events of probes that are disarmed, but still defined.
        """
        self.look()
        nmissed = dict(self._removed_misses)
        events, parked = tuple(events), tuple(parked)
        profile = self._profile([*events, *parked])
        hits = {path: profile[path].hits for path in profile.keys() & {event.path for event in events}}
        passed: dict[str, int] = {}
        for event in counting:
            with contextlib.suppress(FileRefused):
                hist_hits = hits_of(self._instance.read(f"events/{event.path}/hist"))
                hits[event.path] = hist_hits.get(False, 0)
                if event.filter:
                    passed[event.path] = hist_hits.get(True, 0)
        for path, count in _missed([*events, *parked], profile).items():
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


def _missed(events: Sequence[PlannedEvent], profile: Mapping[str, Profile]) -> dict[str, int | None]:
    """Return the misses by `group/event`; only kprobes are counted, and only probes on functions miss calls."""
    return {
        event.path: profile[event.path].missed
        if event.path in profile
        else None
        if event.line.startswith(("f", "p", "r"))
        else 0
        for event in events
    }


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
