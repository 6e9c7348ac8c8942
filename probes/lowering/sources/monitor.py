"""Lower a monitor to the number that a thread of ours reads again and again, and the fields of its samples."""

from __future__ import annotations

from typing import Final, NamedTuple

from btf.btf import Btf
from btf.kinds import Kind
from probes.facts.facts import TargetFacts
from probes.facts.lookups import Environment, NotReadable, SymbolPlace
from probes.lowering.sources.file_number import lower_file_number
from probes.lowering.sources.kernel_variables import (
    is_per_cpu,
    known_type,
    renamed_variable,
    variable_type,
)
from probes.lowering.sources.number_path import NumberPath, PathRefused, enumerators, number_type
from probes.lowering.sources.option_refusal import option_refusal
from probes.names import event_name
from probes.plans.plan import Plan, PlanColumn, PlannedEvent
from probes.plans.sampled_number import SampledNumber, sample_layout
from probes.refusal import CannotLower, own_refusal
from probes.sources.number_place import NumberPlace
from probes.sources.option import cpus_of
from probes.sources.source import Source

_UNKNOWN_ADDRESS: Final = 0xFFFF_FFFF_8000_0000
"""Address in a kernel that is not there, where nothing is looked up."""
_KERNEL_MEMORY: Final = 1 << 63
_OFFSETS: Final = "__per_cpu_offset"


class _Variable(NamedTuple):
    """Beginning of a path."""

    bases: tuple[tuple[int, int], ...]
    """CPU and address."""
    type_id: int | None
    word: str = ""
    """Type of its numbers where BTF does not know it; empty: unknown, too."""
    room: int = 0
    """Bytes up to the next symbol; 0: unknown."""
    notes: tuple[str, ...] = ()


def lower_monitor(
    source: Source, btf: Btf | None, facts: TargetFacts, group: str, event: str | None, environment: Environment
) -> Plan:
    """Lower a monitor, as `probes.lowering.lower.lower` does. Raises CannotLower."""
    place = NumberPlace.parse(source.value("of"))
    if place is None:
        hint = "Give it a number: of=jiffies_64, of=vm_zone_stat[NR_FREE_PAGES], of=/proc/meminfo:MemFree"
        raise CannotLower(own_refusal("missing_value", source.name, 0, hint))
    notes: tuple[str, ...] = ()
    if place.path:
        number, btf_type = lower_file_number(source, place, environment), None
    else:
        number, btf_type, notes = _memory_number(source, place, btf, facts, environment)
    columns = (PlanColumn("value", "value", btf_type), PlanColumn("delta", "delta"))[: len(number.layout.fields)]
    name = event or event_name(f"mon_{_short_name(place)}", "")
    return Plan(source, (PlannedEvent(group, name, "", "", columns=columns),), notes, sampled=number)


def _short_name(place: NumberPlace) -> str:
    """Return the part of a place that tells it from others: `MemFree`, `vm_zone_stat_NR_FREE_PAGES`."""
    if not place.path:
        steps = "".join(f"_{step.field or step.element}" for step in place.steps)
        return f"{place.memory.symbol or f'{place.memory.offset:#x}'}{steps}"
    file = place.path.rpartition("/")[2]
    return "_".join(filter(None, (file, place.key, str(place.column) if place.column > 1 else "")))


