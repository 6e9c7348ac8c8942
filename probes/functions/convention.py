"""Where the calling convention puts a function's parameters and what it returns: which `$argN` holds which.

The kernel counts parameters and takes the N-th register, whatever they are (regs_get_kernel_argument); its own model
of a call (struct btf_func_model) knows sizes and structs, but probes don't ask it. A struct that is passed by value
takes none, one or two registers, a pair of them what is too wide for one, and everything behind moves: `$arg*` shows
wrong values there and says nothing. Documents: System V ABI AMD64 3.2.3, AAPCS64 6.8.2, RISC-V psABI 2.1, s390x ELF
ABI 1.3.3; the kernel on i386 is built with -mregparm=3 -freg-struct-return.
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
    """How one value is passed."""

    slots: tuple[int, ...] = ()
    """N of the `$argN` that hold it, low bytes first (those at lower addresses, of a struct)."""
    stack: tuple[int, ...] = ()
    """N of the `$stackN` that hold it at a function's entry, where no `$argN` does."""
    by_reference: bool = False
    """The slot holds the address of a copy."""
    reason: str = ""
    """Why it can't be had; empty: it can."""
    padding: int = 0
    """Bits in front of it in its register: a big-endian machine has a small struct at the register's end."""

    @property
    def longs(self) -> int:
        """How many registers and places on the stack it takes."""
        return len(self.slots) + len(self.stack)


class FunctionConvention(NamedTuple):
    """How one function is called."""

    params: tuple[PassedValue, ...] = ()
    """Of each parameter; `...` at the end is left out."""
    result: PassedValue = PassedValue((1,))
    """Of what is returned, slot 1 being `$retval`; the one behind it no probe can read."""


@dataclass(frozen=True, slots=True)
class Convention:
    """One architecture."""

    long: int
    """Bytes of a register."""
    registers: int
    stack_first: int
    """`$stackN` of the first argument there, at a function's entry."""
    largest: int
    """Bytes of the largest value that is passed itself; larger ones by the address of a copy. 0: all are."""
    reads_stack: bool = False
    """`$argN` behind the registers is read from the stack."""
    memory_above: int = 0
    """Bytes above which a struct goes on the stack, as one with members out of line does; 0: in registers."""
    whole_sizes: bool = False
    """Only a struct of 1, 2, 4 or 8 bytes is passed itself."""
    even_pairs: bool = False
    """A value aligned to two longs begins in an even register."""
    aligned_stack: bool = False
    """A value aligned to two longs lies so on the stack."""
    splits: bool = False
    """The last register and the stack may share a value."""
    exhausts: bool = False
    """What finds no room in the registers ends them for all behind it."""
    struct_in_registers: tuple[int, ...] = tuple(range(17))
    """Sizes in bytes of the structs, and of what is in them, that are returned in registers."""
    hidden_return: bool = True
    """The address for a value that is returned in memory takes the first register."""


_OF_I386 = ("i386", "i486", "i586", "i686")
_I386 = Convention(4, 3, 1, 0, reads_stack=True, exhausts=True, struct_in_registers=(0, 1, 2, 4, 8))
CONVENTIONS = {
    "x86_64": Convention(8, 6, 1, 0, reads_stack=True, memory_above=16, aligned_stack=True),
    "aarch64": Convention(8, 8, 0, 16, even_pairs=True, aligned_stack=True, exhausts=True, hidden_return=False),
    "riscv64": Convention(8, 8, 0, 16, aligned_stack=True, splits=True),
    "s390x": Convention(8, 5, 20, 8, reads_stack=True, whole_sizes=True, struct_in_registers=()),
    **dict.fromkeys(_OF_I386, _I386),
}
"""By `uname -m`. On s390x the first argument on the stack is behind 160 bytes that belong to the callee."""


@dataclass
class _State:
    convention: Convention
    registers: int = 0
    stack: int = 0
    out: list[PassedValue] = field(default_factory=list)


_PUSHED_BY_CALL = {"x86_64": 8, **dict.fromkeys(_OF_I386, 4)}


def pushed_by_call(machine: str) -> int:
    """Bytes of the return address that a call puts on the stack; 0: it goes into a register."""
    return _PUSHED_BY_CALL.get(machine, 0)


