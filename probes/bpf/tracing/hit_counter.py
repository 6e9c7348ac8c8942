"""Assemble a BPF program that counts the calls of many functions, each by itself."""

from __future__ import annotations

from typing import Final

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.instructions import AluOperation, BpfInstruction, Helper, JumpCondition, MapRole

HIT_BYTES: Final = 8
"""Bytes of the counter of a function, in the only element of `MapRole.HITS`."""


def count_hits(functions: int) -> tuple[BpfInstruction, ...]:
    """Return a program that adds one to the counter whose number is the function's cookie.

    Args:
        functions: number of counters.
    """
    out, done = Assembler(), JumpLabel()
    out.call(Helper.GET_ATTACH_COOKIE)
    out.jump_if(JumpCondition.GE, 0, functions, done)
    out.alu(AluOperation.LSH, 0, 3)
    out.map_value(2, MapRole.HITS)
    out.add(2, 0)
    out.constant(1, 1)
    out.add_in_memory(2, 0, 1)
    out.place(done)
    out.exit()
    return out.program()
