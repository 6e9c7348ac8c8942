"""A crash of kernels that no module is loaded into, and how it is kept away.

What follows calls (function_graph, fprobes at the exit) shares one trampoline, in memory that modules share
(mm/execmem.c, `execmem_cache_*`). It is freed with the last that uses it, and on the kernel of `lab:full` (Linux
7.2.13, x86-64) the next one takes the kernel down where it gets that memory again: by hand as well, with the tracer
`function` as well. Debian's kernel of that release, which has modules, does not. Whatever follows calls all the time
keeps it away; the machines of the lab have an fprobe for that.
"""

from __future__ import annotations

from weakref import WeakSet

from kernel.errors import FileRefused, TargetUnusable
from kernel.target import Target
from kernel.tracefs import Tracefs

_started: set[str] = set()
"""Boots in which one was switched on: a kernel that is opened anew is the same one."""
_started_here: WeakSet[Target] = WeakSet()
"""Targets that do not tell their boot."""
_with_modules: set[str] = set()
"""Boots in which a module was seen."""


def started(target: Target) -> None:
    """What follows calls was switched on there by us."""
    if boot := target.facts().boot_id:
        _started.add(boot)
    else:
        _started_here.add(target)


def refuse_second_start(target: Target, tracefs: Tracefs) -> None:
    """Raises TargetUnusable where we switched one on and off before, and the next one may end the kernel."""
    boot = target.facts().boot_id
    if not (boot in _started or target in _started_here) or boot in _with_modules:
        return
    if _read(target, "/proc/modules", 1):
        _with_modules.update((boot,) if boot else ())
        return
    if not _frees(target):
        return
    if b"ftrace_graph_func" in _read(target, tracefs.file("enabled_functions")):
        return
    raise TargetUnusable(
        f"{target.name}: no module is loaded into this kernel, and it may crash when calls are followed again",
        "keep a probe on at the exit of some function: docs/troubleshooting.md says how",
    )


def _frees(target: Target) -> bool:
    return b" execmem_cache_clean\n" in _read(target, "/proc/kallsyms")


def _read(target: Target, path: str, limit: int = 64 << 20) -> bytes:
    try:
        return target.read(path, limit)
    except FileRefused:
        return b""
