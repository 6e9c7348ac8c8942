"""Make the calls of bpf(2) that probes need: maps, programs, links (union bpf_attr in include/uapi/linux/bpf.h).

Every call raises BpfRefused, TargetLost, and FileRefused where no such call can be made at all.
"""

from __future__ import annotations

import enum
import errno
import os
import struct
from collections.abc import Sequence
from typing import Final

from foreign.count_text import counted
from kernel.agent import bpf_calls
from kernel.errors import KernelError
from kernel.target import BpfPart, Target

_ENOTSUPP: Final = 524
"""Errno of the kernel that C libraries do not know."""
_LOG_BYTES: Final = 1 << 20
_PROGRAM_KPROBE: Final = 2
_ATTACH_KPROBE_MULTI, _ATTACH_KPROBE_SESSION = 42, 56
_RETURN: Final = 1
"""BPF_F_KPROBE_MULTI_RETURN."""
_INFO_BYTES: Final = 256
_MISSED, _RECURSION_MISSES = 32, 208
"""Offsets in struct bpf_link_info (kprobe_multi.missed) and struct bpf_prog_info."""


class MapType(enum.IntEnum):
    """Type of a map (enum bpf_map_type)."""

    HASH = 1
    ARRAY = 2
    PERCPU_ARRAY = 6
    ARRAY_OF_MAPS = 12
    RINGBUF = 27


class BpfRefused(KernelError):
    """The kernel rejected a call; `number`: its errno, `log`: words of the verifier."""

    def __init__(self, step: str, number: int, log: str = "") -> None:
        name = "ENOTSUPP" if number == _ENOTSUPP else errno.errorcode.get(number, str(number))
        reason = "not supported" if number == _ENOTSUPP else os.strerror(number)
        super().__init__(f"{step}: {reason} ({name})")
        self.number = number
        self.log = log


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


def load_program(target: Target, code: bytes, name: str, *, session: bool = False) -> int:
    """Load a program for kprobe.multi and return its file; where it is rejected ask once more, for the log.

    `session`: for kprobe.session, at both ends of its functions.
    """
    parts = (BpfPart(8, code), BpfPart(16, b"GPL\0"))
    answer = target.bpf(bpf_calls.PROG_LOAD, _program(code, name, 0, session), parts)
    if answer.result >= 0:
        return answer.result
    logged = (*parts, _returned(32, _LOG_BYTES))
    again = target.bpf(bpf_calls.PROG_LOAD, _program(code, name, _LOG_BYTES, session), logged)
    if again.result >= 0:
        return again.result
    log = again.returned[0].rstrip(b"\0").decode("utf-8", "replace")
    raise BpfRefused("loading the program", -answer.result, log)


def _program(code: bytes, name: str, log_bytes: int, session: bool) -> bytes:
    first = struct.pack(
        "<IIQQIIQII16s",
        _PROGRAM_KPROBE,
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
    kind = _ATTACH_KPROBE_SESSION if session else _ATTACH_KPROBE_MULTI
    return (first + struct.pack("<II", 0, kind)).ljust(120, b"\0")


def attach(
    target: Target,
    program: int,
    functions: Sequence[str],
    *,
    at_exit: bool = False,
    numbered: bool = False,
    session: bool = False,
) -> int:
    """Attach a program to functions by name, to all or to none, and return the link's file.

    Args:
        target: the kernel.
        program: file of the program.
        functions: names as available_filter_functions has them.
        at_exit: run it when the functions return, else when they are entered.
        numbered: give it the number of each function in `functions` as a cookie.
        session: run it at both ends (kprobe.session).
    """
    head = struct.pack("<IIII", program, 0, _ATTACH_KPROBE_SESSION if session else _ATTACH_KPROBE_MULTI, 0)
    rest = struct.pack("<IIQQQ", _RETURN if at_exit else 0, len(functions), 0, 0, 0)
    names = b"".join(name.encode() + b"\0" for name in functions)
    parts = [BpfPart(24, names, bpf_calls.NAMES)]
    if numbered:
        parts.append(BpfPart(40, struct.pack(f"<{len(functions)}Q", *range(len(functions)))))
    step = f"attaching to {counted(len(functions), 'function')}"
    return _call(target, bpf_calls.LINK_CREATE, head + rest, parts, step)


def missed_calls(target: Target, program: int, link: int) -> int:
    """Return the number of calls that a program missed: at the link, and while it ran on the same CPU.

    Kernels that do not count them say 0.
    """
    in_link = _info(target, link)[_MISSED : _MISSED + 8]
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
