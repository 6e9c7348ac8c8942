"""Index the bytes of a stream as rows that point into sub-buffers, and count missed, lost and unreadable events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from events.batch import Batch, Chunk
from events.decode import Decoder
from events.format import EventFormat
from events.losses import Loss, RingLosses
from events.names.event_names import regrouped_path
from events.store import page_headers, page_walk
from events.store.blocks import Blocks, Slab
from events.store.gaps import BootLossSpans
from events.store.row_columns import EMPTY, RowColumns, concatenate_rows, rows_from_lists
from events.store.stack_owners import StackOwners
from events.store.text_lines import FIRST_OWN_ID, LineIndex
from events.subbuffer import WORD_BITS, commit, count_overwritten, stamp, trim

_MIN_VECTORIZED = 8
"""Number of sub-buffers from which vectorized reading of all headers is faster than a loop."""
_SLAB_BYTES = 1 << 20
"""Maximum bytes of sub-buffers in one slab; at least one sub-buffer."""


class ChunkContents(NamedTuple):
    """Events of one chunk."""

    run: RowColumns
    """Events that have a format, in the order of their CPU; also stacks whose event could not be determined."""
    end: int
    """Time of the last event, with or without a format; -1: the chunk has no event."""
    final: int
    """Time up to which events are complete: just before the last one if its stack may still arrive, otherwise `end`.
    """


class _PlacedChunk(NamedTuple):
    """Chunk whose bytes were added to slabs."""

    first: int
    """Number of the first slab."""
    slabs: int
    parts: list[page_walk.PageGroup]
    """Sub-buffers still to be indexed; empty for text."""
    run: RowColumns
    """Indexed events of text; empty for sub-buffers."""
    missing: list[tuple[int, int]]
    """Key of the first word and time of each sub-buffer before which events were overwritten."""


class Intake:
    """Indexer that stores the bytes in `blocks` and returns the rows in the order of their CPU."""

    def __init__(self, decoder: Decoder, blocks: Blocks, boot: int, loss_spans: BootLossSpans) -> None:
        decoder.formats |= {number: _of_boot(fmt, boot) for number, fmt in decoder.formats.items()}
        self.lines = LineIndex(decoder.formats)
        self.overrun: Counter[int] = Counter()
        self.overrun_unknown: Counter[int] = Counter()
        self.undecodable = 0
        self._loss_spans = loss_spans
        self.losses = RingLosses()
        """Individual losses reported by the ring buffer."""
        self.owners = StackOwners(decoder, blocks, self.lines)
        self._awaiting: set[int] = set()
        """CPUs whose last event may still get its stack."""
        self._read_to: dict[tuple[int, int], int] = {}
        """Time of the last event by CPU and number of its ring buffer."""
        self._missing: list[tuple[int, int]] = []
        """Collects `_PlacedChunk.missing` for the current chunk."""
        self._decoder = decoder
        self._blocks = blocks
        self._boot = boot
        self._renumbered: dict[int, int] = {}
        """Own format number by kernel id, for ids that the kernel reused."""

    def use(self, formats: Mapping[int, EventFormat]) -> None:
        """Take formats for later input; see `Store.use`."""
        all_formats = self._decoder.formats
        for number, given in formats.items():
            fmt = _of_boot(given, self._boot)
            current = self._number(number, fmt)
            all_formats.setdefault(current, fmt)
            self.lines.use(current, fmt)

    def _number(self, number: int, fmt: EventFormat) -> int:
        """Return the own number for a format: that of an equal format of the same boot, else the kernel's id if
        unused, else a new number.
        """
        formats = self._decoder.formats
        usual = self._renumbered.get(number, number)
        equal = (
            candidate
            for candidate in (usual, *formats)
            if candidate in formats
            and formats[candidate].boot == fmt.boot
            and replace(formats[candidate], id=fmt.id) == fmt
        )
        found = next(equal, number if number not in formats else FIRST_OWN_ID + len(formats))
        self._renumbered.pop(number, None)
        if found != number:
            self._renumbered[number] = found
        return found

    def regroup(self, old: str, new: str) -> None:
        """Rename a group; see `Store.regroup`. Drop the own numbers of the kernel's ids in that group."""
        formats = self._decoder.formats
        of_group: dict[int, EventFormat] = {}
        for number, fmt in formats.items():
            if (path := regrouped_path(fmt.path, old, new)) != fmt.path:
                system, _, name = path.partition("/")
                of_group[number] = replace(fmt, system=system, name=name)
        self._renumbered = {raw: own for raw, own in self._renumbered.items() if own not in of_group}
        formats |= of_group

    @property
    def awaits_stack(self) -> bool:
        """True if the last event of a CPU has a trigger whose stack did not come with it."""
        return bool(self._awaiting)

    def begin_anew(self, boot: int) -> None:
        """Handle a reboot: later input uses a new clock, and formats of this boot."""
        self._awaiting.clear()
        self._read_to.clear()
        self.lines.begin_anew()
        self.owners.begin_anew()
        if boot != self._boot:
            self._boot, formats = boot, self._decoder.formats
            own = {number: number for number in formats if number < FIRST_OWN_ID} | self._renumbered
            self.use({number: formats[current] for number, current in own.items()})

    def take(self, batches: Sequence[Batch]) -> list[ChunkContents]:
        """Return the contents of each chunk of some passes."""
        chunks: list[Chunk] = []
        placed: list[_PlacedChunk] = []
        for batch in batches:
            if batch.after_gap:
                self.owners.break_at(self._blocks.next_slab << WORD_BITS)
            chunks += batch.chunks
            gap = batch.after_gap
            placed += [
                self._place_text(chunk, after_gap=gap) if chunk.text else self._place(chunk) for chunk in batch.chunks
            ]
        return self._take(chunks, placed)

    def flush(self) -> list[ChunkContents]:
        """Return the event held back for a possible continuation of its text, if any; it is complete."""
        chunk = Chunk(-1, b"", text=True)
        return self._take([chunk], [self._place_text(chunk, final=True)]) if self.lines.held_events else []

    def _take(self, chunks: Sequence[Chunk], placed_chunks: Sequence[_PlacedChunk]) -> list[ChunkContents]:
        # Index all chunks in one call: indexing dominates the run time.
        runs, broken = page_walk.index(
            [part for placed in placed_chunks for part in placed.parts], self._decoder.header
        )
        self.undecodable += broken
        contents, ends, at = [], [], 0
        for chunk, placed in zip(chunks, placed_chunks, strict=True):
            run = placed.run if chunk.text else concatenate_rows(runs[at : at + len(placed.parts)])
            at += len(placed.parts)
            self._note_gaps((chunk.cpu, chunk.ring), run, placed.missing)
            if broken and len(run.stamps):  # the position of the damage is unknown
                self._loss_spans.latest.gaps.add(int(run.stamps[0]), int(run.stamps[-1]))
                for part in placed.parts:
                    for bound in part.bounds:
                        self.owners.break_at(part.base | bound >> 2, chunk.cpu)
            contents.append(self._with_formats(run, chunk.text))
            if not len(contents[-1].ids):
                self._blocks.discard(placed.first, placed.first + placed.slabs)
            ends.append(int(run.stamps[-1]) if len(run.stamps) else -1)
        cpus = [-1 if chunk.text else chunk.cpu for chunk in chunks]
        remaining, waiting = self.owners.take(cpus, contents)
        heard = {cpu for cpu, own in zip(cpus, contents, strict=True) if len(own.ids)}
        self._awaiting = (self._awaiting - heard) | waiting
        last = {cpu: place for place, cpu in enumerate(cpus) if cpu in waiting and len(contents[place].ids)}
        finals = list(ends)
        for place in last.values():
            finals[place] = int(contents[place].stamps[-1]) - 1
        return [ChunkContents(*placed) for placed in zip(remaining, ends, finals, strict=True)]

    def _note_gaps(self, ring: tuple[int, int], run: RowColumns, missing: list[tuple[int, int]]) -> None:
        """Record a gap before each sub-buffer of a ring buffer with lost events: after the last event read before it.

        The gap starts after that event, so a call that ends with it is complete.
        """
        for key, ts in missing:
            place = int(np.searchsorted(run.keys, key))
            before = int(run.stamps[place - 1]) if place else self._read_to.get(ring, 0)
            self._loss_spans.latest.gaps.add(min(before + 1, ts), ts)
        if len(run.stamps):
            self._read_to[ring] = int(run.stamps[-1])

    def _place(self, chunk: Chunk) -> _PlacedChunk:
        """Add the sub-buffers of a chunk to slabs."""
        header, size = self._decoder.header, self._decoder.header.page_size
        step = max(1, _SLAB_BYTES // size) * size
        first = self._blocks.next_slab
        parts = []
        for at in range(0, len(chunk.data), step):
            data = chunk.data[at : at + step]
            bounds: Sequence[int] = range(0, len(data) + 1, size)
            if len(bounds) < _MIN_VECTORIZED or bounds[-1] != len(data) or not page_headers.is_dense(data, header):
                pages = self._trimmed_pages(chunk.cpu, data)
                data, bounds = b"".join(pages), [0, *accumulate(map(len, pages))]
            else:
                self._count_dense(chunk.cpu, data)
            if data:
                number = self._blocks.add_slab(Slab(chunk.cpu, data))
                parts.append(page_walk.PageGroup(data, bounds, number << WORD_BITS))
        missing, self._missing = self._missing, []
        return _PlacedChunk(first, len(parts), parts, EMPTY, missing)

    def _trimmed_pages(self, cpu: int, data: bytes) -> list[bytes]:
        """Return the sub-buffers that have data, each trimmed to its data."""
        header = self._decoder.header
        size = header.page_size
        pages: list[bytes] = []
        for at in range(0, len(data), size):
            page = data[at : at + size]
            if len(page) < header.data_offset:
                self.undecodable += 1
                continue
            self._count_missed(cpu, page, sum(map(len, pages)))
            if commit(page, header):
                pages.append(trim(page, header))
        return pages

    def _count_dense(self, cpu: int, data: bytes) -> None:
        """Count missed events of sub-buffers that are stored unchanged."""
        header = self._decoder.header
        size = header.page_size
        for number in page_headers.pages_after_loss(data, header):
            self._count_missed(cpu, data[number * size : (number + 1) * size], number * size)

    def _count_missed(self, cpu: int, page: bytes, at: int) -> None:
        """Count the events overwritten before a sub-buffer.

        Args:
            cpu: CPU of the sub-buffer.
            page: bytes of the sub-buffer.
            at: offset of its first byte in the next slab.
        """
        number = count_overwritten(page, self._decoder.header)
        if number:
            key = self._blocks.next_slab << WORD_BITS | at >> 2
            self.owners.break_at(key, cpu)
            self._missing.append((key, stamp(page, self._decoder.header)))
            self.losses.add(Loss(stamp(page, self._decoder.header), cpu, max(number, -1), self._blocks.next_seq))
        if number > 0:
            self.overrun[cpu] += number
        elif number < 0:
            self.overrun_unknown[cpu] += 1

    def _place_text(self, chunk: Chunk, *, final: bool = False, after_gap: bool = False) -> _PlacedChunk:
        first = self._blocks.next_slab
        found = self.lines.index(chunk.data, first, final=final, after_gap=after_gap)
        for key in found.breaks:
            self.owners.break_at(key, -1)
        for text in found.pieces:
            self._blocks.add_slab(Slab(-1, text, text=True))
        self.overrun.update(found.lost_counts)
        self.overrun_unknown.update(found.uncounted_losses)
        self.undecodable += found.events.undecodable
        for start, end in found.gaps:
            self._loss_spans.latest.gaps.add(start, end)
        for ts, cpu, number in found.losses:
            self.losses.add(Loss(ts, cpu, number, self._blocks.next_seq))
        return _PlacedChunk(first, len(found.pieces), [], rows_from_lists(*found.events[:3]), [])

    def _with_formats(self, run: RowColumns, text: bool) -> RowColumns:
        """Replace reused kernel ids by the own numbers, and drop events that have no format."""
        present = np.flatnonzero(np.bincount(run.ids)).tolist()
        if self._renumbered and not text:
            reused = [number for number in present if number in self._renumbered]
            places = [run.ids == number for number in reused]
            for number, place in zip(reused, places, strict=True):
                run.ids[place] = self._renumbered[number]
            present = np.flatnonzero(np.bincount(run.ids)).tolist() if reused else present
        unknown = [n for n in present if n not in self._decoder.formats and not self.lines.name(n)]
        if not unknown:
            return run
        keep = ~np.isin(run.ids, unknown)
        self.undecodable += len(run.ids) - int(keep.sum())
        return run.of(keep)


def _of_boot(fmt: EventFormat, boot: int) -> EventFormat:
    """Return a format as that of a boot's events."""
    return fmt if fmt.boot == boot else replace(fmt, boot=boot)
