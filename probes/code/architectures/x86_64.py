"""Read code of x86-64 (arch/x86/kernel/kprobes/core.c, arch/x86/lib/x86-opcode-map.txt; Intel SDM volume 2)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Final

from probes.code.body import InstructionKind
from probes.code.decoded import Branch, Decoded, InstalledKprobe, undecoded
from probes.code.patched_sites import PATCHED_EVERYWHERE

NAME: Final = "x86-64"
SITE_TABLES: Final = PATCHED_EVERYWHERE
OPCODE_BYTES: Final = 1
INSIDE_ERROR: Final = "BAD_INSN_BNDRY"
ENTRY_MARKS: Final = (b"\xf3\x0f\x1e\xfa", b"\x0f\x1f\x40\xd6")
"""ENDBR64, and the bytes by which the kernel replaces it if not needed."""
STRETCH: Final = 1 << 16
LONGEST_BRANCH: Final = 6

_UNDEFINED_WITH_OPERANDS: Final = (b"\x0f\xb9", b"\x0f\xff")
"""UD1, UD0: they have a ModRM byte for the kernel and objdump, not for capstone."""
_SYSTEM_GROUPS: Final = (b"\x0f\x00", b"\x0f\x01")
"""Opcodes of groups 6 and 7, which get new instructions with each processor; all have a ModRM byte."""
_SYSTEM_NAMES: Final = {
    b"\x0f\x01\xe8": "serialize",
    b"\x0f\x01\xfe": "invlpgb",
    b"\x0f\x01\xff": "tlbsync",
}
_PREFIXES: Final = frozenset(b"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3")
_RETURN_THUNK: Final = "return_thunk"
"""End of the names of the code that a `ret` is replaced by (arch/x86/lib/retpoline.S)."""
_POINTER_THUNK: Final = "__x86_indirect_"
"""Beginning of the names of the code that calls and jumps through registers are replaced by."""
_RELATIVE: Final = "(%rip)"
_DIGITS: Final = "-0123456789abcdefx"
_BRANCH: Final = re.compile(r"j\w+|callq?|loopn?[ez]?|jr?e?cxz")
_UNCONDITIONAL: Final = re.compile(r"l?ret[a-z]*|iret[a-z]*|sys(ret|exit)[a-z]*|l?jmp[a-z]*")
_FAR: Final = "a far call or jump, which kprobes do not emulate"
_INDIRECT: Final = "a {} through memory, which kprobes do not emulate (they do through a register)"
_REFUSED: Final = {
    0xCC: "a breakpoint: padding, or one that is not a kprobe's",
    0xCF: "returns from an interrupt, which kprobes do not emulate",
    0x9A: _FAR,
    0xEA: _FAR,
    0x1F: "holds interrupts off for the next instruction",
}
"""Reasons by opcode (prepare_emulation, __copy_instruction, insn_masking_exception)."""
_MOVE_TO_SEGMENT: Final = 0x8E
_GROUP_5: Final = 0xFF
_STACK_SEGMENT: Final = 2
_ADDRESS_SIZE: Final = 0x67
_FTRACE_CALL: Final = 5
"""Bytes of `call __fentry__`, which every traceable function has."""
_BREAKPOINT: Final = b"\xcc"
_JUMP: Final = 0xE9
"""First byte of the jump that an optimised kprobe has in place of a breakpoint."""
_JUMP_SIZE: Final = 5


def make_decoder(capstone: ModuleType) -> Any:  # noqa: ANN401 - capstone has no types
    """Return capstone's decoder, which writes as objdump does."""
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    decoder.syntax = capstone.CS_OPT_SYNTAX_ATT
    return decoder


def whole(one: Decoded, code: bytes, address: int) -> Decoded:  # noqa: ARG001 - an operand has its address
    """Return an instruction with the operands of UD1 and UD0: ModRM, SIB and displacement."""
    at, size = opcode_offset(code), len(one.code)
    if code[at : at + 2] not in _UNDEFINED_WITH_OPERANDS or size != at + 2 or size >= len(code):
        return one
    return one._replace(code=code[: size + _operand_bytes(code[size:])])


