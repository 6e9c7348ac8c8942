"""The store of events a screen reads from.

`feed` takes bytes as the pump gives them, finds where the events are (50 ns each, 150 where they are few) and puts
them in one order; a record is decoded when it is asked for. Not thread-safe: feed and read it from one thread.
"""

from __future__ import annotations

import copy
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from events.batch import Batch
from events.decode import Decoder
from events.format import EventFormat
from events.losses import RingLosses
from events.record import Record
from events.store.blocks import Blocks
from events.store.cgroups import TELLING, Cgroups
from events.store.columns import Columns
from events.store.inflow import Inflow
from events.store.rates import Rates
from events.store.row_columns import RowColumns
from events.subbuffer import WORD_BITS, WORD_MASK, payload
from events.text import parse_line

_Number = TypeVar("_Number", int, float)


class EventRow(NamedTuple):
    """What is known of an event without decoding it."""

    ts: int
    cpu: int
    """-1 for text."""
    id: int
    """Of its format; see `Store.event`."""


class _Tally(NamedTuple):
    """Figures of a store at one moment."""

    totals: Counter[int]
    overrun: Counter[int]
    overrun_unknown: Counter[int]
    undecodable: int


class Store:
    """Events in order of time, addressed by sequence numbers that never shift."""

    def __init__(
        self,
        decoder: Decoder,
        limit_bytes: int = 64 << 20,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Take the formats and the most bytes to keep.

        Args:
            decoder: formats that hold from the start; `use` brings more.
            limit_bytes: oldest events are dropped when their bytes and rows take more.
            clock: seconds, for the rates.
        """
        self.decoder = decoder
        self.limit_bytes = limit_bytes
        self.cmdlines: Mapping[int, str] = {}
        """Names of tasks by thread id (saved_cmdlines)."""
        self.cgroups = Cgroups()
        """Where tasks were."""
        self.missed: Mapping[str, int | None] = {}
        """Calls that a probe missed, by `group/event`, as last read; None: the kernel does not count them."""
        self.anew: tuple[int, ...] = ()
        """Rows from which on times are of a clock that had begun again."""
        self._clock = clock
        self._blocks = Blocks()
        self._inflow = Inflow(decoder, self._blocks)
        self._rates = Rates()
        self._floor = 0
        """Rows before this one are kept, and not shown."""
        self._earlier = _Tally(Counter(), Counter(), Counter(), 0)
        """Figures as of that row."""

    def from_now_on(self) -> Store:
        """Return this store with the rows that are still to come, and none of before.

        Both take what is fed to either, so that this one has all rows for as long as memory is not wanted.
        """
        later = copy.copy(self)
        later._floor = self.next_seq
        intake = self._inflow.intake
        later._earlier = _Tally(
            Counter(self._rates.totals), Counter(intake.overrun), Counter(intake.overrun_unknown), intake.undecodable
        )
        return later

    def go_on_from(self, later: Store) -> None:
        """Know what a store `from_now_on` was told since of names and of clocks."""
        self.cmdlines, self.anew = later.cmdlines, later.anew

    def __len__(self) -> int:
        return self.next_seq - self.first_seq

    @property
    def first_seq(self) -> int:
        """Oldest row that is kept and shown."""
        return max(self._blocks.first_seq, self._floor)

    @property
    def evicted(self) -> int:
        """Rows that were to be shown and were dropped to make room."""
        return max(0, self._blocks.first_seq - self._floor)

    @property
    def next_seq(self) -> int:
        """Sequence number that the next row gets."""
        return self._blocks.next_seq

    @property
    def overrun(self) -> Mapping[int, int]:
        """Events by CPU that were overwritten before they were read."""
        return self._inflow.intake.overrun - self._earlier.overrun

    @property
    def overrun_unknown(self) -> Mapping[int, int]:
        """How many times by CPU events were overwritten and the kernel did not say how many."""
        return self._inflow.intake.overrun_unknown - self._earlier.overrun_unknown

    @property
    def lost(self) -> int:
        """Events that were overwritten before they were read, at least: one where the kernel did not say how many."""
        return sum(self.overrun.values()) + sum(self.overrun_unknown.values())

    @property
    def losses(self) -> RingLosses:
        """Where they were overwritten, as far as events behind them are kept."""
        return self._inflow.intake.losses

    @property
    def undecodable(self) -> int:
        """Pages that broke off, events without a format, lines that are no events."""
        return self._inflow.intake.undecodable - self._earlier.undecodable

    @property
    def bytes(self) -> int:
        """What the events take."""
        return self._blocks.bytes

    @property
    def latest(self) -> int:
        """Latest time stamp of all that was fed; -1: nothing was."""
        return self._inflow.latest

    def begin_anew(self) -> None:
        """What comes from now on is of a clock that has begun again: it is younger than all that is here."""
        self.flush()
        self._inflow.begin_anew()
        if self.next_seq not in self.anew:
            kept = self._blocks.first_seq
            self.anew = (*(seq for seq in self.anew if seq > kept), self.next_seq)
            self.cgroups.begin_anew(self.next_seq, kept)

    @property
    def held(self) -> int:
        """Events that wait for the next pass."""
        return self._inflow.held

    @property
    def late(self) -> int:
        """Events that came when younger ones already had their rows."""
        return self._inflow.late

    @property
    def totals(self) -> Mapping[int, int]:
        """Events since the start by id of the format."""
        totals = self._rates.totals
        # A worker may ask: a copy of a dict is one step.
        return Counter(dict(totals)) - self._earlier.totals if self._floor else totals

    def rates(self) -> dict[int, float]:
        """Events a second by id of the format, over the last two seconds."""
        return self._rates.per_second(self._clock())

    def event(self, number: int) -> str:
        """`group/name` of a format's id."""
        fmt = self.decoder.formats.get(number)
        return fmt.path if fmt else self._inflow.intake.lines.name(number)

    def by_event(self, numbers: Mapping[int, _Number]) -> dict[str, _Number]:
        """Sums by `group/name` of what is by id: an event that was armed again, or moved, has several ids."""
        found: dict[str, _Number] = {}
        for number, value in numbers.items():
            path = self.event(number)
            found[path] = found.get(path, 0) + value
        return found

    def expect_stacks(self, events: Container[str]) -> None:
        """Assign stacks that come to events of these paths, which may become more: their triggers record them."""
        self._inflow.intake.owners.carriers = events

    def use(self, formats: Mapping[int, EventFormat]) -> None:
        """Take formats that hold for what is fed from now on.

        The kernel gives the id of an event that was removed to the next one: rows that are here keep their format.
        """
        self._inflow.intake.use(formats)

    def regroup(self, old: str, new: str) -> None:
        """Show the events of one group under the name of another, which has the same from now on."""
        self._inflow.intake.regroup(old, new)

    def feed(self, *batches: Batch) -> int:
        """Take passes over all CPUs, the oldest first (several cost less at once); gives the number of new rows."""
        new = at = 0
        for boot in [number for number, batch in enumerate(batches) if batch.booted]:
            new += self._feed(batches[at : boot + 1]) + self.flush()
            self.begin_anew()
            at = boot + 1
        return new + self._feed(batches[at:])

    def _feed(self, batches: Sequence[Batch]) -> int:
        return sum(self._append(run) for run in self._inflow.feed(batches))

    def flush(self) -> int:
        """Give rows to everything that is held back; gives their number."""
        return self._append(self._inflow.flush())

    def _append(self, run: RowColumns) -> int:
        counts = np.bincount(run.ids)
        present = np.flatnonzero(counts).tolist()
        self._rates.add({number: int(counts[number]) for number in present}, self._clock())
        if not present:
            return 0
        first = self.next_seq
        self._blocks.append(run)
        if telling := [number for number in present if self.event(number) in TELLING]:
            for place in np.flatnonzero(np.isin(run.ids, telling)).tolist():
                self.cgroups.learn(self.record(first + place))
        self.let_go(0)
        return len(run.stamps)

    def let_go(self, before: int) -> None:
        """Drop what goes beyond the limit, and the rows before a sequence number, which nobody asks for any more."""
        if len(self._blocks.blocks):
            self._blocks.evict(self.limit_bytes, self._inflow.lowest_key, before)
            self._inflow.forget(self._blocks.row(self._blocks.first_seq)[0])
            self.losses.forget(self._blocks.first_seq)

    def lost_between(self, start: int, end: int) -> bool:
        """Whether an end of a call may be missing from `start` to `end`: as `events_lost`, or its probe was away."""
        return self.events_lost(start, end) or self._inflow.changes.between(start, end)

    def events_lost(self, start: int, end: int) -> bool:
        """Whether events of the times from `start` to `end` may have been lost, in the kernel or on the way."""
        return self._inflow.gaps.between(start, end)

    def lost_before(self, stamps: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether an end of a call may be missing between each of these times and the one in front of it."""
        return self._inflow.gaps.before(stamps) | self._inflow.changes.before(stamps)

    def at_time(self, ts: int) -> int:
        """Sequence number of the first row that is not older than a time stamp; `next_seq` where all are.

        Where the clock began again, of the youngest such rows.
        """
        after = self.next_seq
        for start in reversed((self.first_seq, *(seq for seq in self.anew if seq > self.first_seq))):
            if start < after and ts <= self._blocks.row(after - 1)[0]:
                return bisect_left(range(after), ts, start, key=lambda seq: self._blocks.row(seq)[0])
            after = start
        return self.next_seq

    def columns(self, start: int, stop: int) -> Columns:
        """The rows from `start` to before `stop`, as far as they are kept, by columns; `PIECE` rows are well taken
        at once.
        """
        first = max(start, self.first_seq)
        return Columns(first, self._blocks.rows(first, stop), self._blocks.slabs, self.decoder)

    def row(self, seq: int) -> EventRow:
        """Time, CPU and id of a row, without decoding it.

        Raises:
            IndexError: the row was dropped, or there is none yet.
        """
        ts, key, number = self._blocks.row(seq)
        return EventRow(ts, self._blocks.slabs[key >> WORD_BITS].cpu, number)

    def record(self, seq: int) -> Record:
        """The event of a row.

        Raises:
            IndexError: the row was dropped, or there is none yet.
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
            if line is None:  # it was one when it was indexed
                raise IndexError(seq)
            return Record(seq, ts, line.cpu, line.pid, line.comm, self.event(number), fmt, b"", line.text)
        start, length = payload(slab.data, key & WORD_MASK, self.decoder.header)
        raw = slab.data[start : start + length]
        pid = self.decoder.pid(raw)
        layout = self.decoder.layout(number)
        return Record(seq, ts, slab.cpu, pid, self.comm(pid), layout.format.path, layout.format, raw, "", layout)

    @property
    def comms(self) -> set[str]:
        """All names that `comm` may give."""
        return {*self.cmdlines.values(), "<idle>", "<...>"}

    def comm(self, pid: int) -> str:
        """Name of a task by its thread id."""
        return self.cmdlines.get(pid) or ("<idle>" if pid == 0 else "<...>")
