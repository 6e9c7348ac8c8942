"""Turn records of BPF ring buffers into sub-buffers of a trace instance, which all other readers know.

A record has one length for each ring buffer, so that the conversion works on all records at once. In the ring buffer
(kernel/bpf/ringbuf.c), in words of 4 bytes of a little-endian machine, and as an event of a sub-buffer (see
`events.subbuffer`), where `data` is what `RECORD_DATA` bytes of the record precede:

    ring buffer     length   page offset   stamp   stamp    pid   lost   faults   id     comm  data
    up to 116 bytes delta    id            pid     (stamp)  (pid) (lost) faults   (id)   comm  data
    longer          delta    length        id      pid      (pid) (lost) faults   (id)   comm  data

Behind a record may be its stack (`events.bpf_layout.STACK_BYTES`), which becomes the next event, as of the tracer.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice, pairwise
from typing import Final, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import as_strided
from numpy.typing import NDArray

from events.batch import Batch, Chunk
from events.bpf_layout import COMM, LOSS_NOTICE, LOST, RING_HEADER, SAMPLE_BYTES, STACK_FRAMES, STAMP, event_shift
from events.format import HeaderPage

_MOST_COMMS = 1 << 15
"""Threads whose names are kept: as many as the kernel numbers by default (PID_MAX_DEFAULT)."""
_STACK_HEAD: Final = 6
"""Words of an event with a stack before its addresses: no delta, length, id, thread id, number of addresses, hole."""
_LONGEST_DELTA = (1 << 27) - 1
_SAMPLES: Final = -1
"""Number for the samples of all ring buffers."""
_MISSED_COUNT_FOLLOWS = 1 << 31 | 1 << 30
"""Flags of a sub-buffer's length: events were lost before it, their number is behind its data."""


class StackPart(NamedTuple):
    """Stacks behind the fields of the records of a ring buffer."""

    begin: int
    """Bytes of a record before its stack."""
    id: int
    """Id of the events that they become."""


def _with_stack_events(rows: NDArray[np.uint32], own: int, number: int) -> NDArray[np.uint32]:
    """Return records with an event in place of each stack: as long as the deepest of them is."""
    sizes = np.clip(rows[:, own].astype(np.int32), 0, 8 * STACK_FRAMES).astype(np.uint32) // np.uint32(8)
    sizes[rows[:, own + 1] != 0] = 0  # an error
    depth = int(sizes.max(initial=0))
    found = np.zeros((len(rows), own + _STACK_HEAD + 2 * depth), np.uint32)
    found[:, :own] = rows[:, :own]
    stacks = found[:, own:]
    stacks[:, 1] = (_STACK_HEAD + 2 * depth - 1) * 4
    stacks[:, 2], stacks[:, 3], stacks[:, 4] = number, rows[:, 4], sizes
    there = (
        np.arange(depth * 2, dtype=np.uint32) < 2 * sizes[:, None]
    )  # memory behind the last one is of other records
    stacks[:, _STACK_HEAD:] = np.where(there, rows[:, own + 2 : own + 2 + 2 * depth], 0)
    return found


def _stamp_of(row: bytes) -> bytes:
    """Return the time of a record, as bytes that are ordered as the times are."""
    return row[RING_HEADER + STAMP : RING_HEADER + STAMP + 8][::-1]


