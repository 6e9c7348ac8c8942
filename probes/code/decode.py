"""Decode machine code of x86-64 and arm64 by capstone, which is an extra; it is imported with the first function."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final, NamedTuple

INSTALLATION: Final = "pip install 'capstone>=5.0.6' (the extra `code` of probewright)"
UNDECODED: Final = "(bad)"
"""Mnemonic of bytes that are no known instruction, as objdump writes it."""
_UNDEFINED_WITH_OPERANDS: Final = (b"\x0f\xb9", b"\x0f\xff")
"""UD1, UD0: they have a ModRM byte for the kernel (arch/x86/lib/x86-opcode-map.txt) and objdump, not for capstone."""
_SYSTEM_GROUPS: Final = (b"\x0f\x00", b"\x0f\x01")
"""Opcodes of groups 6 and 7, which get new instructions with each processor; all have a ModRM byte."""
_SYSTEM_NAMES: Final = {
    b"\x0f\x01\xe8": "serialize",
    b"\x0f\x01\xfe": "invlpgb",
    b"\x0f\x01\xff": "tlbsync",
}
_X86_PREFIXES: Final = frozenset(b"\x26\x2e\x36\x3e\x64\x65\x66\x67\xf0\xf2\xf3")
_INSTRUCTION_BYTES: Final = 4
"""Bytes of an instruction of arm64."""
MACHINES: Final = ("x86_64", "aarch64")
"""Architectures (`uname -m`) whose code is decoded."""


class NoCapstone(Exception):
    """Raised if capstone is not installed; the text says how to install it."""


class Decoded(NamedTuple):
    """Instruction without the meaning of its operands."""

    offset: int
    code: bytes
    mnemonic: str
    operands: str


def decode(code: bytes, address: int, machine: str) -> list[Decoded]:
    """Return the instructions of `code`, loaded at an address, without gaps.

    Bytes that are no known instruction have the mnemonic UNDECODED: one byte on x86-64, four on arm64.

    Args:
        code: machine code; its first byte begins an instruction.
        address: address of the first byte.
        machine: one of MACHINES.

    Raises:
        NoCapstone: capstone is not installed.
        KeyError: another architecture.
    """
    decoder, found, at = _decoder(machine), list[Decoded](), 0
    while at < len(code):
        for start, size, mnemonic, operands in decoder.disasm_lite(code[at:], address + at):
            offset = start - address
            more = _missing_bytes(code[offset : offset + 15], size) if machine == "x86_64" else 0
            found.append(Decoded(offset, code[offset : offset + size + more], mnemonic, operands))
            at = offset + len(found[-1].code)
            if more:
                break
        else:
            if at < len(code):
                found.append(_unknown(code[at : at + 15], at, machine))
                at += len(found[-1].code)
    return found


def _unknown(code: bytes, offset: int, machine: str) -> Decoded:
    """Return an instruction that capstone does not know: system instructions of x86-64, and what is none."""
    if machine != "x86_64":
        return Decoded(offset, code[:_INSTRUCTION_BYTES], UNDECODED, f"0x{code[:_INSTRUCTION_BYTES][::-1].hex()}")
    at = opcode_offset(code)
    if code[at : at + 2] in _SYSTEM_GROUPS and at + 2 < len(code):
        size = at + 2 + _operand_bytes(code[at + 2 :])
        return Decoded(offset, code[:size], _SYSTEM_NAMES.get(code[at : at + 3], "system"), "")
    return Decoded(offset, code[:1], UNDECODED, f"0x{code[:1].hex()}")


def opcode_offset(code: bytes) -> int:
    """Return the index of the opcode in an instruction of x86-64, behind legacy prefixes and REX."""
    at = 0
    while at < len(code) and code[at] in _X86_PREFIXES:
        at += 1
    return at + (at < len(code) and code[at] >> 4 == 4)


def _missing_bytes(code: bytes, size: int) -> int:
    """Return the bytes of UD1 and UD0 behind their opcode: ModRM, SIB and displacement; 0 for other instructions."""
    at = opcode_offset(code)
    if code[at : at + 2] not in _UNDEFINED_WITH_OPERANDS or size != at + 2 or size >= len(code):
        return 0
    return _operand_bytes(code[size:])


def _operand_bytes(code: bytes) -> int:
    """Return the size of ModRM, SIB and displacement, with which `code` begins; no more than there is."""
    mode, register = code[0] >> 6, code[0] & 7
    if mode == 3:  # a register
        return 1
    has_sib = register == 4 and len(code) > 1  # ModRM.rm: a SIB byte follows
    base = code[1] & 7 if has_sib else register
    displacement = (4 if base == 5 else 0, 1, 4)[mode]
    return min(1 + has_sib + displacement, len(code))


@functools.cache
def _decoder(machine: str) -> Any:  # noqa: ANN401 - capstone has no types
    """Return capstone's decoder. Raises NoCapstone, KeyError."""
    capstone = require_capstone()
    architecture, mode = {
        "x86_64": (capstone.CS_ARCH_X86, capstone.CS_MODE_64),
        "aarch64": (capstone.CS_ARCH_ARM64, capstone.CS_MODE_ARM),
    }[machine]
    decoder = capstone.Cs(architecture, mode)
    if machine == "x86_64":
        decoder.syntax = capstone.CS_OPT_SYNTAX_ATT
    return decoder


def require_capstone() -> ModuleType:
    """Import and return capstone.

    Raises:
        NoCapstone: it is not installed.
    """
    try:
        import capstone
    except ImportError as error:
        raise NoCapstone(f"code is decoded by capstone, which is not installed: {INSTALLATION}") from error
    found: ModuleType = capstone
    return found


def iter_padding(instructions: list[Decoded], machine: str) -> Iterator[Decoded]:
    """Yield the instructions at the end that only fill the space up to the next symbol, the last first."""
    for one in reversed(instructions):
        if not (_is_x86_filler(one.code) if machine == "x86_64" else one.code in _ARM_FILLERS):
            return
        yield one


_ARM_FILLERS: Final = (b"\x1f\x20\x03\xd5", bytes(4))
"""NOP, and zeros (udf #0)."""


def _is_x86_filler(code: bytes) -> bool:
    """Return whether an instruction is INT3, a NOP of any length, or a zero byte."""
    at = opcode_offset(code)
    return code[at : at + 1] in (b"\xcc", b"\x90", b"\x00") or code[at : at + 2] == b"\x0f\x1f"