def unknown(code: bytes, offset: int) -> Decoded:
    """Return a system instruction that capstone does not know, or a byte."""
    at = opcode_offset(code)
    if code[at : at + 2] in _SYSTEM_GROUPS and at + 2 < len(code):
        size = at + 2 + _operand_bytes(code[at + 2 :])
        return Decoded(offset, code[:size], _SYSTEM_NAMES.get(code[at : at + 3], "system"), "")
    return undecoded(code[:1], offset)


def opcode_offset(code: bytes) -> int:
    """Return the index of the opcode in an instruction, behind legacy prefixes and REX."""
    at = 0
    while at < len(code) and code[at] in _PREFIXES:
        at += 1
    return at + (at < len(code) and code[at] >> 4 == 4)


def _operand_bytes(code: bytes) -> int:
    """Return the size of ModRM, SIB and displacement, with which `code` begins; no more than there is."""
    mode, register = code[0] >> 6, code[0] & 7
    if mode == 3:  # a register
        return 1
    has_sib = register == 4 and len(code) > 1  # ModRM.rm: a SIB byte follows
    base = code[1] & 7 if has_sib else register
    displacement = (4 if base == 5 else 0, 1, 4)[mode]
    return min(1 + has_sib + displacement, len(code))


def is_filler(code: bytes) -> bool:
    """Return whether an instruction is INT3, a NOP of any length, or a zero byte."""
    at = opcode_offset(code)
    return code[at : at + 1] in (b"\xcc", b"\x90", b"\x00") or code[at : at + 2] == b"\x0f\x1f"


def without_next_pointer(code: bytes, end: int) -> bytes:  # noqa: ARG001 - padding before a function has its symbol
    """Return the code: before a function is none that has no symbol."""
    return code


def target_of(decoded: Sequence[Decoded], index: int, start: int) -> int | None:
    """Return the address of a branch's operand, or of one relative to the next instruction."""
    one = decoded[index]
    if _BRANCH.fullmatch(one.mnemonic) and one.operands.startswith("0x"):
        return int(one.operands, 16)
    before, is_relative, _ = one.operands.partition(_RELATIVE)
    distance = before[len(before.rstrip(_DIGITS)) :] or "0"
    return start + one.offset + len(one.code) + int(distance, 0) & (1 << 64) - 1 if is_relative else None


def kind_of(one: Decoded, target: int | None, name: str, ranges: Sequence[range]) -> InstructionKind:
    """Return the effect of an instruction; a jump through a table of addresses stays within the function."""
    word = one.mnemonic
    if word.startswith(("call", "lcall")):
        return InstructionKind.CALL
    if word.startswith(("ret", "lret", "iret", "sysret", "sysexit")):
        return InstructionKind.RETURN
    if not (word.startswith(("j", "ljmp", "loop"))):
        return InstructionKind.OTHER
    if name.endswith(_RETURN_THUNK):
        return InstructionKind.RETURN
    is_table = one.operands.startswith("*") and ", " in one.operands and _RELATIVE not in one.operands
    inside = is_table if one.operands.startswith("*") else target is None or any(target in one for one in ranges)
    return InstructionKind.JUMP if inside else InstructionKind.TAIL_CALL


def is_indirect(one: Decoded, target: int | None, name: str) -> bool:
    """Return whether a call or jump goes through a register or memory, or through the code that replaces that."""
    return target is None or one.operands.startswith("*") or name.startswith(_POINTER_THUNK)


def is_unconditional(one: Decoded) -> bool:
    """Return whether a return or jump is always taken."""
    return _UNCONDITIONAL.fullmatch(one.mnemonic) is not None


