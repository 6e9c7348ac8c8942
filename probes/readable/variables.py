"""Write the parameters and local variables at an instruction as fetchargs, with the reasons for the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple

from btf.debug.expressions import COMPUTED, Value
from btf.debug.variable_types import VariableType
from btf.debug.variables import LocalVariable
from probes.facts.dialect import MAX_ARRAY
from probes.fetcharg import Dereference, Expression, FetchArg, Immediate, Register, SymbolAddress
from probes.names import unique_field

_WIDTHS: Final = (1, 2, 4, 8)
_TYPE_WIDTH: Final = 32
"""Columns of the types in C; longer ones move what is behind."""
_LONGEST: Final = 63
"""Characters of a fetcharg without its name that every kernel takes (MAX_ARGSTR_LEN)."""


class PlaceVariable(NamedTuple):
    """Variable at an instruction, as a probe there records it."""

    name: str
    """Name in the source code."""
    functions: tuple[str, ...]
    """Functions whose inlined code it is of, the outermost first; empty: it is of the function itself."""
    c_type: str
    fetcharg: FetchArg | None
    """Fetcharg whose name is that of no other variable there; None: no probe reads it."""
    reason: str = ""
    """Reason why no probe reads it, in a line."""

    @property
    def text(self) -> str:
        """Fetcharg, or the reason why there is none."""
        return str(self.fetcharg) if self.fetcharg is not None else f"not readable: {self.reason}"

    @property
    def origin(self) -> str:
        """Function that was inlined and whose variable it is; empty: it is of the function itself."""
        return self.functions[-1] if self.functions else ""


class _Unreadable(Exception):
    """Error for a value that no fetcharg records; its text is the reason."""


def place_variables(
    variables: Iterable[LocalVariable], symbol: Callable[[int], str | None]
) -> tuple[PlaceVariable, ...]:
    """Return variables as fetchargs; `symbol`: returns an address, as the file was linked, as `@` takes it."""
    taken, found = set[str](), list[PlaceVariable]()
    for one in sorted(variables, key=lambda one: bool(one.functions)):  # the function's own first
        try:
            if one.value is None:
                raise _Unreadable(one.reason)
            expression = _expression(one.value, one.type, symbol)
            kind = _type(one.value, one.type, expression)
        except _Unreadable as error:
            found.append(PlaceVariable(one.name, one.functions, one.type.text, None, str(error)))
            continue
        inlined_name = f"{one.functions[-1]}_{one.name}" if one.functions else one.name
        name = unique_field(inlined_name if one.name in taken else one.name, taken)
        taken.add(name)
        found.append(PlaceVariable(one.name, one.functions, one.type.text, FetchArg(expression, name, kind)))
    return tuple(found)


def _expression(value: Value, kind: VariableType, symbol: Callable[[int], str | None]) -> Expression:
    if (number := value.constant) is not None:
        return Immediate(_number_text(number, kind))
    expression: Expression
    first, *others = value.offsets
    if value.is_address:
        if (name := symbol(first)) is None:
            raise _Unreadable("in memory of which each CPU has its own")
        if not others:
            raise _Unreadable(f"the address of {name}")
        expression = SymbolAddress(name)
        first, *others = others
    else:
        expression = Register(value.register)
        if value.register == "sp" and first < 0 and others:
            raise _Unreadable("below the stack pointer, where a probe itself writes")
    for offset in others:
        expression = Dereference(f"{first:+#x}" if first else "+0", expression)
        first = offset
    if first:
        raise _Unreadable(_sum_reason(expression, first, kind))
    if len(str(expression)) + len(":string[64]") > _LONGEST:
        raise _Unreadable(COMPUTED)
    return expression


def _sum_reason(expression: Expression, number: int, kind: VariableType) -> str:
    means = "no fetcharg adds"
    if kind.text.endswith("*"):
        means = f"what it points to is {number:+#x}({expression})"
    return f"{expression} {'+' if number > 0 else '-'} {abs(number):#x}: {means}"


def _number_text(number: int, kind: VariableType) -> str:
    """Return a constant in the spelling of its type."""
    if kind.size in _WIDTHS:
        bits = 8 * kind.size
        number &= (1 << bits) - 1
        if kind.letter == "s" and number >> bits - 1:
            number -= 1 << bits
    return f"{number:#x}" if kind.letter == "x" else str(number)


def _type(value: Value, kind: VariableType, expression: Expression) -> str:
    """Return the type of a fetcharg."""
    is_in_memory = len(value.offsets) > 1 and value.narrow is None
    if kind.elements is not None:
        return _array_type(kind, is_in_memory=is_in_memory)
    size, letter = kind.size, kind.letter or "x"
    if value.narrow is not None and value.narrow.size < size:
        size, letter = value.narrow.size, "s" if value.narrow.is_signed else "u"
    if size not in _WIDTHS:
        raise _Unreadable(
            f"{size or 'an unknown number of'} bytes at {expression}, of which a fetcharg reads up to 8"
        )
    return f"{letter}{8 * size}"


def _array_type(kind: VariableType, *, is_in_memory: bool) -> str:
    if not is_in_memory or not kind.elements:
        raise _Unreadable("an array of unknown length" if is_in_memory else "an array that is not in memory")
    if kind.is_text:
        return "string"
    if kind.size not in _WIDTHS or not kind.letter:
        raise _Unreadable(f"an array of values of {kind.size} bytes")
    return f"{kind.letter}{8 * kind.size}[{min(kind.elements, MAX_ARRAY)}]"


def variable_lines(variables: Sequence[PlaceVariable]) -> list[str]:
    """Return variables as lines, under the names of the inlined functions whose they are."""
    names = max((len(one.name) for one in variables), default=0)
    types = min(max((len(one.c_type) for one in variables), default=0), _TYPE_WIDTH)
    lines, inlined = list[str](), tuple[str, ...]()
    for one in variables:
        if one.functions != inlined:
            inlined = one.functions
            lines.append(f"inlined {' > '.join(inlined)}:")
        lines.append(f"  {one.name:<{names}}  {one.c_type:<{types}}  {one.text}")
    return lines


def variable_json(variable: PlaceVariable) -> dict[str, Any]:
    """Return a variable as an object for JSON."""
    fetcharg = variable.fetcharg
    return {
        "name": variable.name,
        "c_type": variable.c_type,
        "inlined": list(variable.functions),
        "fetcharg": str(fetcharg) if fetcharg is not None else None,
        "reason": variable.reason or None,
    }
