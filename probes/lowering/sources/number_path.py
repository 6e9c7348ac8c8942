"""Follow the path of a monitored number through the kernel's types: from a variable to bytes at an offset."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field, replace
from typing import Final

from btf.btf import Btf
from btf.enumerators import EnumeratorValue, enumerators_of
from btf.errors import BtfError
from btf.layout import PathError, fields, find_field
from btf.types import Array, Ptr, Struct, TypeTag
from btf.walk import size_of, strip
from probes.functions.fetcharg_types import unwrap
from probes.sources.number_place import PathStep

_POINTER_BYTES: Final = 8


class PathRefused(Exception):
    """A path that can't be followed: the reason, and paths that are near."""

    def __init__(self, reason: str, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.nearest = nearest


@dataclass(frozen=True, slots=True)
class NumberPath:
    """Place reached so far."""

    btf: Btf | None
    text: str
    """Path as text, for messages."""
    type_id: int | None
    """Type there; None: unknown."""
    element_size: int = 8
    """Bytes of an element, where the type is unknown."""
    steps: tuple[int, ...] = field(default=(0,))
    """As of `probes.plans.sampled_number.SampledNumber`."""

    def followed(self, step: PathStep) -> NumberPath:
        """Return the place behind a step. Raises PathRefused."""
        try:
            place = self._element(step.element) if step.element else self._field(step.field)
        except BtfError as error:
            raise PathRefused(f"The types of {self.text} are damaged: {error}") from None
        return replace(place, text=f"{self.text}{step}")

    def _field(self, name: str) -> NumberPath:
        btf, at = self._typed()
        place = self
        if isinstance(btf.type(strip(btf, at)), Ptr):
            place = self._behind_pointer()
            at = place.type_id or 0
        try:
            found = find_field(btf, at, name)
        except PathError as error:
            is_struct = isinstance(btf.type(strip(btf, at)), Struct)
            reason = f"{self.text} has no field {name}" if is_struct else f"{self.text} is no structure"
            raise PathRefused(reason, self._near(btf, at, name)) from error
        if found.bit_size:
            raise PathRefused(f"{self.text}.{name} is a bit-field, whose bytes others share")
        return replace(place, type_id=found.type_id)._moved(found.bit_offset // 8)

    def _element(self, index: str) -> NumberPath:
        number = int(index) if index.isdigit() else self._enumerator(index).value
        if number < 0:
            raise PathRefused(f"{index} is {number}: an index is not negative")
        if self.type_id is None or self.btf is None:
            return self._moved(number * self.element_size)
        found = self.btf.type(strip(self.btf, self.type_id))
        if isinstance(found, Array):
            if found.nelems and number >= found.nelems:
                raise PathRefused(f"{self.text} has {found.nelems} elements, from 0 on: {index} is {number}")
            return replace(self, type_id=found.type_id)._moved(number * size_of(self.btf, found.type_id))
        if isinstance(found, Ptr):
            place = self._behind_pointer()
            return place._moved(number * size_of(self.btf, place.type_id or 0))
        raise PathRefused(f"{self.text} is neither array nor pointer")

    def _enumerator(self, name: str) -> EnumeratorValue:
        found = enumerators(self.btf, name)
        if not found:
            raise PathRefused(f"{name} is no enumerator of this kernel, nor a number")
        if len({one.value for one in found}) > 1:
            values = ", ".join(f"{one.value} in enum {one.enum}" for one in found[:3])
            raise PathRefused(f"{name} is {values}: give the number")
        return found[0]

    def _typed(self) -> tuple[Btf, int]:
        """Return types and type. Raises PathRefused."""
        if self.btf is None:
            raise PathRefused("Fields are found by BTF, which this kernel does not have")
        if self.type_id is None:
            raise PathRefused(
                f"The type of {self.text} is not in BTF: give its structure, as (task_struct){self.text}"
            )
        return self.btf, self.type_id

    def _behind_pointer(self) -> NumberPath:
        """Return the place that a pointer leads to. Raises PathRefused."""
        btf, at = self._typed()
        pointer = btf.type(strip(btf, at))
        if not isinstance(pointer, Ptr):
            raise PathRefused(f"{self.text} is no pointer")
        tag = btf.type(pointer.type_id)
        if isinstance(tag, TypeTag) and tag.name in ("user", "percpu"):
            owner = "a process" if tag.name == "user" else "each CPU"
            raise PathRefused(f"{self.text} points to memory of {owner}, which is not followed")
        return replace(self, type_id=pointer.type_id, steps=(*self.steps, 0))

    def _moved(self, offset: int) -> NumberPath:
        return replace(self, steps=(*self.steps[:-1], self.steps[-1] + offset))

    def _near(self, btf: Btf, structure: int, name: str) -> tuple[str, ...]:
        names = [one.name for one in fields(btf, structure) if one.name]
        return tuple(f"{self.text}.{near}" for near in difflib.get_close_matches(name, names, 3))


def number_type(place: NumberPath) -> tuple[str, int] | None:
    """Return the type as a monitor writes it, `s32`, and the id of the number's own type; None: it is no number.

    Structures around a single number, as atomic_t, are that number. Raises PathRefused.
    """
    if place.btf is None or place.type_id is None:
        return None
    try:
        inner = unwrap(place.btf, place.type_id)
        found = place.btf.type(inner)
        size = size_of(place.btf, inner)
    except BtfError:
        return None
    if isinstance(found, Ptr):
        return f"x{_POINTER_BYTES * 8}", place.type_id
    if isinstance(found, Struct | Array) or size not in (1, 2, 4, 8):
        names: tuple[str, ...] = ()
        if isinstance(found, Struct):
            names = tuple(f"{place.text}.{one.name}" for one in fields(place.btf, inner)[:3] if one.name)
        kind = f"a structure of {size} bytes" if isinstance(found, Struct) else "no number of 1, 2, 4 or 8 bytes"
        more = ": give an index, as [0]" if isinstance(found, Array) else ": give a field" if names else ""
        raise PathRefused(f"{place.text} is {kind}{more}", names)
    signed = getattr(found, "is_signed", False)
    return f"{'s' if signed else 'u'}{size * 8}", place.type_id


def enumerators(btf: Btf | None, name: str) -> tuple[EnumeratorValue, ...]:
    """Return the values of an enumerator in all enums, by its name or that in capital letters; empty: none has it."""
    if btf is None:
        return ()
    known = enumerators_of(btf)
    return known.get(name) or known.get(name.upper()) or ()
