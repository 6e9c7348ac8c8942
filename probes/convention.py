"""Where the calling convention puts a function's parameters: which `$argN` holds which.

The kernel counts parameters and takes the N-th register, whatever they are (regs_get_kernel_argument). A struct that
is passed by value takes none, one or two, and everything behind it moves: `$arg*` shows wrong values there and says
nothing. Documents: System V ABI AMD64 3.2.3, AAPCS64 6.8.2, RISC-V psABI 2.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from btf.btf import Btf
from btf.types import Float, Int, Param, Struct
from btf.walk import size_of, strip


class Passed(NamedTuple):
    """How one parameter is passed."""

    slots: tuple[int, ...] = ()
    """N of the `$argN` that hold it, low bytes first."""
    stack: tuple[int, ...] = ()
    """N of the `$stackN` that hold it at a function's entry, where no `$argN` does."""
    by_reference: bool = False
    """The slot holds the address of a copy."""
    reason: str = ""
    """Why it can't be had; empty: it can."""


@dataclass(frozen=True, slots=True)
class Convention:
    """One architecture."""

    registers: int
    reads_stack: bool
    """`$argN` behind the registers is read from the stack."""
    stack_first: int
    """`$stackN` of the first argument there, at a function's entry."""
    large_by_reference: bool
    """A struct of more than two longs is passed by the address of a copy (else on the stack)."""
    even_pairs: bool
    """A value aligned to two longs begins in an even register."""
    splits: bool
    """The last register and the stack may share a value."""
    hidden_return: bool
    """The address for a large struct that is returned takes the first register."""


CONVENTIONS = {
    "x86_64": Convention(6, True, 1, False, False, False, True),
    "aarch64": Convention(8, False, 0, True, True, False, False),
    "riscv64": Convention(8, False, 0, True, True, True, True),
}
_LONG = 8


@dataclass
class _State:
    registers: int = 0
    stack: int = 0
    out: list[Passed] = field(default_factory=list)


_PUSHED_BY_CALL = {"x86_64": 8, "i686": 4}


def pushed_by_call(machine: str) -> int:
    """Bytes of the return address that a call puts on the stack; 0: it goes into a register."""
    return _PUSHED_BY_CALL.get(machine, 0)


def passed(btf: Btf, params: Sequence[Param], machine: str, returns: int = 0) -> tuple[Passed, ...]:
    """Say for each parameter where it is; `...` at the end is left out.

    Args:
        btf: the types.
        params: the function's parameters.
        machine: as `uname -m` says it.
        returns: type id of what is returned; a large struct is put where a hidden first argument points.
    """
    convention = CONVENTIONS.get(machine)
    state = _State()
    if convention is not None and convention.hidden_return and _is_large(btf, returns):
        state.registers = 1
    for number, param in enumerate(params):
        if not param.name and not param.type_id:
            break
        if convention is None:
            state.out.append(_unknown(btf, param, number, state))
        else:
            state.out.append(_one(btf, param, convention, state))
    return tuple(state.out)


def _is_large(btf: Btf, type_id: int) -> bool:
    kind = btf.type(strip(btf, type_id))
    return isinstance(kind, Struct) and kind.size > 2 * _LONG


def _unknown(btf: Btf, param: Param, number: int, state: _State) -> Passed:
    """Without rules only the first plain values are sure."""
    if size_of(btf, param.type_id) > _LONG or any(p.reason for p in state.out):
        return Passed(reason="how this architecture passes it is not known here")
    return Passed((number + 1,))


def _one(btf: Btf, param: Param, convention: Convention, state: _State) -> Passed:
    kind = btf.type(strip(btf, param.type_id))
    if isinstance(kind, Float):
        return Passed(reason="a floating-point value is in no register that a probe can read")
    size = size_of(btf, param.type_id)
    if size == 0:
        return Passed(reason="it has no size")
    longs = -(-size // _LONG)
    composite = isinstance(kind, Struct)
    if composite and longs > 2:
        if convention.large_by_reference:
            return _place(1, convention, state)._replace(by_reference=True)
        return _on_stack(longs, convention, state)
    if convention.even_pairs and isinstance(kind, Int) and longs == 2:
        state.registers += state.registers % 2
    return _place(longs, convention, state)


def _place(longs: int, convention: Convention, state: _State) -> Passed:
    left = convention.registers - state.registers
    if longs <= left:
        first = state.registers + 1
        state.registers += longs
        return Passed(tuple(range(first, first + longs)))
    if convention.splits and left > 0:
        state.registers, state.stack = convention.registers, state.stack + longs - left
        return Passed(reason="one half of it is on the stack")
    if convention.large_by_reference:
        state.registers = convention.registers  # AAPCS64: what came too late ends the registers for all behind it
    return _on_stack(longs, convention, state)


def _on_stack(longs: int, convention: Convention, state: _State) -> Passed:
    first = state.stack
    state.stack += longs
    if convention.reads_stack:
        start = convention.registers + 1 + first
        return Passed(tuple(range(start, start + longs)))
    start = convention.stack_first + first
    return Passed(stack=tuple(range(start, start + longs)))


def is_plain(where: Sequence[Passed], number: int) -> bool:
    """Whether the kernel's own count is right for this parameter, so that it may be named."""
    one = where[number]
    return one.slots == (number + 1,) and not one.by_reference
