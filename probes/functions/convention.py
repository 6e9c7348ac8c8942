"""Map a function's parameters and return value to registers and stack by the calling convention: the `$argN` of each.

The kernel reads the N-th register for the N-th parameter, whatever the types (regs_get_kernel_argument). Its own
model of a call (struct btf_func_model) has sizes and structs, but probes don't use it. A struct passed by value takes
no, one or two registers, a value wider than a register takes two, and all later parameters move: there `$arg*` shows
wrong values without a warning. Documents: System V ABI AMD64 3.2.3, AAPCS64 6.8.2, RISC-V psABI 2.1, s390x ELF ABI
1.3.3; the kernel on i386 is built with -mregparm=3 -freg-struct-return.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from btf.btf import Btf
from btf.errors import BtfError
from btf.types import Array, Float, Param, Struct
from btf.walk import size_of, strip


class PassedValue(NamedTuple):
    """Registers and stack slots of a parameter or a return value."""

    slots: tuple[int, ...] = ()
    """N of the `$argN` that hold the value, low bytes first (for a struct: those at lower addresses)."""
    stack: tuple[int, ...] = ()
    """N of the `$stackN` that hold the value at a function's entry, where no `$argN` does."""
    by_reference: bool = False
    """True if the slot holds the address of a copy."""
    reason: str = ""
    """Reason why no probe can read the value; empty: a probe can."""
    padding: int = 0
    """Bits before the value in its register: big-endian machines put a small struct at the register's end."""

    @property
    def longs(self) -> int:
        """Number of registers and stack slots that the value takes."""
        return len(self.slots) + len(self.stack)


class FunctionConvention(NamedTuple):
    """Places of a function's parameters and of its return value."""

    params: tuple[PassedValue, ...] = ()
    """Place of each parameter; a final `...` is left out."""
    result: PassedValue = PassedValue((1,))
    """Place of the return value: slot 1 is `$retval`; no probe can read slot 2."""


@dataclass(frozen=True, slots=True)
class Convention:
    """Calling convention of an architecture."""

    long: int
    """Bytes of a register."""
    registers: int
    stack_first: int
    """`$stackN` of the first argument on the stack, at a function's entry."""
    largest: int
    """Bytes of the largest value passed directly; larger ones are passed by the address of a copy. 0: no limit."""
    reads_stack: bool = False
    """True if the kernel reads `$argN` from the stack where N exceeds the registers."""
    memory_above: int = 0
    """Bytes above which a struct goes on the stack; so do structs with misaligned members. 0: in registers."""
    whole_sizes: bool = False
    """True if only structs of 1, 2, 4 or 8 bytes are passed directly."""
    even_pairs: bool = False
    """True if a value aligned to two longs begins in an even register."""
    aligned_stack: bool = False
    """True if a value aligned to two longs is aligned so on the stack."""
    splits: bool = False
    """True if a value may be split between the last register and the stack."""
    exhausts: bool = False
    """True if a value that does not fit in the remaining registers ends the use of registers for all later values."""
    struct_in_registers: tuple[int, ...] = tuple(range(17))
    """Sizes in bytes of the structs, and of their members, that are returned in registers."""
    hidden_return: bool = True
    """True if the address for a value returned in memory takes the first register."""


_I386_MACHINES = ("i386", "i486", "i586", "i686")
_I386 = Convention(4, 3, 1, 0, reads_stack=True, exhausts=True, struct_in_registers=(0, 1, 2, 4, 8))
CONVENTIONS = {
    "x86_64": Convention(8, 6, 1, 0, reads_stack=True, memory_above=16, aligned_stack=True),
    "aarch64": Convention(8, 8, 0, 16, even_pairs=True, aligned_stack=True, exhausts=True, hidden_return=False),
    "riscv64": Convention(8, 8, 0, 16, aligned_stack=True, splits=True),
    "s390x": Convention(8, 5, 20, 8, reads_stack=True, whole_sizes=True, struct_in_registers=()),
    **dict.fromkeys(_I386_MACHINES, _I386),
}
"""Calling conventions by `uname -m`. The first stack argument on s390x follows 160 bytes of the callee."""


