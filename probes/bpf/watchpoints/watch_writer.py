"""Write the part of a watchpoint's program that reads the memory, and the program that reads its first value."""

from __future__ import annotations

from typing import Final

from probes.bpf.assembler import Assembler
from probes.bpf.instructions import FRAME_POINTER, BpfInstruction, Helper, MapRole
from probes.bpf.watchpoints.memory import WatchedMemory

READ_PLACE, EARLIER_PLACE = -32, -40
"""Places on the stack of the value that was just read, and of the one that was read before, u64 each."""
VALUE, RUNS = 0, 8
"""Bytes before the last value (u64) and the number of runs (u64) in the only element of `MapRole.WATCHED`."""
WATCHED_BYTES: Final = 16
"""Bytes of that element."""


def _read(out: Assembler, memory: WatchedMemory) -> None:
    """Put the memory on the stack, with zeros behind it; register 0 is 0, or an error."""
    out.store_constant(FRAME_POINTER, READ_PLACE, 0, 8)
    out.stack_address(1, READ_PLACE)
    out.constant(2, memory.length)
    out.constant(3, memory.address)
    out.call(Helper.PROBE_READ_KERNEL)


def exchange_value(out: Assembler, memory: WatchedMemory) -> None:
    """Count the run, put the memory on the stack and into the map, and on the stack what was in the map.

    Of hits on several CPUs each gets a value that one other hit has put there: none is left out.
    """
    _read(out, memory)
    out.load(2, FRAME_POINTER, READ_PLACE, 8)
    out.map_value(1, MapRole.WATCHED)
    out.exchange_in_memory(1, VALUE, 2)
    out.store(FRAME_POINTER, EARLIER_PLACE, 2, 8)
    out.constant(2, 1)
    out.add_in_memory(1, RUNS, 2)


def first_value(memory: WatchedMemory) -> tuple[BpfInstruction, ...]:
    """Return a program that puts the memory into the map; its result is 0, or an error below it."""
    out = Assembler()
    _read(out, memory)
    out.move(6, 0)
    out.load(2, FRAME_POINTER, READ_PLACE, 8)
    out.map_value(1, MapRole.WATCHED)
    out.store(1, VALUE, 2, 8)
    out.exit_with(6)
    return out.program()
