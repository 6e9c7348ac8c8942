"""Locate the value of an expression of BTF names: a register of the call, dereferences, bits.

Lowering needs this on kernels, and for paths, for which the expression can't be written by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from btf.btf import Btf
from btf.layout import PathError, fields, resolve
from btf.types import Array, Ptr, Struct
from btf.walk import size_of, strip
from probes.fetcharg import Hop, ReturnValue, Variable
from probes.functions.convention import FunctionConvention, PassedValue
from probes.functions.signature import Signature, member_names, operator_hint
from probes.syntax.text import kstrtoul


class ValueUnavailable(Exception):
    """A value that no probe can read.

    Attributes:
        code: the kernel's symbolic name, or probewright's own in lower case.
        offset: column in the expression's text.
        token: the word there.
        names: names that exist at that step.
        hint: the remedy, where the code alone doesn't make it clear.
        meant: names that the token certainly stands for.
    """

    def __init__(
        self,
        code: str,
        reason: str = "",
        offset: int = 0,
        token: str = "",
        names: Sequence[str] = (),
        hint: str = "",
        corrections: Sequence[str] = (),
    ) -> None:
        super().__init__(reason or code)
        self.code = code
        self.reason = reason
        self.offset = offset
        self.token = token
        self.names = tuple(names)
        self.hint = hint
        self.corrections = tuple(corrections)


@dataclass(frozen=True, slots=True)
class Value:
    """A value that a probe can read: base, dereferences and bits."""

    base: str
    """Register or stack slot: `$arg1`, `$stack0`, `$retval`."""
    type_id: int
    derefs: tuple[int, ...] = ()
    """Offsets in bytes, the first from the base; empty: the base is the value."""
    bit_offset: int = 0
    """Bits from the last address, or within the register."""
    bit_size: int = 0
    """Size in bits of a bit-field or of a part of a register; 0: by the type."""
    kernel_agrees: bool = True
    """True if the kernel reads the same value from the names (see `btf.layout.ResolvedPath`)."""

    @property
    def in_memory(self) -> bool:
        """True if the value is at an address, so that it can be a string or an array."""
        return bool(self.derefs)

    @property
    def is_part(self) -> bool:
        """True if the value is only some bits of a register."""
        return not self.in_memory and bool(self.bit_offset or self.bit_size)

    @property
    def address(self) -> str:
        """Fetcharg text of the value, by its last address."""
        return nest(self.base, self.derefs)


def nest(base: str, derefs: Sequence[int], user: bool = False) -> str:
    """Return the text of nested dereferences, the first innermost: `+40(+24($arg1))`."""
    text = base
    for offset in derefs:
        text = f"{'+' if offset >= 0 else '-'}{'u' if user else ''}{abs(offset)}({text})"
    return text


def locate(signature: Signature, convention: FunctionConvention, expression: Variable | ReturnValue) -> Value:
    """Locate a variable or the return value, with the path behind it. Raises ValueUnavailable."""
    btf = signature.btf
    if isinstance(expression, ReturnValue):
        if signature.returns == 0:
            raise ValueUnavailable("NO_RETVAL", token="$retval")  # noqa: S106 - a word of the text
        return _returned(btf, signature.returns, convention.result, expression.path)
    number = signature.number_of(expression.name)
    if number is None or not expression.name:
        names = [param.name for param in signature.params]
        raise ValueUnavailable("NO_BTFARG", token=expression.name, names=names)
    param, passed = signature.params[number], convention.params[number]
    if passed.reason:
        raise ValueUnavailable("not_in_registers", f"{expression.name}: {passed.reason}", token=expression.name)
    holders = [*(f"$arg{slot}" for slot in passed.slots), *(f"$stack{slot}" for slot in passed.stack)]
    by_value = isinstance(btf.type(strip(btf, param.type_id)), Struct)
    start = len(expression.name)
    if not by_value:
        if passed.longs > 1:
            raise ValueUnavailable(
                "not_in_registers", f"it is split: {' and '.join(holders)} hold it", token=expression.name
            )
        return _follow(btf, Value(holders[0], param.type_id), expression.path, start)
    return _struct(btf, param.type_id, passed, holders, expression.path, start)


def _returned(btf: Btf, type_id: int, passed: PassedValue, path: Sequence[Hop]) -> Value:
    """Locate the return value, or a member of a returned struct that is in the first register."""
    start = len("$retval")
    kind = btf.type(strip(btf, type_id))
    if passed.reason and path:
        raise ValueUnavailable("not_in_registers", passed.reason, token="$retval")  # noqa: S106
    if not isinstance(kind, Struct) or not path:
        return _follow(btf, Value("$retval", type_id), path, start)
    return _struct(btf, type_id, passed, ["$retval"], path, start)


def _struct(
    btf: Btf, type_id: int, passed: PassedValue, holders: list[str], path: Sequence[Hop], start: int
) -> Value:
    """Locate a member of a struct passed by value: in registers, on the stack, or at the address of a copy."""
    inner, bits, size, used = _walk_object(btf, type_id, path, start)
    rest, at = path[used:], start + sum(len(str(hop)) for hop in path[:used])
    if passed.by_reference:
        return _follow(btf, Value(holders[0], inner, (bits // 8,), bits % 8, size), rest, at)
    word = btf.pointer_size * 8
    bits += passed.padding
    if bits // word >= len(holders):
        raise ValueUnavailable("not_in_registers", "it is in a register that can't be read", start)
    holder, bit = holders[bits // word], bits % word
    width = size or (size_of(btf, inner) * 8 if bit or used else 0)
    if bit + width > word and not isinstance(btf.type(strip(btf, inner)), Struct | Array):
        raise ValueUnavailable("not_in_registers", "it lies in two registers", start)
    if btf.byteorder == "big":
        bit = word - bit - (width or size_of(btf, inner) * 8)
    part = width if used and (bit or width not in (0, 8, 16, 32, 64) or size) else 0
    return _follow(btf, Value(holder, inner, (), bit, part), rest, at)


def _walk_object(btf: Btf, type_id: int, path: Sequence[Hop], start: int) -> tuple[int, int, int, int]:
    """Walk the `.` and `[i]` steps within one object.

    Returns:
        Type id, bit offset, size of a bit-field (0: none), number of steps walked.
    """
    bits = size = used = 0
    at = start
    for hop in path:
        if hop.op == "->":
            break
        kind = btf.type(strip(btf, type_id))
        if isinstance(kind, Ptr):
            break
        if hop.op == "[]":
            type_id, step = _element(btf, type_id, hop, at)
            bits += step * 8
        else:
            members = fields(btf, kind.id) if isinstance(kind, Struct) else ()
            member = next((member for member in members if member.name == hop.name), None)
            if member is None:
                code = "NO_BTF_FIELD" if members else "BAD_BTF_TID"
                raise ValueUnavailable(code, offset=at + 1, token=hop.name, names=[member.name for member in members])
            type_id, bits, size = member.type_id, bits + member.bit_offset, member.bit_size
        used, at = used + 1, at + len(str(hop))
    return type_id, bits, size, used


def _element(btf: Btf, type_id: int, hop: Hop, at: int) -> tuple[int, int]:
    """Return type id and offset in bytes of an element of an array."""
    kind = btf.type(strip(btf, type_id))
    index = kstrtoul(hop.name, 10)
    if not isinstance(kind, Array) or index is None:
        raise ValueUnavailable("not_an_array", "this is no array", at, str(hop))
    if kind.nelems and index >= kind.nelems:
        raise ValueUnavailable("no_such_element", f"the array has {kind.nelems} elements", at, str(hop))
    return kind.type_id, index * size_of(btf, kind.type_id)


def _follow(btf: Btf, value: Value, path: Sequence[Hop], start: int) -> Value:
    """Walk a path from a value. Raises ValueUnavailable with the column in the expression."""
    if not path:
        return value
    at, kind = start, btf.type(strip(btf, value.type_id))
    hops = [(hop.op, hop.name) for hop in path]
    if path[0].op == "." and not value.derefs:
        raise ValueUnavailable("NOSUP_DAT_ARG", offset=start + 1, token=path[0].name)
    if path[0].op == "[]" and isinstance(kind, Ptr):
        return _pointed_element(btf, value, kind, path, start)
    try:
        resolved = resolve(btf, value.type_id, hops)
    except PathError as error:
        at += sum(len(str(hop)) for hop in path[: error.hop_index])
        hop = path[error.hop_index]
        hint = operator_hint(btf, value.type_id, hops, error.hop_index)
        # With the wrong operator the name may still be right: report one error at a time.
        names = () if hint else member_names(btf, value.type_id, hops, error.hop_index)
        column = at + (0 if hop.op == "[]" else len(hop.op))
        reason = "the array has not so many elements" if error.code == "no_such_element" else ""
        raise ValueUnavailable(error.code, reason, column, hop.name, names, hint) from None
    derefs = value.derefs + resolved.derefs
    return Value(value.base, resolved.type_id, derefs, resolved.bit_offset, resolved.bit_size, resolved.kernel_agrees)


def _pointed_element(btf: Btf, value: Value, kind: Ptr, path: Sequence[Hop], start: int) -> Value:
    """Locate `p[3]`: an element behind a pointer, as in C."""
    index = kstrtoul(path[0].name, 10)
    if index is None:
        raise ValueUnavailable("not_an_array", "this is no index", start, str(path[0]))
    offset = index * size_of(btf, kind.type_id)
    inner, bits, size, used = _walk_object(btf, kind.type_id, path[1:], start + len(str(path[0])))
    element = Value(value.base, inner, (*value.derefs, offset + bits // 8), bits % 8, size)
    at = start + sum(len(str(hop)) for hop in path[: used + 1])
    return _follow(btf, element, path[used + 1 :], at)