@dataclass
class _State:
    convention: Convention
    registers: int = 0
    stack: int = 0
    out: list[PassedValue] = field(default_factory=list)


_PUSHED_BY_CALL = {"x86_64": 8, **dict.fromkeys(_I386_MACHINES, 4)}


def pushed_by_call(machine: str) -> int:
    """Return the bytes of the return address that a call pushes on the stack; 0: it is in a register."""
    return _PUSHED_BY_CALL.get(machine, 0)


def convention_of(btf: Btf, params: Sequence[Param], machine: str, returns: int = 0) -> FunctionConvention:
    """Return the places of a function's parameters and of its return value.

    Args:
        btf: the types.
        params: the function's parameters.
        machine: as `uname -m` says it.
        returns: type id of the return value; one returned in memory goes where a hidden first argument points.
    """
    named = [param for param in params if param.name or param.type_id]
    convention = CONVENTIONS.get(machine)
    if convention is None:
        return FunctionConvention(_unknown(btf, named))
    result = _returned(btf, returns, convention)
    state = _State(convention, registers=int(bool(result.reason) and convention.hidden_return))
    for param in named:
        state.out.append(_place_param(btf, param.type_id, state))
    return FunctionConvention(tuple(state.out), result)


def _unknown(btf: Btf, params: Sequence[Param]) -> tuple[PassedValue, ...]:
    """Return places without a convention's rules: only the leading plain values are certain."""
    out: list[PassedValue] = []
    for number, param in enumerate(params):
        odd = (
            isinstance(btf.type(strip(btf, param.type_id)), Struct) or size_of(btf, param.type_id) > btf.pointer_size
        )
        if odd or (out and out[-1].reason):
            out.append(PassedValue(reason="how this architecture passes it is not known here"))
        else:
            out.append(PassedValue((number + 1,)))
    return tuple(out)


def _returned(btf: Btf, type_id: int, convention: Convention) -> PassedValue:
    if not type_id:
        return PassedValue((1,))
    size = size_of(btf, type_id)
    composite = isinstance(btf.type(strip(btf, type_id)), Struct)
    if composite:
        fits = _all_sizes_in(btf, type_id, convention.struct_in_registers)
        memory = not fits or _in_memory(_leaves(btf, type_id), size, convention)
    else:
        memory = size > (convention.long if convention.whole_sizes else 2 * convention.long)
    if memory:
        return PassedValue(reason="it is returned in memory")
    return PassedValue((1, 2) if size > convention.long else (1,))


