"""Turn passes over the CPUs into rows in one order by time, and track time spans with missing events."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from events.batch import Batch
from events.clocks.boots import Boots
from events.decode import Decoder
from events.store.blocks import Blocks
from events.store.cpu_merge import Merger
from events.store.gaps import BootLossSpans
from events.store.intake import ChunkContents, Intake
from events.store.row_columns import EMPTY, RowColumns, concatenate_rows


class Inflow:
    """Input side of a `Store`: indexes batches, merges the CPUs, and notes gaps."""

    def __init__(self, decoder: Decoder, blocks: Blocks, boots: Boots) -> None:
        """Take the decoder with the formats, the blocks that store the bytes, and the boots of the rows."""
        self.loss_spans = BootLossSpans(boots)
        """Time spans with missing events."""
        self.intake = Intake(decoder, blocks, boots.latest, self.loss_spans)
        self.late_events = 0
        """Events that arrived after later ones had been returned."""
        self._merger = Merger()
        self._last_ts = 0
        self._gap_start: int | None = None
        """Time after the last event before dropped passes, until that of the next event is known; None: none were. A
        call that ends with the last event is complete."""

    @property
    def held_events(self) -> int:
        """Number of events held back for the next pass."""
        return len(self._merger) + self.intake.lines.held_events

    @property
    def latest(self) -> int:
        """Latest time stamp of all input; -1 before the first event."""
        return self._merger.latest

    @property
    def lowest_key(self) -> int | None:
        """Lowest key of the held events; None if none are held."""
        return self._merger.lowest_key

    def hold_after(self, ts: int) -> None:
        """Hold events from a time on, as older lines of a command may still come."""
        self._merger.ceiling = ts

    def feed(self, batches: Sequence[Batch]) -> Iterator[RowColumns]:
        """Take passes, the oldest first, and yield their rows. The caller must store each result before requesting
        the next.
        """
        remaining = iter(self.intake.take(batches))
        for batch in batches:
            pass_contents = [next(remaining) for _ in batch.chunks]
            if not batch.is_pass:
                if batch.after_gap and self._gap_start is None:
                    self._gap_start = self._merger.latest + 1
                self._merger.hold([contents.run for contents in pass_contents])
                yield EMPTY
                continue
            yield self._merge(batch, pass_contents)
            # The kernel has already merged the text of trace_pipe.
            merged = pass_contents and all(chunk.text and chunk.cpu < 0 for chunk in batch.chunks)
            if merged and all(contents.final == contents.end for contents in pass_contents):
                yield self._count_late(self._merger.flush())

    def flush(self) -> RowColumns:
        """Return all rows that are held back."""
        all_contents = self.intake.flush()
        ends = [contents.end for contents in all_contents if contents.end >= 0]
        early = self._merger.merge([contents.run for contents in all_contents], ends, ends, True)
        return self._count_late(concatenate_rows([early, self._merger.flush()]))

    def begin_anew(self, boot: int) -> None:
        """Handle a reboot: later input uses a new clock. Call `flush` first."""
        self._merger = Merger()
        self._last_ts = 0
        self._gap_start = None  # a reboot counts as a gap anyway
        self.loss_spans.begin_anew()
        self.intake.begin_anew(boot)

    def _merge(self, batch: Batch, pass_contents: list[ChunkContents]) -> RowColumns:
        runs: dict[int, list[RowColumns]] = {}
        spans = self.loss_spans.latest
        ends: list[int] = []
        finals: list[int] = []
        before_open: list[int] = []
        for chunk, (run, end, final) in zip(batch.chunks, pass_contents, strict=True):
            if end >= 0:
                ends.append(end)
                finals.append(final)
            if chunk.is_being_written:
                before_open.append(final)
            if len(run.ids):
                runs.setdefault(chunk.cpu, []).append(run)
        if batch.changed and not batch.chunks:
            spans.changes.add(self._merger.latest + 1, self._merger.latest + 1)
        elif batch.after_gap and not batch.chunks:
            spans.gaps.add(self._merger.latest + 1, self._merger.latest + 1)
            if self._merger.latest >= 0:
                spans.removals.append(self._merger.latest + 1)
        elif batch.after_gap and self._gap_start is None:
            self._gap_start = self._merger.latest + 1
        if self._gap_start is not None and ends:
            spans.gaps.add(self._gap_start, max(ends))
            self._gap_start = None
        per_cpu = [concatenate_rows(cpu_runs) for cpu_runs in runs.values()]
        return self._count_late(self._merger.merge(per_cpu, ends, finals, batch.drained, before_open))

    def _count_late(self, run: RowColumns) -> RowColumns:
        """Count the rows that arrived after later ones."""
        if not len(run.stamps):
            return EMPTY
        if run.stamps[0] < self._last_ts:
            self.late_events += int(np.searchsorted(run.stamps, self._last_ts))
        self._last_ts = max(self._last_ts, int(run.stamps[-1]))
        return run
