"""Note in the kernel when calls begin, with values of their entries, for the programs at their exits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import CONTEXT, FAULT_BITS, FetchCompiler, NotCompiled
from probes.bpf.groups.grouping import TIME_BYTES, CallFrame, room
from probes.bpf.instructions import FRAME_POINTER, STACK_BYTES, AluOperation, Helper, JumpCondition, MapRole

FRAME_BYTES: Final = 16
"""Bytes of a frame: stack pointer, or address of the program's argument, and address of the function."""


class KeptCopy(NamedTuple):
    """Part of what an entry noted that is wanted at the exit."""

    begin: int
    """Bytes before it, a multiple of 8."""
    size: int
    """Bytes, a multiple of 8."""
    place: int
    """Place on the stack that it is copied to."""


class FrameWriter:
    """Writer of the parts of programs that note when calls begin, and find that at their exits."""

    def __init__(self, assembler: Assembler, fetch: FetchCompiler, frame: CallFrame, top: int) -> None:
        """Take the program, its compiler of values, and the lowest place on the stack that is in use.

        Raises NotCompiled where there is no room on the stack.
        """
        self._out = assembler
        self._fetch = fetch
        self._frame = frame
        self._key = top // 8 * 8 - FRAME_BYTES
        self.faults = self._key - 8
        """Place on the stack of the faults of the values that were kept."""
        self.bottom = self.faults - 8
        """Lowest place on the stack that is in use from here on; the duration lies there."""
        if -self.bottom > STACK_BYTES:
            raise NotCompiled("so many values")

    def note_begin(self) -> None:
        """Note the time of an entry, and the values that are kept. Raises NotCompiled."""
        out = self._out
        begin = self.faults + 8 - self._frame.begin_bytes
        if -begin > STACK_BYTES:
            raise NotCompiled("such long values of the entry")
        at = begin + 2 * TIME_BYTES
        for number, expression, field in self._frame.kept:
            size = room(field.type)
            for place in range(at, at + size, 8):
                out.store_constant(FRAME_POINTER, place, 0, 8)
            self._fetch.store(expression, field, number, FRAME_POINTER, at)
            at += size
        if self._frame.kept:
            out.store(FRAME_POINTER, begin + TIME_BYTES, FAULT_BITS, 8)
        self._write_key()
        out.call(Helper.KTIME_GET_NS)
        out.store(FRAME_POINTER, begin, 0, 8)
        out.stack_address(3, begin)
        out.constant(4, 0)
        self._with_key(Helper.MAP_UPDATE_ELEM)

    def find(self, unknown: JumpLabel, copies: Sequence[KeptCopy] = ()) -> None:
        """Put the time since the entry on the stack, and copies of what the entry kept where they are wanted.

        Continue at a label where the entry was not seen.
        """
        out = self._out
        out.call(Helper.KTIME_GET_NS)
        out.store(FRAME_POINTER, self.bottom, 0, 8)
        self._write_key()
        self._with_key(Helper.MAP_LOOKUP_ELEM)
        out.jump_if(JumpCondition.EQ, 0, 0, unknown)
        out.load(1, 0, 0, 8)
        out.load(2, FRAME_POINTER, self.bottom, 8)
        out.alu(AluOperation.MUL, 1, -1)
        out.add(2, 1)
        out.store(FRAME_POINTER, self.bottom, 2, 8)
        faults = [KeptCopy(TIME_BYTES, 8, self.faults)] if copies else []
        for one in (*faults, *copies):
            for at in range(0, one.size, 8):
                out.load(1, 0, one.begin + at, 8)
                out.store(FRAME_POINTER, one.place + at, 1, 8)
        self._with_key(Helper.MAP_DELETE_ELEM)

    def _write_key(self) -> None:
        """Write frame and function: a function that another one ends with a jump to has the frame of that one."""
        out = self._out
        if self._frame.field is None:
            out.store(FRAME_POINTER, self._key, CONTEXT, 8)
        else:
            number, expression, field = self._frame.field
            self._fetch.store(expression, field, number, FRAME_POINTER, self._key)
        if self._frame.shift:
            out.load(1, FRAME_POINTER, self._key, 8)
            out.alu(AluOperation.ADD, 1, -self._frame.shift)
            out.store(FRAME_POINTER, self._key, 1, 8)
        out.move(1, CONTEXT)
        out.call(Helper.GET_FUNC_IP)
        out.store(FRAME_POINTER, self._key + 8, 0, 8)

    def _with_key(self, helper: Helper) -> None:
        self._out.stack_address(2, self._key)
        self._out.map(1, MapRole.BEGINS)
        self._out.call(helper)
