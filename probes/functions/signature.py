"""Look up a function's signature in BTF, and answer the questions that the kernel asks about its types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from btf.btf import Btf
from btf.layout import PathError, fields, resolve
from btf.types import Array, Enum, Enum64, Float, Func, Int, Param, Ptr, Struct
from btf.walk import strip
from probes.functions.fetcharg_types import default_type
from probes.functions.function_index import STUB

_DENTRY = (0x28, 0x48)
"""Offsets in most kernels (`d_name.name`, `f_path.dentry`), used where BTF has none."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Parameters and return type of a function."""

    btf: Btf
    name: str
    params: tuple[Param, ...]
    """Parameters in order; the last of a variadic function has no name and type 0."""
    returns: int
    """Type id of the return value, 0: void."""

    def number_of(self, name: str) -> int | None:
        """Return the position of a parameter, from 0; None: there is no such parameter."""
        for number, param in enumerate(self.params):
            if param.name == name:
                return number
        return None

    def strip(self, type_id: int) -> int:
        """Return the type id without typedefs, qualifiers and tags."""
        return strip(self.btf, type_id)

    def is_pointer(self, type_id: int) -> bool:
        """Return whether a type is a pointer, ignoring typedefs and qualifiers."""
        return isinstance(self.btf.type(self.strip(type_id)), Ptr)

    def default_type(self, type_id: int) -> str | None:
        """Return the fetcharg type that the kernel assumes where none is written."""
        return default_type(self.btf, type_id)

    def is_char_array(self, type_id: int) -> bool:
        """Return whether the kernel takes a type as text in place (btf_type_is_char_array)."""
        kind = self.btf.type(self.strip(type_id))
        return isinstance(kind, Array) and self._is_byte(kind.type_id)

    def is_char_pointer(self, type_id: int) -> bool:
        """Return whether the kernel dereferences a type for a string (btf_type_is_char_ptr).

        The kernel does not check that the type is a pointer: for other kinds it takes the size as a type id.
        """
        kind = self.btf.type(self.strip(type_id))
        if isinstance(kind, Int | Enum | Enum64 | Struct | Float):
            return self._is_byte(kind.size)
        return isinstance(kind, Ptr) and self._is_byte(kind.type_id)

    def _is_byte(self, type_id: int) -> bool:
        kind = self.btf.type(self.strip(type_id))
        return isinstance(kind, Int) and not kind.is_signed and kind.bits == 8


def signature_of(btf: Btf, name: str) -> Signature | None:
    """Look up a function by its exact name, as btf_find_func_proto does; None: BTF doesn't have it."""
    func: Func | None = btf.function(name)
    if func is None:
        return None
    prototype = btf.prototype(func)
    return Signature(btf, name, prototype.params, prototype.type_id)


def certain_signature_of(btf: Btf, name: str) -> Signature | None:
    """Look up a function whose signature is certain; None: BTF lacks it or has several of that name that differ.

    The kernel would take any of these.
    """
    return None if btf.is_ambiguous(name) else signature_of(btf, name)


def tracepoint_of(btf: Btf, name: str) -> Signature | None:
    """Look up a tracepoint's signature, without the private first parameter of its stub; None: BTF doesn't have it.

    Where there is no such tracepoint, the kernel takes a function of that name for the stub.
    """
    stub = signature_of(btf, f"{STUB}{name}") or signature_of(btf, name)
    return None if stub is None else Signature(btf, stub.name, stub.params[1:], stub.returns)


def dentry_offsets(btf: Btf | None) -> tuple[int, int]:
    """Return the offsets of `d_name.name` in `struct dentry` and of `f_path.dentry` in `struct file`."""
    if btf is None:
        return _DENTRY
    offsets = _dentries.get(btf)
    if offsets is None:
        offsets = _dentries[btf] = _dentry_offsets(btf)
    return offsets


_dentries: WeakKeyDictionary[Btf, tuple[int, int]] = WeakKeyDictionary()


def _dentry_offsets(btf: Btf) -> tuple[int, int]:
    name = _nested_offset(btf, "dput", "dentry", ("d_name", "name"))
    dentry = _nested_offset(btf, "fput", "file", ("f_path", "dentry"))
    return (_DENTRY[0] if name is None else name, _DENTRY[1] if dentry is None else dentry)


def _nested_offset(btf: Btf, function: str, struct: str, names: tuple[str, str]) -> int | None:
    """Return the offset in bytes of a nested member of the struct that a function takes; None: there is no such path.

    Every kernel has the function; finding a struct by its name would mean reading all names (100 ms).
    """
    signature = signature_of(btf, function)
    if signature is None or not signature.params:
        return None
    pointer = btf.type(signature.strip(signature.params[0].type_id))
    kind = btf.type(signature.strip(pointer.type_id)) if isinstance(pointer, Ptr) else None
    if not isinstance(kind, Struct) or kind.name != struct:
        return None
    try:
        path = resolve(btf, pointer.id, (("->", names[0]), (".", names[1])))
    except PathError:
        return None
    return path.derefs[-1]


def member_names(btf: Btf, type_id: int, hops: Sequence[tuple[str, str]], index: int) -> tuple[str, ...]:
    """Return the names of the members that could be the `index`-th step of a path from a type."""
    current = type_id
    if index:
        try:
            current = resolve(btf, type_id, hops[:index]).type_id
        except PathError:
            return ()
    kind = btf.type(strip(btf, current))
    if isinstance(kind, Ptr):
        kind = btf.type(strip(btf, kind.type_id))
    return tuple(member.name for member in fields(btf, kind.id)) if isinstance(kind, Struct) else ()


def operator_hint(btf: Btf, type_id: int, hops: Sequence[tuple[str, str]], index: int) -> str:
    """Return a hint if the `index`-th step of a path has the wrong one of `->` and `.`; empty: it is right."""
    if not index:
        return ""
    try:
        kind = btf.type(strip(btf, resolve(btf, type_id, hops[:index]).type_id))
    except PathError:
        return ""
    op, name = hops[index][0], hops[index - 1][1]
    if op == "." and isinstance(kind, Ptr) and isinstance(btf.type(strip(btf, kind.type_id)), Struct):
        return f"`{name}` is a pointer: use `->`"
    if op == "->" and isinstance(kind, Struct):
        return f"`{name}` is a structure, no pointer: use `.`"
    return ""
