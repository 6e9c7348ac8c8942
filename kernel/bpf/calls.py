"""Make the calls of bpf(2) that probes need: maps, programs, links (union bpf_attr in include/uapi/linux/bpf.h).

Every call raises BpfRefused, TargetLost, and FileRefused where no such call can be made at all.
"""

from __future__ import annotations

import enum
import errno
import os
import struct
from collections.abc import Iterator, Sequence
from typing import Final

from events.names.name_pattern import is_address
from foreign.count_text import counted
from kernel.agent import bpf_calls
from kernel.errors import KernelError
from kernel.target import BpfPart, Target
from probes.bpf.program import NO_FUNCTION, AttachPoint, TargetFunction

ENOTSUPP: Final = 524
"""Errno of the kernel that C libraries do not know."""
_LOG_BYTES: Final = 1 << 20
_ATTACH_KPROBE_MULTI: Final = 42
_ATTACH_TYPES: Final = {AttachPoint.FENTRY: 24, AttachPoint.FEXIT: 25, AttachPoint.SESSION: 56, AttachPoint.ACCESS: 0}
"""enum bpf_attach_type."""
_RETURN: Final = 1
"""BPF_F_KPROBE_MULTI_RETURN."""
_INFO_BYTES: Final = 256
_NAME_BYTES: Final = 64
_ANSWER_BYTES: Final = 1 << 18
"""Bytes of keys and values that one answer has."""
_BUCKET: Final = 64
"""Elements that each answer has room for: the kernel returns whole buckets of a hash (kernel/bpf/hashtab.c)."""
_PLACE_BYTES: Final = 4
"""Bytes of a place in a hash: the number of a bucket."""
_MISSED, _RECURSION_MISSES = 32, 208
"""Offsets in struct bpf_link_info (kprobe_multi.missed) and struct bpf_prog_info."""


class MapType(enum.IntEnum):
    """Type of a map (enum bpf_map_type)."""

    HASH = 1
    ARRAY = 2
    PERCPU_HASH = 5
    PERCPU_ARRAY = 6
    LRU_HASH = 9
    ARRAY_OF_MAPS = 12
    RINGBUF = 27


class ProgramType(enum.IntEnum):
    """Type of a program (enum bpf_prog_type)."""

    KPROBE = 2
    PERF_EVENT = 7
    RAW_TRACEPOINT = 17
    TRACING = 26


class BpfRefused(KernelError):
    """The kernel rejected a call; `number`: its errno, `log`: words of the verifier."""

    def __init__(self, step: str, number: int, log: str = "") -> None:
        name = "ENOTSUPP" if number == ENOTSUPP else errno.errorcode.get(number, str(number))
        reason = "not supported" if number == ENOTSUPP else os.strerror(number)
        super().__init__(f"{step}: {reason} ({name})")
        self.number = number
        self.log = log
        self.functions: tuple[str, ...] = ()
        """Function of the program, where it is on one only."""


def create_map(
    target: Target, kind: MapType, key: int, value: int, entries: int, name: str, *, inner: int = 0
) -> int:
    """Make a map and return its file.

    Args:
        target: the kernel.
        kind: the type.
        key: bytes of a key.
        value: bytes of a value.
        entries: number of elements; of a ring buffer its bytes.
        name: at most 15 characters, as bpftool shows it.
        inner: file of a map like those that an array of maps takes.
    """
    attributes = struct.pack("<7I16s", kind, key, value, entries, 0, inner, 0, name.encode()[:15]).ljust(72, b"\0")
    return _call(target, bpf_calls.MAP_CREATE, attributes, (), f"making a map ({kind.name.lower()})")


def write_element(target: Target, fd: int, key: int, value: bytes) -> None:
    """Set the element of an array, or of a hash with keys of four bytes."""
    parts = (BpfPart(8, struct.pack("<I", key)), BpfPart(16, value))
    _call(target, bpf_calls.MAP_UPDATE_ELEM, struct.pack("<IIQQQ", fd, 0, 0, 0, 0), parts, "writing to a map")


def read_element(target: Target, fd: int, key: int, size: int) -> bytes:
    """Return an element of an array; of one by CPU that of each possible CPU, `size` bytes in all."""
    parts = (BpfPart(8, struct.pack("<I", key)), _returned(16, size))
    attributes = struct.pack("<IIQQQ", fd, 0, 0, 0, 0)
    answer = target.bpf(bpf_calls.MAP_LOOKUP_ELEM, attributes, parts)
    if answer.result < 0:
        raise BpfRefused("reading a map", -answer.result)
    return answer.returned[0][:size]


