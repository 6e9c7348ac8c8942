"""Store event rows in fixed-size blocks of numpy arrays over slabs of raw bytes, without a Python object per event.

A row is 20 bytes: time stamp, key (slab number and offset in it) and format id. Every block except the last has
BLOCK_ROWS rows, so a division maps a sequence number to its row. Whole blocks are dropped, oldest first; a slab is
dropped with the last block that has a row in it. A stack takes 32 bytes in addition to the row of its event and is
dropped with the slab of that event; the slab that holds the stack's own record is never older.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from events.store.row_columns import EMPTY, RowColumns, concatenate_rows
from events.subbuffer import WORD_BITS

BLOCK_ROWS = 4096
_ROW_BYTES = 20
_SLAB_OVERHEAD = 160
"""Python's memory overhead of a slab in bytes, without its data."""
_STACK_BYTES = 32
_STACKS_OVERHEAD = 500
"""Python's memory overhead in bytes of the stacks of one slab's events."""


class SlabStacks(NamedTuple):
    """Stacks recorded for events of one slab: one array per column, sorted by the event's key."""

    owners: NDArray[np.int64]
    """Keys of the events."""
    keys: NDArray[np.int64]
    """Keys of the stacks."""
    ids: NDArray[np.int64]
    """Format ids of the stacks."""
    stamps: NDArray[np.int64]
    """Time stamps of the stacks."""


class Slab(NamedTuple):
    """Bytes of one CPU that rows point into: consecutive sub-buffers, or text lines."""

    cpu: int
    """CPU number; -1 for text, where each line names its CPU."""
    data: bytes
    text: bool = False


class Block:
    """Up to BLOCK_ROWS consecutive rows, starting with sequence number `first`."""

    __slots__ = ("first", "rows", "used")

    def __init__(self, first: int) -> None:
        self.first = first
        self.rows = RowColumns(
            np.empty(BLOCK_ROWS, np.int64), np.empty(BLOCK_ROWS, np.int64), np.empty(BLOCK_ROWS, np.int32)
        )
        self.used = 0

    def part(self, start: int, stop: int) -> RowColumns:
        """Return a view of the rows of this block with sequence numbers from `start` to before `stop`."""
        first, after = max(0, start - self.first), min(self.used, stop - self.first)
        return self.rows.part(first, max(first, after))


