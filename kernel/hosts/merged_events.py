"""The events of several hosts as one list; the bytes stay in each host's store, and are decoded when looked at."""

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
from events.store.outage_mark import EVENT

if TYPE_CHECKING:
    from events.store.row_columns import RowColumns
    from events.store.store import Store
    from kernel.hosts.host import Host
    from kernel.watch.watch import Watch


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
    """Number of the session it is of, for `MergedEvents.watch`."""
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

    def __init__(self, host: Host, watch: Watch, timeline: ClockTimeline) -> None:
        self.host = host
        self.watch = watch
        self.timeline = timeline
        self.next_seq = 0
        self.unshown = 0
        self.given = False
        """The merger had events of it."""
        self.end: int | None = None
        """No row from here on is of it; None: not known."""


class MergedEvents:
    """Belongs to the thread that ticks, as the stores do."""

    def __init__(self, window: int, rows_bytes: int = ROWS_BYTES) -> None:
        """Take the nanoseconds that an event waits, and what the rows of the list may take."""
        self.merger = HostMerger(window)
        self._rows = MergedRows(rows_bytes)
        self._sources: list[_Source | None] = []
        """By the number that rows have; None: no row is of it any more."""

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
        numbers = (number for number, one in enumerate(self._sources) if one is not None and one.host is host)
        return sum(self.merger.late.get(number, 0) for number in numbers)

    def unshown_of(self, host: Host) -> int:
        """Events of a host that its store had to drop before they could be shown."""
        return sum(one.unshown for one in self._sources if one is not None and one.host is host)

    def kept_of(self, host: Host) -> int:
        """Return the number of rows of a host that are kept."""
        sources, _ = self._rows.part(self.first_seq, self.next_seq)
        numbers = [number for number, one in enumerate(self._sources) if one is not None and one.host is host]
        return int(np.isin(sources, numbers).sum())

    def collect(self, host: Host, now: int, *, last: bool = False) -> None:
        """Take what is new in a host's store; as long as its clock is not known it stays there.

        `last`: nothing is taken later. Of a clock that is not known then, marks of a cut line are taken, and the
        events count as not shown.
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
        source.unshown += first - source.next_seq
        run = store.columns(first, store.next_seq).run
        cuts = _cuts(store, run) if watch.cuts or watch.end_mark else []
        if offset is not None:
            self.merger.add(number, self._near(source, run.stamps, cuts, offset.ns, now), first)
        else:
            for cut in cuts:
                self.merger.add(number, np.array([now], np.int64), first + cut)
            source.unshown += len(run.stamps) - len(cuts)
        source.next_seq = store.next_seq
        source.given = True

    def _near(
        self, source: _Source, stamps: NDArray[np.int64], cuts: Sequence[int], offset: int, now: int
    ) -> NDArray[np.int64]:
        """Times on our clock; each mark of a cut line stands where events go on after it."""
        pieces: list[NDArray[np.int64]] = []
        begin = 0
        for cut in cuts:
            pieces.append(source.timeline.near(stamps[begin:cut], offset, now))
            # The mark's own stamp is of before. Rows that are as old as the window are out already.
            pieces.append(np.array([max(now - self.merger.window, source.timeline.latest)], np.int64))
            source.timeline, begin = ClockTimeline(), cut + 1  # that clock may have been set, or have begun again
        pieces.append(source.timeline.near(stamps[begin:], offset, now))
        near = np.concatenate(pieces)
        for cut in cuts:
            near[cut] = near[cut:].min()
        return near

    def release(self, now: int | None) -> int:
        """Give rows to what is final at a time, or to everything; gives their number."""
        return self._rows.append(self.merger.flush() if now is None else self.merger.take(now))

    def let_go(self, before: int) -> None:
        """Drop the rows before a number, and what the hosts' stores keep of them: all of it was given out."""
        self._rows.let_go(before)
        hosts, seqs = self._rows.part(before, self.next_seq)
        for number, source in enumerate(self._sources):
            if source is not None and source.watch.store is not None:
                shown = seqs[hosts == number]
                wanted = [source.next_seq, self.merger.oldest(number), int(shown.min()) if len(shown) else None]
                source.watch.store.let_go(min(seq for seq in wanted if seq is not None))

    def pass_over(self, seq: int) -> None:
        """Count a row as not shown: its host's store dropped the event while it waited for others."""
        source = self._sources[self._rows.row(seq).host]
        if source is not None:
            source.unshown += 1

    def forget(self, host: Host) -> bool:
        """Let go of the session of a host that gives nothing more, where no row is of it; whether that was so.

        The host was closed, and ticked since.
        """
        for number, source in enumerate(self._sources):
            if source is None or source.host is not host:
                continue
            store = source.watch.store
            if store is not None and store.held:
                return False
            if source.given and source.end is None:
                if self.merger.holds(number):
                    return False
                source.end = self._rows.next
            if source.end is not None and self._rows.first < source.end:
                return False
            self._sources[number] = None
        return True

    def watch(self, source: int) -> Watch:
        """The session that an event is of. Raises IndexError where no row is of it any more."""
        return self._known(source).watch

    def rows(self, start: int, stop: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the sessions of rows that are kept, for `watch`, and the sequence numbers in their stores."""
        return self._rows.part(start, stop)

    def record(self, seq: int) -> MergedEvent:
        """The event of a row. Raises IndexError where it was dropped, or there is none yet."""
        row = self._rows.row(seq)
        source = self._known(row.host)
        store = source.watch.store
        if store is None:
            raise IndexError(seq)
        return MergedEvent(seq, row.ts, source.host.name, row.late, row.host, store.record(row.seq))

    def find(
        self, match: Callable[[MergedEvent], bool], start: int, direction: int = 1, budget: float = 0.01
    ) -> SearchStep:
        """One step of a search that goes on at `SearchStep.next` until `SearchStep.done`; takes up to `budget`
        seconds.
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

    def _known(self, number: int) -> _Source:
        source = self._sources[number]
        if source is None:
            raise IndexError(number)
        return source

    def _source_of(self, host: Host, watch: Watch) -> tuple[int, _Source]:
        for number, source in enumerate(self._sources):
            if source is not None and source.watch is watch:
                return number, source
        made = _Source(host, watch, ClockTimeline())
        self._sources.append(made)
        return len(self._sources) - 1, made


def _cuts(store: Store, run: RowColumns) -> list[int]:
    """Which of these rows are marks of a cut line, in order."""
    marks = [number for number in np.unique(run.ids).tolist() if store.event(number) == EVENT]
    found: list[int] = np.flatnonzero(np.isin(run.ids, marks)).tolist()
    return found
