"""Read tables of a running kernel from its memory: places in code that it patches itself, and installed kprobes.

Layouts come from BTF, as structures differ between kernels.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final, NamedTuple

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.layout import PathError, find_field
from btf.walk import size_of
from events.names.kallsyms import Symbols
from kernel.attach.kcore import Kcore
from kernel.errors import FileRefused
from kernel.target import Target
from probes.code.architectures.architecture import Architecture
from probes.code.decoded import InstalledKprobe
from probes.code.patched_sites import EntryLayout, PatchedSite, SiteTable, table_sites

_LARGEST_TABLE: Final = 8 << 20
"""Bytes of a table that are read; the largest, of BUG() and WARN(), has half a megabyte."""
_CHUNK: Final = 1 << 20
_BUCKETS: Final = 64
"""Buckets of the kernel's hash table of kprobes (KPROBE_TABLE_SIZE)."""
_MOST_KPROBES: Final = 4096
_POINTER: Final = 8
_FTRACE_FLAG: Final = 8
"""KPROBE_FLAG_FTRACE: the probe has no breakpoint."""
_JUMP_OPERAND: Final = 4


class _KprobeLayout(NamedTuple):
    """Offsets in bytes in a kprobe of the kernel."""

    node: int
    address: int
    opcode: int
    flags: int
    behind: int
    """Offset of the bytes that the jump of an optimised kprobe replaced; a pointer later that of its detour."""
    size: int
    """Bytes up to the end of all members."""
    least: int
    """Bytes up to the end of the members of any kprobe."""


class KernelTables:
    """Tables of one boot of a kernel; every call may raise FileRefused, TargetLost."""

    def __init__(
        self, target: Target, kcore: Kcore, symbols: Symbols, btf: Btf | None, architecture: Architecture
    ) -> None:
        self._target = target
        self._kcore = kcore
        self._symbols = symbols
        self._btf = btf
        self._architecture = architecture
        self._sites: dict[str, list[PatchedSite]] = {}
        """Places of the kernel (empty name), and of modules."""
        self.unread: tuple[str, ...] = ()
        """Reasons of the tables that could not be read."""

    def sites(self, module: str) -> Sequence[PatchedSite]:
        """Return the places in the code of the kernel (empty name), or of a module, that take no kprobe."""
        if module not in self._sites:
            unread, found = [], list[PatchedSite]()
            for table in self._architecture.SITE_TABLES:
                if self._is_absent(table, module):
                    continue
                bounds, layout = self._bounds(table, module), self._layout(table)
                if bounds is None or layout is None:
                    unread.append(table.reason)
                    continue
                start, size = bounds if not module else (bounds[0], bounds[1] * layout.size)
                data = self._read(start, min(size, _LARGEST_TABLE))
                found += table_sites(data, start, layout, table)
            self._sites[module] = sorted(found)
            self.unread = tuple(dict.fromkeys((*self.unread, *unread)))
        return self._sites[module]

    def kprobes(self) -> list[InstalledKprobe] | None:
        """Return the kprobes of the kernel that have a breakpoint, whoever put them there; None: unknown."""
        start, layout = self._symbols.address_of("kprobe_table"), self._kprobe_layout
        if start is None or layout is None:
            return None
        found = []
        for node in self._nodes(start):
            data = self._kcore.read(node - layout.node, layout.size)
            if len(data) < layout.least or _number(data, layout.flags, 4) & _FTRACE_FLAG:
                continue
            behind = data[layout.behind : layout.behind + _JUMP_OPERAND]
            detour = _number(data, layout.behind + _POINTER, _POINTER)
            opcode = data[layout.opcode : layout.opcode + self._architecture.OPCODE_BYTES]
            found.append(InstalledKprobe(_number(data, layout.address, _POINTER), opcode, behind, detour))
        return found

    @cached_property
    def _kprobe_layout(self) -> _KprobeLayout | None:
        """Offsets in `struct kprobe`, and in the optimised one that begins with it; None: unknown.

        `struct optimized_kprobe` is a kprobe, a list head, the replaced bytes and the address of the detour
        (arch/x86/include/asm/kprobes.h); BTF often lacks it. `recover` looks that the jump goes to the detour.
        """
        found = self._btf.find("kprobe", Kind.STRUCT) if self._btf is not None else None
        names = ("hlist", "addr", "opcode", "flags")
        node, address, opcode, flags = (self._member("kprobe", name) for name in names)
        if self._btf is None or found is None or node is None or address is None or opcode is None or flags is None:
            return None
        behind = size_of(self._btf, found) + 2 * _POINTER
        least = max(node, address, opcode, flags) + _POINTER
        return _KprobeLayout(node, address, opcode, flags, behind, behind + 2 * _POINTER, least)

    def _nodes(self, start: int) -> Iterator[int]:
        """Yield the addresses of the list nodes in the hash table of kprobes."""
        heads = self._kcore.read(start, _BUCKETS * _POINTER)
        left = _MOST_KPROBES
        for at in range(0, len(heads), _POINTER):
            node = int.from_bytes(heads[at : at + _POINTER], "little")
            while node and left:
                yield node
                node, left = self._number(node), left - 1

    def _is_absent(self, table: SiteTable, module: str) -> bool:
        """Return whether this kernel certainly has no such table: its architecture or configuration leaves it out."""
        if not module:
            return self._symbols.has_data and self._symbols.address_of(table.bounds[0]) is None
        return self._btf is not None and self._member("module", table.module_fields[0]) is None

    def _bounds(self, table: SiteTable, module: str) -> tuple[int, int] | None:
        """Return address and bytes of a table of the kernel, or address and entries of that of a module."""
        if not module:
            first, last = (self._symbols.address_of(name) for name in table.bounds)
            return (first, last - first) if first is not None and last is not None else None
        pointer, count = (self._member("module", name) for name in table.module_fields)
        with contextlib.suppress(FileRefused, ValueError):
            text = self._target.read(f"/sys/module/{module}/sections/.gnu.linkonce.this_module", 64)
            start = int(text, 16)
            if start and pointer is not None and count is not None:
                return self._number(start + pointer), self._number(start + count, 4)
        return None

    def _layout(self, table: SiteTable) -> EntryLayout | None:
        found = self._btf.find(table.entry, Kind.STRUCT) if self._btf is not None else None
        if self._btf is None or found is None:
            return EntryLayout(table.size) if table.size else None
        for width, member in zip((4, 8), table.members, strict=False):
            if (offset := self._member(table.entry, member)) is not None:
                return EntryLayout(size_of(self._btf, found), offset, width)
        return None

    def _member(self, structure: str, member: str) -> int | None:
        """Return the offset of a member in bytes; None: unknown."""
        if self._btf is None:
            return None
        found = self._btf.find(structure, Kind.STRUCT)
        with contextlib.suppress(BtfError, PathError):
            if found is not None:
                return find_field(self._btf, found, member).bit_offset // 8
        return None

    def _number(self, address: int, size: int = _POINTER) -> int:
        return int.from_bytes(self._kcore.read(address, size), "little")

    def _read(self, address: int, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            piece = self._kcore.read(address + len(data), min(_CHUNK, size - len(data)))
            if not piece:
                break
            data += piece
        return bytes(data)


def _number(data: bytes, offset: int, size: int) -> int:
    return int.from_bytes(data[offset : offset + size], "little")
