"""Compile the part of a program that adds a value to the sums of a group."""

from __future__ import annotations

from typing import Final

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.groups.grouping import POWERS, VALUE_BYTES, GroupingValue
from probes.bpf.instructions import AluOperation, JumpCondition

GROUP: Final = 7
"""Register with the address of the group."""
VALUE: Final = 3
"""Register with the value."""
_NUMBER, _LOW, _HIGH, _LEAST, _MOST = 0, 8, 16, 24, 32
"""Bytes of the parts of the sums from their begin."""


class ValueWriter:
    """Writer of the sums of one value."""

    def __init__(self, assembler: Assembler, value: GroupingValue, begin: int) -> None:
        """Take the program, the value, and the bytes of the group before its sums."""
        self._out = assembler
        self._signed, self._has_powers = value.signed, value.has_powers
        self._begin = begin

    def write(self, done: JumpLabel) -> None:
        """Add the value in register `VALUE`; registers 1 to 3 are destroyed. The program goes on at a label."""
        out = self._out
        self._keep_extremes()
        out.load(1, GROUP, self._begin + _NUMBER, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(GROUP, self._begin + _NUMBER, 1, 8)
        self._add_to_sum()
        if self._has_powers:
            self._count_power(done)

    def _keep_extremes(self) -> None:
        out = self._out
        out.load(1, GROUP, self._begin + _NUMBER, 8)
        below = JumpCondition.SLE if self._signed else JumpCondition.LE
        for place, is_least in ((_LEAST, True), (_MOST, False)):
            kept, taken = JumpLabel(), JumpLabel()
            out.jump_if(JumpCondition.EQ, 1, 0, taken)
            out.load(2, GROUP, self._begin + place, 8)
            out.jump_if_registers(below, *((2, 3) if is_least else (3, 2)), kept)
            out.place(taken)
            out.store(GROUP, self._begin + place, 3, 8)
            out.place(kept)

    def _add_to_sum(self) -> None:
        """Add register 3 to a sum of 128 bits."""
        out, carried, done = self._out, JumpLabel(), JumpLabel()
        out.load(1, GROUP, self._begin + _LOW, 8)
        out.load(2, GROUP, self._begin + _HIGH, 8)
        out.add(1, 3)
        out.store(GROUP, self._begin + _LOW, 1, 8)
        out.jump_if_registers(JumpCondition.LT, 1, 3, carried)
        if self._signed:
            out.jump_if(JumpCondition.SGE, 3, 0, done)
            out.alu(AluOperation.ADD, 2, -1)
        out.jump(done)
        out.place(carried)
        if self._signed:  # the upper half of a negative number is -1, which the carry undoes
            out.jump_if(JumpCondition.SLT, 3, 0, done)
        out.alu(AluOperation.ADD, 2, 1)
        out.place(done)
        out.store(GROUP, self._begin + _HIGH, 2, 8)

    def _count_power(self, done: JumpLabel) -> None:
        """Count register 3 by the exponent of the smallest power of two that is no smaller."""
        out, counted, powers = self._out, JumpLabel(), self._begin + VALUE_BYTES
        out.constant(1, 0)
        if self._signed:
            out.jump_if(JumpCondition.SLT, 3, 0, counted)
        out.constant(1, 1)
        out.jump_if(JumpCondition.LE, 3, 1, counted)
        out.alu(AluOperation.ADD, 3, -1)
        for bits in (32, 16, 8, 4, 2, 1):  # the number of bits of the number below
            small = JumpLabel()
            out.move(2, 3)
            out.alu(AluOperation.RSH, 2, bits)
            out.jump_if(JumpCondition.EQ, 2, 0, small)
            out.alu(AluOperation.ADD, 1, bits)
            out.move(3, 2)
            out.place(small)
        out.alu(AluOperation.ADD, 1, 1)
        out.place(counted)
        out.jump_if(JumpCondition.GE, 1, POWERS, done)  # never: the verifier has to know
        out.alu(AluOperation.LSH, 1, 3)
        out.move(2, GROUP)
        out.add(2, 1)
        out.load(1, 2, powers, 8)
        out.alu(AluOperation.ADD, 1, 1)
        out.store(2, powers, 1, 8)
