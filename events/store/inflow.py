"""From passes over the CPUs to rows in one order: what waits for events of other CPUs, and where some were lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from events.batch import Batch
from events.decode import Decoder
from events.store.blocks import Blocks
from events.store.cpu_merge import Merger
from events.store.gaps import Gaps
from events.store.intake import ChunkContents, Intake
from events.store.row_columns import EMPTY, RowColumns, joined


class Inflow:
    """What a `Store` takes in."""

    def __init__(self, decoder: Decoder, blocks: Blocks) -> None:
        """Take the formats, and where the bytes go."""
        self.intake = Intake(decoder, blocks)
        self.changes = Gaps()
        """When probes were taken away or changed: of their calls ends are missing, and no other event."""
        self.late = 0
        """Events that came when younger ones were given already."""
        self._merger = Merger()
        self._last_ts = 0
        self._gap_from: int | None = None
        """Latest time before passes that were dropped, until it is known where it goes on."""

    @property
    def gaps(self) -> Gaps:
        """When events were lost."""
        return self.intake.gaps

    @property
    def held(self) -> int:
        """Events that wait for the next pass."""
        return len(self._merger) + self.intake.lines.held

    @property
    def latest(self) -> int:
        """Latest time stamp of all that was fed; -1: nothing was."""
        return self._merger.latest

    @property
    def lowest_key(self) -> int | None:
        """Of the events that wait; None: none do."""
        return self._merger.lowest_key

    def feed(self, batches: Sequence[Batch]) -> Iterator[RowColumns]:
        """Take passes, the oldest first; gives rows, which are to be kept before the next are asked for."""
        taken = iter(self.intake.take(batches))
        for batch in batches:
            held = [next(taken) for _ in batch.chunks]
            yield self._merge(batch, held)
            # The kernel has merged the text of trace_pipe already.
            merged = held and all(chunk.text and chunk.cpu < 0 for chunk in batch.chunks)
            if merged and all(one.final == one.end for one in held):
                yield self._in_time(self._merger.flush())

    def flush(self) -> RowColumns:
        """Everything that is held back."""
        taken = self.intake.flush()
        ends = [one.end for one in taken if one.end >= 0]
        early = self._merger.merge([one.run for one in taken], ends, ends, True)
        return self._in_time(joined([early, self._merger.flush()]))

    def begin_anew(self) -> None:
        """What comes from now on is of a clock that has begun again; nothing is held back any more."""
        self._merger = Merger()
        self._last_ts = 0
        self._gap_from = None  # the boot is a gap
        self.intake.begin_anew()
        self.changes.begin_anew()

    def forget(self, ts: int) -> None:
        """Nothing is asked any more of what was before a time."""
        for spans in (self.gaps, self.changes):
            if spans and ts <= self._merger.latest:  # else it is of the clock before
                spans.forget(ts)

    def _merge(self, batch: Batch, taken: list[ChunkContents]) -> RowColumns:
        runs: dict[int, list[RowColumns]] = {}
        ends: dict[int, int] = {}
        finals: dict[int, int] = {}
        for chunk, (run, end, final) in zip(batch.chunks, taken, strict=True):
            if end >= 0:
                ends[chunk.cpu], finals[chunk.cpu] = end, final
            if len(run.ids):
                runs.setdefault(chunk.cpu, []).append(run)
        if batch.changed and not batch.chunks:
            self.changes.add(self._merger.latest + 1, self._merger.latest + 1)
        elif batch.after_gap and not batch.chunks:
            self.gaps.add(self._merger.latest, self._merger.latest)
        elif batch.after_gap and self._gap_from is None:
            self._gap_from = self._merger.latest
        if self._gap_from is not None and ends:
            self.gaps.add(self._gap_from, max(ends.values()))
            self._gap_from = None
        own = [joined(of_cpu) for of_cpu in runs.values()]
        return self._in_time(self._merger.merge(own, ends.values(), finals.values(), batch.drained))

    def _in_time(self, run: RowColumns) -> RowColumns:
        """Count what comes too late."""
        if not len(run.stamps):
            return EMPTY
        if run.stamps[0] < self._last_ts:
            self.late += int(np.searchsorted(run.stamps, self._last_ts))
        self._last_ts = max(self._last_ts, int(run.stamps[-1]))
        return run
