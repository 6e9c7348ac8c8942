"""Make a function's body from its machine code: kinds and names of targets, and places that take a kprobe."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final, NamedTuple

from probes.code.body import CodePart, Instruction, InstructionKind
from probes.code.decode import UNDECODED, Decoded, decode, iter_padding
from probes.code.kprobe_refusals import encoding_refusal
from probes.code.patched_sites import Site
from probes.probe import ProbePlace

_RETURN_THUNK: Final = "return_thunk"
"""End of the names of the code that a `ret` is replaced by (arch/x86/lib/retpoline.S)."""
_POINTER_THUNK: Final = "__x86_indirect_"
"""Beginning of the names of the code that calls and jumps through registers are replaced by."""
_RELATIVE: Final = "(%rip)"
_DIGITS: Final = "-0123456789abcdefx"
_X86_BRANCH: Final = re.compile(r"j\w+|callq?|loopn?[ez]?|jr?e?cxz")
_ARM_CALLS: Final = ("bl", "blr", "blraa", "blraaz", "blrab", "blrabz")
_ARM_JUMPS: Final = ("b", "br", "braa", "braaz", "brab", "brabz", "cbz", "cbnz", "tbz", "tbnz")
_ARM_RETURNS: Final = ("ret", "retaa", "retab", "eret")
_ARM_RELATIVE: Final = ("adr", "adrp", "ldr", "ldrsw", "prfm")
_ARM_ADDRESS: Final = re.compile(r"(?:^|, )#(0x[0-9a-f]+)$")
_FTRACE_FIRST: Final = (bytes.fromhex("1f2003d5"), bytes.fromhex("e9031eaa"))
"""`nop`, or `mov x9, x30` while the function is traced: the first of the two instructions for ftrace on arm64."""
_BTI: Final = bytes.fromhex("5f2403d5")
_INSIDE_FTRACE: Final = "the place of ftrace's call, which this kernel lets no kprobe use"


class PartCode(NamedTuple):
    """Machine code of a part of a function."""

    name: str
    place: ProbePlace
    address: int
    code: bytes
    """Bytes up to the next symbol."""


class CodeContext(NamedTuple):
    """Facts of a kernel that its code is read with."""

    machine: str
    name_of: Callable[[int], str]
    """Returns symbol and offset of an address; empty: no symbol is there."""
    sites: Sequence[Site] = ()
    """Places that the kernel patches itself."""
    kprobes_on_ftrace: bool = True
    """True if a kprobe may stand where ftrace's call does (CONFIG_KPROBES_ON_FTRACE)."""


def make_parts(codes: Iterable[PartCode], context: CodeContext) -> tuple[CodePart, ...]:
    """Return the decoded parts of one function.

    Raises:
        probes.code.decode.NoCapstone: capstone is not installed.
        KeyError: code of another architecture than `probes.code.decode.MACHINES`.
    """
    parts = list(codes)
    ranges = [range(part.address, part.address + len(part.code)) for part in parts]
    return tuple(_make_part(part, ranges, context, number == 0) for number, part in enumerate(parts))


def _make_part(part: PartCode, ranges: Sequence[range], context: CodeContext, is_first: bool) -> CodePart:
    decoded = decode(_without_next_ops(part, context.machine), part.address, context.machine)
    padding = sum(1 for _ in iter_padding(decoded, context.machine))
    if padding < len(decoded):
        decoded = decoded[: len(decoded) - padding]
    refusals = _refusals(decoded, part.address, context, is_first)
    instructions = []
    for one, refusal in zip(decoded, refusals, strict=True):
        target = target_of(one, part.address, context.machine)
        name = context.name_of(target) if target is not None else ""
        kind = kind_of(one, target, name, ranges, context.machine)
        instructions.append(
            Instruction(one.offset, one.code, one.mnemonic, one.operands, kind, target, name, refusal)
        )
    size = decoded[-1].offset + len(decoded[-1].code) if decoded else 0
    return CodePart(part.name, part.place, part.address, size, tuple(instructions))


