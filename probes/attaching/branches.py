"""Find direct calls and jumps in machine code by their target address, on x86-64 and arm64.

Needs no disassembler: a branch encodes the distance to its target, so in a sufficiently short stretch of code the
upper half of that distance has one or two values. A regular expression finds these, and the lower half is then
compared. Matches are exact to 32 bits (26 on arm64); a false match needs bytes that encode exactly that distance by
chance.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple


class Branch(NamedTuple):
    """Instruction that branches to a target."""

    address: int
    target: int
    call: bool
    """True for a call; False for a jump: a tail call, or a jump into a split-off part."""


_STRETCH = {"x86_64": 1 << 16, "aarch64": 1 << 18}
"""Bytes of code within which the upper half of a distance changes at most once."""
_MAX_INSTRUCTION = 6
"""Bytes of the longest branch instruction."""


def can_read(machine: str) -> bool:
    """Return whether branches of this architecture (`uname -m`) can be read."""
    return machine in _STRETCH


def branches_to(targets: Collection[int], code: bytes, start: int, machine: str) -> list[Branch]:
    """Return the branches in `code`, loaded at address `start`, to any of `targets`; sorted by address.

    Raises KeyError for an unsupported architecture.
    """
    stretch = _STRETCH[machine]
    find = _x86 if machine == "x86_64" else _arm
    target_set = frozenset(targets)
    branches: list[Branch] = []
    for at in range(0, len(code), stretch):
        # The longest instruction may begin in this stretch and end in the next.
        part = code[at : at + stretch + _MAX_INSTRUCTION - 1]
        branches += (b for b in find(part, start + at, target_set) if b.address < start + at + stretch)
    return branches


def branch_targets(code: bytes, start: int, machine: str) -> set[int]:
    """Return the addresses that `code`, loaded at address `start`, branches to; empty for another architecture.

    On x86-64 there are others among them: bytes within an instruction may look like a branch.
    """
    if machine == "x86_64":
        pattern = rb"(?s)(?=(?:[\xe8\xe9]|\x0f[\x80-\x8f])(....))"
        found = (
            (match.end(1), int.from_bytes(match[1], "little", signed=True)) for match in re.finditer(pattern, code)
        )
        return {start + end + distance for end, distance in found}
    if machine != "aarch64":
        return set()
    words = ((at, int.from_bytes(code[at : at + 4], "little")) for at in range(-start % 4, len(code) - 3, 4))
    return {
        start + at + 4 * ((word & 0x3FFFFFF ^ 0x2000000) - 0x2000000)
        for at, word in words
        if word >> 26 & 0x1F == 0b00101
    }


def may_call_pointers(code: bytes, start: int, machine: str) -> bool:
    """Return whether `code`, loaded at address `start`, seems to call an address in a register or in memory.

    On x86-64 these are bytes that look like `call r/m64` (ff /2), on arm64 a `blr`.
    """
    if machine == "x86_64":
        # A call back ends in ff, too: direct branches are passed over.
        pattern = rb"(?s)(?:[\xe8\xe9]|\x0f[\x80-\x8f])....|(\xff[\x10-\x17\x50-\x57\x90-\x97\xd0-\xd7])"
        return any(match[1] for match in re.finditer(pattern, code))
    words = (int.from_bytes(code[at : at + 4], "little") for at in range(-start % 4, len(code) - 3, 4))
    return machine == "aarch64" and any(word & 0xFFFFFC1F == 0xD63F0000 for word in words)


def _x86(code: bytes, start: int, targets: frozenset[int]) -> Iterator[Branch]:
    """Yield branches on x86-64: `call rel32` (e8), `jmp rel32` (e9), `jcc rel32` (0f 80 to 0f 8f)."""
    tails = set()
    for target in targets:
        nearest, farthest = target - start, target - start - len(code)
        if nearest >= -1 << 31 and farthest < 1 << 31:
            uppers = range(farthest >> 16, (nearest >> 16) + 1)
            tails |= {(upper & 0xFFFF).to_bytes(2, "little") for upper in uppers}
    if not tails:
        return
    pattern = rb"(?s)(?=([\xe8\xe9]|\x0f[\x80-\x8f])..(?:%s))" % _any(tails)
    for match in re.finditer(pattern, code):
        operand = match.end(1)
        distance = int.from_bytes(code[operand : operand + 4], "little", signed=True)
        target = start + operand + 4 + distance
        if target in targets:
            yield Branch(start + match.start(), target, match[1] == b"\xe8")


def _arm(code: bytes, start: int, targets: frozenset[int]) -> Iterator[Branch]:
    """Yield branches on arm64: `bl` (100101 imm26), `b` (000101 imm26); distances count instructions."""
    tails = set()
    for target in targets:
        nearest, farthest = target - start >> 2, target - start - len(code) >> 2
        if nearest >= -1 << 25 and farthest < 1 << 25:
            uppers = [upper & 0x3FF for upper in range(farthest >> 16, (nearest >> 16) + 1)]
            tails |= {bytes((upper & 0xFF, opcode | upper >> 8)) for upper in uppers for opcode in (0x94, 0x14)}
    if not tails:
        return
    for match in re.finditer(rb"(?s)(?=..(?:%s))" % _any(tails), code):
        at = match.start()
        word = int.from_bytes(code[at : at + 4], "little")
        distance = (word & 0x3FFFFFF ^ 0x2000000) - 0x2000000
        target = start + at + 4 * distance
        if (start + at) % 4 == 0 and target in targets:
            yield Branch(start + at, target, bool(word >> 31))


def _any(texts: Collection[bytes]) -> bytes:
    return b"|".join(map(re.escape, sorted(texts)))