class RecordConverter:
    """Converter of the records of some BPF ring buffers, with the state of each by number and CPU."""

    def __init__(self, header: HeaderPage) -> None:
        self.sizes: dict[int, int] = {}
        """Bytes of each record, a multiple of 8, by number of the ring buffer."""
        self.stacks: dict[int, StackPart] = {}
        """Stacks of the records, by number of the ring buffer."""
        self.samples: set[int] = set()
        """Numbers of ring buffers with samples: of those that were missed there are no events that were lost. All
        samples of a CPU become the events of one: their records have one length, and few come at a time."""
        self.broken_chunks = 0
        """Chunks with bytes that were no records of the length of their ring buffer; those are dropped."""
        self.comms: dict[int, str] = {}
        """Names of the threads of the records by thread id, the newest of each: the kernel's own list
        (saved_cmdlines) has only those of its own events."""
        self._header = header
        self._state: dict[tuple[int, int], tuple[int, int]] = {}
        """Time and number of lost records in the last record, by ring buffer and CPU."""
        self._noticed: dict[tuple[int, int], int] = {}
        """Number of lost records where a notice came after the last record, by ring buffer and CPU."""
        self._room = np.zeros((0, header.page_size // 4), np.uint32)
        """Sub-buffers that are made; fresh memory for each would cost more than all that is written."""

    def lost(self, ring: int) -> dict[int, int]:
        """Return the records of a ring buffer that were lost, by CPU, as far as later records or notices tell."""
        latest = {key: lost for key, (_, lost) in self._state.items()} | self._noticed
        return {cpu: lost for (number, cpu), lost in latest.items() if number == ring and lost}

    def forget(self, ring: int) -> None:
        """Forget a ring buffer that is gone."""
        self.sizes.pop(ring, None)
        self.stacks.pop(ring, None)
        self._state = {key: state for key, state in self._state.items() if key[0] != ring}
        self._noticed = {key: lost for key, lost in self._noticed.items() if key[0] != ring}

    def converted(self, batch: Batch) -> Batch:
        """Return a batch with sub-buffers in place of records; those of an unknown ring buffer are left out."""
        if not any(chunk.ring for chunk in batch.chunks):
            return batch
        if self.samples:
            batch = batch._replace(chunks=self._merged_samples(batch.chunks))
        chunks = [self._chunk(chunk) if chunk.ring else chunk for chunk in batch.chunks]
        return batch._replace(chunks=tuple(chunk for chunk in chunks if chunk.data or chunk.is_being_written))

    def _merged_samples(self, chunks: Sequence[Chunk]) -> tuple[Chunk, ...]:
        """Return chunks with those of samples put together by CPU, in the order of their times."""
        found: dict[int, list[Chunk]] = {}
        others = list[Chunk]()
        for chunk in chunks:
            (found.setdefault(chunk.cpu, []) if chunk.ring in self.samples else others).append(chunk)
        merged = list[Chunk]()
        for own in found.values():
            stride = self.sizes[own[0].ring] + RING_HEADER
            for chunk in own:
                self._note_missed(chunk, stride)
            rows = [chunk.data[at : at + stride] for chunk in own for at in range(0, len(chunk.data), stride)]
            rows.sort(key=_stamp_of)
            is_open = any(chunk.is_being_written for chunk in own)
            merged.append(own[0]._replace(data=b"".join(rows), ring=_SAMPLES, is_being_written=is_open))
        return (*others, *merged)

    def _note_missed(self, chunk: Chunk, stride: int) -> None:
        """Take the number of missed samples from the last one of a ring buffer."""
        if len(chunk.data) >= stride:
            lost = int.from_bytes(chunk.data[-stride + RING_HEADER + LOST :][:4], "little")
            self._noticed[chunk.ring, chunk.cpu] = lost

    def _chunk(self, chunk: Chunk) -> Chunk:
        size = self.sizes.get(chunk.ring) if chunk.ring != _SAMPLES else SAMPLE_BYTES
        if size is None:
            self.broken_chunks += 1
            return chunk._replace(data=b"")
        stride = size + RING_HEADER
        whole = len(chunk.data) // stride
        rows = np.frombuffer(chunk.data, "<u4", whole * stride // 4).reshape(whole, stride // 4)
        is_notice = rows[:, 0] == size | LOSS_NOTICE
        foreign = np.flatnonzero(~is_notice & (rows[:, 0] != size))
        if len(foreign):
            rows, is_notice = rows[: int(foreign[0])], is_notice[: int(foreign[0])]
        self.broken_chunks += len(rows) * stride != len(chunk.data)
        key = chunk.ring, chunk.cpu
        if len(rows):
            self._noticed.pop(key, None)
        if is_notice[-1:].any():
            self._noticed[key] = int(rows[-1, 5])
        rows = rows[~is_notice]
        return chunk._replace(data=self._pages(key, rows) if len(rows) else b"")

    def _pages(self, key: tuple[int, int], rows: NDArray[np.uint32]) -> bytes:
        """Return the sub-buffers of some records of one CPU; a loss and a long pause begin another one."""
        latest, lost_before = self._state.get(key, (0, 0))
        stamps = rows[:, 2].astype(np.uint64) | rows[:, 3].astype(np.uint64) << np.uint64(32)
        # An interrupt between a record's time and its place in the buffer has an earlier place and a later time.
        stamps = np.maximum.accumulate(np.maximum(stamps, np.uint64(latest)))
        self._note_comms(rows)
        # So has a program that was interrupted by another one, whose record is behind its own.
        more = np.maximum((rows[:, 5] - np.uint32(lost_before)).astype(np.int32), 0)
        losses = np.diff(np.maximum.accumulate(more), prepend=np.int32(0))
        self._state[key] = int(stamps[-1]), (lost_before + int(losses.sum())) & 0xFFFFFFFF
        if key[0] == _SAMPLES:
            losses = np.zeros_like(losses)
        pauses = np.diff(stamps, prepend=stamps[0]) > _LONGEST_DELTA
        starts = np.flatnonzero(pauses | (losses > 0)).tolist()
        bounds = [0, *(start for start in starts if start), len(rows)]
        width, stacked = rows.shape[1], self.stacks.get(key[0])
        if stacked is not None:
            width = (stacked.begin + RING_HEADER) // 4
            rows = _with_stack_events(rows, width, stacked.id)
        runs = [self._run(rows[a:b], stamps[a:b], int(losses[a]), width) for a, b in pairwise(bounds)]
        return runs[0] if len(runs) == 1 else b"".join(runs)

    def _note_comms(self, rows: NDArray[np.uint32]) -> None:
        pids = rows[:, 4]
        last = np.append(np.flatnonzero(pids[1:] != pids[:-1]), len(rows) - 1)[::-1]  # of each run, the newest first
        found, places = np.unique(pids[last], return_index=True)
        first = (RING_HEADER + COMM) // 4
        for pid, place in zip(found.tolist(), last[places].tolist(), strict=True):
            comm = rows[place, first : first + 4].tobytes().partition(b"\0")[0]
            if comm:  # records that others make have none
                self.comms.pop(pid, None)  # the newest stand last
                self.comms[pid] = comm.decode("utf-8", "replace")
        self.comms.pop(0, None)  # the idle tasks of all CPUs
        for pid in list(islice(self.comms, max(0, len(self.comms) - _MOST_COMMS))):
            del self.comms[pid]

    def _run(self, rows: NDArray[np.uint32], stamps: NDArray[np.uint64], lost: int, own: int) -> bytes:
        """Return the sub-buffers of records without a long pause, after a loss of some.

        `own`: words of each event; behind it may be another one, with its stack.
        """
        offset, count, width = self._header.data_offset, len(rows), rows.shape[1]
        most = (self._header.data_size - 8) // (width * 4)
        pages = -(-count // most)
        if len(self._room) < pages:
            self._room = np.zeros((pages, self._header.page_size // 4), np.uint32)
        out = self._room[:pages]
        out[:, offset // 4 + most * width :] = 0
        out[-1] = 0
        events = as_strided(out[:, offset // 4 :], (pages, most, width), (self._header.page_size, width * 4, 4))
        whole = count // most
        events[:whole] = rows[: whole * most].reshape(whole, most, width)
        if whole < pages:
            events[whole, : count - whole * most] = rows[whole * most :]
        self._write_heads(events[:, :, :own], rows, stamps)
        lengths = np.full(pages, most * width * 4, np.uint64)
        lengths[-1] = (count - (pages - 1) * most) * width * 4
        if lost:
            end = (offset + int(lengths[0])) // 4
            out[0, end], out[0, end + 1] = lost & 0xFFFFFFFF, lost >> 32
            lengths[0] |= np.uint64(_MISSED_COUNT_FOLLOWS)
        out[:, :2] = stamps[::most].astype("<u8").reshape(-1, 1).view(np.uint32)
        out[:, 2 : 2 + self._header.commit_size // 4] = lengths.reshape(-1, 1).view(np.uint32)
        return out.tobytes()

    @staticmethod
    def _write_heads(events: NDArray[np.uint32], rows: NDArray[np.uint32], stamps: NDArray[np.uint64]) -> None:
        """Write the words before the faults of each event, as the module says; the first of a page has no delta."""
        pages, most, width = events.shape
        deltas = np.zeros(pages * most, np.uint32)
        deltas[: len(rows)] = np.diff(stamps, prepend=stamps[0]).astype(np.uint32)
        deltas = deltas.reshape(pages, most) << np.uint32(5)
        deltas[:, 0] = 0
        ids, pids = events[:, :, 7].copy(), events[:, :, 4].copy()
        if event_shift(width * 4 - RING_HEADER):
            events[:, :, 0] = np.uint32(width - 1) | deltas
            events[:, :, 1], events[:, :, 2] = ids, pids
        else:
            events[:, :, 0] = deltas
            events[:, :, 1], events[:, :, 2], events[:, :, 3] = width * 4 - 4, ids, pids
