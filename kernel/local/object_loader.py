"""Turn a compiled BPF object into a program that loads it: libbpf's loader generator, through ctypes.

bpf_object__gen_loader (the light skeleton of `bpftool gen skeleton -L`) writes one program of BPF_PROG_TYPE_SYSCALL
and its data. Run on a kernel, it makes the maps and loads the programs there; the kernel itself relocates them by its
own BTF (CO-RE, Linux 5.17). So libbpf is needed on this machine alone, a remote host needs bpf(2) alone, and its
types are no copy. The other ways ask more: a custom BTF file needs all of the target's types here and each
relocated instruction back, and libbpf 1.1 gives the instructions of no object that is not loaded.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Container, Iterator
from typing import Final, NamedTuple

from kernel.local.libbpf import SONAME, Prototypes, load_functions

_POINTER = ctypes.c_void_p
_MESSAGE_BYTES = 512
_KPROBE, _TRACE_KPROBE_SESSION = 2, 56
_PERF_EVENT_ARRAY, _STACK_TRACE, _RINGBUF = 4, 7, 27
_STACK_FRAMES = 127
_MOST_ELEMENTS = 10240
"""Elements of a map whose object leaves their number to its loader."""
_LOCK = threading.Lock()
"""Held while libbpf works: its messages go to one function for all threads."""


class LoaderRefused(Exception):
    """libbpf can't make a loader; the text is its last words."""


class _OpenOptions(ctypes.Structure):
    """struct bpf_object_open_opts, up to the object's name."""

    _fields_ = (("size", ctypes.c_size_t), ("name", ctypes.c_char_p))


