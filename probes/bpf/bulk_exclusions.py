"""List the functions that are never probed in bulk by BPF programs, each with the reason."""

from __future__ import annotations

from typing import Final

from probes.syntax.text import glob

_RUNS_PROGRAMS = "it runs while a program is entered or left: the machine could stand still"
_WRITES_RECORDS = "programs call it while they record"
_EXCLUDED: Final = (
    (
        _RUNS_PROGRAMS,
        ("rcu_*", "__rcu_*", "migrate_*", "preempt_*", "bpf_*", "__bpf_*", "*tramp*", "*ftrace*", "*fprobe*"),
    ),
    (_WRITES_RECORDS, ("ring_buffer_*", "*stack_walk*", "*_nofault", "ktime_get_mono*", "irq_work_*")),
)
_PATTERNS = tuple((glob(pattern), reason) for reason, patterns in _EXCLUDED for pattern in patterns)


def exclusion_reason(function: str) -> str:
    """Return why a function is left out where many are probed at once; empty: it is not."""
    return next((reason for pattern, reason in _PATTERNS if pattern.match(function)), "")
