"""Call libbpf by ctypes: prototypes in one table, thin wrappers without policy.

Feature probes (libbpf.h) and BTF look-ups (btf.h) of `libbpf.so.1`. A machine without the library is no error:
`load()` then returns None.
"""

from __future__ import annotations

import ctypes
import os
from types import TracebackType
from typing import Any

SONAME = "libbpf.so.1"

_btf = ctypes.c_void_p
_opts = ctypes.c_void_p

Prototypes = dict[str, tuple[Any, tuple[Any, ...]]]
_PROTOTYPES: Prototypes = {
    "libbpf_version_string": (ctypes.c_char_p, ()),
    "libbpf_set_print": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "libbpf_bpf_prog_type_str": (ctypes.c_char_p, (ctypes.c_int,)),
    "libbpf_probe_bpf_prog_type": (ctypes.c_int, (ctypes.c_int, _opts)),
    "libbpf_probe_bpf_helper": (ctypes.c_int, (ctypes.c_int, ctypes.c_int, _opts)),
    "btf__new": (_btf, (ctypes.c_char_p, ctypes.c_uint32)),
    "btf__parse_raw": (_btf, (ctypes.c_char_p,)),
    "btf__parse_raw_split": (_btf, (ctypes.c_char_p, _btf)),
    "btf__type_cnt": (ctypes.c_uint32, (_btf,)),
    "btf__find_by_name_kind": (ctypes.c_int32, (_btf, ctypes.c_char_p, ctypes.c_uint32)),
    "btf__resolve_size": (ctypes.c_int64, (_btf, ctypes.c_uint32)),
    "btf__free": (None, (_btf,)),
}


class LibbpfBtf:
    """A `struct btf`; freed by close() or at the end of a with block."""

    def __init__(self, library: ctypes.CDLL, handle: int) -> None:
        self._library = library
        self._handle: int | None = handle

    @property
    def handle(self) -> int:
        """Pointer to the struct. Raises ValueError after close()."""
        if self._handle is None:
            raise ValueError("btf is closed")
        return self._handle

    @property
    def type_cnt(self) -> int:
        """Number of types with `void` and those of the base."""
        return int(self._library.btf__type_cnt(self.handle))

    def find_by_name_kind(self, name: str, kind: int) -> int | None:
        """Return the id of the first type of a name and BTF_KIND_*; None if there is none."""
        type_id = int(self._library.btf__find_by_name_kind(self.handle, os.fsencode(name), kind))
        return type_id if type_id >= 0 else None

    def resolve_size(self, type_id: int) -> int | None:
        """Return the bytes of a type; None if it has no size."""
        size = int(self._library.btf__resolve_size(self.handle, type_id))
        return size if size >= 0 else None

    def close(self) -> None:
        """Free the struct by btf__free; safe to call twice."""
        if self._handle is not None:
            self._library.btf__free(self._handle)
            self._handle = None

    def __enter__(self) -> LibbpfBtf:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Libbpf:
    """The loaded library, with its prototypes set and its messages to stderr disabled."""

    def __init__(self, library: ctypes.CDLL) -> None:
        self._library = library
        library.libbpf_set_print(None)

    @property
    def version(self) -> str:
        """Version as reported by the library: `v1.1`."""
        return bytes(self._library.libbpf_version_string()).decode()

    def prog_types(self) -> dict[int, str]:
        """Return the BPF_PROG_TYPE_* that the library knows: number -> name (`kprobe`, `tracing`)."""
        names: dict[int, str] = {}
        while name := self._library.libbpf_bpf_prog_type_str(len(names)):
            names[len(names)] = bytes(name).decode()
        return names

    def probe_prog_type(self, prog_type: int) -> bool | None:
        """Return whether this kernel loads programs of a type; None if unknown (no privilege)."""
        return _verdict(self._library.libbpf_probe_bpf_prog_type(prog_type, None))

    def probe_helper(self, prog_type: int, helper: int) -> bool | None:
        """Return whether programs of a type may call BPF_FUNC_*; None if unknown."""
        return _verdict(self._library.libbpf_probe_bpf_helper(prog_type, helper, None))

    def btf(self, data: bytes) -> LibbpfBtf:
        """Parse raw BTF. Raises OSError."""
        return self._wrap(self._library.btf__new(data, len(data)))

    def btf_from_file(self, path: str, base: LibbpfBtf | None = None) -> LibbpfBtf:
        """Parse a file of raw BTF, or of split BTF on its base, which has to live longer. Raises OSError.

        libbpf 1.1 has no `btf__new_split` among its exported symbols, so split BTF is read from a file.
        """
        if base is None:
            return self._wrap(self._library.btf__parse_raw(os.fsencode(path)))
        return self._wrap(self._library.btf__parse_raw_split(os.fsencode(path), base.handle))

    def _wrap(self, handle: int | None) -> LibbpfBtf:
        if not handle:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
        return LibbpfBtf(self._library, handle)


def load(soname: str = SONAME) -> Libbpf | None:
    """Load the library of this machine; None if there is none, or one too old for the table."""
    library = load_functions(_PROTOTYPES, soname)
    return Libbpf(library) if library is not None else None


def load_functions(prototypes: Prototypes, soname: str = SONAME) -> ctypes.CDLL | None:
    """Load the library of this machine for some of its functions; None if there is none, or it lacks one of them.

    Args:
        prototypes: result and arguments of each function, by its name.
        soname: name of the library's file.
    """
    try:
        library = ctypes.CDLL(soname, use_errno=True)
        for name, (result, arguments) in prototypes.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError):
        return None
    return library


def _verdict(result: int) -> bool | None:
    return None if result < 0 else bool(result)
