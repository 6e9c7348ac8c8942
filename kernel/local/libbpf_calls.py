"""Make maps, programs and links on this machine by libbpf's own low-level calls, where the library is there.

`LibbpfCalls` and `kernel.agent.bpf_calls.BpfCalls` are one interface, `call`, with the attributes of bpf(2): what
runs on one runs on the other, and a remote host has the second alone. libbpf tries again where the kernel asks for it
(EAGAIN of a program that is being verified), raises the limit of locked memory and leaves out names for kernels that
need that. Other commands go to bpf(2) in both.
"""

from __future__ import annotations

import ctypes
import errno
import select
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from kernel.agent.bpf_calls import (
    GIVEN,
    INNER,
    LINK_CREATE,
    MAP_CREATE,
    NAMES,
    PROG_LOAD,
    RETURNED,
    BpfCalls,
    addresses_of,
)
from kernel.agent.object_rings import RowMaker, ring_reader
from kernel.local.libbpf import Prototypes, load_functions

if TYPE_CHECKING:
    from kernel.agent.object_rings import AnyRing

_POINTER, _U32, _U64, _INT = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_int
Part = tuple[int, bytes, bytes]


class _MapOptions(ctypes.Structure):
    """struct bpf_map_create_opts."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        *((name, _U32) for name in ("btf_fd", "btf_key", "btf_value", "btf_vmlinux_value", "inner_map_fd", "flags")),
        ("extra", _U64),
        ("numa_node", _U32),
        ("ifindex", _U32),
    )


class _ProgramOptions(ctypes.Structure):
    """struct bpf_prog_load_opts, up to the log."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("attempts", _INT),
        ("expected_attach_type", _INT),
        *((name, _U32) for name in ("btf_fd", "flags", "ifindex", "kern_version", "attach_btf_id", "attach_prog_fd")),
        ("attach_btf_obj_fd", _U32),
        ("fd_array", _POINTER),
        ("func_info", _POINTER),
        *((name, _U32) for name in ("func_info_cnt", "func_info_rec_size")),
        ("line_info", _POINTER),
        *((name, _U32) for name in ("line_info_cnt", "line_info_rec_size")),
        ("log_level", _U32),
        ("log_size", _U32),
        ("log_buf", _POINTER),
    )


class _LinkOptions(ctypes.Structure):
    """struct bpf_link_create_opts, with the part of kprobe.multi."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("flags", _U32),
        ("iter_info", _POINTER),
        ("iter_info_len", _U32),
        ("target_btf_id", _U32),
        ("multi_flags", _U32),
        ("count", _U32),
        ("names", _POINTER),
        ("addresses", _POINTER),
        ("cookies", _POINTER),
    )


_PROTOTYPES: Final[Prototypes] = {
    "bpf_map_create": (_INT, (_INT, ctypes.c_char_p, _U32, _U32, _U32, _POINTER)),
    "bpf_prog_load": (_INT, (_INT, ctypes.c_char_p, ctypes.c_char_p, _POINTER, ctypes.c_size_t, _POINTER)),
    "bpf_link_create": (_INT, (_INT, _INT, _INT, _POINTER)),
    "ring_buffer__new": (_POINTER, (_INT, _POINTER, _POINTER, _POINTER)),
    "ring_buffer__consume": (_INT, (_POINTER,)),
    "ring_buffer__free": (None, (_POINTER,)),
}
_KPROBE_MULTI = (42, 56)
"""BPF_TRACE_KPROBE_MULTI, BPF_TRACE_KPROBE_SESSION."""


def load_calls() -> ctypes.CDLL | None:
    """Return libbpf with its low-level calls; None: it is not on this machine, or lacks one of them."""
    return load_functions(_PROTOTYPES)


def local_calls() -> BpfCalls:
    """Return the caller for this machine: libbpf's where the library loads, else bpf(2)."""
    library = load_calls()
    return LibbpfCalls(library) if library is not None else BpfCalls()


def local_ring(fd: int, size: int, record: bytes) -> AnyRing | LibbpfRing:
    """Return the reader of a buffer on this machine: of records of any length libbpf's, where the library loads.

    Records of our own have one length, and are read without a call for each. Raises OSError.
    """
    library = load_calls() if b"," in record and b" " not in record else None
    form = RowMaker(record) if library is not None else None
    if library is None or form is None or form.is_perf:
        return ring_reader(fd, size, record)
    return LibbpfRing(library, fd, form)


