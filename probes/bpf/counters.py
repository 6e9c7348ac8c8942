"""Write the parts of a program that count: its hits, and the records for which there is no room."""

from __future__ import annotations

import enum
from typing import Final

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.instructions import FRAME_POINTER, AluOperation, Helper, JumpCondition, MapRole
from probes.bpf.program import LOST_BYTES, PROGRAM_BYTES

CPU_PLACE: Final = -4
"""Place on the stack of the number of this CPU, u32."""
COUNTER_BASE: Final = 8
"""Register with the address of this CPU's counters."""


class Counter(enum.IntEnum):
    """Bytes before a counter of a program, in the order of `COUNTER_NAMES`."""

    HITS = 0
    PASSED = 8
    LOST = 16
    RECORDED = 24


class CounterWriter:
    """Writer of the parts of one program that count."""

    def __init__(self, assembler: Assembler, number: int) -> None:
        """Take the program and its number in its plan."""
        self._out = assembler
        self._own = LOST_BYTES + number * PROGRAM_BYTES

    def find(self, cpus: int, stride: int, done: JumpLabel) -> None:
        """Put the address of this CPU's counters into its register; continue at a label where it has none."""
        out = self._out
        out.call(Helper.GET_SMP_PROCESSOR_ID)
        out.store(FRAME_POINTER, CPU_PLACE, 0, 4)
        out.jump_if(JumpCondition.GE, 0, cpus, done)
        out.alu(AluOperation.MUL, 0, stride)
        out.map_value(COUNTER_BASE, MapRole.COUNTERS)
        out.add(COUNTER_BASE, 0)

    def add(self, counter: Counter) -> None:
        """Add one to a counter of this program."""
        out, at = self._out, self._own + counter
        out.load(1, COUNTER_BASE, at, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(COUNTER_BASE, at, 1, 8)

    def add_lost_record(self) -> None:
        """Count a record without room, of this program and of all that share the ring buffer."""
        out = self._out
        self.add(Counter.LOST)
        out.constant(1, 1)
        out.add_in_memory(COUNTER_BASE, 0, 1)  # other programs may run on this CPU within this one
