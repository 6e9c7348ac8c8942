"""Tell what is known of a kernel's variable: whether each CPU has its own, and its type.

BTF has the types of per-CPU variables, on most kernels of no others. Of some that people look at, the type has been
the same for years; it is taken where the variable has room for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.types import Var
from btf.walk import size_of
from probes.facts.lookups import SymbolPlace

_PER_CPU: Final = ("__per_cpu_start", "__per_cpu_end")
_LARGEST_OFFSET: Final = 1 << 32
_STRUCTURES: Final = {
    "init_task": "task_struct",
    "init_mm": "mm_struct",
    "init_net": "net",
    "init_pid_ns": "pid_namespace",
}
_NUMBERS: Final = {
    **dict.fromkeys(("vm_zone_stat", "vm_node_stat", "vm_numa_event", "_totalram_pages", "totalswap_pages"), "s64"),
    **dict.fromkeys(("jiffies", "jiffies_64", "total_forks", "totalreserve_pages"), "u64"),
    **dict.fromkeys(("nr_threads", "panic_on_oops", "panic_timeout", "console_loglevel", "oops_in_progress"), "s32"),
}
"""Types of variables, or of the elements of arrays (mm/vmstat.c, kernel/fork.c, kernel/panic.c, mm/page_alloc.c)."""
_RENAMED: Final = {
    ("vm_stat", "zone_stat_item"): "vm_zone_stat",
    ("vm_stat", "node_stat_item"): "vm_node_stat",
    ("vm_stat", "numa_stat_item"): "vm_numa_event",
}
"""Names since Linux 4.8 by the enum of the index (mm/vmstat.c)."""


class KnownType(NamedTuple):
    """Type of a variable."""

    type_id: int | None
    """Structure in BTF; None: it is a number."""
    word: str = ""
    """Type of a number, or of the elements of an array: `s64`."""


def is_per_cpu(symbol: SymbolPlace, look_up: Callable[[str], Sequence[SymbolPlace]]) -> bool:
    """Return whether a symbol is an offset within the area of a CPU: a small number (x86-64 before Linux 6.15), or an
    address in the area that those of all CPUs are made of.
    """
    if symbol.address < _LARGEST_OFFSET:
        return True
    ends = [one[0].address for one in map(look_up, _PER_CPU) if one]
    return len(ends) == len(_PER_CPU) and ends[0] <= symbol.address < ends[1] and not symbol.module


def variable_type(btf: Btf | None, name: str) -> int | None:
    """Return the type of a variable of the kernel; None: BTF does not have it, as of most kernels' variables."""
    if btf is None or not btf.has_name(name):
        return None
    found = btf.find(name, Kind.VAR)
    variable = btf.type(found) if found is not None else None
    return variable.type_id if isinstance(variable, Var) else None


def known_type(btf: Btf | None, name: str, room: int) -> KnownType | None:
    """Return the type of a variable that BTF does not have, if it has room for it; None: it is not known."""
    if name in _NUMBERS:
        word = _NUMBERS[name]
        return KnownType(None, word) if not room or room >= int(word[1:]) // 8 else None
    if btf is None or name not in _STRUCTURES:
        return None
    found = btf.find(_STRUCTURES[name], Kind.STRUCT)
    try:
        fits = found is not None and (not room or size_of(btf, found) <= room)
    except BtfError:
        return None
    return KnownType(found) if fits else None


def renamed_variable(name: str, enum: str) -> str:
    """Return the present name of a variable that is indexed by an enum; empty: it has no other."""
    return _RENAMED.get((name, enum), "")
