"""Losses of a watch as values, for screens, commands and recordings alike: counts of the kernel, and their totals."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple, Protocol, TypeVar

from events.names.event_names import regrouped_path

Key = TypeVar("Key")


class LossTotal(NamedTuple):
    """Number of events lost in one way."""

    name: str
    number: int
    counted: bool = True
    """False: more may be lost, as not all are counted."""

    @property
    def text(self) -> str:
        """Number as text: `1,204`; `≥ 12` or `?` if not all are counted."""
        if self.counted:
            return f"{self.number:,}"
        return f"≥ {self.number:,}" if self.number else "?"


@dataclass(frozen=True, slots=True)
class LossTotals:
    """Events by the way in which they were lost; each has another remedy."""

    lost: int = 0
    """Events overwritten in the kernel's buffer before they were read."""
    missed: int = 0
    """Hits that the kernel had no room to record (nmissed)."""
    dropped: int = 0
    """Events read, and dropped by our own queue."""
    unread: int = 0
    """Events read, and not decoded: damaged, or without a known format."""
    gap: float = 0.0
    """Seconds of outages, with an unknown number of events."""
    missed_counted: bool = True
    """False: the kernel does not count what some probes missed, or its counts are not known."""

    @property
    def counts(self) -> tuple[LossTotal, ...]:
        """The four numbers of events."""
        return (
            LossTotal("lost", self.lost),
            LossTotal("missed", self.missed, self.missed_counted),
            LossTotal("dropped", self.dropped),
            LossTotal("unread", self.unread),
        )

    @property
    def text(self) -> str:
        """The four numbers of events in a line."""
        return ", ".join(f"{loss.name} {loss.text}" for loss in self.counts)

    def __add__(self, other: LossTotals) -> LossTotals:
        return LossTotals(
            self.lost + other.lost,
            self.missed + other.missed,
            self.dropped + other.dropped,
            self.unread + other.unread,
            self.gap + other.gap,
            self.missed_counted and other.missed_counted,
        )


NO_LOSSES: Final = LossTotals()


class Drops(Protocol):
    """Drops of our own queue of events, and failed reads, since a session began (`kernel.pump.Pump`)."""

    @property
    def dropped_events(self) -> int: ...
    @property
    def dropped_bytes(self) -> int: ...
    @property
    def read_errors(self) -> int: ...


@dataclass(frozen=True, slots=True)
class LossCounts:
    """Loss counts since the session began."""

    overrun: Mapping[int, int]
    """Events overwritten in the ring buffer before we read them, by CPU."""
    full: Mapping[int, int]
    """Events that found no room in the ring buffer, by CPU."""
    nmissed: Mapping[str, int | None]
    """Calls during which the probe did not run, by `group/event`. None: the kernel does not count them for this kind
    of event (of probes on functions it does for kprobes and kretprobes only).
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

    def ended(self, drops: Drops, earlier: LossCounts | None, groups: tuple[str, str]) -> LossCounts:
        """Return the counts at the end of their session, with the drops since they were read.

        Args:
            drops: drops of the session's own queue.
            earlier: counts of the sessions before it, which are included in these.
            groups: event groups of this session and of the next one: hits continue under the event's name there.
        """
        old, new = groups
        return replace(
            self,
            dropped=drops.dropped_events + (earlier.dropped if earlier else 0),
            dropped_bytes=drops.dropped_bytes + (earlier.dropped_bytes if earlier else 0),
            read_errors=drops.read_errors + (earlier.read_errors if earlier else 0),
            hits={regrouped_path(path, old, new): number for path, number in self.hits.items()},
            passed={regrouped_path(path, old, new): number for path, number in self.passed.items()},
        )

    def since(self, before: LossCounts | None) -> LossCounts:
        """Return these counts minus earlier ones; a count that is smaller than before has restarted, as hits of an
        event do.
        """
        if before is None:
            return self
        missed = {path: number for path, number in self.nmissed.items() if number is not None}
        return replace(
            self,
            overrun=_differences(self.overrun, before.overrun),
            full=_differences(self.full, before.full),
            nmissed={**self.nmissed, **_differences(missed, before.nmissed)},
            hits=_differences(self.hits, before.hits),
            passed=_differences(self.passed, before.passed),
            dropped=_difference(self.dropped, before.dropped),
            dropped_bytes=_difference(self.dropped_bytes, before.dropped_bytes),
            read_errors=_difference(self.read_errors, before.read_errors),
            written=_difference(self.written, before.written),
        )

    def without_hits(self, disarmed: Collection[str]) -> LossCounts:
        """Return these counts without the hits of some events, by `group/event`."""
        hits, passed = (
            {path: number for path, number in counts.items() if path not in disarmed}
            for counts in (self.hits, self.passed)
        )
        return replace(self, hits=hits, passed=passed)

    @property
    def lost_by_cpu(self) -> Mapping[int, int]:
        """Events lost in the ring buffer: overwritten, or without room."""
        return _sums(self.overrun, self.full)

    @property
    def lost(self) -> int:
        """Events lost in the ring buffer, all CPUs."""
        return sum(self.lost_by_cpu.values())


def _sums(first: Mapping[Key, int], second: Mapping[Key, int]) -> dict[Key, int]:
    return {key: first.get(key, 0) + second.get(key, 0) for key in {**first, **second}}


def _differences(now: Mapping[Key, int], before: Mapping[Key, int | None]) -> dict[Key, int]:
    return {key: _difference(number, before.get(key) or 0) for key, number in now.items()}


def _difference(now: int, before: int) -> int:
    return now - before if now >= before else now
