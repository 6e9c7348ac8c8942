"""Find what programs read of the kernel's memory by loads: a helper costs a call for each value.

A load of memory that can't be read gives 0 (BPF_PROBE_MEM: the fault is handled as `copy_from_kernel_nofault` does).
"""

from __future__ import annotations

from typing import Final, NamedTuple
from weakref import WeakKeyDictionary

from btf.btf import Btf
from btf.errors import BtfError
from btf.layout import PathError, find_field
from btf.types import Int, Ptr, Struct
from btf.walk import stripped

_CAST: Final = "bpf_rdonly_cast"
_OF_TASK, _OF_TIME = "wake_up_new_task", "ktime_get_real_ts64"
"""Functions of every kernel that take a `struct task_struct *`, and a `struct timespec64 *`: to look for a structure
by its name would mean to read all names."""


class TaskOffsets(NamedTuple):
    """Bytes before members of struct task_struct."""

    thread: int
    """Bytes before `pid`, s32."""
    process: int
    """Bytes before `tgid`, s32."""
    comm: int


class AddressCast(NamedTuple):
    """Kernel function that makes a number an address to load from (kernel/bpf/helpers.c): a move once loaded."""

    function: int
    """Id in BTF of its FUNC."""
    structure: int
    """Id in BTF of a structure that begins with a number of 8 bytes."""


class KernelLoads(NamedTuple):
    """Memory that programs read by loads; None: by helpers."""

    task: TaskOffsets | None = None
    """Current task, which bpf_get_current_task_btf returns."""
    cast: AddressCast | None = None
    """Memory at any address."""


NO_LOADS: Final = KernelLoads()
_known: WeakKeyDictionary[Btf, KernelLoads] = WeakKeyDictionary()


def kernel_loads(btf: Btf | None) -> KernelLoads:
    """Return the loads that the types of a kernel allow; whether it takes them is tried when a program is loaded."""
    if btf is None:
        return NO_LOADS
    kernel = btf.base or btf
    if kernel not in _known:
        _known[kernel] = KernelLoads(_task_offsets(kernel), _address_cast(kernel))
    return _known[kernel]


def _task_offsets(btf: Btf) -> TaskOffsets | None:
    task = _pointed_structure(btf, _OF_TASK, "task_struct")
    if task is None:
        return None
    try:
        fields = [find_field(btf, task.id, name) for name in ("pid", "tgid", "comm")]
    except (PathError, BtfError):
        return None
    return TaskOffsets(*(field.bit_offset // 8 for field in fields))


def _address_cast(btf: Btf) -> AddressCast | None:
    function, time = btf.function(_CAST), _pointed_structure(btf, _OF_TIME, "timespec64")
    if function is None or time is None or not time.members:
        return None
    first = stripped(btf, time.members[0].type_id)
    return AddressCast(function.id, time.id) if isinstance(first, Int) and first.size == 8 else None


def _pointed_structure(btf: Btf, function: str, name: str) -> Struct | None:
    """Return the structure that the first argument of a function points to, if it has this name."""
    try:
        found = btf.function(function)
        params = btf.prototype(found).params if found is not None else ()
        pointer = stripped(btf, params[0].type_id) if params else None
        structure = stripped(btf, pointer.type_id) if isinstance(pointer, Ptr) else None
    except BtfError:
        return None
    return structure if isinstance(structure, Struct) and structure.name == name else None