def _without_next_ops(part: PartCode, machine: str) -> bytes:
    """Return code without the pointer of ftrace that kernels of arm64 keep before the next function (CALL_OPS).

    No instruction has the upper half of a kernel address.
    """
    end = part.address + len(part.code)
    is_pointer = machine == "aarch64" and end % 8 == 0 and part.code[-2:] == b"\xff\xff"
    return part.code[:-8] if is_pointer else part.code


def target_of(one: Decoded, start: int, machine: str) -> int | None:
    """Return the address that an instruction branches to, or that its PC-relative operand means; None: none.

    Args:
        one: instruction.
        start: address of the code that it was decoded with.
        machine: `uname -m`.
    """
    if machine == "x86_64":
        if _X86_BRANCH.fullmatch(one.mnemonic) and one.operands.startswith("0x"):
            return int(one.operands, 16)
        before, is_relative, _ = one.operands.partition(_RELATIVE)
        distance = before[len(before.rstrip(_DIGITS)) :] or "0"
        return start + one.offset + len(one.code) + int(distance, 0) & (1 << 64) - 1 if is_relative else None
    if one.mnemonic.startswith("b.") or one.mnemonic in (*_ARM_CALLS, *_ARM_JUMPS, *_ARM_RELATIVE):
        found = _ARM_ADDRESS.search(one.operands)
        return int(found[1], 16) if found is not None else None
    return None


def kind_of(one: Decoded, target: int | None, name: str, ranges: Sequence[range], machine: str) -> InstructionKind:
    """Return the effect of an instruction on the flow of control.

    Args:
        one: instruction.
        target: address that it branches to; None: in a register, in memory, or none.
        name: symbol of that address.
        ranges: addresses of the parts of the function.
        machine: `uname -m`.
    """
    word = one.mnemonic
    if machine == "x86_64":
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
    if word in _ARM_CALLS:
        return InstructionKind.CALL
    if word in _ARM_RETURNS:
        return InstructionKind.RETURN
    if word not in _ARM_JUMPS and not word.startswith("b."):
        return InstructionKind.OTHER
    inside = target is not None and any(target in one for one in ranges)
    return InstructionKind.JUMP if inside else InstructionKind.TAIL_CALL


def goes_through_pointer(one: Instruction) -> bool:
    """Return whether a call or jump goes to an address that is in a register or in memory."""
    if one.kind not in (InstructionKind.CALL, InstructionKind.JUMP, InstructionKind.TAIL_CALL):
        return False
    return one.target is None or one.operands.startswith("*") or one.target_name.startswith(_POINTER_THUNK)


def _refusals(decoded: Sequence[Decoded], start: int, context: CodeContext, is_first: bool) -> list[str]:
    """Return for each instruction why it takes no kprobe; empty texts: it takes one."""
    codes = [one.code for one in decoded]
    found = [
        "no known instruction" if one.mnemonic == UNDECODED else encoding_refusal(codes, index, context.machine)
        for index, one in enumerate(decoded)
    ]
    offsets = {one.offset: index for index, one in enumerate(decoded)}
    for site in context.sites:
        for offset in range(site.start - start, site.end - start):
            if offset in offsets:
                found[offsets[offset]] = site.reason
    place = _ftrace_index(codes, context) if is_first else None
    if place is not None:
        found[place] = _INSIDE_FTRACE
    return found


def _ftrace_index(codes: Sequence[bytes], context: CodeContext) -> int | None:
    """Return the index of the instruction that ftrace makes its call, where no kprobe may stand; None: none."""
    if context.kprobes_on_ftrace:
        return None
    if context.machine == "x86_64":
        first = 1 if codes[:1] == [bytes.fromhex("f30f1efa")] else 0
        is_call = len(codes) > first and (codes[first][:1] == b"\xe8" or codes[first][:2] == b"\x0f\x1f")
        return first if is_call and len(codes[first]) == 5 else None
    first = 1 if codes[:1] == [_BTI] else 0
    return first + 1 if len(codes) > first + 1 and codes[first] in _FTRACE_FIRST else None
