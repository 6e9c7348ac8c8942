"""Read ring and perf buffers of compiled BPF objects, whose records have any length; a part of the agent's source.

Each record is handed on as one of our own programs would have written it (`events.bpf_layout`): a head, and its bytes
up to one length, with zeros behind shorter ones.
"""

# This file is Python 3.6. ctypes and mmap are imported at the first use, as in bpf_calls.py.
import os
import struct
import time

from kernel.agent.bpf_calls import MappedRing, RecordRing
from kernel.agent.sampler import SampleRing, sample_ring

_ROW_HEAD = struct.Struct("<IIQIIII16s")
"""Length and place in a ring buffer; time, thread, number of lost records, faults, id, name of the thread."""
_PERF_SAMPLE, _PERF_LOST = 9, 2
"""PERF_RECORD_SAMPLE, PERF_RECORD_LOST."""
_ENABLE = 0x2400
"""PERF_EVENT_IOC_ENABLE."""
_BUSY, _DISCARDED = 1 << 31, 1 << 30
_LOSS_NOTICE = 1 << 30
"""As in `events.bpf_layout`: in the length of a row without a record, whose number of lost records counts."""
_OLDEST = 10**10
"""Nanoseconds before now in which a number may be the time of a record."""


class RowMaker:
    """Maker of rows from the records of one buffer; made from a text of numbers (`kernel.target.RecordForm`)."""

    def __init__(self, text: bytes) -> None:
        numbers = [int(word) for word in text.split(b",")]
        self.payload, self.id, self.pid, self.comm, self.stamp, perf = numbers
        self.is_perf = bool(perf)
        self.size = -(-(40 + self.payload) // 8) * 8

    @staticmethod
    def clock() -> int:
        """Return the time that records without one get, in nanoseconds of CLOCK_MONOTONIC."""
        return int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1e9)

    def row(self, now: int, pid: int, lost: int, data: bytes) -> bytes:
        """Return a record with its head; fields of its own tell thread and time where they are known."""
        data = data[: self.payload]
        if not self.is_perf:
            pid = int.from_bytes(data[self.pid : self.pid + 4], "little") if self.pid >= 0 else -1
        comm = data[self.comm : self.comm + 16] if self.comm >= 0 else b""
        if self.stamp >= 0:
            own = int.from_bytes(data[self.stamp : self.stamp + 8], "little")
            now = own if 0 <= now - own < _OLDEST else now
        head = _ROW_HEAD.pack(self.size, 0, now, pid & 0xFFFFFFFF, lost & 0xFFFFFFFF, 0, self.id, comm)
        return (head + data).ljust(self.size + 8, b"\0")

    def loss_notice(self, lost: int) -> bytes:
        """Return a row that tells the number of lost records, without a record."""
        head = _ROW_HEAD.pack(self.size | _LOSS_NOTICE, 0, 0, 0, lost & 0xFFFFFFFF, 0, 0, b"")
        return head.ljust(self.size + 8, b"\0")


