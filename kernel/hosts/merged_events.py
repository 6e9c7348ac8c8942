"""Merge the events of several hosts into one list; bytes stay in each host's store, decoded when read."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.clocks.clock_offset import ClockTimeline
from events.record import Record
from events.search.search import SearchStep
from events.store.host_merge import ROWS_BYTES, HostMerger, MergedRows
from events.store.outage_mark import OUTAGE_EVENT

if TYPE_CHECKING:
    from events.store.row_columns import RowColumns
    from events.store.store import Store
    from kernel.hosts.host import Host
    from kernel.watch.watch import Watch


class MergedEvent(NamedTuple):
    """An event with its host and time."""

    seq: int
    """Number in the merged list."""
    ts: int
    """Time on the local clock: nanoseconds since 1970."""
    host: str
    late: bool
    """True: the event arrived when younger ones had their rows already."""
    source: int
    """Number of its session, for `MergedEvents.watch`."""
    record: Record
    """Record from that host's store; its `ts` is of that host's clock."""

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


class _HostEvents:
    """Session of a host, a source of events: a host that is opened again has another store."""

    def __init__(self, host: Host, watch: Watch, timeline: ClockTimeline) -> None:
        self.host = host
        self.watch = watch
        self.timeline = timeline
        self.next_seq = 0
        self.evicted = 0
        self.has_events = False
        """True once the merger has received events of this session."""
        self.end: int | None = None
        """Row number from which on no row is of this session; None: unknown."""


class MergedEvents:
    """List of the merged events; belongs to the thread that ticks, as the stores do."""

    def __init__(self, window: int, rows_bytes: int = ROWS_BYTES) -> None:
        """Take the nanoseconds that an event waits for older ones, and the bytes allowed for the rows of the list."""
        self.merger = HostMerger(window)
        self._rows = MergedRows(rows_bytes)
        self._sources: list[_HostEvents | None] = []
        """Sessions by the number stored in rows; None: no row is of that session any more."""

    @property
    def first_seq(self) -> int:
        """Number of the oldest row in memory."""
        return self._rows.first

    @property
    def next_seq(self) -> int:
        """Number of the next row."""
        return self._rows.next

    def late_of(self, host: Host) -> int:
        """Return the number of a host's events that arrived too late for their place."""
        numbers = (
            number for number, source in enumerate(self._sources) if source is not None and source.host is host
        )
        return sum(self.merger.late_events.get(number, 0) for number in numbers)

    def unshown_of(self, host: Host) -> int:
        """Return the number of a host's events that its store had to drop before they could be shown."""
        return sum(source.evicted for source in self._sources if source is not None and source.host is host)

    def kept_of(self, host: Host) -> int:
        """Return the number of a host's rows in memory."""
        sources, _ = self._rows.part(self.first_seq, self.next_seq)
        numbers = [
            number for number, source in enumerate(self._sources) if source is not None and source.host is host
        ]
        return int(np.isin(sources, numbers).sum())

    def collect(self, host: Host, now: int, *, last: bool = False) -> None:
        """Take the new events of a host's store; they stay there while its clock is unknown.

        `last`: True: no events are taken later. If the clock is still unknown then, only marks of disconnects are
        taken, and the events count as not shown.
        """
        watch = host.watch
        store = watch.store if watch is not None else None
        if watch is None or store is None:
            return
        number, source = self._source_of(host, watch)
        offset = host.offset(now)
        if (offset is None and not last) or store.next_seq == source.next_seq:
            return
        first = max(store.first_seq, source.next_seq)
        source.evicted += first - source.next_seq
        run = store.columns(first, store.next_seq).run
        cuts = _cuts(store, run) if watch.outages or watch.end_mark else []
        if offset is not None:
            self.merger.add(number, self._local_times(source, run.stamps, cuts, offset.ns, now), first)
        else:
            for cut in cuts:
                self.merger.add(number, np.array([now], np.int64), first + cut)
            source.evicted += len(run.stamps) - len(cuts)
        source.next_seq = store.next_seq
        source.has_events = True

    def _local_times(
        self, source: _HostEvents, stamps: NDArray[np.int64], cuts: Sequence[int], offset: int, now: int
    ) -> NDArray[np.int64]:
        """Return times on the local clock; each disconnect mark gets the time at which events go on after it."""
        pieces: list[NDArray[np.int64]] = []
        begin = 0
        for cut in cuts:
            pieces.append(source.timeline.near(stamps[begin:cut], offset, now))
            # The mark's own stamp is older. Rows older than the window are final already.
            pieces.append(np.array([max(now - self.merger.window, source.timeline.latest)], np.int64))
            source.timeline, begin = ClockTimeline(), cut + 1  # that clock may have been set, or restarted
        pieces.append(source.timeline.near(stamps[begin:], offset, now))
        times = np.concatenate(pieces)
        for cut in cuts:
            times[cut] = times[cut:].min()
        return times

    def release(self, now: int | None) -> int:
        """Append rows for the events in final order at time `now`, or for all; return their number."""
        return self._rows.append(self.merger.flush() if now is None else self.merger.take(now))

    def let_go(self, before: int) -> None:
        """Drop the rows before a number, and their records in the hosts' stores: all of them were written out."""
        self._rows.let_go(before)
        hosts, seqs = self._rows.part(before, self.next_seq)
        for number, source in enumerate(self._sources):
            if source is not None and source.watch.store is not None:
                row_seqs = seqs[hosts == number]
                needed = [source.next_seq, self.merger.oldest(number), int(row_seqs.min()) if len(row_seqs) else None]
                source.watch.store.let_go(min(seq for seq in needed if seq is not None))

    def pass_over(self, seq: int) -> None:
        """Count a row as not shown: its host's store dropped the event while it waited for others."""
        source = self._sources[self._rows.row(seq).host]
        if source is not None:
            source.evicted += 1

    def forget(self, host: Host) -> bool:
        """Drop the session of a host that delivers no more events, if no row is of it; return whether it was dropped.

        The host must be closed, and ticked since.
        """
        for number, source in enumerate(self._sources):
            if source is None or source.host is not host:
                continue
            store = source.watch.store
            if store is not None and store.held_events:
                return False
            if source.has_events and source.end is None:
                if self.merger.holds(number):
                    return False
                source.end = self._rows.next
            if source.end is not None and self._rows.first < source.end:
                return False
            self._sources[number] = None
        return True

    def watch(self, source: int) -> Watch:
        """Return the watch of an event's session. Raises IndexError if no row is of that session any more."""
        return self._require_source(source).watch

    def rows(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the session numbers of rows in memory, for `watch`, and the sequence numbers in their stores."""
        return self._rows.part(start, stop)

    def record(self, seq: int) -> MergedEvent:
        """Return the event of a row. Raises IndexError if it was dropped, or does not exist yet."""
        row = self._rows.row(seq)
        source = self._require_source(row.host)
        store = source.watch.store
        if store is None:
            raise IndexError(seq)
        return MergedEvent(seq, row.ts, source.host.name, row.late, row.host, store.record(row.seq))

    def find(
        self, match: Callable[[MergedEvent], bool], start: int, direction: int = 1, budget: float = 0.01
    ) -> SearchStep:
        """Run one step of a search, of up to `budget` seconds; continue at `SearchStep.next` until
        `SearchStep.done`.
        """
        deadline = time.monotonic() + budget
        step = 1 if direction >= 0 else -1
        seq = max(start, self.first_seq) if step > 0 else min(start, self.next_seq - 1)
        while self.first_seq <= seq < self.next_seq:
            try:
                if match(self.record(seq)):
                    return SearchStep(seq, seq + step, True)
            except IndexError:  # its host's store had to drop it
                pass
            seq += step
            if time.monotonic() >= deadline:
                return SearchStep(None, seq, False)
        return SearchStep(None, seq, True)

    def _require_source(self, number: int) -> _HostEvents:
        source = self._sources[number]
        if source is None:
            raise IndexError(number)
        return source

    def _source_of(self, host: Host, watch: Watch) -> tuple[int, _HostEvents]:
        for number, source in enumerate(self._sources):
            if source is not None and source.watch is watch:
                return number, source
        source = _HostEvents(host, watch, ClockTimeline())
        self._sources.append(source)
        return len(self._sources) - 1, source


def _cuts(store: Store, run: RowColumns) -> list[int]:
    """Return the positions of disconnect marks among these rows, in order."""
    marks = [number for number in np.unique(run.ids).tolist() if store.event(number) == OUTAGE_EVENT]
    positions: list[int] = np.flatnonzero(np.isin(run.ids, marks)).tolist()
    return positions
