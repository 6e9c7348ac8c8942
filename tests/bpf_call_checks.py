"""Checks of the calls that make maps, programs and links, by each caller: libbpf, bpf(2), the agent."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Sequence

from kernel.agent.bpf_calls import (
    ATTRIBUTES,
    LINK_CREATE,
    MAP_CREATE,
    MAP_LOOKUP_ELEM,
    MAP_UPDATE_ELEM,
    PROG_LOAD,
    PROG_RUN,
    RETURNED,
)

Part = tuple[int, bytes, bytes]
Call = Callable[[int, bytes, Sequence[Part]], tuple[int, list[bytes]]]
ARRAY, RINGBUF, PERF_EVENT_ARRAY = 2, 27, 4
SYSCALL, RAW_TRACEPOINT, TRACING_MULTI = 31, 17, 42
LOG = 1 << 16


def create_map(call: Call, kind: int, key: int, value: int, entries: int, name: bytes = b"pw_check") -> int:
    attributes = struct.pack("<7I16s", kind, key, value, entries, 0, 0, 0, name).ljust(72, b"\0")
    return call(MAP_CREATE, attributes, ())[0]


def load(call: Call, code: bytes, log: int = 0) -> tuple[int, str]:
    """Load a program that only runs when it is asked to; return its file or an errno, and the verifier's log."""
    head = struct.pack("<IIQQIIQII16s", SYSCALL, len(code) // 8, 0, 0, int(log > 0), log, 0, 0, 16, b"pw_check")
    parts: list[Part] = [(8, b"", code), (16, b"", b"GPL\0")]
    if log:
        parts.append((32, RETURNED, b"%d" % log))
    result, filled = call(PROG_LOAD, head.ljust(120, b"\0"), parts)
    return result, filled[0].partition(b"\0")[0].decode() if filled else ""


def writer(ring: int, size: int) -> bytes:
    """Instructions that put `size` bytes of the stack, all of one number, into a ring buffer."""
    rows = [
        *(struct.pack("<BBhi", 0x7A, 10, at, size) for at in range(-64, 0, 8)),
        struct.pack("<BBhiq", 0x18, 1 | 1 << 4, 0, ring, 0),
        struct.pack("<BBhi", 0xBF, 2 | 10 << 4, 0, 0),
        struct.pack("<BBhi", 0x07, 2, 0, -64),
        struct.pack("<BBhi", 0xB7, 3, 0, size),
        struct.pack("<BBhi", 0xB7, 4, 0, 0),
        struct.pack("<BBhi", 0x85, 0, 0, 130),
        struct.pack("<BBhi", 0x95, 0, 0, 0),
    ]
    return b"".join(rows)


def run(call: Call, program: int) -> int:
    result, filled = call(PROG_RUN, struct.pack("<II", program, 0).ljust(80, b"\0"), [(0, ATTRIBUTES, b"")])
    assert result == 0
    return int(struct.unpack_from("<i", filled[0], 4)[0])


def check_maps(call: Call) -> None:
    """Make an array, write to it and read it; what the kernel refuses has the same errno in all ways."""
    fd = create_map(call, ARRAY, 4, 8, 4)
    assert fd > 0
    where: Part = (8, b"", struct.pack("<I", 2))
    written = call(MAP_UPDATE_ELEM, struct.pack("<IIQQQ", fd, 0, 0, 0, 0), [where, (16, b"", struct.pack("<Q", 77))])
    assert written[0] == 0
    result, filled = call(MAP_LOOKUP_ELEM, struct.pack("<IIQQQ", fd, 0, 0, 0, 0), [where, (16, RETURNED, b"8")])
    assert (result, filled) == (0, [struct.pack("<Q", 77)])
    assert create_map(call, ARRAY, 3, 8, 4) == -errno.EINVAL
    assert create_map(call, RINGBUF, 0, 0, 4095) == -errno.EINVAL


def check_programs(call: Call) -> None:
    """Load a program, and one that the verifier refuses, with its words; a link of it is refused."""
    fd, _ = load(call, struct.pack("<BBhiBBhi", 0xB7, 0, 0, 42, 0x95, 0, 0, 0))
    assert fd > 0
    assert run(call, fd) == 42
    refused, log = load(call, struct.pack("<BBhi", 0x95, 0, 0, 0), LOG)
    assert refused == -errno.EACCES
    assert "R0 !read_ok" in log
    link = struct.pack("<IIII", fd, 0, TRACING_MULTI, 0).ljust(64, b"\0")
    assert call(LINK_CREATE, link, ())[0] == -errno.EINVAL
    assert (
        call(LINK_CREATE, struct.pack("<IIII", 1 << 20, 0, TRACING_MULTI, 0).ljust(64, b"\0"), ())[0] == -errno.EBADF
    )


def written_ring(call: Call, sizes: Sequence[int]) -> tuple[int, int]:
    """Make a ring buffer with records of some lengths, all bytes of a record's first number its length; return its
    file and bytes.
    """
    size = 1 << 16
    ring = create_map(call, RINGBUF, 0, 0, size)
    assert ring > 0
    for one in sizes:
        fd, _ = load(call, writer(ring, one))
        assert fd > 0
        assert run(call, fd) == 0
    return ring, size


def perf_writer(call: Call, event: int, size: int) -> int:
    """Load a program that writes `size` bytes into the perf buffer of the first CPU; return its file."""
    array = create_map(call, PERF_EVENT_ARRAY, 4, 4, 1)
    assert array > 0
    parts: list[Part] = [(8, b"", struct.pack("<I", 0)), (16, b"", struct.pack("<i", event))]
    assert call(MAP_UPDATE_ELEM, struct.pack("<IIQQQ", array, 0, 0, 0, 0), parts)[0] == 0
    rows = [
        *(struct.pack("<BBhi", 0x7A, 10, at, size) for at in range(-64, 0, 8)),
        struct.pack("<BBhiq", 0x18, 2 | 1 << 4, 0, array, 0),
        struct.pack("<BBhi", 0xB7, 3, 0, 0),
        struct.pack("<BBhi", 0xBF, 4 | 10 << 4, 0, 0),
        struct.pack("<BBhi", 0x07, 4, 0, -64),
        struct.pack("<BBhi", 0xB7, 5, 0, size),
        struct.pack("<BBhi", 0x85, 0, 0, 25),
        struct.pack("<BBhi", 0xB7, 0, 0, 0),
        struct.pack("<BBhi", 0x95, 0, 0, 0),
    ]
    code = b"".join(rows)
    head = struct.pack("<IIQQIIQII16s", RAW_TRACEPOINT, len(code) // 8, 0, 0, 0, 0, 0, 0, 0, b"pw_check")
    program = call(PROG_LOAD, head.ljust(120, b"\0"), [(8, b"", code), (16, b"", b"GPL\0")])[0]
    assert program > 0
    return program


def run_on_first_cpu(call: Call, program: int) -> None:
    """Run a program of a raw tracepoint once, on CPU 0 (BPF_F_TEST_RUN_ON_CPU)."""
    attributes = struct.pack("<I60xII", program, 1, 0).ljust(80, b"\0")
    assert call(PROG_RUN, attributes, ())[0] == 0