def read_elements(target: Target, fd: int, key: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield keys and values of a hash, each once if none is made or removed meanwhile.

    Args:
        target: the kernel.
        fd: file of the map.
        key: bytes of a key, 4 at least.
        size: bytes of a value; of a hash by CPU of those of all possible CPUs.
    """
    most = max(_BUCKET, _ANSWER_BYTES // (key + size))
    place = b""
    while True:
        attributes = struct.pack("<QQQQIIQQ", 0, 0, 0, 0, most, fd, 0, 0)
        parts = [_returned(8, _PLACE_BYTES), _returned(16, key * most), _returned(24, size * most)]
        parts += [BpfPart(0, place)] if place else []
        answer = target.bpf(bpf_calls.MAP_LOOKUP_BATCH, attributes, (*parts, BpfPart(0, b"", bpf_calls.ATTRIBUTES)))
        if answer.result < 0 and answer.result != -errno.ENOENT:
            raise BpfRefused("reading a map", -answer.result)
        following, keys, values, after = answer.returned
        (number,) = struct.unpack_from("<I", after, 32)
        for at in range(number):
            yield keys[at * key : (at + 1) * key], values[at * size : (at + 1) * size]
        if answer.result < 0:  # that was all
            return
        place = following[:_PLACE_BYTES]


def load_program(
    target: Target,
    code: bytes,
    name: str,
    point: AttachPoint = AttachPoint.ENTRY,
    function: TargetFunction = NO_FUNCTION,
) -> int:
    """Load a program and return its file; where it is rejected ask once more, for the log.

    Args:
        target: the kernel.
        code: the instructions.
        name: at most 15 characters, as bpftool shows it.
        point: what it is to be attached to.
        function: function that it is to be attached to, for a program on one.
    """
    types = btf_object(target, function.module) if function.module else 0
    try:
        parts = (BpfPart(8, code), BpfPart(16, b"GPL\0"))
        answer = target.bpf(bpf_calls.PROG_LOAD, _program(code, name, 0, point, function, types), parts)
        if answer.result >= 0:
            return answer.result
        logged = (*parts, _returned(32, _LOG_BYTES))
        again = target.bpf(bpf_calls.PROG_LOAD, _program(code, name, _LOG_BYTES, point, function, types), logged)
        if again.result >= 0:
            return again.result
    finally:
        if types:
            target.close_bpf([types])
    log = again.returned[0].rstrip(b"\0").decode("utf-8", "replace")
    raise BpfRefused("loading the program", -answer.result, log)


def _program(
    code: bytes, name: str, log_bytes: int, point: AttachPoint, function: TargetFunction, types: int
) -> bytes:
    kind = ProgramType.TRACING if point.on_one else ProgramType.KPROBE
    first = struct.pack(
        "<IIQQIIQII16s",
        ProgramType.PERF_EVENT if point is AttachPoint.ACCESS else kind,
        len(code) // 8,
        0,
        0,
        int(log_bytes > 0),
        log_bytes,
        0,
        0,
        0,
        name.encode()[:15],
    )
    head = (first + struct.pack("<II", 0, _ATTACH_TYPES.get(point, _ATTACH_KPROBE_MULTI))).ljust(108, b"\0")
    return (head + struct.pack("<II", function.type_id, types)).ljust(120, b"\0")


def load_of_type(target: Target, code: bytes, name: str, kind: ProgramType) -> int:
    """Load a program of a type that needs no place, and return its file; `code`: the instructions."""
    head = struct.pack("<IIQQIIQII16s", kind, len(code) // 8, 0, 0, 0, 0, 0, 0, 0, name.encode()[:15])
    parts = (BpfPart(8, code), BpfPart(16, b"GPL\0"))
    return _call(target, bpf_calls.PROG_LOAD, head.ljust(120, b"\0"), parts, "loading the program")


def run_program(target: Target, program: int) -> int:
    """Run a program once without an argument, and return its result as a signed number of 32 bits."""
    attributes = struct.pack("<II", program, 0).ljust(80, b"\0")
    answer = target.bpf(bpf_calls.PROG_RUN, attributes, (BpfPart(0, b"", bpf_calls.ATTRIBUTES),))
    if answer.result < 0:
        raise BpfRefused("running a program", -answer.result)
    return int.from_bytes(answer.returned[0][4:8], "little", signed=True)


def attach_to_perf_event(target: Target, program: int, event: int, kind: int) -> int:
    """Attach a program to a perf event, and return the link's file; `kind`: enum bpf_attach_type."""
    attributes = struct.pack("<IIIIQ", program, event, kind, 0, 0)
    return _call(target, bpf_calls.LINK_CREATE, attributes, (), "attaching to a perf event")


def btf_object(target: Target, module: str) -> int:
    """Return the file of the types of a module, as the kernel has them."""
    number = 0
    while True:
        step = f"finding the types of {module}"
        following = target.bpf(
            bpf_calls.BTF_GET_NEXT_ID, struct.pack("<III", number, 0, 0), (BpfPart(0, b"", bpf_calls.ATTRIBUTES),)
        )
        if following.result < 0:
            raise BpfRefused(step, -following.result)
        (number,) = struct.unpack_from("<I", following.returned[0], 4)
        opened = target.bpf(bpf_calls.BTF_GET_FD_BY_ID, struct.pack("<III", number, 0, 0))
        if opened.result < 0:
            continue  # it has gone meanwhile, or is another's
        if _btf_name(target, opened.result) == module:
            return opened.result
        target.close_bpf([opened.result])


def _btf_name(target: Target, fd: int) -> str:
    """Return the name of types that the kernel has: of a module, or `vmlinux`; empty: a program's."""
    info = struct.pack("<QIIQII", 0, 0, 0, 0, _NAME_BYTES, 0)  # struct bpf_btf_info
    parts = (BpfPart(8, info, bpf_calls.CHANGED), BpfPart(16, b"%d" % _NAME_BYTES, bpf_calls.INNER))
    answer = target.bpf(bpf_calls.GET_INFO_BY_FD, struct.pack("<IIQ", fd, len(info), 0), parts)
    if answer.result < 0:
        return ""
    return answer.returned[1].partition(b"\0")[0].decode("utf-8", "replace")


def attach(
    target: Target,
    program: int,
    functions: Sequence[str],
    point: AttachPoint = AttachPoint.ENTRY,
    *,
    numbered: bool = False,
    cookies: Sequence[int] = (),
) -> int:
    """Attach a program to functions by name, or all by address, to all or to none, and return the link's file.

    Args:
        target: the kernel.
        program: file of the program.
        functions: names as available_filter_functions has them, or addresses: `0xffffffff81234560`.
        point: ends of the calls at which it runs.
        numbered: give it the number of each function in `functions` as a cookie.
        cookies: cookie of each function.
    """
    head = struct.pack("<IIII", program, 0, _ATTACH_TYPES.get(point, _ATTACH_KPROBE_MULTI), 0)
    rest = struct.pack("<IIQQQ", _RETURN if point is AttachPoint.EXIT else 0, len(functions), 0, 0, 0)
    if functions and is_address(functions[0]):
        parts = [BpfPart(32, struct.pack(f"<{len(functions)}Q", *(int(one, 16) for one in functions)))]
    else:
        parts = [BpfPart(24, b"".join(name.encode() + b"\0" for name in functions), bpf_calls.NAMES)]
    if numbered or cookies:
        parts.append(BpfPart(40, struct.pack(f"<{len(functions)}Q", *(cookies or range(len(functions))))))
    step = f"attaching to {counted(len(functions), 'function')}"
    return _call(target, bpf_calls.LINK_CREATE, head + rest, parts, step)


def attach_to_function(target: Target, program: int) -> int:
    """Attach a program to the function that it was loaded for, and return the link's file."""
    # Older than LINK_CREATE for such programs, and the same.
    return _call(
        target, bpf_calls.RAW_TRACEPOINT_OPEN, struct.pack("<QII", 0, program, 0), (), "attaching the program"
    )


def missed_calls(target: Target, program: int, link: int, point: AttachPoint) -> int:
    """Return the number of calls that a program missed: at the link, and while it ran on the same CPU.

    Kernels that do not count them say 0.
    """
    in_link = b"" if point.on_one else _info(target, link)[_MISSED : _MISSED + 8]
    in_program = _info(target, program)[_RECURSION_MISSES : _RECURSION_MISSES + 8]
    return int.from_bytes(in_link, "little") + int.from_bytes(in_program, "little")


def _info(target: Target, fd: int) -> bytes:
    attributes = struct.pack("<IIQ", fd, _INFO_BYTES, 0)
    answer = target.bpf(bpf_calls.GET_INFO_BY_FD, attributes, (_returned(8, _INFO_BYTES),))
    return answer.returned[0] if answer.result >= 0 else bytes(_INFO_BYTES)


def _returned(offset: int, size: int) -> BpfPart:
    return BpfPart(offset, b"%d" % size, bpf_calls.RETURNED)


def _call(target: Target, command: int, attributes: bytes, parts: Sequence[BpfPart], step: str) -> int:
    answer = target.bpf(command, attributes, parts)
    if answer.result < 0:
        raise BpfRefused(step, -answer.result)
    return answer.result
