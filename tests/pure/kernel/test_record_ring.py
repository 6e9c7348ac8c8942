"""Reading a BPF ring buffer: a file of the same shape, which a test fills as the kernel does."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel.agent.bpf_calls import RecordRing

PAGE, SIZE, RECORD = mmap.PAGESIZE, 1 << 16, 56
STRIDE = RECORD + 8
BUSY, DISCARDED = 1 << 31, 1 << 30


class Filled:
    """A file with the consumer's page, the producer's page, and the data twice."""

    def __init__(self, path: Path) -> None:
        self.file = path.open("w+b")
        self.file.truncate(2 * PAGE + 2 * SIZE)
        self.memory = mmap.mmap(self.file.fileno(), 0)
        self.end = 0

    def start_at(self, position: int) -> None:
        self.end = position
        self.memory[:8] = self.memory[PAGE : PAGE + 8] = struct.pack("<Q", position)

    def add(self, number: int, flags: int = 0) -> None:
        """Write a record whose first field is a number; the second copy of the data is what a reader sees of the
        next round.
        """
        data = struct.pack("<IIQ", RECORD | flags, 0, number).ljust(STRIDE, b"\0")
        for at, byte in enumerate(data, self.end % SIZE):
            for copy in {at % SIZE, at % SIZE + SIZE}:
                self.memory[2 * PAGE + copy] = byte
        self.end += STRIDE
        self.memory[PAGE : PAGE + 8] = struct.pack("<Q", self.end)

    def finish(self, number: int) -> None:
        """Take the busy bit of a record away."""
        for copy in (0, SIZE):
            at = 2 * PAGE + number * STRIDE + copy
            self.memory[at : at + 4] = struct.pack("<I", RECORD)

    @property
    def read_to(self) -> int:
        return int(struct.unpack("<Q", self.memory[:8])[0])


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Filled]:
    made = Filled(tmp_path / "ring")
    yield made
    made.memory.close()
    made.file.close()


@pytest.fixture
def ring(filled: Filled) -> Iterator[RecordRing]:
    made = RecordRing(filled.file.fileno(), SIZE, RECORD)
    yield made
    made.close()


def numbers(data: bytes) -> list[int]:
    return [struct.unpack_from("<Q", data, at + 8)[0] for at in range(0, len(data), STRIDE)]


def test_records_come_in_order_and_once(filled: Filled, ring: RecordRing) -> None:
    assert ring.take(1 << 20) == (b"", True)
    for number in range(5):
        filled.add(number)
    data, drained = ring.take(1 << 20)
    assert (numbers(data), drained, filled.read_to) == ([0, 1, 2, 3, 4], True, 5 * STRIDE)
    assert ring.take(1 << 20) == (b"", True)


def test_no_more_than_the_limit_is_taken(filled: Filled, ring: RecordRing) -> None:
    for number in range(5):
        filled.add(number)
    assert [numbers(ring.take(2 * STRIDE)[0]) for _ in range(3)] == [[0, 1], [2, 3], [4]]
    filled.add(5)
    assert numbers(ring.take(1)[0]) == [5], "one at least, or nothing would ever be read"


def test_a_record_over_the_end_of_the_buffer_is_whole(filled: Filled, ring: RecordRing) -> None:
    filled.start_at(SIZE - STRIDE // 2 // 8 * 8)
    for number in (7, 8):
        filled.add(number)
    assert numbers(ring.take(1 << 20)[0]) == [7, 8]


def test_a_record_that_is_being_written_is_waited_for(filled: Filled, ring: RecordRing) -> None:
    filled.add(0)
    filled.add(1, BUSY)
    filled.add(2)
    assert numbers(ring.take(1 << 20)[0]) == [0]
    assert ring.is_being_written
    assert ring.take(1 << 20) == (b"", True)
    assert ring.is_being_written
    filled.finish(1)
    assert numbers(ring.take(1 << 20)[0]) == [1, 2]
    assert not ring.is_being_written
