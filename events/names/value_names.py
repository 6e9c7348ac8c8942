"""Name values by means of BTF, kallsyms, errno.h and the table of system calls."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from btf.btf import Btf
from btf.enumerators import enumerator_value
from btf.errors import BtfError
from btf.kinds import Kind
from btf.types import Enum, Enum64, Int, Ptr
from btf.values import enum_name
from btf.walk import strip
from events.decode import Scalar, Value
from events.format import NAME_ONLY, PROBE_FIELDS, ErrorForm, Field, FieldKind
from events.names.constants import names_of
from events.names.errnos import MAX_ERRNO, errno_name, error_in
from events.names.kallsyms import Symbols
from events.names.kallsyms_table import HIGHEST
from events.names.number_names import NumberFormat, NumberNames
from events.names.syscalls import call_name
from events.text import show

_POINTERS = {
    Kind.FUNC_PROTO: "function",
    **dict.fromkeys((Kind.STRUCT, Kind.UNION, Kind.FWD, Kind.VOID), "object"),
}
"""Kind of a value by what it points to, as `Namer._type_shape` returns it."""
_OBJECT_POINTER = re.compile(r"(?:const )?(?:(?:struct|union) \w+|void) ?\*")


class Namer:
    """Converter of values to readable text, with a cache of type lookups."""

    def __init__(
        self, btf: Btf | None = None, symbols: Callable[[], Symbols | None] = lambda: None, machine: str = ""
    ) -> None:
        """Take the sources of names.

        Args:
            btf: types of the kernel that the values are from.
            symbols: called whenever an address is to be named, as symbols may become available later.
            machine: `uname -m` of that kernel, for its system call numbers.
        """
        self._btf = btf
        self._symbols = symbols
        self._machine = machine
        self._shape = lru_cache(maxsize=4096)(self._type_shape)
        self._names = lru_cache(maxsize=1024)(self._read_names)

    def text(
        self,
        value: Value,
        column: int | None = None,
        is_retval: bool = False,
        field: Field | None = None,
        *,
        is_call: bool = False,
        naming: str = "",
    ) -> str:
        """Return the name of a value if it has one, else the number; for a system call both: `257 openat`.

        Args:
            value: value from a record.
            column: BTF type id of the captured value; None: unknown.
            is_retval: True if a negative number is an error.
            field: field of the format, which tells addresses, and numbers that the kernel prints as hex; None: a
                pointer is not named by what it points to.
            is_call: True for a system call number.
            naming: as `PlanColumn.naming` has it, in place of the field's own; empty: that.
        """
        if is_call and type(value) is int and (name := call_name(self._machine, value)):
            return f"{value} {name}"
        if isinstance(value, tuple):
            return "{" + ",".join(self._scalar(v, column, is_retval, field, naming) for v in value) + "}"
        return self._scalar(value, column, is_retval, field, naming)

    def _scalar(self, value: Scalar, column: int | None, is_retval: bool, field: Field | None, naming: str) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, int):
            return show(value)
        kind, number = self._shape(column)
        named = self._named(field, naming)
        name = named.text(value) if named is not None else self._value_name(value, kind, number, field)
        if name is not None:
            return name
        if is_retval:
            error = self._error(value, kind, field)
            if error:
                return error
        return hex(value) if value > 9 and _is_hex(kind, field) else str(value)

    def _value_name(self, value: int, kind: str, type_id: int, field: Field | None) -> str | None:
        if kind == "bool":
            return {0: "false", 1: "true"}.get(value)
        if kind == "enum" and self._btf is not None:
            return enum_name(self._btf, type_id, value)
        if value and (kind == "function" or (field and is_address(field))):
            symbols = self._symbols()
            if not symbols:
                return None
            return symbols.name(value) if field and field.spec == NAME_ONLY else symbols.lookup(value)
        if value > 0 and _points_to_object(kind, field):
            symbols = self._symbols()
            return symbols.object_name(value) if symbols else None
        return None

    def function(self, address: int, pattern: str = "") -> str:
        """Return the name of the function at an address, of several names one that matches a pattern; the address in
        hex if it has none, or is not known yet.
        """
        return function_name(self._symbols(), address, pattern)

    def words(self, column: int | None) -> list[str] | None:
        """Return the words that may be displayed for values of a BTF type besides numbers; None: any symbol."""
        kind, _ = self._shape(column)
        if kind == "function":
            return None
        if kind == "enum":
            return [name for name, _ in self.enumerators(column)] or None
        return ["true", "false"] if kind == "bool" else []

    def enumerators(
        self, column: int | None, field: Field | None = None, *, naming: str = ""
    ) -> tuple[tuple[str, int], ...]:
        """Return names and numbers of a field (see `text`), or of the enumerators of a BTF type; empty: none."""
        if (named := self._named(field, naming)) is not None:
            return tuple(named.numbers.items())
        kind, type_id = self._shape(column)
        found = self._btf.type(type_id) if kind == "enum" and self._btf is not None else None
        return (
            tuple((enumerator.name, enumerator.value) for enumerator in found.values)
            if isinstance(found, Enum | Enum64)
            else ()
        )

    def names_addresses(self, column: int | None, field: Field | None) -> bool:
        """Return whether values of this kind are addresses, which need symbols for their names."""
        kind, _ = self._shape(column)
        return kind == "function" or _points_to_object(kind, field) or (field is not None and is_address(field))

    def reading(
        self, column: int | None, is_retval: bool, field: Field, *, is_call: bool = False, naming: str = ""
    ) -> NumberFormat:
        """Return the format in which `text` displays the numbers of a field, for a search."""
        kind, _ = self._shape(column)
        is_bool = field.kind is FieldKind.BOOL

        def text(value: int) -> str:
            number = bool(value) if is_bool else value
            return self.text(number, column, is_retval, field, is_call=is_call, naming=naming)

        is_named = self._named(field, naming) is not None
        if is_call or is_bool or is_named or kind in ("bool", "enum", "function") or is_address(field):
            return NumberFormat(_is_hex(kind, field), text)
        if _points_to_object(kind, field):
            lowest = symbols.lowest if (symbols := self._symbols()) else HIGHEST
            return NumberFormat(True, text, lowest=min(lowest, HIGHEST - MAX_ERRNO) if is_retval else lowest)
        return NumberFormat(_is_hex(kind, field), text if is_retval else None, is_retval)

    def _named(self, field: Field | None, naming: str) -> NumberNames | None:
        """Return the names of a field's numbers besides those of its type; None: it has none."""
        naming = naming or (field.naming if field is not None else "")
        return self._names(naming) if naming else None

    def _read_names(self, naming: str) -> NumberNames | None:
        """Return the names that a field's numbers have; enumerators in a print format are those of BTF."""
        btf = self._btf
        constant = (lambda name: enumerator_value(btf, name)) if btf is not None else lambda _: None
        return names_of(naming, self._machine, constant)

    def _error(self, value: int, kind: str, field: Field | None) -> str | None:
        """Return `-EAGAIN` etc. for a negative number, also for a pointer (ERR_PTR) or a number recorded as
        unsigned.
        """
        if kind == "bool" or (field and field.width < 4):
            return None
        if field is not None and field.errors is not ErrorForm.NONE:
            return errno_name(error_in(value, field))
        bits = 8 * field.width if field and field.width in (4, 8) else 64
        if value >= 1 << (bits - 1):
            value -= 1 << bits
        return errno_name(value) if -MAX_ERRNO <= value < 0 else None

    def _type_shape(self, column: int | None) -> tuple[str, int]:
        """Return (bool | enum | function | object | pointer | empty, type id without modifiers); object: pointer to a
        structure, or to anything.
        """
        if column is None or self._btf is None:
            return "", 0
        try:
            type_id = strip(self._btf, column)
            found = self._btf.type(type_id)
            if isinstance(found, Int):
                return ("bool" if found.is_bool else ""), type_id
            if isinstance(found, Ptr):
                target = self._btf.type(strip(self._btf, found.type_id))
                return _POINTERS.get(target.kind, "pointer"), type_id
        except BtfError:
            return "", 0
        return ("enum" if found.kind in (Kind.ENUM, Kind.ENUM64) else ""), type_id


def function_name(symbols: Symbols | None, address: int, pattern: str) -> str:
    """Return the name of the function at an address, or the address in hex; see `Namer.function`."""
    return (symbols.function_name(address, pattern) if symbols else "") or f"0x{address:x}"


def _is_hex(kind: str, field: Field | None) -> bool:
    if kind in ("pointer", "object", "function"):
        return True
    return field is not None and (field.kind is FieldKind.POINTER or field.spec[-1:] in ("x", "X"))


def _points_to_object(kind: str, field: Field | None) -> bool:
    """Return whether a field points to a structure, or to anything, by its type in BTF, else by its declared one."""
    if field is None or kind not in ("", "object"):
        return False
    return kind == "object" or (field.kind is FieldKind.POINTER and _OBJECT_POINTER.fullmatch(field.type) is not None)


def is_address(field: Field) -> bool:
    """Return whether a field holds a code address."""
    return field.kind is FieldKind.SYMBOL or field.name in PROBE_FIELDS
