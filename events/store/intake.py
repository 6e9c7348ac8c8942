"""Bytes of a stream into rows that point into pages: what is missed, lost or unreadable is counted here."""

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
from events.store.gaps import Gaps
from events.store.row_columns import EMPTY, RowColumns, joined, run_of
from events.store.stack_owners import StackOwners
from events.store.text_lines import FIRST_OWN_ID, LineIndex
from events.subbuffer import WORD_BITS, commit, missed, stamp, trim

_WORTH_A_LOOK = 8
"""Sub-buffers that are cheaper to look at all together than one by one."""
_SLAB_BYTES = 1 << 20
"""Bytes of sub-buffers in one slab, if one sub-buffer is not more."""


class ChunkContents(NamedTuple):
    """What a chunk holds."""

    run: RowColumns
    """The events that have a format, in the order of their CPU; stacks only where it is not proven whose they are."""
    end: int
    """Time of the last event, which may have no format; -1: there is none."""
    final: int
    """Time up to which events are whole: just before the last one where its stack may still come, else `end`."""


class _PlacedChunk(NamedTuple):
    """A chunk in its slabs."""

    first: int
    """Number of the first slab."""
    slabs: int
    parts: list[page_walk.PageGroup]
    """To be walked; of text there are none."""
    run: RowColumns
    """The events of text."""
    missing: list[tuple[int, int]]
    """Of each sub-buffer in front of which events were overwritten, the key of its first word and its time."""


