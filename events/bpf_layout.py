"""Layout of the records of BPF programs, and of the events of sub-buffers that they become (`events.bpf_records`)."""

from __future__ import annotations

STAMP, PID, LOST, FAULTS, EVENT_ID, COMM, RECORD_DATA = 0, 8, 12, 16, 20, 24, 40
"""Bytes before a record's time (u64, ns of CLOCK_MONOTONIC), thread id (u32), number of records lost so far on that
CPU (u32), bits of the fields whose memory could not be read (u32), id of its event (u32, of 16 bits), name of its
thread (char[16]), and its fields."""
RING_HEADER = 8
"""Bytes before a record in the ring buffer (BPF_RINGBUF_HDR_SZ)."""
_LONGEST_SHORT = 116
"""Bytes of the longest event with its length in its first word (RINGBUF_TYPE_DATA_TYPE_LEN_MAX)."""


def event_shift(size: int) -> int:
    """Return the bytes by which a field is further from the start of an event than from the start of a record of
    `size` bytes.
    """
    return 4 if size + RING_HEADER <= _LONGEST_SHORT else 0
