"""Perf buffers as the agent reads them: each loss is told once, whenever it occurs."""

from __future__ import annotations

import ctypes
import struct
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.batch import Batch, Chunk
from events.bpf_records import RecordConverter
from events.format import HeaderPage
from kernel.agent import object_rings
from kernel.agent.object_rings import PerfRing, RowMaker
from kernel.target import RecordForm

ROOM = 4
"""Records of the buffer."""
SAMPLE, LOST = 9, 2
RECORD_BYTES, LOST_BYTES = 40, 24


class SimulatedRing(PerfRing):
    """Buffer with the kernel's side of it: perf_output_begin in kernel/events/ring_buffer.c."""

    def __init__(self) -> None:
        self.fd = -1
        self._size, self._form = ROOM * RECORD_BYTES, RowMaker(RecordForm(8, 0x8001, is_perf=True).text)
        self._lost = self._told = self._page = 0
        self._map = bytearray(self._size)  # type: ignore[assignment]
        self._head, self._tail = ctypes.c_uint64(), ctypes.c_uint64()
        self.written = self.lost = self._unsaid = 0
        self.writes_while_read = 0
        """Records that are written after the next reader has looked how far it may read."""

    def write(self, count: int) -> None:
        for _ in range(count):
            needed = RECORD_BYTES + (LOST_BYTES if self._unsaid else 0)
            if self._head.value - self._tail.value + needed > self._size:
                self.lost += 1
                self._unsaid += 1
                continue
            if self._unsaid:
                self._put(struct.pack("<IHHQQ", LOST, 0, LOST_BYTES, 1, self._unsaid))
                self._unsaid = 0
            self.written += 1
            self._put(
                struct.pack("<IHHIIQI8s", SAMPLE, 0, RECORD_BYTES, 7, 7, self.written, 8, b"value").ljust(40, b"\0")
            )

    def _put(self, record: bytes) -> None:
        for byte in record:
            self._map[self._head.value % self._size] = byte
            self._head.value += 1

    def _bytes(self, at: int, length: int) -> bytes:
        count, self.writes_while_read = self.writes_while_read, 0
        self.write(count)
        return bytes(self._map[(at + number) % self._size] for number in range(length))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.sampled_from([1, 100, 10_000])), max_size=12))
def test_all_losses_are_told_once(steps: list[tuple[int, int, int]]) -> None:
    """Whether they occur before a read, in the midst of it, or while records of before are still unread."""
    ring, converter, seen = SimulatedRing(), RecordConverter(HeaderPage()), 0
    converter.sizes[1] = ring._form.size
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(object_rings, "os", SimpleNamespace(read=lambda *_: struct.pack("<QQ", 0, ring.lost)))
        for before, meanwhile, limit in [*steps, (0, 0, 10_000)]:
            ring.write(before)
            ring.writes_while_read = meanwhile
            is_empty = False
            while not is_empty:
                data, is_empty = ring.take(limit)
                seen += sum(one[2] == 0 for one in _rows(data, ring._form.size + 8))
                converter.converted(Batch((Chunk(0, data, ring=1),), drained=is_empty))
                told = converter.lost(1).get(0, 0)
                assert told <= ring.lost
            if ring._head.value == ring._tail.value:
                assert told == ring.lost
    assert seen == ring.written


def _rows(data: bytes, size: int) -> list[tuple[int, int, int]]:
    """Length, lost records and whether it is a notice, of each row."""
    found = []
    for at in range(0, len(data), size):
        length = int.from_bytes(data[at : at + 4], "little")
        (lost,) = struct.unpack_from("<I", data, at + 20)
        found.append((length, lost, length >> 30))
    return found
