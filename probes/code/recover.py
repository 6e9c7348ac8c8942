"""Put back the code that kprobes replaced by breakpoints and jumps, as recover_probed_instruction() does."""

from __future__ import annotations

from collections.abc import Iterable

from probes.code.architectures.architecture import Architecture
from probes.code.decoded import InstalledKprobe


def recover(code: bytes, address: int, probes: Iterable[InstalledKprobe], architecture: Architecture) -> bytes:
    """Return code as it was before kprobes changed it.

    Args:
        code: bytes as they are in memory.
        address: address of the first byte.
        probes: kprobes of the kernel; those elsewhere, and those that are not armed, are passed over.
        architecture: architecture of the code.
    """
    found = bytearray(code)
    for probe in probes:
        at = probe.address - address
        if 0 <= at < len(code):  # one that replaced nothing is not armed, or by way of ftrace
            replaced = architecture.replaced(code[at:], probe)
            found[at : at + len(replaced)] = replaced[: len(code) - at]
    return bytes(found)
