"""Describe the types of variables from debug information: their C text, their size, and how a number is read."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final, NamedTuple

from btf.debug.expressions import COMPUTED, Narrow, NoValue
from btf.debug.scopes import attribute_of, children_of

_QUALIFIERS: Final = {
    "DW_TAG_const_type": "const ",
    "DW_TAG_volatile_type": "volatile ",
    "DW_TAG_restrict_type": "",
    "DW_TAG_atomic_type": "_Atomic ",
}
_WORDS: Final = {
    "DW_TAG_structure_type": "struct",
    "DW_TAG_union_type": "union",
    "DW_TAG_class_type": "class",
    "DW_TAG_enumeration_type": "enum",
}
NUMBER_FORMS: Final = frozenset(
    {"DW_FORM_sdata", "DW_FORM_udata", "DW_FORM_implicit_const"} | {f"DW_FORM_data{size}" for size in (1, 2, 4, 8)}
)
"""Forms of attributes that are numbers."""
_DEEPEST: Final = 32
"""Maximum types that lie in one another."""
_MOST_CHILDREN: Final = 16
"""Maximum entries in one of a type that are looked at."""
_SIGNED, _TEXT, _NUMBERS = frozenset({5, 6}), frozenset({6, 8}), frozenset({2, 5, 6, 7, 8, 16})
"""Encodings DW_ATE_*: signed numbers, characters, and all that are integers."""


class VariableType(NamedTuple):
    """Type of a variable."""

    text: str
    """In C, without the variable: `struct file *`, `unsigned int`, `char [16]`."""
    size: int = 0
    """Bytes; 0: unknown."""
    letter: str = ""
    """`u`, `s` or `x` as in a fetcharg's type; empty: it is no single number."""
    is_text: bool = False
    """True if it is a character, or an array of them."""
    elements: int | None = None
    """Number of elements of an array, of which `letter` and `size` are one's; None: it is no array."""


UNKNOWN_TYPE: Final = VariableType("?")


def variable_type(entry: Any) -> VariableType:  # noqa: ANN401 - of pyelftools
    """Return the type of a variable's entry. Raises errors of pyelftools."""
    return _type_of(entry, _DEEPEST, is_pointed_to=False)


def base_type_at(unit: Any, offset: int) -> Narrow | None:  # noqa: ANN401
    """Return the integer type at an offset in a unit. Raises NoValue: it is another type; errors of pyelftools."""
    entry = unit.get_DIE_from_refaddr(unit.cu_offset + offset)
    size, encoding = _number(entry, "DW_AT_byte_size"), _number(entry, "DW_AT_encoding")
    if entry.tag != "DW_TAG_base_type" or encoding not in _NUMBERS:
        raise NoValue(COMPUTED)
    return Narrow(size, encoding in _SIGNED)


def _type_of(entry: Any, left: int, *, is_pointed_to: bool) -> VariableType:  # noqa: ANN401
    """Return the type that an entry refers to; `is_pointed_to`: only its text is wanted."""
    if (found := attribute_of(entry, "DW_AT_type")) is None:
        return VariableType("void")
    if not left:
        return UNKNOWN_TYPE
    attribute, owner = found
    kind = owner.get_DIE_from_attribute(attribute.name)
    name = _name(kind)
    if kind.tag == "DW_TAG_typedef":
        return (
            VariableType(name) if is_pointed_to else _type_of(kind, left - 1, is_pointed_to=False)._replace(text=name)
        )
    if (word := _QUALIFIERS.get(kind.tag)) is not None:
        inner = _type_of(kind, left - 1, is_pointed_to=is_pointed_to)
        return inner._replace(text=f"{word}{inner.text}")
    if kind.tag == "DW_TAG_pointer_type":
        return VariableType(_pointer_text(_type_of(kind, left - 1, is_pointed_to=True).text), 8, "x")
    if kind.tag == "DW_TAG_subroutine_type":
        return VariableType("function")
    if kind.tag == "DW_TAG_array_type":
        return _array(kind, left)
    if kind.tag in _WORDS:
        return _compound(kind, f"{_WORDS[kind.tag]} {name}".rstrip(), left, is_pointed_to=is_pointed_to)
    encoding = _number(kind, "DW_AT_encoding")
    letter = ("s" if encoding in _SIGNED else "u") if encoding in _NUMBERS else "x"
    return VariableType(name or "?", _number(kind, "DW_AT_byte_size"), letter, encoding in _TEXT)


def _compound(kind: Any, text: str, left: int, *, is_pointed_to: bool) -> VariableType:  # noqa: ANN401
    """Return an enum, or a struct: as the number that is its only member, or as none."""
    size = _number(kind, "DW_AT_byte_size")
    if is_pointed_to:
        return VariableType(text)
    if kind.tag == "DW_TAG_enumeration_type":
        is_signed = "DW_AT_type" in kind.attributes and _type_of(kind, left - 1, is_pointed_to=False).letter == "s"
        return VariableType(text, size, "s" if is_signed else "u")
    if kind.tag == "DW_TAG_structure_type":
        members = list(islice(children_of(kind), 2))
        if len(members) == 1 and members[0].tag == "DW_TAG_member" and "DW_AT_bit_size" not in members[0].attributes:
            inner = _type_of(members[0], left - 1, is_pointed_to=False)
            if inner.size == size and inner.elements is None:
                return inner._replace(text=text, is_text=False)
    return VariableType(text, size)


def _array(kind: Any, left: int) -> VariableType:  # noqa: ANN401
    element = _type_of(kind, left - 1, is_pointed_to=False)
    counts = list[int]()
    for child in islice(children_of(kind), _MOST_CHILDREN):
        if child.tag == "DW_TAG_subrange_type":
            last = _number(child, "DW_AT_upper_bound", -1)
            counts.append(last + 1 if last >= 0 else _number(child, "DW_AT_count"))
    text = element.text + " " + "".join(f"[{count or ''}]" for count in counts)
    if len(counts) != 1 or element.elements is not None:
        return VariableType(text)
    return element._replace(text=text, elements=counts[0])


def _pointer_text(text: str) -> str:
    return f"{text}*" if text.endswith("*") else f"{text} *"


def _name(entry: Any) -> str:  # noqa: ANN401
    found = entry.attributes.get("DW_AT_name")
    return str(found.value.decode("utf-8", "replace")) if found is not None else ""


def _number(entry: Any, name: str, default: int = 0) -> int:  # noqa: ANN401
    """Return an attribute that is a number; the default: it is none, as the size of some arrays."""
    found = entry.attributes.get(name)
    return int(found.value) if found is not None and found.form in NUMBER_FORMS else default
