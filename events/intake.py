"""Bytes of a stream into rows that point into pages: what is missed, lost or unreadable is counted here."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import accumulate

import numpy as np

from events import lockstep
from events.batch import Chunk
from events.blocks import Blocks, Slab
from events.decode import Decoder
from events.format import EventFormat
from events.lines import FIRST_OWN_ID, LineIndex
from events.runs import Run, joined, run_of
from events.subbuffer import WORD_BITS, commit, missed, trim

_SLAB_BYTES = 1 << 20
"""Bytes of sub-buffers in one slab, if one sub-buffer is not more."""


class Intake:
    """Keeps the bytes in `blocks`, and gives the rows in the order of their CPU."""

    def __init__(self, decoder: Decoder, blocks: Blocks) -> None:
        self.lines = LineIndex(decoder.formats)
        self.overrun: Counter[int] = Counter()
        self.overrun_unknown: Counter[int] = Counter()
        self.undecodable = 0
        self._decoder = decoder
        self._blocks = blocks
        self._renumbered: dict[int, int] = {}
        """Our number for an id that the kernel has given a second time."""

    def use(self, formats: Mapping[int, EventFormat]) -> None:
        """See `Store.use`."""
        known = self._decoder.formats
        for number, fmt in formats.items():
            current = self._renumbered.get(number, number)
            if known.get(current, fmt) != fmt:
                current = self._renumbered[number] = FIRST_OWN_ID + len(known)
            known[current] = fmt
            self.lines.use(current, fmt)

    def take(self, chunk: Chunk) -> tuple[Run, int]:
        """The events of one chunk, and the time of its last one, which may have no format; -1: there is none."""
        first = self._blocks.next_slab
        found = self._text(chunk) if chunk.text else self._pages(chunk)
        run = self._known(found, chunk.text)
        if not len(run.ids):
            self._blocks.discard(first)
        return run, int(found.stamps[-1]) if len(found.stamps) else -1

    def _pages(self, chunk: Chunk) -> Run:
        header, size = self._decoder.header, self._decoder.header.page_size
        step = max(1, _SLAB_BYTES // size) * size
        found = []
        for at in range(0, len(chunk.data), step):
            data = chunk.data[at : at + step]
            bounds = range(0, len(data) + 1, size)
            if len(bounds) <= lockstep.MANY or bounds[-1] != len(data) or not lockstep.is_dense(data, header):
                pages = self._packed(chunk.cpu, data)
                data, bounds = b"".join(pages), [0, *accumulate(map(len, pages))]  # type: ignore[assignment]
            if data:
                number = self._blocks.add_slab(Slab(chunk.cpu, data))
                run, broken = lockstep.index(data, bounds, header, number << WORD_BITS)
                self.undecodable += broken
                found.append(run)
        return joined(found)

    def _packed(self, cpu: int, data: bytes) -> list[bytes]:
        """The sub-buffers that have data, without what lies behind it."""
        header = self._decoder.header
        size = header.page_size
        pages = []
        for at in range(0, len(data), size):
            page = data[at : at + size]
            if len(page) < header.data_offset:
                self.undecodable += 1
                continue
            lost = missed(page, header)
            if lost > 0:
                self.overrun[cpu] += lost
            elif lost < 0:
                self.overrun_unknown[cpu] += 1
            if commit(page, header):
                pages.append(trim(page, header))
        return pages

    def _text(self, chunk: Chunk) -> Run:
        found = self.lines.index(chunk.data, self._blocks.next_slab)
        for text in found.pieces:
            self._blocks.add_slab(Slab(-1, text, text=True))
        self.overrun.update(found.lost)
        self.undecodable += found.walked.undecodable
        return run_of(*found.walked[:3])

    def _known(self, run: Run, text: bool) -> Run:
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
