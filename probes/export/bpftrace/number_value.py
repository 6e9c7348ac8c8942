"""Translate a probe's values to bpftrace by registers and offsets, as the kernel's fetchargs read them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from probes.export.bpftrace.value import COMM, BpftraceValue, number, text
from probes.export.dialect import CannotExport
from probes.export.quoting import is_plain
from probes.fetcharg import (
    Argument,
    Comm,
    Dereference,
    Expression,
    FetchArg,
    Immediate,
    Register,
    ReturnValue,
    Stack,
    SymbolAddress,
)
from probes.syntax.text import kstrtol, kstrtoul

_NUMBER = re.compile(r"([usx])(8|16|32|64)")
_BITS = re.compile(r"b(\d+)@(\d+)/(8|16|32|64)")
_ARRAY = re.compile(r"(.+)\[(\w+)\]")
_MAX_ELEMENTS = 16
"""Largest number of array elements: each is a separate value, and a BPF program's stack has 512 bytes."""


@dataclass(frozen=True, slots=True)
class ValuePlace:
    """Place where values are read."""

    argument: Callable[[int], str]
    """Function that returns the expression of the N-th argument, from 0. Raises CannotExport."""
    at_exit: bool
    user: bool
    """True in a program, where addresses are the program's own."""


def bpftrace_value_of(arg: FetchArg, place: ValuePlace) -> BpftraceValue:
    """Translate a fetcharg. Raises CannotExport with the reason, without the event's name."""
    kind = arg.type or "x64"
    if isinstance(arg.expression, Comm):
        return COMM
    if isinstance(arg.expression, Immediate):
        return _immediate(arg.expression, kind)
    array = _ARRAY.fullmatch(kind)
    if array is not None:
        return _array(arg, array[1], kstrtoul(array[2]) or 0, place)
    return _scalar(arg.expression, kind, place, 0)


def _immediate(expression: Immediate, kind: str) -> BpftraceValue:
    if expression.text.startswith('"'):
        words = expression.text[1:].removesuffix('"')
        if not is_plain(words):
            raise CannotExport(f"{expression}: text that is not printable")
        return BpftraceValue('\\"' + literal(words) + '\\"', ())
    constant = kstrtol(expression.text)
    if constant is None:
        raise CannotExport(f"{expression}: no number")
    return number(f"{constant}", kind)


def literal(words: str) -> str:
    """Escape text for a format of printf, within its quotes."""
    return words.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%")


def _array(arg: FetchArg, kind: str, count: int, place: ValuePlace) -> BpftraceValue:
    width = _NUMBER.fullmatch(kind)
    if width is None or not isinstance(arg.expression, Dereference) or not 0 < count <= _MAX_ELEMENTS:
        raise CannotExport(f"{arg}: arrays of at most {_MAX_ELEMENTS} numbers in memory can be said")
    elements = [_scalar(arg.expression, kind, place, index * int(width[2]) // 8) for index in range(count)]
    values = tuple(value for element in elements for value in element.values)
    return BpftraceValue("{" + ",".join(element.format for element in elements) + "}", values, by_offset=True)


def _scalar(expression: Expression, kind: str, place: ValuePlace, distance: int) -> BpftraceValue:
    """Translate a value that is no array, `behind` bytes after the address of the expression. Raises CannotExport."""
    if kind in ("string", "ustring"):
        address = _address(expression, place, kind)
        space = "uptr" if kind == "ustring" or place.user else "kptr"
        return text(f"str({space}({address}))", by_offset=True)
    bits = _BITS.fullmatch(kind)
    match = _NUMBER.fullmatch(kind)
    size = int(bits[3]) if bits else int(match[2]) if match else 8 if kind == "char" else 64
    raw, in_memory = _read(expression, size, place, distance), isinstance(expression, Dereference)
    if bits:
        width, shift = int(bits[1]), int(bits[2])
        return number(f"(({raw} >> {shift}) & {(1 << width) - 1})", "u64")._replace(by_offset=in_memory)
    return number(raw, kind, f"u{size}" if in_memory else "")._replace(by_offset=in_memory)


def _read(expression: Expression, bits: int, place: ValuePlace, distance: int = 0) -> str:
    """Return the expression of an unsigned value of `bits` bits. Raises CannotExport."""
    if isinstance(expression, Dereference):
        address = _plus(_pointer(expression.inner, place), _offset(expression) + distance)
        space = "uptr" if expression.user or place.user else "kptr"
        return f"*(uint{bits}*){space}({address})"
    return _pointer(expression, place)


def _pointer(expression: Expression, place: ValuePlace) -> str:
    """Return the expression of a value as 64 bits. Raises CannotExport."""
    if isinstance(expression, Dereference):
        return _read(expression, 64, place)
    if isinstance(expression, Argument):
        return place.argument(expression.number - 1)
    if isinstance(expression, ReturnValue) and not expression.path:
        if not place.at_exit:
            raise CannotExport("$retval is there at the exit only")
        return "retval"
    if isinstance(expression, Stack):
        slot = kstrtoul(expression.number or "0", 10) or 0
        entry = _plus('reg("sp")', slot * 8)
        return f"*(uint64*)kptr({entry})" if expression.number else entry
    if isinstance(expression, Register):
        if not re.fullmatch(r"[a-z0-9_]+", expression.name):
            raise CannotExport(f"{expression}: no register")
        return f'reg("{_register(expression.name)}")'
    if isinstance(expression, SymbolAddress):
        match = re.fullmatch(r"([A-Za-z_][A-Za-z0-9_]*)([+-]\d+)?", expression.text)
        if match is None or place.user:
            raise CannotExport(f"{expression}: only names of the kernel's data can be said")
        base = f'kaddr("{match[1]}")'
        return f"*(uint64*)kptr({_plus(base, int(match[2] or 0))})"
    raise CannotExport(f"{expression}: bpftrace has no word for it")


def _address(expression: Expression, place: ValuePlace, kind: str) -> str:
    """Return the expression of a text's address. Raises CannotExport."""
    if isinstance(expression, Dereference):
        return _plus(_pointer(expression.inner, place), _offset(expression))
    raise CannotExport(f"{expression}:{kind}: text is read from memory")


def _offset(expression: Dereference) -> int:
    offset = kstrtol(expression.offset)
    if offset is None:
        raise CannotExport(f"{expression}: no offset")
    return offset


def _plus(base: str, offset: int) -> str:
    return f"{base} {'-' if offset < 0 else '+'} {abs(offset)}" if offset else base


def _register(name: str) -> str:
    """Return bpftrace's name of a register: of arm64 `x0` to `x29` and `lr` are `r0` to `r30` there."""
    return "r30" if name == "lr" else re.sub(r"^x(?=\d+$)", "r", name)
