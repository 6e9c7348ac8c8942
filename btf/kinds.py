"""Constants of the format, with the kernel's names (include/uapi/linux/btf.h)."""

from __future__ import annotations

import enum

MAGIC = 0xEB9F
VERSION = 1
HEADER_LENGTH = 24
MAX_NAME = 512
"""Maximum bytes of a name including its NUL (KSYM_NAME_LEN of the kernel)."""
MAX_DEPTH = 32
"""Links followed before a chain of types counts as a loop (MAX_RESOLVE_DEPTH of libbpf and the kernel)."""


class Kind(enum.IntEnum):
    """Numbers BTF_KIND_*; VOID is type id 0, which is in no file."""

    VOID = 0
    INT = 1
    PTR = 2
    ARRAY = 3
    STRUCT = 4
    UNION = 5
    ENUM = 6
    FWD = 7
    TYPEDEF = 8
    VOLATILE = 9
    CONST = 10
    RESTRICT = 11
    FUNC = 12
    FUNC_PROTO = 13
    VAR = 14
    DATASEC = 15
    FLOAT = 16
    DECL_TAG = 17
    TYPE_TAG = 18
    ENUM64 = 19


INT_SIGNED = 1
INT_CHAR = 2
INT_BOOL = 4

MODIFIERS = frozenset({Kind.TYPEDEF, Kind.VOLATILE, Kind.CONST, Kind.RESTRICT, Kind.TYPE_TAG})
"""Kinds skipped by the kernel's btf_type_skip_modifiers."""

SHAPE: dict[int, tuple[int, int]] = {
    Kind.INT: (1, 0),
    Kind.PTR: (0, 0),
    Kind.ARRAY: (3, 0),
    Kind.STRUCT: (0, 3),
    Kind.UNION: (0, 3),
    Kind.ENUM: (0, 2),
    Kind.FWD: (0, 0),
    Kind.TYPEDEF: (0, 0),
    Kind.VOLATILE: (0, 0),
    Kind.CONST: (0, 0),
    Kind.RESTRICT: (0, 0),
    Kind.FUNC: (0, 0),
    Kind.FUNC_PROTO: (0, 2),
    Kind.VAR: (1, 0),
    Kind.DATASEC: (0, 3),
    Kind.FLOAT: (0, 0),
    Kind.DECL_TAG: (1, 0),
    Kind.TYPE_TAG: (0, 0),
    Kind.ENUM64: (0, 3),
}
"""Number of 32-bit words after `struct btf_type`: a fixed number, and a number per unit of vlen."""
