"""Look up the parameters and local variables at an instruction, and where it has their values.

pyelftools reads entries and lists of locations: those around the instruction, a second in a large compilation unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Final, NamedTuple

from elftools.dwarf.locationlists import BaseAddressEntry, LocationExpr, LocationParser

from btf.debug.dwarf import DwarfError
from btf.debug.expressions import COMPUTED, OPTIMISED_OUT, REGISTERS, Narrow, NoValue, Surroundings, Value, evaluate
from btf.debug.frames import frame_address_at
from btf.debug.parts import DAMAGE, DebugSection, WorkBound
from btf.debug.scopes import (
    INLINED,
    SCOPES,
    attribute_of,
    by_unit,
    children_of,
    dwarf_of,
    entries_around,
    name_of,
    spans_of,
)
from btf.debug.variable_types import NUMBER_FORMS, VariableType, base_type_at, variable_type

_VARIABLES: Final = frozenset({"DW_TAG_formal_parameter", "DW_TAG_variable"})
_NOT_HERE: Final = "not kept at this instruction"


class LocalVariable(NamedTuple):
    """Parameter or local variable that is in scope at an instruction."""

    name: str
    functions: tuple[str, ...]
    """Functions whose inlined code it is of, the outermost first; empty: it is of the function itself."""
    type: VariableType
    value: Value | None
    """Value at the instruction; None: no probe can read it."""
    reason: str = ""
    """Reason why no probe can read it."""


def variables_at(
    parts: Mapping[str, DebugSection], starts: Mapping[str, int], machine: str, address: int, work: WorkBound
) -> tuple[LocalVariable, ...]:
    """Return the variables in scope at a link-time address, those of the function first.

    Args:
        parts: sections by name.
        starts: addresses of sections.
        machine: machine of the ELF file, such as `EM_X86_64`.
        address: that of the instruction.
        work: bounds the reads.

    Raises:
        DwarfError: there is no usable debug information.
    """
    if machine not in REGISTERS:
        raise DwarfError(f"the numbers of registers of {machine} are not known")
    found = list[LocalVariable]()
    try:
        dwarf = dwarf_of(parts, work)
        for unit, _ in by_unit(dwarf, [address]):
            found += _Scopes(dwarf, unit, (parts, starts, machine, address, work)).variables()
    except DAMAGE as error:
        raise DwarfError(str(error) or type(error).__name__) from error
    return tuple(found)


class _Scope(NamedTuple):
    """Function, inlined call or block around the instruction."""

    depth: int
    functions: tuple[str, ...]
    """Functions whose inlined code it is, the outermost first."""
    entry: Any
    named: set[int]
    """Offsets of the entries that those in it stand for."""


def _origin(entry: Any) -> Any:  # noqa: ANN401 - of pyelftools
    """Return the entry that another one stands for; None: it stands for none."""
    is_one = "DW_AT_abstract_origin" in entry.attributes
    return entry.get_DIE_from_attribute("DW_AT_abstract_origin") if is_one else None


class _Scopes:
    """The scopes around one instruction."""

    def __init__(
        self,
        dwarf: Any,  # noqa: ANN401 - of pyelftools
        unit: Any,  # noqa: ANN401
        file: tuple[Mapping[str, DebugSection], Mapping[str, int], str, int, WorkBound],
    ) -> None:
        self._dwarf, self._unit = dwarf, unit
        self._parts, self._starts, machine, self._address, self._work = file
        self._registers = REGISTERS[machine]
        self._function: Any = None
        """Entry of the function."""

    def variables(self) -> Iterator[LocalVariable]:
        """Yield the variables, most often those of outer scopes first."""
        scopes = list[_Scope]()
        for depth, entry in entries_around(self._dwarf, self._unit, [self._address], self._is_around):
            while scopes and scopes[-1].depth >= depth:
                yield from self._others(scopes.pop())
            functions = scopes[-1].functions if scopes else ()
            if depth == 1:
                self._function = entry
                scopes.append(_Scope(depth, (), entry, set()))
            elif entry.tag in _VARIABLES:
                if (origin := _origin(entry)) is not None:
                    for scope in scopes:  # gcc may put a block around it that the other entry is not in
                        scope.named.add(origin.offset)
                yield from self._variable(functions, entry)
            elif entry.tag in SCOPES and self._is_around(entry):
                inner = (*functions, name_of(entry)) if entry.tag == INLINED else functions
                scopes.append(_Scope(depth, inner, entry, set()))
        while scopes:
            yield from self._others(scopes.pop())

    def _others(self, scope: _Scope) -> Iterator[LocalVariable]:
        """Yield variables that only the entry has that a scope stands for: static ones, and what is optimised out."""
        if (origin := _origin(scope.entry)) is not None:
            for entry in children_of(origin):
                if entry.tag in _VARIABLES and entry.offset not in scope.named:
                    yield from self._variable(scope.functions, entry)

    def _is_around(self, entry: Any) -> bool:  # noqa: ANN401
        return any(self._address in span for span in spans_of(self._dwarf, self._unit, entry))

    def _variable(self, functions: tuple[str, ...], entry: Any) -> Iterator[LocalVariable]:  # noqa: ANN401
        """Yield a variable, unless it has no name, or is one of another file."""
        name = name_of(entry)
        if not name or "DW_AT_declaration" in entry.attributes:
            return
        kind = variable_type(entry)
        try:
            yield LocalVariable(name, functions, kind, self._value(entry))
        except NoValue as error:
            yield LocalVariable(name, functions, kind, None, str(error))

    def _value(self, entry: Any) -> Value:  # noqa: ANN401
        """Return the value of a variable at the instruction. Raises NoValue."""
        if (found := attribute_of(entry, "DW_AT_const_value")) is not None:
            number = found[0]
            if number.form not in NUMBER_FORMS:
                raise NoValue("a constant that is no number")
            return Value("", (int(number.value),))
        if (found := attribute_of(entry, "DW_AT_location")) is None:
            raise NoValue(OPTIMISED_OUT)
        return evaluate(self._location(*found), self._around)

    def _location(self, attribute: Any, entry: Any) -> bytes:  # noqa: ANN401
        """Return the expression that holds at the instruction. Raises NoValue."""
        parser = LocationParser(self._dwarf.location_lists())
        found: Any = parser.parse_from_attribute(attribute, self._unit["version"], entry)
        if isinstance(found, LocationExpr):
            return bytes(found.loc_expr)
        low = self._unit.get_top_DIE().attributes.get("DW_AT_low_pc")
        start, default = low.value if low is not None else 0, b""
        for one in found:
            if isinstance(one, BaseAddressEntry):
                start = one.base_address
                continue
            offset = 0 if one.is_absolute else start
            if one.begin_offset == one.end_offset == -1:
                default = bytes(one.loc_expr)
            elif one.begin_offset + offset <= self._address < one.end_offset + offset:
                return bytes(one.loc_expr)
        if not default:
            raise NoValue(_NOT_HERE)
        return default

    @cached_property
    def _around(self) -> Surroundings:
        return Surroundings(
            self._registers, self._frame_base, self._frame_address, self._base_type, self._address_of_number
        )

    def _frame_base(self) -> Value:
        """Return the frame base of the function: a register, or the canonical frame address. Raises NoValue."""
        attribute = self._function.attributes.get("DW_AT_frame_base")
        if attribute is None or attribute.form not in ("DW_FORM_exprloc", "DW_FORM_block1"):
            raise NoValue("on the stack, at a place that the debug information does not tell")
        return evaluate(bytes(attribute.value), self._around._replace(frame_base=_no_frame), is_frame_base=True)

    def _frame_address(self) -> Value:
        """Return the canonical frame address at the instruction. Raises NoValue."""
        found = frame_address_at(self._parts, self._starts, self._address, self._work)
        if found is None or found.register < 0:
            raise NoValue("on the stack, at a distance that the debug information does not tell")
        return Value(self._around.register(found.register), (found.offset,))

    def _base_type(self, offset: int) -> Narrow | None:
        return base_type_at(self._unit, offset) if offset else None

    def _address_of_number(self, number: int) -> int:
        return int(self._dwarf.get_addr(self._unit, number))


def _no_frame() -> Value:
    raise NoValue(COMPUTED)
