"""Locate arguments, return value and stack pointer in the registers that a probe's program gets (struct pt_regs)."""

from __future__ import annotations

from typing import Final, NamedTuple


class SavedRegisters(NamedTuple):
    """Offsets in bytes in `struct pt_regs` of a machine (arch/*/include/uapi/asm/ptrace.h)."""

    arguments: tuple[int, ...]
    """Offsets of `$arg1` and those after it that are in registers."""
    result: int
    stack_pointer: int
    program_counter: int
    names: tuple[str, ...]
    """The kernel's names for the registers of the arguments (`%di`)."""
    stack_arguments: int = 0
    """Number N of the `$stackN` with the first argument that is in no register."""
    has_user_range: bool = True
    """True if an address says by itself whether it is a process's (CONFIG_ARCH_HAS_NON_OVERLAPPING_ADDRESS_SPACE)."""
    own_frames: int = 2
    """Frames of a program on one function, with its trampoline, innermost on the stack that it gets."""


SAVED_REGISTERS: Final = {
    "x86_64": SavedRegisters((112, 104, 96, 88, 72, 64), 80, 152, 128, ("di", "si", "dx", "cx", "r8", "r9"), 1),
    "aarch64": SavedRegisters(
        tuple(range(0, 64, 8)), 0, 248, 256, tuple(f"x{number}" for number in range(8)), own_frames=3
    ),
    "riscv64": SavedRegisters(
        tuple(range(80, 144, 8)), 80, 16, 0, tuple(f"a{number}" for number in range(8)), own_frames=3
    ),
}
"""By `uname -m`."""
