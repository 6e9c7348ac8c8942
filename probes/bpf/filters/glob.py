"""Compile the match of a text on the stack with a pattern of `*` and `?` (glob_match in lib/glob.c).

The parts between the `*` are looked for one after the other, each where it comes first: that finds a match if there
is one. The loops end with the text's bytes, which the verifier follows one by one.
"""

from __future__ import annotations

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.instructions import AluOperation, JumpCondition

_AT, _BYTES, _BYTE, _START, _EARLIEST = 1, 2, 3, 4, 5
"""Registers: the place in the text, its address, a byte, the beginning of the last part, and the first that it may
have."""


class GlobCompiler:
    """Compiler of the matches with one text."""

    def __init__(self, assembler: Assembler, offset: int, size: int) -> None:
        """Take the program, and the text by its offset from the end of the stack and its bytes with the NUL."""
        self._assembler = assembler
        self._offset = offset
        self._size = size

    def jump_unless(self, pattern: str, differs: JumpLabel) -> None:
        """Continue at a label where the text does not match a pattern."""
        first, *others = pattern.encode().split(b"*")
        out = self._assembler
        if len(first) >= self._size:
            out.jump_always(differs)
            return
        out.constant(_AT, 0)
        self._compare(_AT, first, differs)
        if not others:
            out.load(_BYTE, _BYTES, len(first), 1)
            out.jump_if(JumpCondition.NE, _BYTE, 0, differs)
            return
        out.constant(_AT, len(first))
        for part in filter(None, others[:-1]):
            self._find(part, differs)
        if others[-1]:
            self._find_at_end(others[-1], differs)

    def _compare(self, at: int, part: bytes, differs: JumpLabel) -> None:
        """Compare a part with the text from a place in a register on."""
        out = self._assembler
        out.stack_address(_BYTES, self._offset)
        out.add(_BYTES, at)
        for number, byte in enumerate(part):
            out.load(_BYTE, _BYTES, number, 1)
            if byte == ord("?"):
                out.jump_if(JumpCondition.EQ, _BYTE, 0, differs)
            else:
                out.jump_if(JumpCondition.NE, _BYTE, byte, differs)

    def _find(self, part: bytes, missing: JumpLabel) -> None:
        """Move to behind a part."""
        out, again, following, found = self._assembler, JumpLabel(), JumpLabel(), JumpLabel()
        out.place(again)
        out.jump_if(JumpCondition.GT, _AT, self._size - 1 - len(part), missing)
        self._compare(_AT, part, following)
        out.alu(AluOperation.ADD, _AT, len(part))
        out.jump(found)
        out.place(following)
        out.load(_BYTE, _BYTES, 0, 1)
        out.jump_if(JumpCondition.EQ, _BYTE, 0, missing)
        out.alu(AluOperation.ADD, _AT, 1)
        out.jump(again)
        out.place(found)

    def _find_at_end(self, part: bytes, missing: JumpLabel) -> None:
        """Compare a part with the end of the text."""
        out, again, end = self._assembler, JumpLabel(), JumpLabel()
        out.move(_EARLIEST, _AT)
        out.place(again)
        out.jump_if(JumpCondition.GE, _AT, self._size, missing)
        out.stack_address(_BYTES, self._offset)
        out.add(_BYTES, _AT)
        out.load(_BYTE, _BYTES, 0, 1)
        out.jump_if(JumpCondition.EQ, _BYTE, 0, end)
        out.alu(AluOperation.ADD, _AT, 1)
        out.jump(again)
        out.place(end)
        out.move(_START, _AT)
        out.alu(AluOperation.ADD, _START, -len(part))
        out.jump_if_registers(JumpCondition.SLT, _START, _EARLIEST, missing)
        self._compare(_START, part, missing)
