"""Decode the arguments of a call as the tracer recorded them: registers, with names and types from BTF.

kernel/trace/trace_output.c:print_function_args reads the same registers. It looks a function up by name only and
takes the first that BTF has: of two functions with one name it may use the other's arguments, and so does this
module.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from btf.btf import Btf
from btf.errors import BtfError
from btf.types import Enum, Enum64, Int, Param, Ptr, Struct, Type, Void
from btf.walk import stripped
from events.record import Record

_REGISTER_BITS = 64
_SIGN = 1 << (_REGISTER_BITS - 1)


class CallArgument(NamedTuple):
    """Argument of a recorded call."""

    name: str
    """Parameter name; empty: the function's prototype has none."""
    type_id: int
    """Type id in the BTF that has the function; 0: any type (`...`)."""
    type: Type
    """Type without typedefs and modifiers."""
    registers: tuple[int, ...]
    """Unsigned content of each register of the argument; several for a structure passed by value."""
    is_truncated: bool
    """True if the record ends within the argument."""

    @property
    def value(self) -> int:
        """First register as a value of the argument's type: truncated to the type's width, with its sign."""
        bits = _bits(self.type)
        low = self.registers[0] & ((1 << bits) - 1)
        is_signed = isinstance(self.type, Int | Enum | Enum64) and self.type.is_signed
        return low - (1 << bits) if is_signed and low >> (bits - 1) else low


class CallArguments(NamedTuple):
    """Arguments of one call."""

    values: tuple[CallArgument, ...]
    is_truncated: bool
    """True if the call has more arguments than the record holds."""


class ArgumentTypes:
    """Prototypes of functions by name."""

    def __init__(self, kernel: Btf, modules: Sequence[Btf] = ()) -> None:
        """Take the kernel's types, and those of its modules in load order."""
        self._btfs = (kernel, *modules)
        self.params = lru_cache(maxsize=4096)(self._look_up)
        """Function that returns the parameters, with types, of a function named without its module; None: BTF lacks
        it."""

    def of(self, function: str, registers: Sequence[int]) -> CallArguments | None:
        """Decode the arguments of a call.

        Args:
            function: name as in kallsyms, without the module.
            registers: result of `registers_of`.

        Returns:
            None if BTF does not have the function, or the record has no arguments.
        """
        params = self.params(function)
        if params is None or not registers:
            return None
        found: list[CallArgument] = []
        at = 0
        for param, kind in params:
            if at == len(registers):
                return CallArguments(tuple(found), True)
            wanted = _registers_for(kind)
            own = tuple(registers[at : at + wanted])
            found.append(CallArgument(param.name, param.type_id, kind, own, len(own) < wanted))
            at += wanted
            if len(own) < wanted:
                return CallArguments(tuple(found), False)
        return CallArguments(tuple(found), False)

    def _look_up(self, function: str) -> tuple[tuple[Param, Type], ...] | None:
        for btf in self._btfs:
            func = btf.function(function)
            if func is None:
                continue
            try:
                params = btf.prototype(func).params
                return tuple((param, stripped(btf, param.type_id)) for param in params)
            except BtfError:
                return None
        return None


def registers_of(record: Record) -> tuple[int, ...]:
    """Return the argument registers that a record holds, in the order of the calling convention; empty: none.

    The tracer records them in a field, a probe with `$arg1` and those after it in one field each.
    """
    found = record.values.get("args")
    if isinstance(found, tuple):
        return tuple(word for word in found if isinstance(word, int))
    numbered = (record.values.get(f"arg{number}") for number in itertools.count(1))
    return tuple(itertools.takewhile(lambda word: isinstance(word, int), numbered))  # type: ignore[arg-type]


def kernel_text(function: str, registers: Sequence[int], types: ArgumentTypes | None) -> str:
    """Return the arguments as the kernel prints them after the function's name, in parentheses."""
    found = types.of(function, registers) if types else None
    if found is None:
        return "()"
    parts = [_kernel_argument(argument) for argument in found.values]
    return "(" + ", ".join([*parts, *(["..."] if found.is_truncated else [])]) + ")"


def _kernel_argument(argument: CallArgument) -> str:
    value, kind = argument.registers[0], argument.type
    signed = value - (1 << _REGISTER_BITS) if value & _SIGN else value
    match kind:
        case Void():
            text = f"?0x{value:x}"
        case Ptr():
            text = f"0x{value:x}"
        case Int():
            text = f"{signed}" if kind.is_signed else f"0x{value:x}"
        case Enum():
            # struct btf_enum has s32 values, whatever the sign of the enum; the whole register is compared.
            name = next((enumerator.name for enumerator in kind.values if _as_s32(enumerator.value) == signed), None)
            text = f"{signed} [{name}]" if name is not None else f"{signed}"
        case _:
            words = ":".join(f"0x{word:x}" for word in argument.registers)
            text = f"({kind.kind.name})[{words}" + (":...]" if argument.is_truncated else "]")
    return f"{argument.name}={text}"


def _as_s32(value: int) -> int:
    low = value & 0xFFFFFFFF
    return low - (1 << 32) if low >> 31 else low


def _registers_for(kind: Type) -> int:
    """Return the number of registers that print_function_args assigns to an argument; the real number may differ."""
    if isinstance(kind, Void | Ptr | Int | Enum):
        return 1
    size: int = getattr(kind, "size", 0)
    return max(1, -(-size // (_REGISTER_BITS // 8)))


def _bits(kind: Type) -> int:
    if isinstance(kind, Int | Enum | Enum64 | Struct):
        return min(max(kind.size, 1) * 8, _REGISTER_BITS)
    return _REGISTER_BITS
