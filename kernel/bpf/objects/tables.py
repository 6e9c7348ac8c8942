"""Read the maps of a compiled BPF object as tables: keys and values as bytes, of a map by CPU one value for each."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from kernel.bpf import calls
from kernel.local.object_loader import LoaderMap
from kernel.target import Target
from probes.objects.object_file import ObjectMap

MOST_ROWS: Final = 1 << 14
"""Elements of a map that are read."""


class MapTable(NamedTuple):
    """Contents of a map."""

    map: ObjectMap
    rows: tuple[tuple[bytes, tuple[bytes, ...]], ...]
    """Key, and its value on each CPU: one value where it is the same on all."""
    is_cut: bool = False
    """True if it has more elements than are read."""


def read_table(target: Target, one: ObjectMap, made: LoaderMap, file: int, cpus: int) -> MapTable:
    """Return the contents of a map. Raises BpfRefused, FileRefused, TargetLost.

    Args:
        target: the kernel.
        one: the map, a table.
        made: sizes that it was made with.
        file: its file on the target.
        cpus: number of CPUs that a map by CPU has values for.
    """
    key, value = made.key_size, made.value_size
    step = -(-value // 8) * 8 if one.is_by_cpu else value
    size = step * cpus if one.is_by_cpu else value
    rows: list[tuple[bytes, tuple[bytes, ...]]] = []
    is_cut = False
    elements = (
        _array(target, file, min(made.max_entries, MOST_ROWS + 1), size)
        if "array" in one.type_name
        else calls.read_elements(target, file, key, size)
    )
    for found, data in elements:
        if len(rows) == MOST_ROWS:
            is_cut = True
            break
        values = [data[at : at + value] for at in range(0, size, step)] if one.is_by_cpu else [data[:value]]
        rows.append((found, tuple(values)))
    return MapTable(one, tuple(rows), is_cut)


def _array(target: Target, file: int, count: int, size: int) -> list[tuple[bytes, bytes]]:
    """Return the elements of an array."""
    return [(struct.pack("<I", number), calls.read_element(target, file, number, size)) for number in range(count)]
