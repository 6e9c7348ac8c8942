"""Find out whether a kernel attaches BPF programs to several functions at once: by attaching one for a moment."""

from __future__ import annotations

from typing import Final

from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused
from kernel.errors import FileRefused
from kernel.target import Target
from probes.bpf.assembler import Assembler
from probes.bpf.instructions import encode
from probes.facts.facts import TargetFacts
from probes.functions.function_index import index_of

_FUNCTIONS: Final = ("vfs_fallocate", "vfs_fadvise", "vfs_truncate", "vfs_statfs", "vfs_link")
"""Functions that are seldom called, of which every kernel has one."""


def attaches_programs(target: Target, facts: TargetFacts) -> bool:
    """Return whether a program that does nothing can be attached (kprobe.multi); it is gone at the return.

    The names in a kernel's BTF say too much: 6.1, and 6.12 on arm64, name the attach type and refuse the link
    (CONFIG_FPROBE is missing). Raises TargetLost.
    """
    index = index_of(facts)
    function = next((name for name in _FUNCTIONS if index.count(name) == 1), "")
    if not function:
        return False
    out = Assembler()
    out.exit()
    files: list[int] = []
    try:
        files.append(calls.load_program(target, encode(out.program(), {}), "pw_trial"))
        files.append(calls.attach(target, files[0], (function,), at_exit=False))
    except (BpfRefused, FileRefused):
        return False
    finally:
        if files:
            target.close_bpf([*reversed(files)])
    return True
