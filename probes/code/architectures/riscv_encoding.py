"""Take instructions of RISC-V apart: sizes, branches and their distances (RISC-V ISA manual, RV64I and C)."""

from __future__ import annotations

from typing import Final

_LOAD: Final = 0x03
_LOAD_FLOAT: Final = 0x07
FENCE: Final = 0x0F
_ADD_IMMEDIATE: Final = 0x13
_AUIPC: Final = 0x17
BRANCH: Final = 0x63
JALR: Final = 0x67
JAL: Final = 0x6F
SYSTEM: Final = 0x73


def distance_of(code: bytes) -> int | None:
    """Return the bytes from a relative branch to its target; None: another instruction."""
    word = int.from_bytes(code, "little")
    if len(code) == 4 and opcode_of(word) == JAL:
        return _signed(_bits(word, 31, 1, 20) | _bits(word, 21, 10, 1) | _bits(word, 20, 1, 11) | word & 0xFF000, 21)
    if len(code) == 4 and opcode_of(word) == BRANCH:
        high, low = _bits(word, 31, 1, 12) | _bits(word, 7, 1, 11), _bits(word, 25, 6, 5) | _bits(word, 8, 4, 1)
        return _signed(high | low, 13)
    if len(code) == 2 and word & 0xE003 == 0xA001:  # c.j
        high = _bits(word, 12, 1, 11) | _bits(word, 8, 1, 10) | _bits(word, 9, 2, 8) | _bits(word, 6, 1, 7)
        low = _bits(word, 7, 1, 6) | _bits(word, 2, 1, 5) | _bits(word, 11, 1, 4) | _bits(word, 3, 3, 1)
        return _signed(high | low, 12)
    if len(code) == 2 and is_compressed_branch(word):
        high = _bits(word, 12, 1, 8) | _bits(word, 5, 2, 6) | _bits(word, 2, 1, 5)
        return _signed(high | _bits(word, 10, 2, 3) | _bits(word, 3, 2, 1), 9)
    return None


def pair_distance(first: bytes, second: bytes) -> int | None:
    """Return the bytes from an AUIPC to the address that it makes with the next instruction; None: it makes none."""
    if len(first) != 4 or len(second) != 4:
        return None
    word, after = int.from_bytes(first, "little"), int.from_bytes(second, "little")
    if opcode_of(word) != _AUIPC or _register(word, 7) != _register(after, 15):
        return None
    adds = opcode_of(after) in (_LOAD, _LOAD_FLOAT) or (
        opcode_of(after) in (JALR, _ADD_IMMEDIATE) and not after >> 12 & 7
    )
    return _signed(word & 0xFFFFF000, 32) + _signed(after >> 20, 12) if adds else None


def is_call(word: int) -> bool:
    """Return whether an instruction jumps and keeps the address behind it: JAL, JALR, C.JALR."""
    if word & 3 != 3:
        return word & 0xF07F == 0x9002 and bool(_register(word, 7))
    is_jump = opcode_of(word) == JAL or _jalr_source(word) is not None
    return is_jump and bool(_register(word, 7))


def jump_register(word: int) -> int | None:
    """Return the register that a JALR or C.JR jumps to; None: another instruction."""
    if word & 3 != 3:
        return _register(word, 7) or None if word & 0xF07F == 0x8002 else None
    return _jalr_source(word)


def _jalr_source(word: int) -> int | None:
    return _register(word, 15) if opcode_of(word) == JALR and not word >> 12 & 7 else None


def is_compressed_branch(word: int) -> bool:
    """Return whether an instruction is C.BEQZ or C.BNEZ."""
    return word & 0xC003 == 0xC001


def size_of(code: bytes) -> int:
    """Return the bytes of the instruction that code begins with."""
    return 4 if code[0] & 3 == 3 else 2


def opcode_of(word: int) -> int:
    """Return the opcode of an instruction of four bytes."""
    return word & 0x7F


def _register(word: int, at: int) -> int:
    return word >> at & 31


def _bits(word: int, at: int, count: int, to: int) -> int:
    """Return some bits of an instruction, moved to those of a distance."""
    return (word >> at & (1 << count) - 1) << to


def _signed(value: int, bits: int) -> int:
    return value - (1 << bits) if value >> bits - 1 else value
