"""Fill the settings of a kernel that the programs of an object ask for (`extern ... __kconfig`).

libbpf fills them from the machine that it runs on; here they are those of the target. Their order in the map is
libbpf's: the largest alignment first, then the largest size, then by name (cmp_externs in libbpf.c).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from probes.objects.elf_object import ObjectError
from probes.objects.object_file import BpfObject

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})(?:\.(\d{1,5}))?")
_WRAPPERS = ("__x64_sys_bpf", "__arm64_sys_bpf", "__riscv_sys_bpf", "__s390x_sys_bpf")


class KernelSettings(NamedTuple):
    """Facts of a kernel that settings are made of."""

    release: str
    has_function: Callable[[str], bool]


def kernel_settings(found: BpfObject, kernel: KernelSettings) -> bytes:
    """Return the contents of the map with an object's settings; empty: it asks for none.

    Raises ObjectError for a setting that is not known of a target.
    """
    data = b""
    for name, size in sorted(found.kconfig, key=lambda one: (-min(one[1], 8), -one[1], one[0])):
        if size not in (1, 2, 4, 8):
            raise ObjectError(f"it asks for {name}, which is not known of a target")
        data = data.ljust(-(-len(data) // size) * size, b"\0") + _value(name, kernel).to_bytes(size, "little")
    return data


def _value(name: str, kernel: KernelSettings) -> int:
    """Return a setting that libbpf itself makes. Raises ObjectError."""
    if name == "LINUX_KERNEL_VERSION":
        match = _VERSION.match(kernel.release)
        if match is None:
            raise ObjectError(f"it asks for the version of the kernel, and {kernel.release} is none")
        major, minor, patch = int(match[1]), int(match[2]), int(match[3] or 0)
        return major << 16 | min(minor, 255) << 8 | min(patch, 255)
    if name == "LINUX_HAS_BPF_COOKIE":
        return 1  # Linux 5.15, and the loader of an object takes 5.17
    if name == "LINUX_HAS_SYSCALL_WRAPPER":
        return int(any(kernel.has_function(one) for one in _WRAPPERS))
    raise ObjectError(f"it asks for {name}, which is not known of a target")