class LibbpfCalls(BpfCalls):
    """Caller of bpf(2) that makes maps, programs and links by libbpf."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__()
        self._library = library
        self._makers: dict[int, Callable[[bytes, _Memory], int]] = {
            MAP_CREATE: self._map,
            PROG_LOAD: self._program,
            LINK_CREATE: self._link,
        }

    def call(self, command: int, attributes: bytes, parts: Sequence[Part]) -> tuple[int, list[bytes]]:
        """Return the result of a call, as `BpfCalls.call` does."""
        maker = self._makers.get(command)
        if maker is None or any(kind in (INNER, GIVEN) for _, kind, _ in parts):
            return super().call(command, attributes, parts)
        memory = _Memory(parts)
        result = maker(attributes.ljust(128, b"\0"), memory)
        if result < 0:
            return result, memory.filled
        self.files.add(result)
        return result, memory.filled

    def _map(self, attributes: bytes, memory: _Memory) -> int:  # noqa: ARG002 - as the other makers
        kind, key, value, entries, flags, inner, node = struct.unpack_from("<7I", attributes)
        ifindex, btf, key_type, value_type, vmlinux_value, extra = struct.unpack_from("<5IQ", attributes, 44)
        options = _MapOptions(
            ctypes.sizeof(_MapOptions), btf, key_type, value_type, vmlinux_value, inner, flags, extra, node, ifindex
        )
        return int(
            self._library.bpf_map_create(kind, _name(attributes[28:44]), key, value, entries, ctypes.byref(options))
        )

    def _program(self, attributes: bytes, memory: _Memory) -> int:
        kind, count = struct.unpack_from("<II", attributes)
        level, log_size = struct.unpack_from("<II", attributes, 24)
        version, flags = struct.unpack_from("<II", attributes, 40)
        ifindex, attach_type, btf = struct.unpack_from("<III", attributes, 64)
        btf_id, btf_object = struct.unpack_from("<II", attributes, 108)
        options = _ProgramOptions(
            size=ctypes.sizeof(_ProgramOptions),
            attempts=1 if level else 0,
            expected_attach_type=attach_type,
            btf_fd=btf,
            flags=flags,
            ifindex=ifindex,
            kern_version=version,
            attach_btf_id=btf_id,
            attach_btf_obj_fd=btf_object,
            fd_array=memory.at(120),
            log_level=level,
            log_size=log_size,
            log_buf=memory.at(32),
        )
        terms = ctypes.cast(memory.at(16) or 0, ctypes.c_char_p)
        name = _name(attributes[48:64])
        return int(self._library.bpf_prog_load(kind, name, terms, memory.at(8), count, ctypes.byref(options)))

    def _link(self, attributes: bytes, memory: _Memory) -> int:
        program, target, attach_type, flags, multi_flags, count = struct.unpack_from("<6I", attributes)
        options = _LinkOptions(size=ctypes.sizeof(_LinkOptions), flags=flags)
        if attach_type in _KPROBE_MULTI:
            options.multi_flags, options.count = multi_flags, count
            options.names, options.addresses, options.cookies = memory.at(24), memory.at(32), memory.at(40)
        return int(self._library.bpf_link_create(program, target, attach_type, ctypes.byref(options)))


class _Memory:
    """Memory of the parts of one call, by the offset of its pointer."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._kept: dict[int, Any] = {}
        self._texts: list[Any] = []
        self._filled: list[Any] = []
        for offset, kind, data in parts:
            size = int(data) if kind == RETURNED else max(len(data), 1)
            buffer = ctypes.create_string_buffer(b"" if kind == RETURNED else data, size)
            self._kept[offset] = buffer
            if kind == RETURNED:
                self._filled.append(buffer)
            elif kind == NAMES:
                self._texts.append(buffer)
                addresses = addresses_of(data, ctypes.addressof(buffer))
                self._kept[offset] = (ctypes.c_uint64 * len(addresses))(*addresses)

    @property
    def filled(self) -> list[bytes]:
        """Contents of the memory that the kernel may fill."""
        return [bytes(buffer.raw) for buffer in self._filled]

    def at(self, offset: int) -> int | None:
        """Return the address of the part of an offset; None: there is none."""
        found = self._kept.get(offset)
        return ctypes.addressof(found) if found is not None else None


def _name(data: bytes) -> bytes | None:
    return data.partition(b"\0")[0] or None


class LibbpfRing:
    """Reader of a BPF ring buffer by libbpf's `ring_buffer__consume`, as `kernel.agent.object_rings.ObjectRing`."""

    _SAMPLE = ctypes.CFUNCTYPE(_INT, _POINTER, _POINTER, ctypes.c_size_t)

    def __init__(self, library: ctypes.CDLL, fd: int, form: RowMaker) -> None:
        """Map the ring buffer of a map. Raises OSError."""
        self.fd = fd
        self.is_being_written = False
        """True if the last `take` left something, as behind a record that a program is writing."""
        self._poll = select.poll()
        self._poll.register(fd, select.POLLIN)
        self._library, self._form = library, form
        self._rows: list[bytes] = []
        self._room = self._now = 0
        self._sample = self._SAMPLE(self._take_one)
        self._handle = library.ring_buffer__new(fd, ctypes.cast(self._sample, _POINTER), None, None)
        if not self._handle:
            raise OSError(ctypes.get_errno() or errno.EINVAL, "ring_buffer__new")

    def take(self, limit: int) -> tuple[bytes, bool]:
        """Return the oldest records as rows, about `limit` bytes of them, and whether there are no more now."""
        self._rows, self._room, self._now = [], limit, self._form.clock()
        self._library.ring_buffer__consume(self._handle)
        self.is_being_written = self._room > 0 and bool(self._poll.poll(0))
        return b"".join(self._rows), self._room > 0

    def _take_one(self, context: int, data: int, size: int) -> int:  # noqa: ARG002 - libbpf's
        row = self._form.row(self._now, 0, 0, ctypes.string_at(data, size))
        self._rows.append(row)
        self._room -= len(row)
        return 0 if self._room > 0 else -errno.EAGAIN  # no more of them in this pass

    def close(self) -> None:
        """Unmap it; safe to call twice."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.ring_buffer__free(handle)