def passed(btf: Btf, params: Sequence[Param], machine: str, returns: int = 0) -> FunctionConvention:
    """Say of each parameter and of what is returned where it is.

    Args:
        btf: the types.
        params: the function's parameters.
        machine: as `uname -m` says it.
        returns: type id of what is returned; what is returned in memory is put where a hidden first argument points.
    """
    named = [param for param in params if param.name or param.type_id]
    convention = CONVENTIONS.get(machine)
    if convention is None:
        return FunctionConvention(_unknown(btf, named))
    result = _returned(btf, returns, convention)
    state = _State(convention, registers=int(bool(result.reason) and convention.hidden_return))
    for param in named:
        state.out.append(_one(btf, param.type_id, state))
    return FunctionConvention(tuple(state.out), result)


def _unknown(btf: Btf, params: Sequence[Param]) -> tuple[PassedValue, ...]:
    """Without rules only the first plain values are sure."""
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
        fits = _all_of(btf, type_id, convention.struct_in_registers)
        memory = not fits or _in_memory(_leaves(btf, type_id), size, convention)
    else:
        memory = size > (convention.long if convention.whole_sizes else 2 * convention.long)
    if memory:
        return PassedValue(reason="it is returned in memory")
    return PassedValue((1, 2) if size > convention.long else (1,))


def _one(btf: Btf, type_id: int, state: _State) -> PassedValue:
    convention = state.convention
    size = size_of(btf, type_id)
    if not 0 < size <= _LARGEST_VALUE:
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
    where = _place(longs, align, state)
    if composite and btf.byteorder == "big":
        return where._replace(padding=(convention.long - size) * 8)
    return where


def _all_of(btf: Btf, type_id: int, sizes: Sequence[int]) -> bool:
    """Whether a struct and all that is in it has one of these sizes in bytes."""
    seen, waiting = {type_id}, [type_id]
    while waiting:
        one = waiting.pop()
        if size_of(btf, one) not in sizes:
            return False
        kind = btf.type(strip(btf, one))
        inner = {member.type_id for member in kind.members} if isinstance(kind, Struct) else set[int]()
        waiting += inner - seen
        seen |= inner
    return True


_MOST_PARTS = 1 << 12
_LARGEST_VALUE = 1 << 14
"""Bytes: THREAD_SIZE, as what is passed by value lies on the stack."""


class _Leaf(NamedTuple):
    """A plain value in a type."""

    bit_offset: int
    size: int
    is_float: bool


def _leaves(btf: Btf, whole: int) -> list[_Leaf]:
    """The plain values of a type, without bit-fields. Raises BtfError for too many, as of one that holds itself."""
    found: list[_Leaf] = []
    waiting = [(whole, 0)]
    for _ in range(_MOST_PARTS):
        if not waiting:
            return found
        type_id, at = waiting.pop()
        kind = btf.type(strip(btf, type_id))
        if isinstance(kind, Struct):
            waiting += [(one.type_id, at + one.bit_offset) for one in kind.members if not one.bit_size]
        elif isinstance(kind, Array):
            step = size_of(btf, kind.type_id) * 8
            waiting += [(kind.type_id, at + index * step) for index in range(min(kind.nelems, _MOST_PARTS))]
        else:
            found.append(_Leaf(at, size_of(btf, type_id), isinstance(kind, Float)))
    what = f"a value of type {whole} has more than {_MOST_PARTS} parts"
    btf.damage.met(BtfError(what, btf.offset(whole)))
    return found


def _in_memory(leaves: Sequence[_Leaf], size: int, convention: Convention) -> bool:
    """Whether a struct is of class MEMORY, whatever registers are free."""
    if not convention.memory_above:
        return False
    return size > convention.memory_above or any(leaf.bit_offset % (leaf.size * 8) for leaf in leaves)


def _place(longs: int, align: int, state: _State) -> PassedValue:
    """Into registers where there is room, else on the stack; `align` in longs."""
    convention = state.convention
    if convention.even_pairs and align == 2:
        state.registers += state.registers % 2
    left = max(0, convention.registers - state.registers)
    if longs <= left:
        first = state.registers + 1
        state.registers += longs
        return PassedValue(tuple(range(first, first + longs)))
    if convention.splits and left:
        slots = tuple(range(state.registers + 1, convention.registers + 1))
        state.registers = convention.registers
        return _on_stack(longs - left, 1, state, slots)
    if convention.exhausts:
        state.registers = convention.registers
    return _on_stack(longs, align, state)


def _on_stack(longs: int, align: int, state: _State, slots: tuple[int, ...] = ()) -> PassedValue:
    """On the stack, but for its beginning that is in registers already."""
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


def is_plain(where: FunctionConvention, number: int) -> bool:
    """Whether the kernel's own count is right for this parameter, so that it may be named."""
    one = where.params[number]
    return one.slots == (number + 1,) and not one.stack and not one.by_reference
