"""Store the events of a target for the screens, which read them by sequence number.

`feed` takes the bytes as the pump delivers them, indexes the events (50 ns each, 150 where they are few) and sorts
them by time; a record is decoded on demand. Not thread-safe: feed and read a store from one thread.
"""

from __future__ import annotations

import copy
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from events.batch import Batch
from events.clocks.boots import Boots, task_key
from events.clocks.task_names import TaskNames
from events.decode import Decoder, Value
from events.format import EventFormat, Field
from events.losses import RingLosses
from events.record import Record
from events.store.blocks import Blocks
from events.store.cgroups import CGROUP_EVENTS, Cgroups
from events.store.columns import PIECE, FormatTable, StoreColumns
from events.store.inflow import Inflow
from events.store.rates import Rates
from events.store.row_columns import RowColumns
from events.subbuffer import WORD_BITS, WORD_MASK, payload
from events.text import parse_line

_Number = TypeVar("_Number", int, float)

FileSource = Callable[[FormatTable, Field], "list[Value] | None"]
"""Function that returns for a field of events the file of each descriptor, or its number; None: it has no files."""


def _no_files(table: FormatTable, field: Field) -> None:  # noqa: ARG001 - as `Store.files_of` is called
    return None


class EventRow(NamedTuple):
    """Properties of an event that need no decoding."""

    ts: int
    cpu: int
    """CPU number; -1 for text."""
    id: int
    """Format id; see `Store.event`."""


class _Tally(NamedTuple):
    """Counters of a store at one moment."""

    totals: Counter[int]
    overrun: Counter[int]
    overrun_unknown: Counter[int]
    undecodable: int


_STEPS = 64
"""Steps of `feed` whose largest one all readers are to see."""


