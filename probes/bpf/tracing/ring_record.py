"""Assemble the parts that all programs share which record into the ring buffer of their CPU."""

from __future__ import annotations

from typing import Final

from events.bpf_layout import LOST, PID, STAMP
from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import RECORD
from probes.bpf.instructions import FRAME_POINTER, Helper, JumpCondition, MapRole

HITS, PASSED, LOST_RECORDS, RECORDED = 0, 8, 16, 24
"""Offsets of the counters of a program on one CPU, u64 each; see `probes.bpf.program.COUNTER_NAMES`."""
COUNTER_BASE: Final = 8
"""Register with the address of this CPU's counters."""


def find_counters(out: Assembler, done: JumpLabel) -> None:
    """Set the register of the counters; continue at a label where they can't be found."""
    out.store_constant(FRAME_POINTER, -4, 0, 4)
    out.stack_address(2, -4)
    out.map(1, MapRole.COUNTERS)
    out.call(Helper.MAP_LOOKUP_ELEM)
    out.jump_if(JumpCondition.EQ, 0, 0, done)
    out.move(COUNTER_BASE, 0)


def reserve(out: Assembler, size: int, full: JumpLabel) -> None:
    """Set the register of the record to `size` bytes in this CPU's ring buffer, and write time, thread and losses.

    Where there is no room it continues at the label `full`.
    """
    out.call(Helper.GET_SMP_PROCESSOR_ID)
    out.store(FRAME_POINTER, -4, 0, 4)
    out.stack_address(2, -4)
    out.map(1, MapRole.RINGS)
    out.call(Helper.MAP_LOOKUP_ELEM)
    out.jump_if(JumpCondition.EQ, 0, 0, full)
    out.move(1, 0)
    out.constant(2, size)
    out.constant(3, 0)
    out.call(Helper.RINGBUF_RESERVE)
    out.jump_if(JumpCondition.EQ, 0, 0, full)
    out.move(RECORD, 0)
    out.call(Helper.KTIME_GET_NS)
    out.store(RECORD, STAMP, 0, 8)
    out.call(Helper.GET_CURRENT_PID_TGID)
    out.store(RECORD, PID, 0, 4)
    out.load(1, COUNTER_BASE, LOST_RECORDS, 8)
    out.store(RECORD, LOST, 1, 4)


def submit(out: Assembler, done: JumpLabel, full: JumpLabel) -> None:
    """Hand the record over and continue at `done`; place `full` before the counting of a record without room."""
    out.move(1, RECORD)
    out.constant(2, 0)
    out.call(Helper.RINGBUF_SUBMIT)
    add_one(out, RECORDED)
    out.jump(done)
    out.place(full)
    add_one(out, LOST_RECORDS)


def add_one(out: Assembler, counter: int) -> None:
    """Add one to a counter of this CPU, by its offset."""
    out.constant(1, 1)
    out.add_in_memory(COUNTER_BASE, counter, 1)
