"""Decode machine code by capstone, which is an extra; it is imported with the first function."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Final

from probes.code.architectures.table import ARCHITECTURES
from probes.code.decoded import Decoded

INSTALLATION: Final = "pip install 'capstone>=5.0.6' (the extra `code` of probewright)"
_LONGEST: Final = 15
"""Bytes of the longest instruction of any architecture."""


class NoCapstone(Exception):
    """Raised if capstone is not installed; the text says how to install it."""


def decode(code: bytes, address: int, machine: str) -> list[Decoded]:
    """Return the instructions of `code`, loaded at an address, without gaps.

    Bytes that are no known instruction have the mnemonic `probes.code.decoded.UNDECODED`.

    Args:
        code: machine code; its first byte begins an instruction.
        address: address of the first byte.
        machine: one of ARCHITECTURES.

    Raises:
        NoCapstone: capstone is not installed.
        KeyError: another architecture.
    """
    architecture, decoder = ARCHITECTURES[machine], _decoder(machine)
    found, at = list[Decoded](), 0
    while at < len(code):
        for start, size, mnemonic, operands in decoder.disasm_lite(code[at:], address + at):
            offset = start - address
            one = Decoded(offset, code[offset : offset + size], mnemonic, operands)
            found.append(architecture.whole(one, code[offset : offset + _LONGEST], start))
            at = offset + len(found[-1].code)
            if at != offset + size:
                break
        else:
            if at < len(code):
                found.append(architecture.unknown(code[at : at + _LONGEST], at))
                at += len(found[-1].code)
    return found


@functools.cache
def _decoder(machine: str) -> Any:  # noqa: ANN401 - capstone has no types
    """Return capstone's decoder. Raises NoCapstone."""
    return ARCHITECTURES[machine].make_decoder(require_capstone())


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
        if not ARCHITECTURES[machine].is_filler(one.code):
            return
        yield one
