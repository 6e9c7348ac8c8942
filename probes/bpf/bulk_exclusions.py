"""List the functions that are never probed in bulk by BPF programs, each with the reason."""

from __future__ import annotations

from typing import Final, NamedTuple


class _Excluded(NamedTuple):
    """Functions by parts of their names, and why they are left out."""

    reason: str
    beginnings: tuple[str, ...]
    parts: tuple[str, ...] = ()
    endings: tuple[str, ...] = ()


_EXCLUDED: Final = (
    _Excluded(
        "they run while a program is entered or left: the machine could stand still",
        ("rcu_", "__rcu_", "migrate_", "preempt_", "bpf_", "__bpf_"),
        ("tramp", "ftrace", "fprobe"),
    ),
    _Excluded(
        "programs call them while they record",
        (
            *("ring_buffer_", "ktime_get_mono", "irq_work_"),
            *("htab_", "__htab_", "array_map_", "array_of_map_", "pcpu_freelist_", "__pcpu_freelist_"),
        ),
        ("stack_walk",),
        ("_nofault",),
    ),
)


def exclusion_reason(function: str) -> str:
    """Return why a function is left out where many are probed at once; empty: it is not."""
    for excluded in _EXCLUDED:
        named = function.startswith(excluded.beginnings) or function.endswith(excluded.endings)
        if named or any(part in function for part in excluded.parts):
            return excluded.reason
    return ""
