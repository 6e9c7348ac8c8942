"""Read code of riscv64, with compressed instructions (RISC-V ISA manual; arch/riscv/kernel/probes/decode-insn.c)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, Final

from probes.code.architectures.riscv_encoding import (
    BRANCH,
    FENCE,
    JAL,
    JALR,
    SYSTEM,
    distance_of,
    is_call,
    is_compressed_branch,
    jump_register,
    opcode_of,
    pair_distance,
    size_of,
)
from probes.code.body import InstructionKind
from probes.code.decoded import UNDECODED, Branch, Decoded, InstalledKprobe, undecoded
from probes.code.patched_sites import PATCHED_EVERYWHERE

NAME: Final = "riscv64"
SITE_TABLES: Final = PATCHED_EVERYWHERE
OPCODE_BYTES: Final = 4
INSIDE_ERROR: Final = "BAD_INSN_BNDRY"
ENTRY_MARKS: Final = ()
STRETCH: Final = 1 << 18
LONGEST_BRANCH: Final = 8
"""AUIPC and JALR, which are one call."""

_SRET_MRET: Final = (0x10200073, 0x30200073)
_RA: Final = 1
_FILLERS: Final = (b"\x01\x00", b"\x13\x00\x00\x00", b"\x00\x00")
"""NOP in both sizes, and zeros."""
_NOP: Final = 0x13
"""NOP of four bytes."""
_AUIPC_T0: Final = 0x297
_JALR_T0: Final = 0x282E7
"""Low bits of `auipc t0` and `jalr t0, (t0)`, which are ftrace's call (arch/riscv/include/asm/ftrace.h)."""
_BREAKPOINTS: Final = {2: b"\x02\x90", 4: b"\x73\x00\x10\x00"}
"""C.EBREAK, EBREAK: a kprobe's has the size of the instruction that it replaces (arch_arm_kprobe)."""
_POINTER_TOP: Final = b"\xff\xff\xff\xff"
_NEAR: Final = 1 << 20
"""Bytes that JAL reaches."""
_NEAREST: Final = 1 << 11
"""Bytes that C.J reaches."""


def make_decoder(capstone: ModuleType) -> Any:  # noqa: ANN401 - capstone has no types
    """Return capstone's decoder."""
    return capstone.Cs(capstone.CS_ARCH_RISCV, capstone.CS_MODE_RISCV64 | capstone.CS_MODE_RISCVC)


def whole(one: Decoded, code: bytes, address: int) -> Decoded:  # noqa: ARG001 - it begins with the instruction
    """Return an instruction with the address that it branches to, of which capstone writes the distance."""
    distance = distance_of(one.code)
    if distance is None:
        return one
    before, comma, _ = one.operands.rpartition(", ")
    return one._replace(operands=f"{before}{comma}{_address(address + distance):#x}")


def unknown(code: bytes, offset: int) -> Decoded:
    """Return an instruction of an extension that capstone does not know, as objdump writes it, or what is left."""
    size = size_of(code)
    if len(code) < size:
        return undecoded(code[:size], offset)
    return Decoded(offset, code[:size], ".insn", f"{size}, 0x{code[:size][::-1].hex()}")


def is_filler(code: bytes) -> bool:
    """Return whether an instruction is a NOP, or zeros."""
    return code in _FILLERS


def without_next_pointer(code: bytes, end: int) -> bytes:
    """Return code without the pointer of ftrace that is kept before the next function (CALL_OPS).

    No instruction has the upper half of a kernel address.
    """
    return code[:-8] if end % 8 == 0 and code.endswith(_POINTER_TOP) else code


def target_of(decoded: Sequence[Decoded], index: int, start: int) -> int | None:
    """Return the address of a branch, or of an instruction that adds to the AUIPC before it."""
    one = decoded[index]
    if one.mnemonic == UNDECODED:
        return None
    distance = distance_of(one.code)
    if distance is None and index:
        before = decoded[index - 1]
        distance = pair_distance(before.code, one.code)
        one = before
    return _address(start + one.offset + distance) if distance is not None else None


def kind_of(one: Decoded, target: int | None, name: str, ranges: Sequence[range]) -> InstructionKind:  # noqa: ARG001
    """Return the effect of an instruction by its encoding and target."""
    word = int.from_bytes(one.code, "little")
    if one.mnemonic == UNDECODED:
        return InstructionKind.OTHER
    if word in _SRET_MRET:
        return InstructionKind.RETURN
    if is_call(word):
        return InstructionKind.CALL
    if distance_of(one.code) is None:
        source = jump_register(word)
        if source is None:
            return InstructionKind.OTHER
        if source == _RA and target is None:
            return InstructionKind.RETURN
    inside = target is not None and any(target in one for one in ranges)
    return InstructionKind.JUMP if inside else InstructionKind.TAIL_CALL


def is_indirect(one: Decoded, target: int | None, name: str) -> bool:  # noqa: ARG001 - registers are all there is
    """Return whether a call or jump goes to a register without an address before it."""
    return target is None


def is_unconditional(one: Decoded) -> bool:
    """Return whether a return or jump is always taken."""
    word = int.from_bytes(one.code, "little")
    return not (opcode_of(word) == BRANCH or is_compressed_branch(word))