class Blocks:
    """Window on a growing list of rows. Sequence numbers never shift and are never reused."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self.slabs: dict[int, Slab] = {}
        self.first_seq = 0
        self.next_seq = 0
        self.bytes = 0
        """Bytes that rows, slabs and stacks occupy."""
        self._stacks: dict[int, SlabStacks] = {}
        """Stacks by the slab number of their events."""
        self._next_slab = 0
        self._oldest_slab = 0
        # Sliding minimum: (first row of a block, lowest slab from that block on), lowest slabs rising.
        self._lows: deque[tuple[int, int]] = deque()

    def add_slab(self, slab: Slab) -> int:
        """Add a slab and return its number."""
        number = self._next_slab
        self.slabs[number] = slab
        self._next_slab += 1
        self.bytes += len(slab.data) + _SLAB_OVERHEAD
        return number

    def discard(self, first: int, after: int) -> None:
        """Drop slabs `first` to before `after`, which no row points into."""
        for number in range(first, after):
            self._drop_slab(number)

    def add_stacks(self, stacks: SlabStacks) -> None:
        """Store stacks together with the keys of the events they belong to."""
        slabs = stacks.owners >> WORD_BITS
        for number in np.unique(slabs).tolist():
            if number not in self.slabs:  # the event was dropped before its stack was read
                continue
            in_slab = slabs == number
            added = SlabStacks(*(column[in_slab] for column in stacks))
            previous = self._stacks.get(number)
            self.bytes += len(added.keys) * _STACK_BYTES + (_STACKS_OVERHEAD if previous is None else 0)
            merged = [np.concatenate(column) for column in zip(previous, added, strict=True)] if previous else added
            order = np.argsort(merged[0], kind="stable")
            self._stacks[number] = SlabStacks(*(column[order] for column in merged))

    def stacks_of(self, key: int) -> list[tuple[int, int, int]]:
        """Return (time stamp, key, format id) of each stack of an event, in the order received."""
        stacks = self._stacks.get(key >> WORD_BITS)
        if stacks is None:
            return []
        first, after = np.searchsorted(stacks.owners, (key, key + 1)).tolist()
        columns = (stacks.stamps, stacks.keys, stacks.ids)
        return list(zip(*(column[first:after].tolist() for column in columns), strict=True))

    def stacks_of_events(self, keys: NDArray[np.int64], ids: Sequence[int]) -> tuple[NDArray[np.int64], RowColumns]:
        """Return the places of the events that have a stack of some formats, and the first such stack of each.

        Args:
            keys: keys of the events.
            ids: ids of the formats.
        """
        slabs = keys >> WORD_BITS
        found_places, found = [np.empty(0, np.int64)], [EMPTY]
        for number in np.unique(slabs).tolist():
            if (stacks := self._stacks.get(number)) is None:
                continue
            owners, own_keys, own_ids, stamps = (column[np.isin(stacks.ids, ids)] for column in stacks)
            places = np.flatnonzero(slabs == number)
            at = np.searchsorted(owners, keys[places])
            there = np.flatnonzero(np.append(owners, -1)[at] == keys[places])
            found_places.append(places[there])
            at = at[there]
            found.append(RowColumns(stamps[at], own_keys[at], own_ids[at].astype(np.int32)))
        return np.concatenate(found_places), concatenate_rows(found)

    @property
    def next_slab(self) -> int:
        """Number that the next slab will get."""
        return self._next_slab

    def append(self, run: RowColumns) -> None:
        """Append rows at the end."""
        at, total = 0, len(run.stamps)
        while at < total:
            if not self.blocks or self.blocks[-1].used == BLOCK_ROWS:
                self.blocks.append(Block(self.next_seq))
            block = self.blocks[-1]
            stop = min(total, at + BLOCK_ROWS - block.used)
            part = run.part(at, stop)
            used = block.used + stop - at
            own = block.rows.part(block.used, used)
            own.stamps[:], own.keys[:], own.ids[:] = part
            block.used = used
            self._note_low(block.first, int(part.keys.min()) >> WORD_BITS)
            self.next_seq += stop - at
            self.bytes += (stop - at) * _ROW_BYTES
            at = stop

    def _note_low(self, first: int, low: int) -> None:
        while self._lows and self._lows[-1][1] >= low:
            self._lows.pop()
        self._lows.append((first, low))

    def row(self, seq: int) -> tuple[int, int, int]:
        """Return (time stamp, key, format id) of a row.

        Raises:
            IndexError: the row was dropped, or has not been added yet.
        """
        if not self.first_seq <= seq < self.next_seq:
            raise IndexError(seq)
        number, offset = divmod(seq - self.first_seq, BLOCK_ROWS)
        stamps, keys, ids = self.blocks[number].rows
        return int(stamps[offset]), int(keys[offset]), int(ids[offset])

    def rows_at(self, stamps: NDArray[np.int64], start: int, stop: int) -> NDArray[np.int64]:
        """Return for each of some rising times the first row from `start` on that is not older; `stop` where none is.

        The rows from `start` to before `stop` are retained, and in order of time.
        """
        found = np.full(len(stamps), stop, np.int64)
        at, place = start, 0
        while at < stop and place < len(stamps):
            # Blocks are skipped by the time of their last row; within one all times are searched at once.
            wanted = int(stamps[place])
            ends = range((at - self.first_seq) // BLOCK_ROWS, (stop - 1 - self.first_seq) // BLOCK_ROWS + 1)
            number = ends[0] + bisect_left(ends, wanted, key=lambda one: self._last_stamp(one, stop))
            if number > ends[-1]:
                break
            block = self.blocks[number]
            part = block.part(max(at, block.first), stop)
            begin, last = max(at, block.first), int(part.stamps[-1])
            after = place + int(np.searchsorted(stamps[place:], last, "right"))
            after = max(after, place + 1)
            found[place:after] = begin + np.searchsorted(part.stamps, stamps[place:after])
            at, place = begin, after
        return found

    def _last_stamp(self, number: int, stop: int) -> int:
        """Return the time of the last row of a block that is before row `stop`."""
        block = self.blocks[number]
        return int(block.rows.stamps[min(block.used, stop - block.first) - 1])

    def rows(self, start: int, stop: int) -> RowColumns:
        """Return the rows from `start` to before `stop` that have not been dropped; read-only."""
        start, stop = max(start, self.first_seq), min(stop, self.next_seq)
        if start >= stop:
            return EMPTY
        first, last = ((seq - self.first_seq) // BLOCK_ROWS for seq in (start, stop - 1))
        return concatenate_rows([block.part(start, stop) for block in self.blocks[first : last + 1]])

    def evict(self, limit: int, held_key: int | None, first_wanted: int = 0) -> None:
        """Drop the oldest blocks until at most `limit` bytes are left; the last block is never dropped.

        Args:
            limit: bytes.
            held_key: lowest key of rows that will still be appended.
            first_wanted: sequence number; blocks that have only rows before it are dropped in any case.
        """
        dropped = 0
        while dropped < len(self.blocks) - 1 and (
            self.bytes > limit or self.blocks[dropped + 1].first <= first_wanted
        ):
            block = self.blocks[dropped]
            dropped += 1
            self.bytes -= block.used * _ROW_BYTES
            self.first_seq = self.blocks[dropped].first
            while self._lows and self._lows[0][0] == block.first:
                self._lows.popleft()
            low = self._lows[0][1] if self._lows else self._next_slab
            if held_key is not None:
                low = min(low, held_key >> WORD_BITS)
            self._free(low)
        del self.blocks[:dropped]

    def _free(self, low: int) -> None:
        for number in range(self._oldest_slab, low):
            self._drop_slab(number)
        self._oldest_slab = max(self._oldest_slab, low)

    def _drop_slab(self, number: int) -> None:
        slab, stacks = self.slabs.pop(number, None), self._stacks.pop(number, None)
        if slab is not None:
            self.bytes -= len(slab.data) + _SLAB_OVERHEAD
        if stacks is not None:
            self.bytes -= len(stacks.keys) * _STACK_BYTES + _STACKS_OVERHEAD
