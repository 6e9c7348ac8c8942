"""Tell which instructions the kernel takes no kprobe on because of their encoding.

The kernel executes the probed instruction elsewhere, or emulates it; it refuses those for which it can do neither
(arch/x86/kernel/kprobes/core.c, arch/arm64/kernel/probes/decode-insn.c, arch/arm64/include/asm/insn.h).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from probes.code.decode import opcode_offset

OF_SOME_KERNELS: Final = "behind a load-acquire, which some kernels take for an exclusive load"
"""Reason of a refusal that not every kernel has."""
_FAR: Final = "a far call or jump, which kprobes do not emulate"
_INDIRECT: Final = "a {} through memory, which kprobes do not emulate (they do through a register)"
_X86: Final = {
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
_ARM: Final = (
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


def encoding_refusal(codes: Sequence[bytes], index: int, machine: str) -> str:
    """Return why an instruction takes no kprobe, by its encoding and the code before it; empty: it may take one.

    Args:
        codes: bytes of all instructions of the function.
        index: index of the instruction.
        machine: `uname -m`.
    """
    if machine == "x86_64":
        return _x86_refusal(codes[index])
    word = int.from_bytes(codes[index], "little")
    return _arm_refusal(word) or _atomic_refusal(codes[max(index - _ATOMIC_SCAN, 0) : index])


def _x86_refusal(code: bytes) -> str:
    at = opcode_offset(code)
    opcode, operand, *_ = (*code[at:], 0, 0)
    mode, extension = operand >> 6, operand >> 3 & 7
    if opcode == _MOVE_TO_SEGMENT and extension == _STACK_SEGMENT:
        return _X86[0x1F]
    if opcode == 0x0F and operand == 0x01 and at + 2 < len(code) and code[at + 2] >> 3 == 0b11000:
        return "an instruction of virtual machines, which kprobes do not emulate"
    if opcode != _GROUP_5:
        return _X86.get(opcode, "")
    if extension in (3, 5):
        return _FAR
    if extension in (2, 4):
        if _ADDRESS_SIZE in code[:at]:
            return "a call or jump with addresses of 32 bits"
        return _INDIRECT.format("call" if extension == 2 else "jump") if mode != 3 else ""
    return ""


def _arm_refusal(word: int) -> str:
    if any(_is(word, form) for form in _SIMULATED):
        return ""
    for mask, value, reason in _ARM:
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
