"""Make the contents of a map readable: rows with named columns, or histograms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from btf.btf import Btf
from probes.objects.map_values import Decoded, decode, flat, histogram_of, is_histogram_array, summed
from probes.objects.object_file import ObjectMap


@dataclass(frozen=True)
class MapRow:
    """Element of a map."""

    key: Decoded
    value: Decoded
    """Value; of a map by CPU the sum of all CPUs."""
    by_cpu: tuple[Decoded, ...] = ()
    """Values by CPU; empty where all CPUs share one."""
    raw_key: bytes = b""

    @property
    def columns(self) -> dict[str, int | str]:
        """Members of key and value by name."""
        return {**flat(self.key, "key"), **_renamed(flat(self.value, "value"), flat(self.key, "key"))}

    @property
    def key_text(self) -> str:
        """Key as one text."""
        return " ".join(str(one) for one in flat(self.key, "key").values())

    @property
    def is_zero(self) -> bool:
        """True if no number of the value is above or below zero, and no text has letters."""
        return not any(one not in (0, "", "0x0") and one != "{}" for one in _leaves(self.value))


@dataclass(frozen=True)
class ShownMap:
    """Contents of a map, decoded."""

    map: ObjectMap
    rows: tuple[MapRow, ...]
    """Elements; of an array those that are not zero."""
    histograms: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Key as a text, and counts by slot."""
    zeros: int = 0
    """Elements of an array that are zero."""
    is_cut: bool = field(default=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns, in their order."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row.columns))


def shown_map(
    btf: Btf, one: ObjectMap, rows: Sequence[tuple[bytes, tuple[bytes, ...]]], *, is_cut: bool = False
) -> ShownMap:
    """Return the contents of a map, decoded.

    Args:
        btf: types of its object.
        one: the map.
        rows: keys, each with its value on each CPU, or the one that all CPUs share.
        is_cut: whether there are more.
    """
    found = []
    for key, values in rows:
        decoded = [decode(btf, one.value_type, value) for value in values]
        value = summed(decoded) if len(decoded) > 1 else decoded[0]
        found.append(MapRow(decode(btf, one.key_type, key), value, tuple(decoded) if one.is_by_cpu else (), key))
    is_array = "array" in one.type_name
    if is_array and is_histogram_array(one.name, [row.value for row in found]):
        counts = tuple(row.value for row in found if isinstance(row.value, int))
        return ShownMap(one, tuple(found), (("", counts),), is_cut=is_cut)
    histograms = [(row.key_text, slots[1]) for row in found if (slots := histogram_of(one.name, row.value))]
    kept = [row for row in found if not (is_array and row.is_zero)]
    return ShownMap(
        one,
        tuple(kept),
        tuple((key, tuple(counts)) for key, counts in histograms if any(counts)),
        len(found) - len(kept),
        is_cut,
    )


def _renamed(values: dict[str, int | str], keys: dict[str, int | str]) -> dict[str, int | str]:
    """Return columns of a value, of which none has the name of a key's."""
    return {f"{name}_" if name in keys else name: value for name, value in values.items()}


def _leaves(value: Decoded) -> list[int | str]:
    if isinstance(value, dict):
        return [leaf for one in value.values() for leaf in _leaves(one)]
    if isinstance(value, list):
        return [leaf for one in value for leaf in _leaves(one)]
    return [value]
