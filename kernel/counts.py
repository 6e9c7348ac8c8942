"""What did not reach us: counted by the kernel and by our own queue, each kind apart."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kernel.errors import FileRefused
from kernel.pump import Pump
from kernel.tracefs import Instance, Tracefs
from probes.plan import PlannedEvent


@dataclass(frozen=True, slots=True)
class Counts:
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
        self._gone: dict[str, int | None] = {}

    def look(self) -> None:
        """Read the counts of all CPUs. Raises TargetLost."""
        with contextlib.suppress(FileRefused):
            for cpu, stats in self._instance.stats().items():
                self._overrun.setdefault(cpu, _Sum()).see(stats.overrun)
                self._full.setdefault(cpu, _Sum()).see(stats.dropped)

    def counts(self, events: Iterable[PlannedEvent], pump: Pump) -> Counts:
        """Look, and add what is not the ring buffer's. Raises TargetLost."""
        self.look()
        nmissed = dict(self._gone)
        for path, count in self.missed(events).items():
            nmissed[path] = nmissed.get(path) if count is None else (nmissed.get(path) or 0) + count
        return Counts(
            overrun={cpu: count.total for cpu, count in self._overrun.items()},
            full={cpu: count.total for cpu, count in self._full.items()},
            nmissed=nmissed,
            dropped=pump.dropped_events,
            dropped_bytes=pump.dropped_bytes,
            read_errors=pump.read_errors,
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
        missed: dict[str, int | None] = dict.fromkeys(event.path for event in events)
        if any(event.line[:1] in "pr" for event in events):
            with contextlib.suppress(FileRefused):
                profile = self._tracefs.kprobe_profile()
                missed |= {path: profile[path].missed for path in missed if path in profile}
        return missed


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