class ObjectRing:
    """Reader of a BPF ring buffer whose records have any length."""

    def __init__(self, fd: int, size: int, form: RowMaker) -> None:
        """Map the ring buffer of a map. Raises OSError."""
        self.fd = fd
        self.is_being_written = False
        """True if the last `take` ended at a record that a program is writing."""
        self._size, self._form = size, form
        self._ring = MappedRing(fd, size)

    def take(self, limit: int) -> "tuple[bytes, bool]":
        """Return the oldest records as rows, about `limit` bytes of them, and whether there are no more now."""
        ring = self._ring
        at, end = ring.read_to.value, ring.written[0]
        now = self._form.clock()
        rows, size = [], 0
        self.is_being_written = False
        while at < end and size < limit:
            first = at % self._size
            (word,) = struct.unpack_from("<I", ring.data, first)
            if word & _BUSY:
                self.is_being_written = True
                break
            length = word & ~(_BUSY | _DISCARDED)
            if not word & _DISCARDED:
                rows.append(self._form.row(now, 0, 0, bytes(ring.data[first + 8 : first + 8 + length])))
                size += len(rows[-1])
            at += -(-(length + 8) // 8) * 8
        if at != ring.read_to.value:
            ring.read_to.value = at
        return b"".join(rows), size < limit

    def close(self) -> None:
        """Unmap it."""
        self._ring.close()


class PerfRing:
    """Reader of the perf buffer of one CPU (struct perf_event_mmap_page in include/uapi/linux/perf_event.h)."""

    _HEAD, _TAIL = 1024, 1032
    is_being_written = False
    """The kernel shows whole records only (perf_output_put_handle in kernel/events/ring_buffer.c)."""

    def __init__(self, fd: int, size: int, form: RowMaker) -> None:
        """Map and enable a perf event. Raises OSError."""
        import ctypes
        import fcntl
        import mmap

        self.fd = fd
        self._size, self._form = size, form
        self._lost = self._told = 0
        """Number of lost records by records of the kernel, and by our rows."""
        self._page = mmap.PAGESIZE
        self._map = mmap.mmap(fd, self._page + size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
        self._head = ctypes.c_uint64.from_buffer(self._map, self._HEAD)
        self._tail = ctypes.c_uint64.from_buffer(self._map, self._TAIL)
        fcntl.ioctl(fd, _ENABLE, 0)

    def take(self, limit: int) -> "tuple[bytes, bool]":
        """Return the oldest records as rows, about `limit` bytes of them, and whether there are no more now."""
        rows, size = [], 0
        at, end = self._tail.value, self._head.value
        while end - at >= 8 and size < limit:
            kind, _, length = struct.unpack("<IHH", self._bytes(at, 8))
            if length < 8:
                at = end
                break
            record = self._bytes(at, length)
            at += length
            if kind == _PERF_LOST:
                self._lost += struct.unpack_from("<Q", record, 16)[0]
            elif kind == _PERF_SAMPLE:
                _, tid, now, raw = struct.unpack_from("<IIQI", record, 8)
                # Never fewer than a notice has told: records that were lost meanwhile are younger than some unread.
                self._told = max(self._told, self._lost)
                rows.append(self._form.row(now, tid, self._told, record[28 : 28 + raw]))
                size += len(rows[-1])
        self._tail.value = at
        if size < limit:
            rows.append(self._loss_notice())
        return b"".join(rows), size < limit

    def _loss_notice(self) -> bytes:
        """Return a row that tells of losses that no record has told of yet, or nothing.

        PERF_RECORD_LOST comes with the next record, which may never come; the event's own count
        (PERF_FORMAT_LOST, Linux 6.0) is there at once.
        """
        count = os.read(self.fd, 16)
        lost = struct.unpack("<QQ", count)[1] if len(count) == 16 else self._lost
        if lost <= self._told:
            return b""
        self._told = lost
        return self._form.loss_notice(lost)

    def _bytes(self, at: int, length: int) -> bytes:
        first = at % self._size
        data = self._map[self._page + first : self._page + min(first + length, self._size)]
        return data + self._map[self._page : self._page + length - len(data)]

    def close(self) -> None:
        """Unmap it."""
        del self._head, self._tail
        self._map.close()


def ring_reader(fd: int, size: int, record: bytes) -> "AnyRing":
    """Return the reader of a buffer: whose records have one length, as text, or a form; or of samples of a number.

    Raises OSError.
    """
    if b" " in record:
        return sample_ring(record)
    if b"," not in record:
        return RecordRing(fd, size, int(record))
    form = RowMaker(record)
    return PerfRing(fd, size, form) if form.is_perf else ObjectRing(fd, size, form)


TYPE_CHECKING = False
if TYPE_CHECKING:
    AnyRing = RecordRing | ObjectRing | PerfRing | SampleRing
else:
    AnyRing = object
