"""The types as values: one frozen class a kind, named as in include/uapi/linux/btf.h.

Every class has `id` (type id, 0 is void), `kind`, and `name` (empty: anonymous); `type_id` is the id of another type.
Sizes are in bytes, offsets of members in bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from btf.kinds import INT_BOOL, INT_SIGNED, Kind


@dataclass(frozen=True, slots=True)
class _Base:
    """A type with an id and a name."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Void(_Base):
    """No type: `void`, id 0."""

    kind: ClassVar[Kind] = Kind.VOID


@dataclass(frozen=True, slots=True)
class Int(_Base):
    """BTF_KIND_INT: an integer, a character or a bool."""

    kind: ClassVar[Kind] = Kind.INT
    size: int
    encoding: int
    """INT_SIGNED | INT_CHAR | INT_BOOL; pahole sets only SIGNED and BOOL."""
    bit_offset: int
    bits: int

    @property
    def is_signed(self) -> bool:
        return bool(self.encoding & INT_SIGNED)

    @property
    def is_bool(self) -> bool:
        return bool(self.encoding & INT_BOOL)


@dataclass(frozen=True, slots=True)
class Float(_Base):
    """BTF_KIND_FLOAT."""

    kind: ClassVar[Kind] = Kind.FLOAT
    size: int


@dataclass(frozen=True, slots=True)
class Array(_Base):
    """BTF_KIND_ARRAY: `nelems` elements of `type_id`."""

    kind: ClassVar[Kind] = Kind.ARRAY
    type_id: int
    index_type_id: int
    nelems: int
    """0: a flexible array, or one that really has no elements."""


class Member(NamedTuple):
    """A member as declared."""

    name: str
    type_id: int
    bit_offset: int
    """From the start of the struct."""
    bit_size: int
    """0: no bit-field."""


@dataclass(frozen=True, slots=True)
class Struct(_Base):
    """A struct or a union."""

    is_union: bool
    size: int
    members: tuple[Member, ...]
    kind_flag: bool
    """Whether the file gives bit-field sizes with the offsets of this struct."""

    @property
    def kind(self) -> Kind:
        return Kind.UNION if self.is_union else Kind.STRUCT

    @property
    def keyword(self) -> str:
        return "union" if self.is_union else "struct"


class Enumerator(NamedTuple):
    """A name of an enum, with its value."""

    name: str
    value: int
    """With its sign."""


@dataclass(frozen=True, slots=True)
class Enum(_Base):
    """BTF_KIND_ENUM: values of 32 bits."""

    kind: ClassVar[Kind] = Kind.ENUM
    size: int
    is_signed: bool
    values: tuple[Enumerator, ...]


@dataclass(frozen=True, slots=True)
class Enum64(_Base):
    """BTF_KIND_ENUM64: values of 64 bits."""

    kind: ClassVar[Kind] = Kind.ENUM64
    size: int
    is_signed: bool
    values: tuple[Enumerator, ...]


@dataclass(frozen=True, slots=True)
class Fwd(_Base):
    """Declared, never defined."""

    kind: ClassVar[Kind] = Kind.FWD
    is_union: bool

    @property
    def keyword(self) -> str:
        return "union" if self.is_union else "struct"


@dataclass(frozen=True, slots=True)
class _Reference(_Base):
    """A type made of another one, `type_id`."""

    type_id: int


@dataclass(frozen=True, slots=True)
class Ptr(_Reference):
    """BTF_KIND_PTR: a pointer to `type_id`."""

    kind: ClassVar[Kind] = Kind.PTR


@dataclass(frozen=True, slots=True)
class Typedef(_Reference):
    """BTF_KIND_TYPEDEF: `name` stands for `type_id`."""

    kind: ClassVar[Kind] = Kind.TYPEDEF


@dataclass(frozen=True, slots=True)
class Volatile(_Reference):
    """BTF_KIND_VOLATILE: `type_id`, volatile."""

    kind: ClassVar[Kind] = Kind.VOLATILE


@dataclass(frozen=True, slots=True)
class Const(_Reference):
    """BTF_KIND_CONST: `type_id`, const."""

    kind: ClassVar[Kind] = Kind.CONST


@dataclass(frozen=True, slots=True)
class Restrict(_Reference):
    """BTF_KIND_RESTRICT: `type_id`, restrict."""

    kind: ClassVar[Kind] = Kind.RESTRICT


@dataclass(frozen=True, slots=True)
class TypeTag(_Reference):
    """`__attribute__((btf_type_tag("user")))` and the like; `name` is the tag."""

    kind: ClassVar[Kind] = Kind.TYPE_TAG
    is_attribute: bool = False
    """The tag is a whole attribute, `address_space(1)`, rather than the argument of btf_type_tag."""


@dataclass(frozen=True, slots=True)
class DeclTag(_Reference):
    """`__attribute__((btf_decl_tag("..")))`; `name` is the tag, `type_id` what it is on."""

    kind: ClassVar[Kind] = Kind.DECL_TAG
    component_idx: int = -1
    """Member or parameter it is on; -1: the whole."""


@dataclass(frozen=True, slots=True)
class Func(_Reference):
    """`type_id` is its FuncProto."""

    kind: ClassVar[Kind] = Kind.FUNC
    linkage: int = 0


class Param(NamedTuple):
    """A parameter of a function."""

    name: str
    type_id: int
    """0 with an empty name at the end: `...`."""


@dataclass(frozen=True, slots=True)
class FuncProto(_Reference):
    """`type_id` is what it returns."""

    kind: ClassVar[Kind] = Kind.FUNC_PROTO
    params: tuple[Param, ...] = ()


@dataclass(frozen=True, slots=True)
class Var(_Reference):
    """BTF_KIND_VAR: a global variable of `type_id`."""

    kind: ClassVar[Kind] = Kind.VAR
    linkage: int = 0


class SectionVar(NamedTuple):
    """A variable in a section."""

    type_id: int
    offset: int
    """Bytes from the start of the section."""
    size: int


@dataclass(frozen=True, slots=True)
class Datasec(_Base):
    """BTF_KIND_DATASEC: a section and its variables."""

    kind: ClassVar[Kind] = Kind.DATASEC
    size: int
    vars: tuple[SectionVar, ...]


Type = (
    Void
    | Int
    | Ptr
    | Array
    | Struct
    | Enum
    | Fwd
    | Typedef
    | Volatile
    | Const
    | Restrict
    | Func
    | FuncProto
    | Var
    | Datasec
    | Float
    | DeclTag
    | TypeTag
    | Enum64
)
Modifier = Typedef | Volatile | Const | Restrict | TypeTag