def _place_param(btf: Btf, type_id: int, state: _State) -> PassedValue:
    convention = state.convention
    size = size_of(btf, type_id)
    if not 0 < size <= _MAX_VALUE_SIZE:
        return PassedValue(reason="it is too large for a value that is passed" if size else "it has no size")
    composite = isinstance(btf.type(strip(btf, type_id)), Struct)
    longs = -(-size // convention.long)
    if (convention.largest and size > convention.largest) or (
        composite and convention.whole_sizes and size not in (1, 2, 4, 8)
    ):
        return _place(1, 1, state)._replace(by_reference=True)
    leaves = _leaves(btf, type_id)
    pair = 2 * convention.long
    align = 2 if size % pair == 0 and any(leaf.size == pair for leaf in leaves) else 1  # else it is packed
    if composite and _in_memory(leaves, size, convention):
        return _on_stack(longs, align, state)
    if any(leaf.is_float for leaf in leaves):
        _place(len({leaf.bit_offset // (convention.long * 8) for leaf in leaves if not leaf.is_float}), 1, state)
        return PassedValue(reason="a floating-point value is in no register that a probe can read")
    place = _place(longs, align, state)
    if composite and btf.byteorder == "big":
        return place._replace(padding=(convention.long - size) * 8)
    return place


def _all_sizes_in(btf: Btf, type_id: int, sizes: Sequence[int]) -> bool:
    """Return whether a struct and all its members have one of these sizes in bytes."""
    seen, pending = {type_id}, [type_id]
    while pending:
        current = pending.pop()
        if size_of(btf, current) not in sizes:
            return False
        kind = btf.type(strip(btf, current))
        inner = {member.type_id for member in kind.members} if isinstance(kind, Struct) else set[int]()
        pending += inner - seen
        seen |= inner
    return True


_MAX_PARTS = 1 << 12
_MAX_VALUE_SIZE = 1 << 14
"""THREAD_SIZE in bytes: values passed by value are on the stack."""


class _Leaf(NamedTuple):
    """A plain value within a type."""

    bit_offset: int
    size: int
    is_float: bool


def _leaves(btf: Btf, whole: int) -> list[_Leaf]:
    """Return the plain values within a type, without bit-fields.

    Raises BtfError for more than `_MOST_PARTS` values, as of a type that contains itself.
    """
    leaves: list[_Leaf] = []
    pending = [(whole, 0)]
    for _ in range(_MAX_PARTS):
        if not pending:
            return leaves
        type_id, at = pending.pop()
        kind = btf.type(strip(btf, type_id))
        if isinstance(kind, Struct):
            pending += [(member.type_id, at + member.bit_offset) for member in kind.members if not member.bit_size]
        elif isinstance(kind, Array):
            step = size_of(btf, kind.type_id) * 8
            pending += [(kind.type_id, at + index * step) for index in range(min(kind.nelems, _MAX_PARTS))]
        else:
            leaves.append(_Leaf(at, size_of(btf, type_id), isinstance(kind, Float)))
    problem = f"a value of type {whole} has more than {_MAX_PARTS} parts"
    btf.damage.met(BtfError(problem, btf.offset(whole)))
    return leaves


def _in_memory(leaves: Sequence[_Leaf], size: int, convention: Convention) -> bool:
    """Return whether a struct is of class MEMORY, whatever registers are free."""
    if not convention.memory_above:
        return False
    return size > convention.memory_above or any(leaf.bit_offset % (leaf.size * 8) for leaf in leaves)


def _place(longs: int, align: int, state: _State) -> PassedValue:
    """Place a value in registers if they have room, else on the stack; `align` in longs."""
    convention = state.convention
    if convention.even_pairs and align == 2:
        state.registers += state.registers % 2
    free = max(0, convention.registers - state.registers)
    if longs <= free:
        first = state.registers + 1
        state.registers += longs
        return PassedValue(tuple(range(first, first + longs)))
    if convention.splits and free:
        slots = tuple(range(state.registers + 1, convention.registers + 1))
        state.registers = convention.registers
        return _on_stack(longs - free, 1, state, slots)
    if convention.exhausts:
        state.registers = convention.registers
    return _on_stack(longs, align, state)


def _on_stack(longs: int, align: int, state: _State, slots: tuple[int, ...] = ()) -> PassedValue:
    """Place a value on the stack, except for its beginning in `slots`, which are registers."""
    convention = state.convention
    if convention.aligned_stack and align == 2:
        state.stack += state.stack % 2
    first = state.stack
    state.stack += longs
    if convention.reads_stack:
        start = convention.registers + 1 + first
        return PassedValue((*slots, *range(start, start + longs)))
    start = convention.stack_first + first
    return PassedValue(slots, tuple(range(start, start + longs)))


def has_kernel_position(convention: FunctionConvention, number: int) -> bool:
    """Return whether the kernel's own count gives this parameter's `$argN`, so that its name may be used."""
    place = convention.params[number]
    return place.slots == (number + 1,) and not place.stack and not place.by_reference
