"""Find out what a kernel attaches BPF programs to: by attaching one for a moment."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from typing import Final

from btf.btf import Btf
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused
from kernel.errors import FileRefused
from kernel.target import Target
from probes.bpf.assembler import Assembler
from probes.bpf.fentry import target_of
from probes.bpf.instructions import encode
from probes.bpf.program import NO_FUNCTION, AttachPoint, TargetFunction
from probes.facts.facts import TargetFacts
from probes.facts.program_support import ProgramSupport
from probes.functions.function_index import index_of
from probes.functions.signature import certain_signature_of

_FUNCTIONS: Final = ("vfs_fallocate", "vfs_fadvise", "vfs_truncate", "vfs_statfs", "vfs_link")
"""Functions that are seldom called, of which every kernel has one."""
_JIT: Final = "/proc/sys/net/core/bpf_jit_enable"


def program_support(target: Target, facts: TargetFacts, btf: Btf | None) -> ProgramSupport:
    """Return what programs that do nothing can be attached to; they are gone at the return.

    The names in a kernel's BTF say too much: 6.1, and 6.12 on arm64, name the attach type of kprobe.multi and refuse
    the link (CONFIG_FPROBE is missing). Raises TargetLost.
    """
    if reason := _jit_obstacle(target):
        return ProgramSupport(fentry=False, multi=False, obstacle=reason)
    index = index_of(facts)
    known = [name for name in _FUNCTIONS if index.count(name) == 1]
    signature = next(
        (found for name in known if btf is not None and (found := certain_signature_of(btf, name))), None
    )
    function = target_of(signature, facts) if signature is not None else None
    fentry = _obstacle(target, AttachPoint.FEXIT, (), function) if function is not None else "its types are unknown"
    multi = _obstacle(target, AttachPoint.ENTRY, known[:1], NO_FUNCTION) if known else "its list is unknown"
    return ProgramSupport(not fentry, not multi, fentry if fentry and multi else "")


def _jit_obstacle(target: Target) -> str:
    """Return why programs that record values are refused: the JIT is off; empty: it is on, or unknown.

    The interpreter takes the program of a trial and refuses those that read memory (seen on riscv64, where the
    JIT is off until an administrator switches it on).
    """
    try:
        is_off = target.read(_JIT, 16).strip() == b"0"
    except FileRefused:  # no interpreter, or not for us to read
        return ""
    return "the BPF JIT of this kernel is off: sysctl net.core.bpf_jit_enable=1 switches it on" if is_off else ""


def _obstacle(target: Target, point: AttachPoint, functions: Sequence[str], function: TargetFunction) -> str:
    """Return why no program is attached to functions by name, or to one by its number in BTF; empty: one is."""
    out = Assembler()
    out.exit()
    files: list[int] = []
    try:
        files.append(calls.load_program(target, encode(out.program(), {}), "pw_trial", point, function))
        if point.on_one:
            files.append(calls.attach_to_function(target, files[0]))
        else:
            files.append(calls.attach(target, files[0], functions))
    except BpfRefused as error:
        if error.number == errno.EPERM:
            return "BPF programs take CAP_BPF and CAP_PERFMON, or root"
        return f"this kernel attaches no BPF programs: {error}"
    except FileRefused as error:
        return "the remote host needs python3 for BPF programs" if error.errno == errno.ENOSYS else str(error)
    finally:
        if files:
            target.close_bpf([*reversed(files)])
    return ""
