"""Put back the code that kprobes replaced by breakpoints and jumps, as recover_probed_instruction() does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

_JUMP: Final = 0xE9
"""First byte of the jump that an optimised kprobe of x86-64 has in place of a breakpoint."""
_JUMP_SIZE: Final = 5
_BREAKPOINTS: Final = {1: b"\xcc", 4: bytes.fromhex("800020d4")}
"""INT3; BRK #4 (KPROBES_BRK_IMM), by the bytes that they replace."""


class InstalledKprobe(NamedTuple):
    """Kprobe of a running kernel, whoever put it there."""

    address: int
    opcode: bytes
    """Bytes that its breakpoint replaced: one on x86-64, four on arm64."""
    behind: bytes = b""
    """Bytes that the jump of an optimised kprobe replaced behind the first one, if it is optimised."""
    detour: int = 0
    """Address that this jump goes to, if it is optimised."""


def recover(code: bytes, address: int, probes: Iterable[InstalledKprobe]) -> bytes:
    """Return code as it was before kprobes changed it.

    Args:
        code: bytes as they are in memory.
        address: address of the first byte.
        probes: kprobes of the kernel; those elsewhere, and those that are not armed, are passed over.
    """
    found = bytearray(code)
    for probe in probes:
        at = probe.address - address
        if not 0 <= at < len(code):
            continue
        replaced = probe.opcode
        if _jumps_to(code[at : at + _JUMP_SIZE], probe.address, probe.detour):
            replaced += probe.behind
        elif not code[at:].startswith(_BREAKPOINTS[len(replaced)]):
            continue  # not armed, or by way of ftrace
        found[at : at + len(replaced)] = replaced[: len(code) - at]
    return bytes(found)


def _jumps_to(code: bytes, address: int, target: int) -> bool:
    """Return whether an instruction of x86-64 is a jump to an address, whole or without its first byte.

    While the kernel writes it a breakpoint stands in place of that byte (smp_text_poke_batch_finish of
    arch/x86/kernel/alternative.c, text_poke_bp_batch before 6.16).
    """
    if len(code) < _JUMP_SIZE or code[0] not in (_JUMP, *_BREAKPOINTS[1]):
        return False
    return address + _JUMP_SIZE + int.from_bytes(code[1:], "little", signed=True) == target
