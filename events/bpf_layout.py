"""Layout of the records of BPF programs, and of the events of sub-buffers that they become (`events.bpf_records`)."""

from __future__ import annotations

STAMP, PID, LOST, FAULTS, EVENT_ID, COMM, RECORD_DATA = 0, 8, 12, 16, 20, 24, 40
"""Bytes before a record's time (u64, ns of CLOCK_MONOTONIC), thread id (u32), number of records lost so far on that
CPU (u32), bits of the fields whose memory could not be read (u32), id of its event (u32, of 16 bits), name of its
thread (char[16]), and its fields."""
SAMPLE_BYTES = RECORD_DATA + 16
"""Bytes of the record of a sample (`kernel.agent.sampler`): its value, and the difference to the one before."""
STACK_FRAMES = 64
"""Addresses of a stack that a record has at most: the outermost are left out."""
STACK_BYTES = 8 + 8 * STACK_FRAMES
"""Bytes of a stack behind the fields of a record: the bytes of its addresses (s64, below 1: there are none), and
those, the innermost first."""
LOSS_NOTICE = 1 << 30
"""Bit of a record's length in the ring buffer: there is no record, its number of lost records tells of a loss that no
later record tells of yet."""
RING_HEADER = 8
"""Bytes before a record in the ring buffer (BPF_RINGBUF_HDR_SZ)."""
_LONGEST_SHORT = 116
"""Bytes of the longest event with its length in its first word (RINGBUF_TYPE_DATA_TYPE_LEN_MAX)."""


def event_shift(size: int) -> int:
    """Return the bytes by which a field is further from the start of an event than from the start of a record of
    `size` bytes.
    """
    return 4 if size + RING_HEADER <= _LONGEST_SHORT else 0


def stack_format(number: int) -> str:
    """Return the text of the format of the stacks of records, which are those of the tracer (struct stack_entry in
    kernel/trace/trace_entries.h), as events with a number of their own.
    """
    return f"""name: kernel_stack
ID: {number}
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:unsigned char common_flags;\toffset:2;\tsize:1;\tsigned:0;
\tfield:unsigned char common_preempt_count;\toffset:3;\tsize:1;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:int size;\toffset:8;\tsize:4;\tsigned:1;
\tfield:unsigned long caller[8];\toffset:16;\tsize:64;\tsigned:0;

print fmt: "\\t=> %ps\\n", (void *)REC->caller[0]
"""
