"""Read code of arm64 (arch/arm64/kernel/probes/decode-insn.c, arch/arm64/include/asm/insn.h)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, Final

from probes.code.body import InstructionKind
from probes.code.decoded import Branch, Decoded, InstalledKprobe, undecoded
from probes.code.patched_sites import EXCEPTION_TABLE, PATCHED_EVERYWHERE

NAME: Final = "arm64"
SITE_TABLES: Final = (*PATCHED_EVERYWHERE, EXCEPTION_TABLE)
OPCODE_BYTES: Final = 4
INSIDE_ERROR: Final = "FAIL_REG_PROBE"
"""EINVAL of arch_prepare_kprobe, as of any other place that takes none."""
ENTRY_MARKS: Final = ()
STRETCH: Final = 1 << 18
LONGEST_BRANCH: Final = 4
OF_SOME_KERNELS: Final = "behind a load-acquire, which some kernels take for an exclusive load"
"""Reason of a refusal that not every kernel has."""

_CALLS: Final = ("bl", "blr", "blraa", "blraaz", "blrab", "blrabz")
_INDIRECT_JUMPS: Final = ("br", "braa", "braaz", "brab", "brabz")
_JUMPS: Final = ("b", *_INDIRECT_JUMPS, "cbz", "cbnz", "tbz", "tbnz")
_RETURNS: Final = ("ret", "retaa", "retab", "eret")
_RELATIVE: Final = ("adr", "adrp", "ldr", "ldrsw", "prfm")
_ADDRESS: Final = re.compile(r"(?:^|, )#(0x[0-9a-f]+)$")
_FILLERS: Final = (b"\x1f\x20\x03\xd5", bytes(4))
"""NOP, and zeros (udf #0)."""
_FTRACE_FIRST: Final = (bytes.fromhex("1f2003d5"), bytes.fromhex("e9031eaa"))
"""`nop`, or `mov x9, x30` while the function is traced: the first of the two instructions for ftrace."""
_BTI: Final = bytes.fromhex("5f2403d5")
_BREAKPOINT: Final = bytes.fromhex("800020d4")
"""BRK #4 (KPROBES_BRK_IMM)."""

_BRANCHES_AND_SYSTEM: Final = (0x1C000000, 0x14000000)
"""Mask and value: class_branch_sys."""
_SIMULATED: Final = (
    (0xFF000010, 0x54000000),  # b.cond
    (0x7E000000, 0x34000000),  # cbz, cbnz
    (0x7E000000, 0x36000000),  # tbz, tbnz
    (0x7C000000, 0x14000000),  # b, bl
    (0xFFFFFC1F, 0xD61F0000),  # br
    (0xFFFFFC1F, 0xD63F0000),  # blr
    (0xFFFFFC1F, 0xD65F0000),  # ret
    (0x1F000000, 0x10000000),  # adr, adrp
    (0xBF000000, 0x18000000),  # ldr literal
    (0xFF000000, 0x98000000),  # ldrsw literal
)
_REFUSED: Final = (
    (0xFF000000, 0xD4000000, "raises an exception, which kprobes do not step over"),
    (0xFFFFFBFF, 0xD69F0BFF, "returns from an exception"),
    (0xFFFFFFFF, 0xD69F03E0, "returns from an exception"),
    (0xFEFFF800, 0xD61F0800, "an authenticated branch, which kprobes do not simulate"),
    (0xFFFFFBFF, 0xD65F0BFF, "an authenticated return, which kprobes do not simulate"),
    (0xFFF8F01F, 0xD500401F, "writes processor state, which kprobes do not step over"),
    (0xFFF00000, 0xD5100000, "writes a system register, which kprobes do not step over"),
    (0x3F800000, 0x08000000, "an exclusive load or store, which a kprobe would make fail"),
    (0x3B200C00, 0x19000400, "a part of a memory copy of several instructions"),
    (0xFF000000, 0xD8000000, "a prefetch relative to the instruction, which kprobes do not simulate"),
)
_READ_SYSTEM_REGISTER: Final = (0xFFF00000, 0xD5300000)
_REGISTER_NUMBER: Final = 0x1FFFE0
_DAIF: Final = 0xDA11 << 5
_HINT: Final = (0xFFFFF01F, 0xD503201F)
_STEPPABLE_HINTS: Final = frozenset({0x00, 0x07, 0x08, 0x0A, 0x18, 0x19, 0x1A, 0x1B, 0x20, 0x22, 0x24, 0x26})
"""NOP, XPACLRI, PACI*, BTI (aarch64_insn_is_steppable_hint)."""
_EXCLUSIVE: Final = (0x3FC00000, 0x08400000, 0x08000000)
"""Mask, values of loads and of stores: load_ex, store_ex."""
_EXCLUSIVE_OR_ORDERED: Final = (0x3F400000, 0x08400000, 0x08000000)
"""As kernels up to 6.12 have them: load-acquire and store-release are among them."""
_ATOMIC_SCAN: Final = 32
"""Instructions before a place among which the kernel looks for an exclusive load (MAX_ATOMIC_CONTEXT_SIZE)."""


def make_decoder(capstone: ModuleType) -> Any:  # noqa: ANN401 - capstone has no types
    """Return capstone's decoder."""
    return capstone.Cs(capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM)


def whole(one: Decoded, code: bytes, address: int) -> Decoded:  # noqa: ARG001 - all have four bytes
    """Return an instruction: capstone leaves nothing out."""
    return one


def unknown(code: bytes, offset: int) -> Decoded:
    """Return the word at an offset."""
    return undecoded(code[:4], offset)


def is_filler(code: bytes) -> bool:
    """Return whether an instruction is a NOP, or zeros."""
    return code in _FILLERS


def without_next_pointer(code: bytes, end: int) -> bytes:
    """Return code without the pointer of ftrace that is kept before the next function (CALL_OPS).

    No instruction has the upper half of a kernel address.
    """
    return code[:-8] if end % 8 == 0 and code[-2:] == b"\xff\xff" else code


def target_of(decoded: Sequence[Decoded], index: int, start: int) -> int | None:  # noqa: ARG001 - capstone adds it
    """Return the address at the end of a branch's operands, or of those of a PC-relative instruction."""
    one = decoded[index]
    if one.mnemonic.startswith("b.") or one.mnemonic in (*_CALLS, *_JUMPS, *_RELATIVE):
        found = _ADDRESS.search(one.operands)
        return int(found[1], 16) if found is not None else None
    return None


def kind_of(one: Decoded, target: int | None, name: str, ranges: Sequence[range]) -> InstructionKind:  # noqa: ARG001
    """Return the effect of an instruction by its mnemonic and target."""
    word = one.mnemonic
    if word in _CALLS:
        return InstructionKind.CALL
    if word in _RETURNS:
        return InstructionKind.RETURN
    if word not in _JUMPS and not word.startswith("b."):
        return InstructionKind.OTHER
    inside = target is not None and any(target in one for one in ranges)
    return InstructionKind.JUMP if inside else InstructionKind.TAIL_CALL


def is_indirect(one: Decoded, target: int | None, name: str) -> bool:  # noqa: ARG001 - registers are all there is
    """Return whether a call or jump has no address in it."""
    return target is None


def is_unconditional(one: Decoded) -> bool:
    """Return whether a return or jump is always taken."""
    return one.mnemonic in (*_RETURNS, *_INDIRECT_JUMPS, "b")


def encoding_refusal(codes: Sequence[bytes], index: int) -> str:
    """Return why the kernel can neither step over an instruction nor simulate it; empty: it can."""
    word = int.from_bytes(codes[index], "little")
    return _refusal(word) or _atomic_refusal(codes[max(index - _ATOMIC_SCAN, 0) : index])


def _refusal(word: int) -> str:
    if any(_is(word, form) for form in _SIMULATED):
        return ""
    for mask, value, reason in _REFUSED:
        if word & mask == value:
            return reason
    if not _is(word, _BRANCHES_AND_SYSTEM):
        return ""
    if _is(word, _READ_SYSTEM_REGISTER) and word & _REGISTER_NUMBER == _DAIF:
        return "reads the interrupt mask, which differs while kprobes step"
    if _is(word, _HINT) and word >> 5 & 0x7F not in _STEPPABLE_HINTS:
        return "a hint (barrier, wait or authentication) that kprobes do not step over"
    return ""


def _atomic_refusal(before: Sequence[bytes]) -> str:
    """Return a reason if the nearest exclusive access before a place is a load (is_probed_address_atomic)."""
    words = [int.from_bytes(code, "little") for code in reversed(before)]
    if _ends_in_load(words, _EXCLUSIVE):
        return "between an exclusive load and its store, which a kprobe would make fail"
    if _ends_in_load(words, _EXCLUSIVE_OR_ORDERED):
        return OF_SOME_KERNELS
    return ""


def _ends_in_load(words: Sequence[int], forms: tuple[int, int, int]) -> bool:
    """Return whether the first exclusive access of some instructions is a load."""
    mask, load, store = forms
    return next((word & mask == load for word in words if word & mask in (load, store)), False)


def _is(word: int, form: tuple[int, int]) -> bool:
    return word & form[0] == form[1]


def is_inside(offset: int, *, has_mark: bool, has_ftrace_call: bool) -> bool:  # noqa: ARG001 - all have four bytes
    """Return whether no instruction can begin at an offset."""
    return offset % 4 != 0


def ftrace_index(codes: Sequence[bytes]) -> int | None:
    """Return the index of the second instruction for ftrace, behind a BTI."""
    first = 1 if codes[:1] == [_BTI] else 0
    return first + 1 if len(codes) > first + 1 and codes[first] in _FTRACE_FIRST else None


def replaced(code: bytes, probe: InstalledKprobe) -> bytes:
    """Return the instruction under a breakpoint."""
    return probe.opcode if code.startswith(_BREAKPOINT) else b""


def iter_branches(code: bytes, start: int, targets: frozenset[int]) -> Iterator[Branch]:
    """Yield branches: `bl` (100101 imm26), `b` (000101 imm26); distances count instructions."""
    tails = set()
    for target in targets:
        nearest, farthest = target - start >> 2, target - start - len(code) >> 2
        if nearest >= -1 << 25 and farthest < 1 << 25:
            uppers = [upper & 0x3FF for upper in range(farthest >> 16, (nearest >> 16) + 1)]
            tails |= {bytes((upper & 0xFF, opcode | upper >> 8)) for upper in uppers for opcode in (0x94, 0x14)}
    if not tails:
        return
    for match in re.finditer(rb"(?s)(?=..(?:%s))" % b"|".join(map(re.escape, sorted(tails))), code):
        at = match.start()
        word = int.from_bytes(code[at : at + 4], "little")
        target = start + at + _distance(word)
        if (start + at) % 4 == 0 and target in targets:
            yield Branch(start + at, target, bool(word >> 31))


def branch_targets(code: bytes, start: int) -> set[int]:
    """Return the targets of `bl` and `b`."""
    return {start + at + _distance(word) for at, word in _words(code, start) if word >> 26 & 0x1F == 0b00101}


def may_call_pointers(code: bytes, start: int) -> bool:
    """Return whether there is a `blr`."""
    return any(word & 0xFFFFFC1F == 0xD63F0000 for _, word in _words(code, start))


def _words(code: bytes, start: int) -> Iterator[tuple[int, int]]:
    """Yield offset and value of each instruction."""
    for at in range(-start % 4, len(code) - 3, 4):
        yield at, int.from_bytes(code[at : at + 4], "little")


def _distance(word: int) -> int:
    """Return the bytes from a branch to its target."""
    return 4 * ((word & 0x3FFFFFF ^ 0x2000000) - 0x2000000)
