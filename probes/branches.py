"""Direct calls and jumps in machine code, by the address they go to: x86-64 and arm64.

No disassembler: a branch names its target by the distance to it, so for a stretch of code that is short enough the
upper half of that distance has one value or two. A regular expression finds those, the lower half decides. What is
found is exact to 32 bits (26 on arm64); a false one needs bytes that only happen to spell the very distance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple


class Branch(NamedTuple):
    """One instruction that leads to a target."""

    address: int
    target: int
    call: bool
    """It comes back here; else it is a jump: a call in the place of a return, or into a part set apart."""


class _Shape(NamedTuple):
    """How an architecture writes a direct branch."""

    stretch: int
    """Bytes of code in which the upper half of the distance changes at most once."""
    step: int
    """Instructions begin at multiples of it."""


_SHAPES = {"x86_64": _Shape(1 << 16, 1), "aarch64": _Shape(1 << 18, 4)}
_LONGEST = 6
"""Bytes of the longest branch instruction."""


def knows(machine: str) -> bool:
    """Whether branches of this architecture (`uname -m`) can be read."""
    return machine in _SHAPES


def branches_to(targets: Collection[int], code: bytes, start: int, machine: str) -> list[Branch]:
    """Find the branches in `code`, which lies at address `start`, that go to one of `targets`; by address.

    Raises KeyError for an architecture that is not known.
    """
    shape = _SHAPES[machine]
    find = _x86 if machine == "x86_64" else _arm
    found: list[Branch] = []
    for at in range(0, len(code), shape.stretch):
        # The longest instruction may begin in this stretch and end in the next.
        part = code[at : at + shape.stretch + _LONGEST - 1]
        for target in targets:
            found += (b for b in find(part, start + at, target) if b.address < start + at + shape.stretch)
    return sorted(found)


def _x86(code: bytes, start: int, target: int) -> Iterator[Branch]:
    """`call rel32` (e8), `jmp rel32` (e9), `jcc rel32` (0f 80 to 0f 8f)."""
    ends = (target - start - len(code), target - start)
    if ends[1] < -1 << 31 or ends[0] >= 1 << 31:
        return
    uppers = {end >> 16 & 0xFFFF for end in ends}
    tail = b"|".join(re.escape(upper.to_bytes(2, "little")) for upper in sorted(uppers))
    for match in re.finditer(rb"(?s)(?=([\xe8\xe9]|\x0f[\x80-\x8f])..(?:" + tail + rb"))", code):
        operand = match.end(1)
        distance = int.from_bytes(code[operand : operand + 4], "little", signed=True)
        if start + operand + 4 + distance == target:
            yield Branch(start + match.start(), target, match[1] == b"\xe8")


def _arm(code: bytes, start: int, target: int) -> Iterator[Branch]:
    """`bl` (100101 imm26) and `b` (000101 imm26); the distance counts instructions from the branch itself."""
    words = (target - start - len(code) >> 2, target - start >> 2)
    if target & 3 or start & 3 or words[1] < -1 << 25 or words[0] >= 1 << 25:
        return
    tails = set()
    for word in words:
        upper = word >> 16 & 0x3FF
        for opcode in (0x94, 0x14):
            tails.add(bytes((upper & 0xFF, opcode | upper >> 8)))
    tail = b"|".join(map(re.escape, sorted(tails)))
    for match in re.finditer(rb"(?s)(?=..(" + tail + rb"))", code):
        at = match.start()
        if at % 4:
            continue
        word = int.from_bytes(code[at : at + 4], "little")
        distance = (word & 0x3FFFFFF ^ 0x2000000) - 0x2000000
        if start + at + 4 * distance == target:
            yield Branch(start + at, target, bool(word >> 31))