class Intake:
    """Keeps the bytes in `blocks`, and gives the rows in the order of their CPU."""

    def __init__(self, decoder: Decoder, blocks: Blocks) -> None:
        self.lines = LineIndex(decoder.formats)
        self.overrun: Counter[int] = Counter()
        self.overrun_unknown: Counter[int] = Counter()
        self.undecodable = 0
        self.gaps = Gaps()
        """Where events were lost."""
        self.losses = RingLosses()
        """Those that the ring buffer lost, one by one."""
        self.owners = StackOwners(decoder, blocks, self.lines)
        self._read_to: dict[int, int] = {}
        """CPU -> time of its last event."""
        self._missing: list[tuple[int, int]] = []
        """See `_PlacedChunk.missing`, of the chunk that is taken in."""
        self._decoder = decoder
        self._blocks = blocks
        self._renumbered: dict[int, int] = {}
        """Our number for an id that the kernel has given a second time."""

    def use(self, formats: Mapping[int, EventFormat]) -> None:
        """See `Store.use`."""
        known = self._decoder.formats
        for number, fmt in formats.items():
            current = self._number(number, fmt)
            known.setdefault(current, fmt)
            self.lines.use(current, fmt)

    def _number(self, number: int, fmt: EventFormat) -> int:
        """Return our number for a format: that of an equal one, the kernel's where no other has it, a new one."""
        known = self._decoder.formats
        usual = self._renumbered.get(number, number)
        equal = (one for one in (usual, *known) if one in known and replace(known[one], id=fmt.id) == fmt)
        found = next(equal, number if number not in known else FIRST_OWN_ID + len(known))
        self._renumbered.pop(number, None)
        if found != number:
            self._renumbered[number] = found
        return found

    def regroup(self, old: str, new: str) -> None:
        """See `Store.regroup`. What the kernel's ids meant in that group holds no more."""
        known = self._decoder.formats
        of_group: dict[int, EventFormat] = {}
        for number, fmt in known.items():
            if (path := regrouped_path(fmt.path, old, new)) != fmt.path:
                system, _, name = path.partition("/")
                of_group[number] = replace(fmt, system=system, name=name)
        self._renumbered = {raw: own for raw, own in self._renumbered.items() if own not in of_group}
        known |= of_group

    def begin_anew(self) -> None:
        """What comes from now on is of a clock that has begun again."""
        self._read_to.clear()
        self.lines.begin_anew()
        self.gaps.begin_anew()
        self.owners.begin_anew()

    def take(self, batches: Sequence[Batch]) -> list[ChunkContents]:
        """Contents of each chunk of some passes."""
        chunks: list[Chunk] = []
        laid: list[_PlacedChunk] = []
        for batch in batches:
            if batch.after_gap:
                self.owners.break_at(self._blocks.next_slab << WORD_BITS)
            chunks += batch.chunks
            cut = batch.after_gap
            laid += [self._text(chunk, cut=cut) if chunk.text else self._lay(chunk) for chunk in batch.chunks]
        return self._take(chunks, laid)

    def flush(self) -> list[ChunkContents]:
        """What waited for the end of its text, if anything did: it is whole."""
        chunk = Chunk(-1, b"", text=True)
        return self._take([chunk], [self._text(chunk, final=True)]) if self.lines.held else []

    def _take(self, chunks: Sequence[Chunk], laid: Sequence[_PlacedChunk]) -> list[ChunkContents]:
        # All that came at once is walked at once: that is where the time goes.
        runs, broken = page_walk.index([part for one in laid for part in one.parts], self._decoder.header)
        self.undecodable += broken
        known, ends, at = [], [], 0
        for chunk, one in zip(chunks, laid, strict=True):
            run = one.run if chunk.text else joined(runs[at : at + len(one.parts)])
            at += len(one.parts)
            self._note_gaps(chunk.cpu, run, one.missing)
            if broken and len(run.stamps):  # of which, nobody says
                self.gaps.add(int(run.stamps[0]), int(run.stamps[-1]))
                for part in one.parts:
                    for bound in part.bounds:
                        self.owners.break_at(part.base | bound >> 2, chunk.cpu)
            known.append(self._known(run, chunk.text))
            if not len(known[-1].ids):
                self._blocks.discard(one.first, one.first + one.slabs)
            ends.append(int(run.stamps[-1]) if len(run.stamps) else -1)
        cpus = [-1 if chunk.text else chunk.cpu for chunk in chunks]
        left, waiting = self.owners.take(cpus, known)
        last = {cpu: place for place, cpu in enumerate(cpus) if cpu in waiting and len(known[place].ids)}
        finals = list(ends)
        for place in last.values():
            finals[place] = int(known[place].stamps[-1]) - 1
        return [ChunkContents(*one) for one in zip(left, ends, finals, strict=True)]

    def _note_gaps(self, cpu: int, run: RowColumns, missing: list[tuple[int, int]]) -> None:
        """Note where events of a CPU were overwritten: behind the last one that was read before each such place.

        A call that ends with that one is whole.
        """
        for key, ts in missing:
            place = int(np.searchsorted(run.keys, key))
            before = int(run.stamps[place - 1]) if place else self._read_to.get(cpu, 0)
            self.gaps.add(min(before + 1, ts), ts)
        if len(run.stamps):
            self._read_to[cpu] = int(run.stamps[-1])

    def _lay(self, chunk: Chunk) -> _PlacedChunk:
        """Sub-buffers into slabs."""
        header, size = self._decoder.header, self._decoder.header.page_size
        step = max(1, _SLAB_BYTES // size) * size
        first = self._blocks.next_slab
        parts = []
        for at in range(0, len(chunk.data), step):
            data = chunk.data[at : at + step]
            bounds: Sequence[int] = range(0, len(data) + 1, size)
            if len(bounds) < _WORTH_A_LOOK or bounds[-1] != len(data) or not page_headers.is_dense(data, header):
                pages = self._packed(chunk.cpu, data)
                data, bounds = b"".join(pages), [0, *accumulate(map(len, pages))]
            else:
                self._dense(chunk.cpu, data)
            if data:
                number = self._blocks.add_slab(Slab(chunk.cpu, data))
                parts.append(page_walk.PageGroup(data, bounds, number << WORD_BITS))
        missing, self._missing = self._missing, []
        return _PlacedChunk(first, len(parts), parts, EMPTY, missing)

    def _packed(self, cpu: int, data: bytes) -> list[bytes]:
        """The sub-buffers that have data, without what lies behind it."""
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

    def _dense(self, cpu: int, data: bytes) -> None:
        """Sub-buffers that are kept as they are."""
        header = self._decoder.header
        size = header.page_size
        for number in page_headers.flagged(data, header):
            self._count_missed(cpu, data[number * size : (number + 1) * size], number * size)

    def _count_missed(self, cpu: int, page: bytes, at: int) -> None:
        """Count what was overwritten in front of a sub-buffer.

        Args:
            cpu: whose it is.
            page: the sub-buffer.
            at: its first byte in the slab that comes next.
        """
        lost = missed(page, self._decoder.header)
        if lost:
            key = self._blocks.next_slab << WORD_BITS | at >> 2
            self.owners.break_at(key, cpu)
            self._missing.append((key, stamp(page, self._decoder.header)))
            self.losses.add(Loss(stamp(page, self._decoder.header), cpu, max(lost, -1), self._blocks.next_seq))
        if lost > 0:
            self.overrun[cpu] += lost
        elif lost < 0:
            self.overrun_unknown[cpu] += 1

    def _text(self, chunk: Chunk, *, final: bool = False, cut: bool = False) -> _PlacedChunk:
        first = self._blocks.next_slab
        found = self.lines.index(chunk.data, first, final=final, cut=cut)
        for key in found.breaks:
            self.owners.break_at(key, -1)
        for text in found.pieces:
            self._blocks.add_slab(Slab(-1, text, text=True))
        self.overrun.update(found.lost)
        self.overrun_unknown.update(found.lost_unknown)
        self.undecodable += found.walked.undecodable
        for start, end in found.gaps:
            self.gaps.add(start, end)
        for ts, cpu, number in found.losses:
            self.losses.add(Loss(ts, cpu, number, self._blocks.next_seq))
        return _PlacedChunk(first, len(found.pieces), [], run_of(*found.walked[:3]), [])

    def _known(self, run: RowColumns, text: bool) -> RowColumns:
        """Give ids our numbers, and leave out events that have no format."""
        present = np.flatnonzero(np.bincount(run.ids)).tolist()
        if self._renumbered and not text:
            again = [number for number in present if number in self._renumbered]
            places = [run.ids == number for number in again]
            for number, place in zip(again, places, strict=True):
                run.ids[place] = self._renumbered[number]
            present = np.flatnonzero(np.bincount(run.ids)).tolist() if again else present
        unknown = [n for n in present if n not in self._decoder.formats and not self.lines.name(n)]
        if not unknown:
            return run
        keep = ~np.isin(run.ids, unknown)
        self.undecodable += len(run.ids) - int(keep.sum())
        return run.of(keep)
