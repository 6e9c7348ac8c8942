"""Make the ring buffers of BPF programs: one for each CPU, in an array of them by CPU."""

from __future__ import annotations

import re
import struct
from typing import NamedTuple

from kernel.bpf import calls
from kernel.bpf.calls import MapType
from kernel.target import RingMap, Target

_MOST_RING_BYTES = 64 << 20
"""Bytes of all ring buffers of a probe."""
_RING_BYTES = 4 << 20
"""Bytes of the ring buffer of a CPU, where there are few CPUs: no fewer records than tracefs holds by default."""


class Cpus(NamedTuple):
    """CPUs of a target, as numbers."""

    online: tuple[int, ...]
    possible: int
    """Number of CPUs that a map by CPU has elements for."""


def read_cpus(target: Target) -> Cpus:
    """Return the CPUs of a target. Raises FileRefused, TargetLost."""
    folder = "/sys/devices/system/cpu"
    online, possible = (target.read(f"{folder}/{name}").decode() for name in ("online", "possible"))
    return Cpus(tuple(_numbers(online)), max(_numbers(possible)) + 1)


def _numbers(ranges: str) -> list[int]:
    """Return the numbers of a list like `0-3,8`."""
    pairs = [(int(match[1]), int(match[2] or match[1])) for match in re.finditer(r"(\d{1,4})(?:-(\d{1,4}))?", ranges)]
    return [number for first, last in pairs for number in range(first, last + 1)] or [0]


def make_rings(target: Target, cpus: Cpus, files: list[int]) -> tuple[int, tuple[RingMap, ...]]:
    """Make a ring buffer for each CPU; return the file of the array of them, and the ring buffers.

    Each file is added to `files` when it is made. Raises BpfRefused, FileRefused, TargetLost.
    """
    size = _ring_bytes(cpus)
    fds = {}
    for cpu in cpus.online:
        fds[cpu] = calls.create_map(target, MapType.RINGBUF, 0, 0, size, "pw_ring")
        files.append(fds[cpu])
    inner = fds[cpus.online[0]]
    rings = calls.create_map(target, MapType.ARRAY_OF_MAPS, 4, 4, cpus.possible, "pw_rings", inner=inner)
    files.append(rings)
    for cpu, fd in fds.items():
        calls.write_element(target, rings, cpu, struct.pack("<I", fd))
    return rings, tuple(RingMap(cpu, fd, size) for cpu, fd in fds.items())


def _ring_bytes(cpus: Cpus) -> int:
    """Return the bytes of the ring buffer of each CPU: a power of two, and whole pages of any machine."""
    size = _RING_BYTES
    while size > 1 << 16 and size * len(cpus.online) > _MOST_RING_BYTES:
        size >>= 1
    return size