def encoding_refusal(codes: Sequence[bytes], index: int) -> str:
    """Return why the kernel does not execute an instruction elsewhere (riscv_probe_decode_insn); empty: it does."""
    opcode = opcode_of(int.from_bytes(codes[index], "little"))
    if opcode == SYSTEM:
        return "a system instruction, which kprobes do not step over"
    return "a barrier, which kprobes do not step over" if opcode == FENCE else ""


def is_inside(offset: int, *, has_mark: bool, has_ftrace_call: bool) -> bool:  # noqa: ARG001 - it has two instructions
    """Return whether no instruction can begin at an offset."""
    return offset % 2 != 0


def ftrace_index(codes: Sequence[bytes]) -> int | None:
    """Return the index of the second of the two instructions for ftrace; the first may be an AUIPC at all times."""
    if len(codes) < 2 or len(codes[0]) < 4:
        return None
    first, second = (int.from_bytes(code, "little") for code in codes[:2])
    is_first = first == _NOP or first & 0xFFF == _AUIPC_T0
    return 1 if is_first and (second == _NOP or second & 0xFFFFF == _JALR_T0) else None


def replaced(code: bytes, probe: InstalledKprobe) -> bytes:
    """Return the instruction under a breakpoint of its size."""
    size = size_of(probe.opcode)
    return probe.opcode[:size] if code.startswith(_BREAKPOINTS[size]) else b""


def iter_branches(code: bytes, start: int, targets: frozenset[int]) -> Iterator[Branch]:
    """Yield branches by address: AUIPC with JALR, JAL, C.J; a pair is at the address of its AUIPC."""
    places = {*_far_places(code, start, targets), *_near_places(code, start, targets)}
    for at in sorted(at for at in places if (start + at) % 2 == 0):
        found = _branch_at(code, at)
        if found is not None and _address(start + at + found[0]) in targets:
            yield Branch(start + at, _address(start + at + found[0]), found[1])


def branch_targets(code: bytes, start: int) -> set[int]:
    """Return the targets of calls and jumps."""
    found = ((at, _branch_at(code, at)) for at in _offsets(code))
    return {_address(start + at + branch[0]) for at, branch in found if branch is not None}


def may_call_pointers(code: bytes, start: int) -> bool:  # noqa: ARG001 - the code begins with an instruction
    """Return whether a JALR calls a register that no AUIPC was added to."""
    before = b""
    for at in _offsets(code):
        one = code[at : at + size_of(code[at:])]
        is_jump = distance_of(one) is not None
        if not is_jump and is_call(int.from_bytes(one, "little")) and pair_distance(before, one) is None:
            return True
        before = one
    return False


def _far_places(code: bytes, start: int, targets: Iterable[int]) -> Iterator[int]:
    """Yield offsets of what may be an AUIPC with JALR to a target: the upper half of the distance is that."""
    tails = set()
    for target in targets:
        nearest = target - start + 0x800
        if nearest >= -1 << 31 and nearest - len(code) < 1 << 31:
            uppers = range(nearest - len(code) >> 16, (nearest >> 16) + 1)
            tails |= {(upper & 0xFFFF).to_bytes(2, "little") for upper in uppers}
    if tails:
        pattern = rb"(?s)(?=[\x17\x97].(?:%s)[\x67\xe7])" % b"|".join(map(re.escape, sorted(tails)))
        yield from (match.start() for match in re.finditer(pattern, code))


def _near_places(code: bytes, start: int, targets: Iterable[int]) -> Iterator[int]:
    """Yield offsets of what may be a JAL to a target, as bits 16 to 19 are those of the distance, or a C.J."""
    nibbles = set()
    for target in targets:
        nearest = target - start
        if nearest >= -_NEAR and nearest - len(code) < _NEAR:
            nibbles |= {upper & 15 for upper in range(nearest - len(code) >> 16, (nearest >> 16) + 1)}
            yield from range(max(nearest - _NEAREST, 0), min(nearest + _NEAREST + 1, len(code) - 1))
    if nibbles:
        third = bytes(high << 4 | low for high in range(16) for low in sorted(nibbles))
        pattern = rb"(?s)(?=[\x6f\xef].[%s].)" % re.escape(third)
        yield from (match.start() for match in re.finditer(pattern, code))


def _offsets(code: bytes) -> Iterator[int]:
    """Yield the offset of each instruction."""
    at = 0
    while at < len(code) - 1:
        yield at
        at += size_of(code[at:])


def _branch_at(code: bytes, at: int) -> tuple[int, bool] | None:
    """Return the distance of a JAL, a C.J or a pair at an offset, and whether it is a call; None: there is none."""
    one = code[at : at + size_of(code[at:])]
    word = int.from_bytes(one, "little")
    if opcode_of(word) == JAL or (word & 0xE003 == 0xA001 and len(one) == 2):
        distance = distance_of(one)
        return (distance, is_call(word)) if distance is not None else None
    after = code[at + 4 : at + 8]
    distance = pair_distance(one, after)
    word = int.from_bytes(after, "little")
    return (distance, is_call(word)) if distance is not None and opcode_of(word) == JALR else None


def _address(value: int) -> int:
    return value & (1 << 64) - 1