def _memory_number(
    source: Source, place: NumberPlace, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> tuple[SampledNumber, int | None, tuple[str, ...]]:
    """Return a number in memory, its type in BTF, and notes. Raises CannotLower."""
    if facts.byteorder != "little" or facts.long_size != 8:
        hint = "Memory is sampled on 64-bit little-endian machines only; numbers of files on all: of=/proc/vmstat:…"
        raise CannotLower(own_refusal("missing_capability", source.name, 0, hint))
    if source.value("scale") != "1":
        raise option_refusal(source, "scale", "Only numbers of files have digits behind a point")
    variable = _variable(source, place, btf, facts, environment)
    word = source.value("type") or variable.word
    path = NumberPath(btf, _root_text(place), variable.type_id, int(word[1:]) // 8 if word else 8)
    try:
        for step in place.steps:
            path = path.followed(step)
        known = None if source.value("type") else number_type(path)
    except PathRefused as error:
        raise option_refusal(source, "of", str(error), str(place), nearest=error.nearest) from None
    word, notes = known[0] if known else word or "u64", variable.notes
    if not (known or source.value("type") or variable.word):
        notes = (*notes, f"{place}: its type is unknown, 8 bytes are read as u64; type= takes others")
    number = _number(source, word, variable.bases, path.steps)
    _check_room(source, place, path, number.size, variable.room)
    _check_reading(source, place, number, environment)
    return number, known[1] if known else None, notes


def _root_text(place: NumberPlace) -> str:
    return f"({place.cast}){place.memory}" if place.cast else str(place.memory)


def _number(source: Source, word: str, bases: tuple[tuple[int, int], ...], steps: tuple[int, ...]) -> SampledNumber:
    is_summed, size = source.value("per") == "sum", int(word[1:]) // 8
    if len(bases) > 1 and is_summed and word[0] != "x":
        word = f"{word[0]}64"  # for a sum
    layout = sample_layout(word)
    return SampledNumber(source.us("every"), layout, size, word[0] == "s", None, 1, bases, steps, is_summed)


def _variable(
    source: Source, place: NumberPlace, btf: Btf | None, facts: TargetFacts, environment: Environment
) -> _Variable:
    """Return the beginning of a path. Raises CannotLower."""
    cast = _cast_type(source, place, btf) if place.cast else None
    memory, notes = place.memory, tuple[str, ...]()
    if not memory.symbol:
        if memory.offset < _KERNEL_MEMORY:
            raise option_refusal(source, "of", f"{memory.offset:#x} is no address of the kernel", str(place))
        return _Variable(((0, memory.offset),), cast)
    look_up = environment.symbol_places
    if look_up is None:
        return _Variable(((0, _UNKNOWN_ADDRESS + memory.offset // 8 * 8),), cast or variable_type(btf, memory.symbol))
    name = memory.symbol
    places = [one for one in look_up(name) if memory.module in ("", one.module)]
    if not places and (other := _other_name(place, btf)) and (places := list(look_up(other))):
        name, notes = other, (f"{memory.symbol} is called {other} by this kernel",)
    if not places:
        hint = "/proc/kallsyms has no such symbol, or can't be read"
        raise option_refusal(source, "of", hint, str(place), "no_variable")
    if len({one.address for one in places}) > 1:
        hint = f"{len(places)} symbols have this name: give the address of one"
        raise option_refusal(
            source, "of", hint, str(place), "ambiguous_symbol", tuple(f"0x{p.address:x}" for p in places[:3])
        )
    symbol = places[0]
    if btf is not None and btf.has_function(name):
        raise option_refusal(source, "of", f"{name} is a function, no variable", str(place))
    per_cpu = is_per_cpu(symbol, look_up)
    bases = _per_cpu_bases(source, place, symbol, facts, environment) if per_cpu else ((0, symbol.address),)
    if not per_cpu and (source.value("per") == "cpu" or source.has("cpus")):
        option = "cpus" if source.has("cpus") else "per"
        raise option_refusal(source, option, f"{name} is no per-CPU variable: there is one for all CPUs")
    found = cast or (None if memory.offset or symbol.module else variable_type(btf, name))
    known = known_type(btf, name, symbol.size) if found is None and not memory.offset else None
    room = symbol.size - memory.offset if symbol.size else 0
    bases = tuple((cpu, base + memory.offset) for cpu, base in bases)
    return _Variable(bases, found or (known.type_id if known else None), known.word if known else "", room, notes)


def _other_name(place: NumberPlace, btf: Btf | None) -> str:
    """Return the present name of a variable that was renamed, by the enum of its first index; empty: it was not."""
    index = place.steps[0].element if place.steps else ""
    found = enumerators(btf, index) if index and not index.isdigit() else []
    return renamed_variable(place.memory.symbol, found[0].enum if found else "")


def _cast_type(source: Source, place: NumberPlace, btf: Btf | None) -> int:
    """Return the structure that a path begins with. Raises CannotLower."""
    found = None
    if btf is not None:
        found = next((one for kind in (Kind.STRUCT, Kind.UNION) if (one := btf.find(place.cast, kind))), None)
    if found is None:
        raise option_refusal(source, "of", f"BTF has no structure {place.cast}", str(place))
    return found


def _per_cpu_bases(
    source: Source, place: NumberPlace, symbol: SymbolPlace, facts: TargetFacts, environment: Environment
) -> tuple[tuple[int, int], ...]:
    """Return the address of a per-CPU variable on each CPU. Raises CannotLower."""
    cpus = cpus_of(source.value("cpus")) if source.has("cpus") else tuple(range(facts.cpus))
    if cpus[-1] >= facts.cpus:
        raise option_refusal(source, "cpus", f"The kernel has {facts.cpus} CPUs, from 0 on", str(cpus[-1]))
    if environment.read_memory is None or environment.symbol_places is None:
        return tuple((cpu, symbol.address) for cpu in cpus)
    table = next(iter(environment.symbol_places(_OFFSETS)), None)
    if table is None:
        if facts.cpus == 1:  # a kernel for one CPU has no such table
            return ((0, symbol.address),)
        raise option_refusal(source, "of", f"/proc/kallsyms has no {_OFFSETS}, which leads to each CPU", str(place))
    try:
        data = environment.read_memory(table.address, 8 * facts.cpus)
    except NotReadable as error:
        raise option_refusal(source, "of", str(error), str(place)) from None
    offsets = [int.from_bytes(data[8 * cpu : 8 * cpu + 8], "little") for cpu in cpus]
    return tuple((cpu, (symbol.address + offset) % (1 << 64)) for cpu, offset in zip(cpus, offsets, strict=True))


def _check_room(source: Source, place: NumberPlace, path: NumberPath, size: int, room: int) -> None:
    """Raise CannotLower for a number that is not within its variable."""
    if room and len(path.steps) == 1 and path.steps[0] + size > room:
        hint = (
            f"{_root_text(place)} has {room} bytes up to the next symbol, {place} ends {path.steps[0] + size} behind"
        )
        raise option_refusal(source, "of", hint, str(place))


def _check_reading(source: Source, place: NumberPlace, number: SampledNumber, environment: Environment) -> None:
    """Raise CannotLower for a number that can't be read now, or would be read in parts."""
    read = environment.read_memory
    if read is None:
        return
    for _, base in number.bases:
        address = base
        for depth, step in enumerate(number.steps[:-1], 1):
            address = int.from_bytes(_bytes(source, place, environment, address + step, 8), "little")
            if address < _KERNEL_MEMORY:
                reason = "is NULL" if not address else f"is {address:#x}, which is no memory of the kernel"
                hint = f"Pointer {depth} of the path {reason}: begin at another object"
                raise option_refusal(source, "of", hint, str(place))
        address += number.steps[-1]
        if address % number.size:
            hint = (
                f"{address:#x} is no multiple of {number.size}: it would be read in two parts; type=u8 reads a byte"
            )
            raise option_refusal(source, "of", hint, str(place))
        _bytes(source, place, environment, address, number.size)


def _bytes(source: Source, place: NumberPlace, environment: Environment, address: int, size: int) -> bytes:
    """Return bytes of memory. Raises CannotLower."""
    if environment.read_memory is None:
        return bytes(size)
    try:
        return environment.read_memory(address, size)
    except NotReadable as error:
        raise option_refusal(source, "of", str(error), str(place)) from None
