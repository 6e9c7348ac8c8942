"""Avoid a crash of kernels without loaded modules when call tracing starts a second time.

Call tracing (function_graph, fprobes at the exit) shares one trampoline, in memory that modules share (mm/execmem.c,
`execmem_cache_*`). It is freed with its last user, and on the kernel of `lab:full` (Linux 7.2.13, x86-64) the next
user crashes the kernel if it gets that memory again: also without this program, and with the tracer `function`.
Debian's kernel of that release, which has modules, does not crash. A permanent user avoids the crash; the lab's
machines have an fprobe for that.
"""

from __future__ import annotations

from weakref import WeakSet

from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Target
from kernel.tracefs import Tracefs

_started: set[str] = set()
"""Boot ids in which call tracing was started: a kernel that is opened again is the same one."""
_started_here: WeakSet[Target] = WeakSet()
"""Targets without a boot id."""
_with_modules: set[str] = set()
"""Boot ids in which a module was seen."""


def note_start(target: Target) -> None:
    """Record that we started call tracing on a target."""
    if boot := target.facts().boot_id:
        _started.add(boot)
    else:
        _started_here.add(target)


def refuse_second_start(target: Target, tracefs: Tracefs) -> None:
    """Raise TargetUnusable if we started and stopped call tracing before, and the next start may crash the kernel."""
    boot = target.facts().boot_id
    if not (boot in _started or target in _started_here) or boot in _with_modules:
        return
    if _read_or_empty(target, "/proc/modules", 1):
        _with_modules.update((boot,) if boot else ())
        return
    if not _frees_trampoline(target):
        return
    if b"ftrace_graph_func" in _read_or_empty(target, tracefs.file("enabled_functions")):
        return
    raise TargetUnusable(
        f"{target.name}: no module is loaded into this kernel, and it may crash when calls are followed again",
        "keep a probe on at the exit of some function: docs/troubleshooting.md says how",
    )


def _frees_trampoline(target: Target) -> bool:
    return b" execmem_cache_clean\n" in _read_or_empty(target, "/proc/kallsyms")


def _read_or_empty(target: Target, path: str, limit: int = 64 << 20) -> bytes:
    try:
        return target.read(path, limit)
    except FileRefused:
        return b""