def encoding_refusal(codes: Sequence[bytes], index: int) -> str:
    """Return why the kernel can neither execute an instruction elsewhere nor emulate it; empty: it can."""
    code = codes[index]
    at = opcode_offset(code)
    opcode, operand, *_ = (*code[at:], 0, 0)
    mode, extension = operand >> 6, operand >> 3 & 7
    if opcode == _MOVE_TO_SEGMENT and extension == _STACK_SEGMENT:
        return _REFUSED[0x1F]
    if opcode == 0x0F and operand == 0x01 and at + 2 < len(code) and code[at + 2] >> 3 == 0b11000:
        return "an instruction of virtual machines, which kprobes do not emulate"
    if opcode != _GROUP_5:
        return _REFUSED.get(opcode, "")
    if extension in (3, 5):
        return _FAR
    if extension in (2, 4):
        if _ADDRESS_SIZE in code[:at]:
            return "a call or jump with addresses of 32 bits"
        return _INDIRECT.format("call" if extension == 2 else "jump") if mode != 3 else ""
    return ""


def is_inside(offset: int, *, has_mark: bool, has_ftrace_call: bool) -> bool:
    """Return whether an offset is within `call __fentry__`, at the start or behind ENDBR64."""
    start = len(ENTRY_MARKS[0]) if has_mark else 0
    return has_ftrace_call and 0 < offset < start + _FTRACE_CALL and offset != start


def ftrace_index(codes: Sequence[bytes]) -> int | None:
    """Return the index of `call __fentry__`, or of the NOP in its place, behind ENDBR64."""
    first = 1 if codes[:1] == [ENTRY_MARKS[0]] else 0
    is_call = len(codes) > first and (codes[first][:1] == b"\xe8" or codes[first][:2] == b"\x0f\x1f")
    return first if is_call and len(codes[first]) == 5 else None


def replaced(code: bytes, probe: InstalledKprobe) -> bytes:
    """Return the byte under a breakpoint, or those under the jump of an optimised kprobe.

    While the kernel writes that jump a breakpoint stands in place of its first byte (smp_text_poke_batch_finish of
    arch/x86/kernel/alternative.c, text_poke_bp_batch before 6.16).
    """
    end = probe.address + _JUMP_SIZE
    is_whole = len(code) >= _JUMP_SIZE and code[0] in (_JUMP, *_BREAKPOINT)
    if is_whole and end + int.from_bytes(code[1:_JUMP_SIZE], "little", signed=True) == probe.detour:
        return probe.opcode + probe.behind
    return probe.opcode if code.startswith(_BREAKPOINT) else b""


def iter_branches(code: bytes, start: int, targets: frozenset[int]) -> Iterator[Branch]:
    """Yield branches: `call rel32` (e8), `jmp rel32` (e9), `jcc rel32` (0f 80 to 0f 8f)."""
    tails = set()
    for target in targets:
        nearest, farthest = target - start, target - start - len(code)
        if nearest >= -1 << 31 and farthest < 1 << 31:
            uppers = range(farthest >> 16, (nearest >> 16) + 1)
            tails |= {(upper & 0xFFFF).to_bytes(2, "little") for upper in uppers}
    if not tails:
        return
    pattern = rb"(?s)(?=([\xe8\xe9]|\x0f[\x80-\x8f])..(?:%s))" % b"|".join(map(re.escape, sorted(tails)))
    for match in re.finditer(pattern, code):
        operand = match.end(1)
        distance = int.from_bytes(code[operand : operand + 4], "little", signed=True)
        target = start + operand + 4 + distance
        if target in targets:
            yield Branch(start + match.start(), target, match[1] == b"\xe8")


def branch_targets(code: bytes, start: int) -> set[int]:
    """Return the targets of branches, with others: bytes within an instruction may look like one."""
    pattern = rb"(?s)(?=(?:[\xe8\xe9]|\x0f[\x80-\x8f])(....))"
    found = ((match.end(1), int.from_bytes(match[1], "little", signed=True)) for match in re.finditer(pattern, code))
    return {start + end + distance for end, distance in found}


def may_call_pointers(code: bytes, start: int) -> bool:  # noqa: ARG001 - instructions begin anywhere
    """Return whether bytes look like `call r/m64` (ff /2)."""
    # A call back ends in ff, too: direct branches are passed over.
    pattern = rb"(?s)(?:[\xe8\xe9]|\x0f[\x80-\x8f])....|(\xff[\x10-\x17\x50-\x57\x90-\x97\xd0-\xd7])"
    return any(match[1] for match in re.finditer(pattern, code))