class _LoaderOptions(ctypes.Structure):
    """struct gen_loader_opts."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("data", _POINTER),
        ("instructions", _POINTER),
        ("data_bytes", ctypes.c_uint32),
        ("instruction_bytes", ctypes.c_uint32),
    )


_PRINT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_char_p, _POINTER)
_PROTOTYPES: Final[Prototypes] = {
    "libbpf_set_print": (_POINTER, (_POINTER,)),
    "bpf_object__open_mem": (_POINTER, (ctypes.c_char_p, ctypes.c_size_t, _POINTER)),
    "bpf_object__close": (None, (_POINTER,)),
    "bpf_object__gen_loader": (ctypes.c_int, (_POINTER, _POINTER)),
    "bpf_object__load": (ctypes.c_int, (_POINTER,)),
    "bpf_object__next_program": (_POINTER, (_POINTER, _POINTER)),
    "bpf_object__next_map": (_POINTER, (_POINTER, _POINTER)),
    "bpf_program__name": (ctypes.c_char_p, (_POINTER,)),
    "bpf_program__section_name": (ctypes.c_char_p, (_POINTER,)),
    "bpf_program__set_autoload": (ctypes.c_int, (_POINTER, ctypes.c_bool)),
    "bpf_program__set_type": (ctypes.c_int, (_POINTER, ctypes.c_int)),
    "bpf_program__set_expected_attach_type": (ctypes.c_int, (_POINTER, ctypes.c_int)),
    "bpf_map__name": (ctypes.c_char_p, (_POINTER,)),
    "bpf_map__type": (ctypes.c_int, (_POINTER,)),
    "bpf_map__key_size": (ctypes.c_uint32, (_POINTER,)),
    "bpf_map__value_size": (ctypes.c_uint32, (_POINTER,)),
    "bpf_map__max_entries": (ctypes.c_uint32, (_POINTER,)),
    "bpf_map__set_max_entries": (ctypes.c_int, (_POINTER, ctypes.c_uint32)),
    "bpf_map__set_key_size": (ctypes.c_int, (_POINTER, ctypes.c_uint32)),
    "bpf_map__set_value_size": (ctypes.c_int, (_POINTER, ctypes.c_uint32)),
}


class LoaderMap(NamedTuple):
    """Map that a loader makes."""

    name: str
    type: int
    """BPF_MAP_TYPE_*."""
    key_size: int
    value_size: int
    max_entries: int


class LoaderProgram(NamedTuple):
    """Program that loads an object, with its data."""

    code: bytes
    data: bytes
    maps: tuple[LoaderMap, ...]
    """Maps, in the order in which it gives their files back."""
    programs: tuple[str, ...]
    """Names of the programs, in that order."""


def make_loader(data: bytes, name: str, programs: Container[str], cpus: int) -> LoaderProgram:
    """Return the loader of an object. Raises LoaderRefused.

    Args:
        data: the whole file.
        name: of the object: libbpf names the maps of its variables after it.
        programs: names of the programs that are loaded.
        cpus: number of CPUs that maps by CPU have elements for on the target.
    """
    library = _library()
    words: list[str] = []
    libc = ctypes.CDLL(None)

    def note(level: int, form: bytes, values: int) -> int:
        buffer = ctypes.create_string_buffer(_MESSAGE_BYTES)
        if level == 0:
            libc.vsnprintf(buffer, ctypes.c_size_t(_MESSAGE_BYTES), form, _POINTER(values))
            words.append(buffer.value.decode("utf-8", "replace").strip().removeprefix("libbpf: "))
        return 0

    printer = _PRINT(note)
    with _LOCK:
        library.libbpf_set_print(ctypes.cast(printer, _POINTER))
        try:
            return _made(library, data, name, programs, cpus, words)
        finally:
            library.libbpf_set_print(None)


def _library() -> ctypes.CDLL:
    library = load_functions(_PROTOTYPES)
    if library is None:
        raise LoaderRefused(f"objects are loaded by {SONAME}, which this machine does not have")
    return library


def _made(
    library: ctypes.CDLL, data: bytes, name: str, programs: Container[str], cpus: int, words: list[str]
) -> LoaderProgram:
    opening = _OpenOptions(ctypes.sizeof(_OpenOptions), name.encode())
    handle = library.bpf_object__open_mem(data, len(data), ctypes.byref(opening))
    if not handle:
        raise LoaderRefused(_last(words))
    try:
        loaded = tuple(_choose(library, handle, programs))
        maps = tuple(_size_maps(library, handle, cpus))
        options = _LoaderOptions(ctypes.sizeof(_LoaderOptions))
        if library.bpf_object__gen_loader(handle, ctypes.byref(options)) or library.bpf_object__load(handle):
            raise LoaderRefused(_last(words))
        code = ctypes.string_at(options.instructions, options.instruction_bytes)
        return LoaderProgram(code, ctypes.string_at(options.data, options.data_bytes), maps, loaded)
    finally:
        library.bpf_object__close(handle)


def _last(words: list[str]) -> str:
    return words[-1] if words else "libbpf refuses it without a word"


def _choose(library: ctypes.CDLL, handle: int, programs: Container[str]) -> Iterator[str]:
    """Let programs be loaded, or left out; yield the names of the former."""
    for one in _each(library.bpf_object__next_program, handle):
        name = library.bpf_program__name(one).decode("utf-8", "replace")
        library.bpf_program__set_autoload(one, name in programs)
        if name not in programs:
            continue
        if library.bpf_program__section_name(one).startswith(
            b"kprobe.session/"
        ):  # libbpf 1.5 is the first to know it
            library.bpf_program__set_type(one, _KPROBE)
            library.bpf_program__set_expected_attach_type(one, _TRACE_KPROBE_SESSION)
        yield name


def _size_maps(library: ctypes.CDLL, handle: int, cpus: int) -> Iterator[LoaderMap]:
    """Give maps the sizes that the target needs, and yield them."""
    for one in _each(library.bpf_object__next_map, handle):
        kind = library.bpf_map__type(one)
        if kind == _PERF_EVENT_ARRAY and not library.bpf_map__max_entries(one):
            library.bpf_map__set_max_entries(one, cpus)  # else libbpf takes the number of this machine's
        if kind == _STACK_TRACE and not library.bpf_map__value_size(one):
            library.bpf_map__set_value_size(one, _STACK_FRAMES * 8)
        if kind != _PERF_EVENT_ARRAY and not library.bpf_map__max_entries(one):
            library.bpf_map__set_max_entries(one, _MOST_ELEMENTS)  # its own loader would have set a size
        if kind == _RINGBUF:  # a type of its records is a note for readers; the kernel takes no size
            library.bpf_map__set_key_size(one, 0)
            library.bpf_map__set_value_size(one, 0)
        sizes = (library.bpf_map__key_size, library.bpf_map__value_size, library.bpf_map__max_entries)
        name = library.bpf_map__name(one).decode("utf-8", "replace")
        yield LoaderMap(name, kind, *(int(size(one)) for size in sizes))


def _each(following: Callable[[int, int | None], int | None], handle: int) -> Iterator[int]:
    one = following(handle, None)
    while one:
        yield one
        one = following(handle, one)
