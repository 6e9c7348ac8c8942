"""Represent BTF types as values: one frozen class per kind, named as in include/uapi/linux/btf.h.

Every class has `id` (type id, 0 is void), `kind`, and `name` (empty: anonymous); `type_id` is the id of another type.
Sizes are in bytes, offsets of members in bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from btf.kinds import INT_BOOL, INT_SIGNED, Kind


@dataclass(frozen=True, slots=True)
class _Base:
    """Type with an id and a name."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Void(_Base):
    """Void type, id 0."""

    kind: ClassVar[Kind] = Kind.VOID


@dataclass(frozen=True, slots=True)
class Int(_Base):
    """BTF_KIND_INT: an integer, a character or a bool."""

    kind: ClassVar[Kind] = Kind.INT
    size: int
    encoding: int
    """Flags INT_SIGNED | INT_CHAR | INT_BOOL; pahole sets only SIGNED and BOOL."""
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
    """BTF_KIND_FLOAT: a floating-point number."""

    kind: ClassVar[Kind] = Kind.FLOAT
    size: int


@dataclass(frozen=True, slots=True)
class Array(_Base):
    """BTF_KIND_ARRAY: `nelems` elements of `type_id`."""

    kind: ClassVar[Kind] = Kind.ARRAY
    type_id: int
    index_type_id: int
    nelems: int
    """Number of elements; 0: a flexible array, or one that has no elements."""


class Member(NamedTuple):
    """Member of a struct or union as declared."""

    name: str
    type_id: int
    bit_offset: int
    """Offset in bits from the start of the struct."""
    bit_size: int
    """Size in bits; 0: no bit-field."""


@dataclass(frozen=True, slots=True)
class Struct(_Base):
    """BTF_KIND_STRUCT or BTF_KIND_UNION: a struct or a union."""

    is_union: bool
    size: int
    members: tuple[Member, ...]
    kind_flag: bool
    """True if the file encodes bit-field sizes in the member offsets of this struct."""

    @property
    def kind(self) -> Kind:
        return Kind.UNION if self.is_union else Kind.STRUCT

    @property
    def keyword(self) -> str:
        return "union" if self.is_union else "struct"


class Enumerator(NamedTuple):
    """Enumerator of an enum."""

    name: str
    value: int
    """Signed value."""


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
    """BTF_KIND_FWD: declared but not defined."""

    kind: ClassVar[Kind] = Kind.FWD
    is_union: bool

    @property
    def keyword(self) -> str:
        return "union" if self.is_union else "struct"


@dataclass(frozen=True, slots=True)
class _Reference(_Base):
    """Type that refers to another one, `type_id`."""

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
    """BTF_KIND_TYPE_TAG: `__attribute__((btf_type_tag("user")))` and similar; `name` is the tag."""

    kind: ClassVar[Kind] = Kind.TYPE_TAG
    is_attribute: bool = False
    """True if the tag is a whole attribute, `address_space(1)`, instead of the argument of btf_type_tag."""


@dataclass(frozen=True, slots=True)
class DeclTag(_Reference):
    """BTF_KIND_DECL_TAG: `__attribute__((btf_decl_tag("..")))`; `name` is the tag, `type_id` the tagged type."""

    kind: ClassVar[Kind] = Kind.DECL_TAG
    component_idx: int = -1
    """Index of the tagged member or parameter; -1: the type itself."""


@dataclass(frozen=True, slots=True)
class Func(_Reference):
    """BTF_KIND_FUNC: a function; `type_id` is its FuncProto."""

    kind: ClassVar[Kind] = Kind.FUNC
    linkage: int = 0


class Param(NamedTuple):
    """Parameter of a function."""

    name: str
    type_id: int
    """Type id; 0 with an empty name at the end: `...`."""


@dataclass(frozen=True, slots=True)
class FuncProto(_Reference):
    """BTF_KIND_FUNC_PROTO: a prototype; `type_id` is the return type."""

    kind: ClassVar[Kind] = Kind.FUNC_PROTO
    params: tuple[Param, ...] = ()


@dataclass(frozen=True, slots=True)
class Var(_Reference):
    """BTF_KIND_VAR: a global variable of `type_id`."""

    kind: ClassVar[Kind] = Kind.VAR
    linkage: int = 0


class SectionVar(NamedTuple):
    """Variable in a section."""

    type_id: int
    offset: int
    """Offset in bytes from the start of the section."""
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
