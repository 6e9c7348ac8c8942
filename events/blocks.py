"""Rows in blocks of arrays, over pages of bytes: no Python object lives as long as an event.

A row is 20 bytes: time stamp, key (which page, where in it) and id of its format. Every block but the last has
BLOCK_ROWS rows, so a sequence number leads to its row by a division. Whole blocks are dropped, oldest first; a page
goes with the last block that has a row in it.
"""

from __future__ import annotations

from array import array
from collections import deque
from typing import NamedTuple

from events.merge import Run
from events.subbuffer import WORD_BITS

BLOCK_ROWS = 1024
_ROW_BYTES = 20
_PAGE_OVERHEAD = 160
"""Bytes that Python needs for a page besides its content."""


class Page(NamedTuple):
    """Bytes of one CPU that rows point into."""

    cpu: int
    """-1 for text, where each line says it."""
    data: bytes
    text: bool = False


class Block(NamedTuple):
    """Rows `first` and following."""

    first: int
    stamps: array[int]
    keys: array[int]
    ids: array[int]


class Blocks:
    """A window on a growing list of rows. Sequence numbers never shift and are never given twice."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.pages: dict[int, Page] = {}
        self.first_seq = 0
        self.next_seq = 0
        self.bytes = 0
        """What rows and pages take."""
        self._next_page = 0
        self._oldest_page = 0
        # Sliding minimum: (first row of a block, lowest page from that block on), lowest pages rising.
        self._lows: deque[tuple[int, int]] = deque()

    def add_page(self, page: Page) -> int:
        """Keep a page; gives its number."""
        number = self._next_page
        self.pages[number] = page
        self._next_page += 1
        self.bytes += len(page.data) + _PAGE_OVERHEAD
        return number

    def discard(self, first: int) -> None:
        """Let go of pages from number `first` on, which no row points into."""
        for number in range(first, self._next_page):
            self.bytes -= len(self.pages.pop(number).data) + _PAGE_OVERHEAD

    @property
    def next_page(self) -> int:
        """Number that the next page gets."""
        return self._next_page

    def append(self, run: Run) -> None:
        """Add rows at the end."""
        at, total = 0, len(run.stamps)
        while at < total:
            if not self.blocks or len(self.blocks[-1].stamps) == BLOCK_ROWS:
                self.blocks.append(Block(self.next_seq, array("Q"), array("Q"), array("I")))
            block = self.blocks[-1]
            stop = min(total, at + BLOCK_ROWS - len(block.stamps))
            keys = run.keys[at:stop]
            # An array made of a list and joined: half the time of extend() with the list.
            block.stamps.extend(array("Q", run.stamps[at:stop]))
            block.keys.extend(array("Q", keys))
            block.ids.extend(array("I", run.ids[at:stop]))
            self._note_low(block.first, min(keys) >> WORD_BITS)
            self.next_seq += stop - at
            self.bytes += (stop - at) * _ROW_BYTES
            at = stop

    def _note_low(self, first: int, low: int) -> None:
        while self._lows and self._lows[-1][1] >= low:
            self._lows.pop()
        self._lows.append((first, low))

    def row(self, seq: int) -> tuple[int, int, int]:
        """(time stamp, key, id) of a row.

        Raises:
            IndexError: it was dropped, or there is none yet.
        """
        if not self.first_seq <= seq < self.next_seq:
            raise IndexError(seq)
        number, offset = divmod(seq - self.first_seq, BLOCK_ROWS)
        block = self.blocks[number]
        return block.stamps[offset], block.keys[offset], block.ids[offset]

    def evict(self, limit: int, held_key: int | None) -> None:
        """Drop the oldest blocks until at most `limit` bytes are left; the last block stays.

        Args:
            limit: bytes.
            held_key: lowest key of rows that will still be appended.
        """
        while self.bytes > limit and len(self.blocks) > 1:
            block = self.blocks.pop(0)
            self.bytes -= len(block.stamps) * _ROW_BYTES
            self.first_seq = self.blocks[0].first
            while self._lows and self._lows[0][0] == block.first:
                self._lows.popleft()
            low = self._lows[0][1] if self._lows else self._next_page
            if held_key is not None:
                low = min(low, held_key >> WORD_BITS)
            self._free(low)

    def _free(self, low: int) -> None:
        for number in range(self._oldest_page, low):
            page = self.pages.pop(number, None)
            if page is not None:
                self.bytes -= len(page.data) + _PAGE_OVERHEAD
        self._oldest_page = max(self._oldest_page, low)