class Store:
    """Events in order of time, addressed by sequence numbers that never shift."""

    def __init__(
        self,
        decoder: Decoder,
        limit_bytes: int = 64 << 20,
        *,
        clock: Callable[[], float] = time.monotonic,
        boot: int = 0,
    ) -> None:
        """Take the formats and the maximum bytes to retain.

        Args:
            decoder: the initial formats; `use` adds more.
            limit_bytes: the oldest events are dropped when bytes and rows exceed it by more than three times what one
                step of `feed` brought lately.
            clock: monotonic seconds, for the rates.
            boot: number of the boot that the first events are of.
        """
        self.decoder = decoder
        self.limit_bytes = limit_bytes
        self._tasks_until = 0
        """Row before which `request_names` has looked."""
        self.cgroups = Cgroups()
        """Cgroups of the tasks over time."""
        self.files_of: FileSource = _no_files
        """Source of the files of descriptors."""
        self.missed_calls: Mapping[str, int | None] = {}
        """Calls missed by each probe, by `group/event`, as last read; None: the kernel does not count them."""
        self.boots = Boots(boot)
        """Boot of the machine by row; the trace clock was reset at each."""
        self.task_names = TaskNames(self.boots)
        """Names of the tasks, also of views of this store."""
        self._clock = clock
        self._blocks = Blocks()
        self._newest_sizes = deque[int](maxlen=_STEPS)
        """Bytes of what was added last, by step."""
        self._inflow = Inflow(decoder, self._blocks, self.boots)
        self.loss_spans = self._inflow.loss_spans
        """Time spans with missing events."""
        self._rates = Rates()
        self._floor = 0
        """First visible row; earlier rows may be retained but are hidden."""
        self._baseline = _Tally(Counter(), Counter(), Counter(), 0)
        """Counters when the first visible row was set."""

    def from_now_on(self) -> Store:
        """Return a view of this store that shows only rows still to come.

        Both share all data, whichever is fed, so this store retains all rows until memory runs out.
        """
        later = copy.copy(self)
        later._floor = self.next_seq
        intake = self._inflow.intake
        later._baseline = _Tally(
            Counter(self._rates.totals), Counter(intake.overrun), Counter(intake.overrun_unknown), intake.undecodable
        )
        return later

    def __len__(self) -> int:
        return self.next_seq - self.first_seq

    @property
    def first_seq(self) -> int:
        """Sequence number of the oldest row that is retained and visible."""
        return max(self._blocks.first_seq, self._floor)

    @property
    def evicted(self) -> int:
        """Number of visible rows dropped to free memory."""
        return max(0, self._blocks.first_seq - self._floor)

    @property
    def dropped_until(self) -> int:
        """Time of the oldest row if earlier ones were dropped to free memory; -1: none were."""
        if not self.evicted:
            return -1
        return self._blocks.row(self.first_seq)[0] if len(self) else self.latest

    @property
    def next_seq(self) -> int:
        """Sequence number that the next row will get."""
        return self._blocks.next_seq

    @property
    def overrun(self) -> Mapping[int, int]:
        """Number of events by CPU that were overwritten before they were read."""
        return self._inflow.intake.overrun - self._baseline.overrun

    @property
    def overrun_unknown(self) -> Mapping[int, int]:
        """Number of times, by CPU, that events were overwritten and the kernel did not report how many."""
        return self._inflow.intake.overrun_unknown - self._baseline.overrun_unknown

    @property
    def lost_events(self) -> int:
        """Minimum number of events overwritten before they were read, counting 1 where the kernel did not report the
        number.
        """
        return sum(self.overrun.values()) + sum(self.overrun_unknown.values())

    @property
    def losses(self) -> RingLosses:
        """Individual losses, as far back as the events after them are retained."""
        return self._inflow.intake.losses

    @property
    def undecodable(self) -> int:
        """Number of sub-buffers with invalid contents, events without a format, and text lines that are no events."""
        return self._inflow.intake.undecodable - self._baseline.undecodable

    @property
    def bytes(self) -> int:
        """Bytes that the events occupy."""
        return self._blocks.bytes

    @property
    def latest(self) -> int:
        """Latest time stamp of all input; -1 before the first event."""
        return self._inflow.latest

    def begin_anew(self) -> None:
        """Handle a reboot: all later input follows the existing rows, whatever its time stamps, and its addresses
        have the names of another boot.
        """
        self.flush()
        if self.next_seq not in self.boots.starts[-1:]:
            self.boots.begin(self.next_seq)
            self.task_names.unknown.clear()
            self.cgroups.begin_anew(self.next_seq, self._blocks.first_seq)
        self._inflow.begin_anew(self.boots.latest)

    @property
    def held_events(self) -> int:
        """Number of events held back for the next pass."""
        return self._inflow.held_events

    @property
    def awaits_stack(self) -> bool:
        """True if an event that is held back may still get its stack, which the kernel writes behind it."""
        return bool(self.held_events) and self._inflow.intake.awaits_stack

    @property
    def late_events(self) -> int:
        """Number of events that arrived after later ones had been added."""
        return self._inflow.late_events

    @property
    def totals(self) -> Mapping[int, int]:
        """Number of events since the start by format id."""
        totals = self._rates.totals
        # A worker thread may read this: copying a dict is atomic.
        return Counter(dict(totals)) - self._baseline.totals if self._floor else totals

    def rates(self) -> dict[int, float]:
        """Return events per second by format id, averaged over the last two seconds."""
        return self._rates.per_second(self._clock())

    def event(self, number: int) -> str:
        """Return `group/name` of a format id."""
        fmt = self.decoder.formats.get(number)
        return fmt.path if fmt else self._inflow.intake.lines.name(number)

    def by_event(self, numbers: Mapping[int, _Number]) -> dict[str, _Number]:
        """Sum values by `group/name` instead of format id: an event that was armed again, or moved, has several
        ids.
        """
        found: dict[str, _Number] = {}
        for number, value in numbers.items():
            path = self.event(number)
            found[path] = found.get(path, 0) + value
        return found

    def expect_stacks(self, events: Container[str]) -> None:
        """Attach stacks to events of these paths, whose triggers record stacks; the container may grow later."""
        self._inflow.intake.owners.carriers = events

    def use(self, formats: Mapping[int, EventFormat]) -> None:
        """Set formats for later input.

        The kernel reuses the id of a removed event: existing rows keep their format.
        """
        self._inflow.intake.use(formats)

    def regroup(self, old: str, new: str) -> None:
        """Rename the group of existing events from `old` to `new`, which has the same events from now on."""
        self._inflow.intake.regroup(old, new)

    def feed(self, *batches: Batch) -> int:
        """Add passes over all CPUs, the oldest first (several in one call cost less); return the number of new
        rows.
        """
        new = at = 0
        before = self._blocks.bytes
        for end in [place + 1 for place, batch in enumerate(batches) if batch.booted or batch.newest_task]:
            new += self._feed(batches[at:end])
            if (newest := batches[end - 1].newest_task) is not None:
                self.loss_spans.latest.gaps.add_newest_task(max(self.latest, 0), newest)
            if batches[end - 1].booted:
                new += self.flush()
                self.begin_anew()
            at = end
        new += self._feed(batches[at:])
        self._newest_sizes.append(self._blocks.bytes - before)
        self.let_go(0)
        return new

    def _feed(self, batches: Sequence[Batch]) -> int:
        return sum(self._append(run) for run in self._inflow.feed(batches))

    def hold_after(self, ts: int) -> None:
        """Hold events from a time on, as older lines of a command may still come; at the end of time none is held."""
        self._inflow.hold_after(ts)

    def flush(self) -> int:
        """Add the events that are held back, and return their number."""
        return self._append(self._inflow.flush())

    def _append(self, run: RowColumns) -> int:
        counts = np.bincount(run.ids)
        present = np.flatnonzero(counts).tolist()
        self._rates.add({number: int(counts[number]) for number in present}, self._clock())
        if not present:
            return 0
        first = self.next_seq
        self._blocks.append(run)
        if task_events := [number for number in present if self.event(number) in CGROUP_EVENTS]:
            for place in np.flatnonzero(np.isin(run.ids, task_events)).tolist():
                self.cgroups.learn(self.record(first + place))
        return len(run.stamps)

    def let_go(self, before: int) -> None:
        """Drop the oldest rows beyond the memory limit, and the rows before a sequence number that are no longer
        needed.
        """
        if len(self._blocks.blocks):
            # Readers see all of what came last, however large one pass is: its rows come with the next pass, and some
            # readers are a step behind.
            limit = self.limit_bytes + 3 * max(self._newest_sizes, default=0)
            self._blocks.evict(limit, self._inflow.lowest_key, before)
            first = self._blocks.first_seq
            self.loss_spans.forget(first, self._blocks.row(first)[0])
            self.losses.forget(first)

    def at_time(self, ts: int) -> int:
        """Return the sequence number of the first row at or after time `ts`; `next_seq` if there is none.

        If the trace clock was reset, the latest such row is returned.
        """
        after = self.next_seq
        for start in reversed((self.first_seq, *(seq for seq in self.boots.starts if seq > self.first_seq))):
            if start < after and ts <= self._blocks.row(after - 1)[0]:
                return bisect_left(range(after), ts, start, key=lambda seq: self._blocks.row(seq)[0])
            after = start
        return self.next_seq

    def rows_at(self, stamps: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
        """Return for each of some rising times the first row from `start` on that is not older; `stop` where none is.

        The rows from `start` to before `stop` are retained, and of one clock.
        """
        return self._blocks.rows_at(stamps, start, stop)

    def format_ids(self, start: int, stop: int) -> NDArray[np.int32]:
        """Return the format ids (see `event`) of the retained rows from `start` to before `stop`; read-only."""
        return self._blocks.rows(max(start, self.first_seq), stop).ids

    def columns(self, start: int, stop: int) -> StoreColumns:
        """Return the columns of the rows from `start` to before `stop` that are retained; up to `PIECE` rows per call
        are most efficient.
        """
        first = max(start, self.first_seq)
        return StoreColumns(first, self._blocks.rows(first, stop), self._blocks.slabs, self.decoder)

    def stacks(self, keys: NDArray[np.int64], paths: Container[str]) -> tuple[NDArray[np.int64], StoreColumns]:
        """Return the places of the events that have a stack, and the first stack of each as columns in that order.

        Args:
            keys: keys of the events (`FormatTable.keys`).
            paths: names of the events that hold stacks.
        """
        ids = [number for number, fmt in self.decoder.formats.items() if fmt.path in paths]
        places, run = self._blocks.stacks_of_events(keys, ids)
        return places, StoreColumns(0, run, self._blocks.slabs, self.decoder)

    def row(self, seq: int) -> EventRow:
        """Return time, CPU and format id of a row, without decoding it.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        ts, key, number = self._blocks.row(seq)
        return EventRow(ts, self._blocks.slabs[key >> WORD_BITS].cpu, number)

    def record(self, seq: int) -> Record:
        """Return the decoded event of a row, with its stacks.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        ts, key, number = self._blocks.row(seq)
        record = self._record(seq, ts, key, number)
        stacks = self._blocks.stacks_of(key)
        if not stacks:
            return record
        return replace(record, stacks=tuple(self._record(seq, *stack) for stack in stacks))

    def _record(self, seq: int, ts: int, key: int, number: int) -> Record:
        slab = self._blocks.slabs[key >> WORD_BITS]
        if slab.text:
            fmt = self.decoder.formats.get(number)
            text = self._inflow.intake.lines.event_text(slab.data, key & WORD_MASK)
            line = parse_line(text)
            if line is None:  # cannot happen: the line was parsed when it was indexed
                raise IndexError(seq)
            return Record(seq, ts, line.cpu, line.pid, line.comm, self.event(number), fmt, b"", line.text)
        start, length = payload(slab.data, key & WORD_MASK, self.decoder.header)
        raw = slab.data[start : start + length]
        pid = self.decoder.pid(raw)
        layout = self.decoder.layout(number)
        comm = self.task_names.name(task_key(pid, layout.format.boot))
        return Record(seq, ts, slab.cpu, pid, comm, layout.format.path, layout.format, raw, "", layout)

    def request_names(self) -> None:
        """Request the names of the tasks of new rows; of many rows the latest."""
        columns = self.columns(max(self._tasks_until, self.next_seq - PIECE), self.next_seq)
        for table in columns.tables.values():
            for key in np.unique(table.task_keys).tolist():
                self.task_names.name(key)
        self._tasks_until = self.next_seq
