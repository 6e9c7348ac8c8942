"""Run the loader of a compiled BPF object on a target (`kernel.local.object_loader`), by bpf(2) alone."""

from __future__ import annotations

import errno
import struct
from typing import Final, NamedTuple

from kernel.agent import bpf_calls
from kernel.bpf import calls
from kernel.bpf.calls import BpfRefused, MapType
from kernel.local.object_loader import LoaderProgram
from kernel.target import BpfPart, Target

_SYSCALL: Final = 31
"""BPF_PROG_TYPE_SYSCALL."""
_SLEEPABLE: Final = 1 << 4
_HEAD = struct.Struct("<IIIIQ")
"""struct bpf_loader_ctx of libbpf's skel_internal.h: its size, flags, log_level, log_size, log_buf."""
_MAP = struct.Struct("<iIQ")
"""struct bpf_map_desc: map_fd, max_entries, initial_value; 0 leaves what the object says."""
_LOG_BUFFER = 16
_LOG_BYTES: Final = 1 << 20


class LoadedFiles(NamedTuple):
    """Files of an object on the target."""

    maps: tuple[int, ...]
    programs: tuple[int, ...]

    @property
    def all(self) -> tuple[int, ...]:
        """Files of maps, then those of programs."""
        return (*self.maps, *self.programs)


def run_loader(target: Target, loader: LoaderProgram) -> LoadedFiles:
    """Make the maps and load the programs of an object; return their files.

    Raises BpfRefused with the verifier's words, FileRefused, TargetLost: nothing is left of it.
    """
    files: list[int] = []
    try:
        files.append(calls.create_map(target, MapType.ARRAY, 4, len(loader.data), 1, "__loader.map"))
        calls.write_element(target, files[0], 0, loader.data)
        files.append(_load(target, loader, files[0]))
        result, found, _ = _run(target, loader, files[1], 0)
        if result < 0:
            again, found, log = _run(target, loader, files[1], _LOG_BYTES)
            if again < 0:
                raise BpfRefused("loading the object", -result, log)
        return found
    finally:
        target.close_bpf([*reversed(files)])


def _load(target: Target, loader: LoaderProgram, data: int) -> int:
    """Load the loader itself; return its file."""
    head = struct.pack(
        "<IIQQIIQII16s", _SYSCALL, len(loader.code) // 8, 0, 0, 0, 0, 0, 0, _SLEEPABLE, b"__loader.prog"
    )
    parts = (BpfPart(8, loader.code), BpfPart(16, b"Dual BSD/GPL\0"), BpfPart(120, struct.pack("<i", data)))
    answer = target.bpf(bpf_calls.PROG_LOAD, head.ljust(128, b"\0"), parts)
    if answer.result < 0:
        error = BpfRefused("loading an object", -answer.result)
        if answer.result == -errno.EINVAL:
            error.log = "this kernel runs no programs that load others (BPF_PROG_TYPE_SYSCALL, Linux 5.14)"
        raise error
    return answer.result


def _run(target: Target, loader: LoaderProgram, program: int, log_bytes: int) -> tuple[int, LoadedFiles, str]:
    """Run the loader once; return its result, below 0 an errno, the files, and the verifier's log."""
    count, number = len(loader.maps), len(loader.programs)
    size = _HEAD.size + count * _MAP.size + number * 4
    context = _HEAD.pack(size, 0, int(log_bytes > 0), log_bytes, 0).ljust(size, b"\0")
    places = [_HEAD.size + at * _MAP.size for at in range(count)]
    places += [_HEAD.size + count * _MAP.size + at * 4 for at in range(number)]
    attributes = struct.pack("<II32xIIQQ", program, 0, size, 0, 0, 0).ljust(80, b"\0")
    parts = [BpfPart(48, bpf_calls.file_places(places) + context, bpf_calls.FILES)]
    if log_bytes:
        parts.append(BpfPart(_LOG_BUFFER, b"%d" % log_bytes, bpf_calls.INNER))
    answer = target.bpf(bpf_calls.PROG_RUN, attributes, (*parts, BpfPart(0, b"", bpf_calls.ATTRIBUTES)))
    if answer.result < 0:
        raise BpfRefused("running the loader of an object", -answer.result)
    filled, after = answer.returned[0], answer.returned[-1]
    (result,) = struct.unpack_from("<i", after, 4)
    files = [struct.unpack_from("<i", filled, place)[0] for place in places]
    log = answer.returned[1].partition(b"\0")[0].decode("utf-8", "replace") if log_bytes else ""
    return result, LoadedFiles(tuple(files[:count]), tuple(files[count:])), log
