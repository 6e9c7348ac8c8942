"""Represent what is read of machine code before its targets have names: instructions, and branches to an address."""

from __future__ import annotations

from typing import Final, NamedTuple

UNDECODED: Final = "(bad)"
"""Mnemonic of bytes that are no known instruction, as objdump writes it."""


class Decoded(NamedTuple):
    """Instruction without the meaning of its operands."""

    offset: int
    code: bytes
    mnemonic: str
    operands: str


def undecoded(code: bytes, offset: int) -> Decoded:
    """Return bytes of a little-endian machine that are no known instruction."""
    return Decoded(offset, code, UNDECODED, f"0x{code[::-1].hex()}")


class Branch(NamedTuple):
    """Instruction that branches to a target."""

    address: int
    target: int
    call: bool
    """True for a call; False for a jump: a tail call, or a jump into a split-off part."""


class InstalledKprobe(NamedTuple):
    """Kprobe of a running kernel, whoever put it there."""

    address: int
    opcode: bytes
    """Bytes that the kernel keeps of the instruction (`OPCODE_BYTES` of the architecture)."""
    behind: bytes = b""
    """Bytes that the jump of an optimised kprobe replaced behind the first one, if it is optimised."""
    detour: int = 0
    """Address that this jump goes to, if it is optimised."""
