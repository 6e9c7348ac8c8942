"""Represent the memory that a program of a watchpoint is told of, by the debug registers of each CPU.

x86: Intel SDM volume 3, 18.2 (traps: they follow the access); arm64: Arm ARM, D2.10 (faults: they precede it); the
kernel: arch/*/kernel/hw_breakpoint.c.
"""

from __future__ import annotations

import enum
from typing import Final, NamedTuple

LENGTHS: Final = (1, 2, 4, 8)
"""Bytes that a watchpoint may cover."""
X86_SLOTS: Final = 4
"""Watchpoints that a CPU can have at a time (HBP_NUM in arch/x86/include/asm/hw_breakpoint.h)."""
_KERNEL_HALF: Final = 0xFF00_0000_0000_0000
"""Lowest address of the kernel with the longest addresses, of 57 bits."""


class MemoryAccess(enum.IntEnum):
    """Accesses that a watchpoint reports (HW_BREAKPOINT_* in include/uapi/linux/hw_breakpoint.h)."""

    R = 1
    W = 2
    RW = 3


class WatchedMemory(NamedTuple):
    """Bytes of the kernel's memory, and the accesses to them that are reported."""

    address: int
    length: int
    access: MemoryAccess
    place: str
    """Place as a person wrote it: `jiffies_64`, `init_task+0x10`."""

    def __str__(self) -> str:
        return f"{self.place} ({self.length} bytes at {self.address:#x}, {self.access.name.lower()})"


def stops_after_access(machine: str) -> bool:
    """Return whether a machine reports an access when it is done; False: before it."""
    return machine == "x86_64"


def memory_obstacle(memory: WatchedMemory, machine: str) -> tuple[str, str]:
    """Return the option that a machine's debug registers can't have, and the reason; two empty texts: they have all.

    `machine`: as `uname -m` says it.
    """
    address, length = memory.address, memory.length
    if not _KERNEL_HALF <= address < 1 << 64:
        return "at", f"{address:#x} is no address of the kernel; memory of processes is not watched"
    if memory.access is MemoryAccess.R and stops_after_access(machine):
        return "access", "x86-64 has no watchpoint on reads alone; rw has reads and writes"
    if stops_after_access(machine) and address % length:
        return "at", f"{length} bytes are watched at an address that is a multiple of {length}, not at {address:#x}"
    if address % 8 + length > 8:
        return "at", f"the bytes lie in one word of 8 bytes, not {length} from {address:#x} on"
    return "", ""
