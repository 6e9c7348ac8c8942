"""The events of several hosts as one list; the bytes stay in each host's store, and are decoded when looked at."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from events.hosts import HostMerger, MergedRows
from events.record import Record
from events.search import Found

if TYPE_CHECKING:
    from events.clock import Timeline
    from kernel.hosts.host import Host
    from kernel.watch import Watch


class MergedEvent(NamedTuple):
    """One event, with where and when it was."""

    seq: int
    """Its number in the merged list."""
    ts: int
    """On our clock: nanoseconds since 1970."""
    host: str
    late: bool
    """It came when younger ones had their rows already."""
    source: int
    """Number of the session it is of, for `Merged.watch`."""
    record: Record
    """As that host's store has it; its `ts` is of that host's clock."""

    @property
    def cpu(self) -> int:
        return self.record.cpu

    @property
    def pid(self) -> int:
        return self.record.pid

    @property
    def comm(self) -> str:
        return self.record.comm

    @property
    def event(self) -> str:
        return self.record.event


class _Source:
    """One session of a host: a host that is opened again has another store."""

    def __init__(self, host: Host, watch: Watch, timeline: Timeline) -> None:
        self.host = host
        self.watch = watch
        self.timeline = timeline
        self.next_seq = 0
        self.unshown = 0


class Merged:
    """Belongs to the thread that ticks, as the stores do."""

    def __init__(self, window: int) -> None:
        self.merger = HostMerger(window)
        self._rows = MergedRows()
        self._sources: list[_Source] = []

    @property
    def first_seq(self) -> int:
        """Oldest row that is kept."""
        return self._rows.first

    @property
    def next_seq(self) -> int:
        """Number of the row that comes next."""
        return self._rows.next

    def late_of(self, host: Host) -> int:
        """Events of a host that came too late for their place."""
        return sum(self.merger.late.get(number, 0) for number, one in enumerate(self._sources) if one.host is host)

    def unshown_of(self, host: Host) -> int:
        """Events of a host that its store had to drop before they had a row here."""
        return sum(one.unshown for one in self._sources if one.host is host)

    def collect(self, host: Host, now: int) -> None:
        """Take what is new in a host's store; as long as its clock is not known it stays there."""
        watch = host.watch
        store = watch.store if watch is not None else None
        if watch is None or store is None:
            return
        number, source = self._source_of(host, watch)
        offset = host.offset(now)
        if offset is None or store.next_seq == source.next_seq:
            return
        first = max(store.first_seq, source.next_seq)
        source.unshown += first - source.next_seq
        stamps = store.columns(first, store.next_seq).run.stamps
        self.merger.add(number, source.timeline.near(stamps, offset.ns, now), first)
        source.next_seq = store.next_seq

    def release(self, now: int | None) -> int:
        """Give rows to what is final at a time, or to everything; gives their number."""
        return self._rows.append(self.merger.flush() if now is None else self.merger.take(now))

    def watch(self, source: int) -> Watch:
        """The session that an event is of."""
        return self._sources[source].watch

    def record(self, seq: int) -> MergedEvent:
        """The event of a row. Raises IndexError where it was dropped, or there is none yet."""
        row = self._rows.row(seq)
        source = self._sources[row.host]
        store = source.watch.store
        if store is None:
            raise IndexError(seq)
        return MergedEvent(seq, row.ts, source.host.name, row.late, row.host, store.record(row.seq))

    def find(
        self, match: Callable[[MergedEvent], bool], start: int, direction: int = 1, budget: float = 0.01
    ) -> Found:
        """One step of a search that goes on at `Found.next` until `Found.done`; takes up to `budget` seconds."""
        deadline = time.monotonic() + budget
        step = 1 if direction >= 0 else -1
        seq = max(start, self.first_seq) if step > 0 else min(start, self.next_seq - 1)
        while self.first_seq <= seq < self.next_seq:
            try:
                if match(self.record(seq)):
                    return Found(seq, seq + step, True)
            except IndexError:  # its host's store had to drop it
                pass
            seq += step
            if time.monotonic() >= deadline:
                return Found(None, seq, False)
        return Found(None, seq, True)

    def _source_of(self, host: Host, watch: Watch) -> tuple[int, _Source]:
        for number, source in enumerate(self._sources):
            if source.watch is watch:
                return number, source
        from events.clock import Timeline  # and numpy, as `kernel.watch` does

        self._sources.append(_Source(host, watch, Timeline()))
        return len(self._sources) - 1, self._sources[-1]
