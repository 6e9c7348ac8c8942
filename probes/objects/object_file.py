"""Represent a compiled BPF object, and read it: its programs with their places, its maps with their types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from btf.btf import Btf
from btf.errors import BtfError
from btf.kinds import Kind
from btf.types import Array, Datasec, Ptr, Struct, Type, Var
from btf.walk import size_of, strip
from probes.objects.attach_kinds import AttachPlace, attach_place
from probes.objects.elf_object import ObjectElf, ObjectError, read_elf_object
from probes.objects.record_sizes import record_sizes

MAX_BYTES: Final = 64 << 20
"""Largest file."""
_MAX_PROGRAMS = 1 << 10
_MAX_MAPS = 1 << 9
MAP_TYPES: Final = [
    "unspec",
    "hash",
    "array",
    "prog_array",
    "perf_event_array",
    "percpu_hash",
    "percpu_array",
    "stack_trace",
    "cgroup_array",
    "lru_hash",
    "lru_percpu_hash",
    "lpm_trie",
    "array_of_maps",
    "hash_of_maps",
    "devmap",
    "sockmap",
    "cpumap",
    "xskmap",
    "sockhash",
    "cgroup_storage",
    "reuseport_sockarray",
    "percpu_cgroup_storage",
    "queue",
    "stack",
    "sk_storage",
    "devmap_hash",
    "struct_ops",
    "ringbuf",
    "inode_storage",
    "task_storage",
    "bloom_filter",
    "user_ringbuf",
    "cgrp_storage",
    "arena",
    "insn_array",
]
"""Names by number (enum bpf_map_type in include/uapi/linux/bpf.h)."""
RINGBUF, PERF_EVENT_ARRAY = MAP_TYPES.index("ringbuf"), MAP_TYPES.index("perf_event_array")
_TABLES = frozenset(("hash", "array", "percpu_hash", "percpu_array", "lru_hash", "lru_percpu_hash"))


@dataclass(frozen=True, slots=True)
class ObjectProgram:
    """Program of an object."""

    name: str
    """Name of its function in C."""
    section: str
    place: AttachPlace
    instructions: int


@dataclass(frozen=True, slots=True)
class ObjectMap:
    """Map of an object, as its BTF declares it (`.maps`)."""

    name: str
    type: int
    """BPF_MAP_TYPE_*."""
    key_type: int = 0
    """Type id of a key in the object's BTF; 0: not known."""
    value_type: int = 0
    key_size: int = 0
    """Bytes of a key; 0: not known."""
    value_size: int = 0
    max_entries: int = 0
    record_sizes: frozenset[int] = frozenset()
    """Bytes of the records that programs put into a ring or perf buffer, as far as their code says."""

    @property
    def type_name(self) -> str:
        return MAP_TYPES[self.type] if self.type < len(MAP_TYPES) else str(self.type)

    @property
    def has_records(self) -> bool:
        """True for a ring buffer or a perf buffer."""
        return self.type in (RINGBUF, PERF_EVENT_ARRAY)

    @property
    def is_table(self) -> bool:
        """True if it can be shown as a table of keys and values."""
        return self.type_name in _TABLES

    @property
    def is_by_cpu(self) -> bool:
        """True if each CPU has values of its own."""
        return "percpu" in self.type_name


@dataclass(frozen=True)
class BpfObject:
    """A compiled BPF object."""

    data: bytes = field(repr=False)
    """The whole file."""
    programs: tuple[ObjectProgram, ...]
    maps: tuple[ObjectMap, ...]
    btf: Btf = field(repr=False, compare=False)
    license: str
    kconfig: tuple[str, ...] = ()
    """Settings of a kernel that the programs ask for (`extern ... __kconfig`)."""

    def program(self, name: str) -> ObjectProgram | None:
        """Return the program of a name; None: there is none."""
        return next((one for one in self.programs if one.name == name), None)

    def map(self, name: str) -> ObjectMap | None:
        """Return the map of a name; None: there is none."""
        return next((one for one in self.maps if one.name == name), None)


def read_object(data: bytes) -> BpfObject:
    """Read an object from the bytes of its file. Raises ObjectError: what is damaged, in a few words."""
    elf = read_elf_object(data)
    raw = elf.section(".BTF")
    if not raw:
        raise ObjectError("it has no BTF (compile with clang -g)")
    try:
        btf = Btf(raw)
        programs = tuple(_programs(elf))
        maps = tuple(_maps(elf, btf))
        kconfig = tuple(var.name for var in _variables(btf, ".kconfig"))
    except (BtfError, RecursionError) as error:
        raise ObjectError(f"its BTF is damaged: {error}") from None
    if len(programs) > _MAX_PROGRAMS or len(maps) > _MAX_MAPS:
        raise ObjectError(f"{len(programs)} programs and {len(maps)} maps are more than fit in one object")
    if not programs:
        raise ObjectError("it has no programs")
    license_text = elf.section("license").partition(b"\0")[0].decode("utf-8", "replace")
    return BpfObject(data, programs, maps, btf, license_text, kconfig)


def _programs(elf: ObjectElf) -> Iterator[ObjectProgram]:
    for symbol in elf.symbols:
        section = elf.sections[symbol.section]
        if symbol.is_function and symbol.is_global and section.is_code and section.name != ".text":
            yield ObjectProgram(symbol.name, section.name, attach_place(section.name), symbol.size // 8)


def _maps(elf: ObjectElf, btf: Btf) -> Iterator[ObjectMap]:
    if elf.section("maps"):
        raise ObjectError('its maps are of the old kind (SEC("maps")), which libbpf loads no more')
    sizes = record_sizes(elf)
    for var in _variables(btf, ".maps"):
        declared = strip(btf, var.type_id)
        outer = btf.type(declared)
        if isinstance(outer, Struct):
            yield _map(btf, var.name, outer, sizes.get(var.name, frozenset()))


def _map(btf: Btf, name: str, declared: Struct, sizes: frozenset[int]) -> ObjectMap:
    """Return a map from the struct that declares it (__uint, __type in bpf_helpers.h)."""
    numbers, types = dict[str, int](), dict[str, int]()
    for member in declared.members:
        pointer = btf.type(strip(btf, member.type_id))
        if not isinstance(pointer, Ptr):
            continue
        pointed = btf.type(pointer.type_id)
        if member.name in ("key", "value"):
            types[member.name] = pointer.type_id
        elif isinstance(pointed, Array):
            numbers[member.name] = pointed.nelems
    key, value = types.get("key", 0), types.get("value", 0)
    return ObjectMap(
        name,
        numbers.get("type", 0),
        key,
        value,
        numbers.get("key_size", 0) or (size_of(btf, key) if key else 0) or 0,
        numbers.get("value_size", 0) or (size_of(btf, value) if value else 0) or 0,
        numbers.get("max_entries", 0),
        sizes,
    )


def _variables(btf: Btf, section: str) -> Iterator[Var]:
    found = btf.find(section, Kind.DATASEC)
    group: Type | None = btf.type(found) if found is not None else None
    if isinstance(group, Datasec):
        for one in group.vars:
            var = btf.type(one.type_id)
            if isinstance(var, Var):
                yield var
