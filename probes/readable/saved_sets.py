"""Read the registers that `struct pt_regs` and `struct ftrace_regs` have room for, from the kernel's own BTF."""

from __future__ import annotations

from collections.abc import Iterator, Set
from typing import Final

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.types import Array, Struct
from btf.walk import strip
from probes.readable.report import SavedSet

PT_REGS: Final = "pt_regs"
_FTRACE_REGS: Final = ("__arch_ftrace_regs", "ftrace_regs")
"""Structures with the registers that ftrace saves, of kernels since 6.13 and before (include/linux/ftrace_regs.h)."""
_GENERAL: Final = {"aarch64": "x", "riscv64": "x", "s390x": "r"}
"""Letter of the registers that an array has, by machine."""
_ARRAYS: Final = ("regs", "gprs")
_OTHER_NAMES: Final = {"fp": "x29", "lr": "x30"}
"""Names of members of struct ftrace_regs for registers that kprobes call otherwise (x29 is the frame pointer)."""
_DEEPEST: Final = 4


def saved_sets(btf: Btf | None, machine: str, known: Set[str]) -> tuple[SavedSet, ...]:
    """Return the registers in struct pt_regs and struct ftrace_regs; a structure that BTF lacks is left out.

    Args:
        btf: types of the kernel.
        machine: `uname -m`.
        known: names of the registers that kprobes take (`Dialect.registers`).
    """
    if btf is None:
        return ()
    found = []
    try:
        whole = _members(btf, PT_REGS, machine, known)
        if whole:
            found.append(SavedSet(f"struct {PT_REGS}", whole))
        for name in _FTRACE_REGS:
            if partial := _members(btf, name, machine, known):
                note = "" if set(whole) - set(partial) else f"it is a struct {PT_REGS}, of which ftrace fills a part"
                found.append(SavedSet("struct ftrace_regs", partial, note))
                break
    except BtfError:
        return ()
    return tuple(found)


def _members(btf: Btf, name: str, machine: str, known: Set[str]) -> tuple[str, ...]:
    type_id = btf.find(name, Kind.STRUCT)
    if type_id is None:
        return ()
    names = dict.fromkeys(_registers(btf, type_id, machine, 0))
    return tuple(one for one in names if one in known)


def _registers(btf: Btf, type_id: int, machine: str, depth: int) -> Iterator[str]:
    """Yield the names of the registers that a structure has, those of unnamed structures in it included."""
    kind = btf.type(strip(btf, type_id))
    if not isinstance(kind, Struct) or depth > _DEEPEST:
        return
    for member in kind.members:
        inner = btf.type(strip(btf, member.type_id))
        if isinstance(inner, Array) and member.name in _ARRAYS:
            letter = _GENERAL.get(machine, "")
            yield from (f"{letter}{number}" for number in range(min(inner.nelems, 32)))
        elif isinstance(inner, Struct) and (not member.name or inner.name == PT_REGS):
            yield from _registers(btf, inner.id, machine, depth + 1)
        else:
            yield _OTHER_NAMES.get(member.name, member.name)
