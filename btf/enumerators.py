"""Find enumerators by name, in all enums of a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple
from weakref import WeakKeyDictionary

from btf.btf import Btf
from btf.kinds import Kind
from btf.types import Enum, Enum64


class EnumeratorValue(NamedTuple):
    """Value of an enumerator, with the name of its enum; empty: it has none."""

    value: int
    enum: str


_known: WeakKeyDictionary[Btf, Mapping[str, tuple[EnumeratorValue, ...]]] = WeakKeyDictionary()


def enumerators_of(btf: Btf) -> Mapping[str, tuple[EnumeratorValue, ...]]:
    """Return the values of each enumerator, several where enums share a name (150 ms for a kernel, once)."""
    found = _known.get(btf)
    if found is None:
        found = _known[btf] = _read(btf)
    return found


def enumerator_value(btf: Btf, name: str) -> int | None:
    """Return the value of an enumerator; None: there is none of this name, or enums differ in it."""
    values = {one.value for one in enumerators_of(btf).get(name, ())}
    return values.pop() if len(values) == 1 else None


def _read(btf: Btf) -> Mapping[str, tuple[EnumeratorValue, ...]]:
    found: dict[str, list[EnumeratorValue]] = {}
    kinds = (int(Kind.ENUM), int(Kind.ENUM64))
    for type_id in range(1, btf.end_id):
        if btf.kind(type_id) in kinds:
            enum = btf.type(type_id)
            for one in enum.values if isinstance(enum, Enum | Enum64) else ():
                found.setdefault(one.name, []).append(EnumeratorValue(one.value, enum.name))
    return {name: tuple(values) for name, values in found.items()}
