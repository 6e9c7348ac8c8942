"""Locate arguments, return value and stack in what a program gets: saved registers, or the values of a function.

A program on several functions (kprobe.multi) gets registers. One at the entry or exit of a function (fentry, fexit)
gets an array of 8-byte slots: a slot for each 8 bytes of each parameter, in the order of their declaration, whichever
register or place on the stack they came in, and the return value behind them (btf_ctx_access in kernel/bpf/btf.c). At
the exit the slots still have the parameters of the entry.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

from btf.walk import size_of
from probes.bpf.registers import SavedRegisters
from probes.fetcharg import Argument, Expression, Register, ReturnValue, Stack
from probes.functions.convention import convention_of
from probes.functions.signature import Signature
from probes.syntax.text import kstrtoul

_SLOT = 8
MOST_PARAMETERS = 12
"""Parameters of a function that can have a program at its entry or exit (MAX_BPF_FUNC_ARGS)."""
LARGEST_PARAMETER = 16
"""Bytes of a structure that such a function takes by value."""


class ContextValue(NamedTuple):
    """Place of a value in the argument of a program."""

    offset: int
    """Bytes from there of 8 bytes."""
    stack_entry: int | None = None
    """Number of 8 bytes on the stack whose end is at `offset`; None: the value itself is there."""
    pointer_slot: int | None = None
    """Number of the slot where the verifier knows the value as a pointer, which it lets no program take apart."""


class ProgramContext(Protocol):
    """Argument of a program, with the values of a call."""

    @property
    def has_user_range(self) -> bool:
        """True if an address says by itself whether it is a process's."""

    @property
    def own_frames(self) -> int:
        """Frames of the program and of what calls it, innermost on the stack that it gets."""

    def find(self, expression: Expression) -> ContextValue | None:
        """Return the place of a register, an argument, the return value or a place on the stack; None: not there."""


@dataclass(frozen=True, slots=True)
class RegisterContext:
    """Argument of a program on several functions: struct pt_regs at one end of the call."""

    registers: SavedRegisters
    at_exit: bool

    @property
    def has_user_range(self) -> bool:
        return self.registers.has_user_range

    @property
    def own_frames(self) -> int:
        return 0

    def find(self, expression: Expression) -> ContextValue | None:
        registers = self.registers
        if isinstance(expression, ReturnValue) and not expression.path and self.at_exit:
            return ContextValue(registers.result)
        if isinstance(expression, Argument) and not self.at_exit:
            return self._argument(expression.number - 1)
        if isinstance(expression, Register) and expression.name in registers.names and not self.at_exit:
            return ContextValue(registers.arguments[registers.names.index(expression.name)])
        if isinstance(expression, Register) and expression.name == "ip":
            return ContextValue(registers.program_counter)
        if isinstance(expression, Stack):
            entry = kstrtoul(expression.number, 10) if expression.number else None
            return (
                ContextValue(registers.stack_pointer, entry) if entry is not None or not expression.number else None
            )
        return None

    def _argument(self, number: int) -> ContextValue | None:
        """Return the place of the argument of a number from 0."""
        registers = self.registers
        if number < len(registers.arguments):
            return ContextValue(registers.arguments[number])
        if not registers.stack_arguments:
            return None
        return ContextValue(registers.stack_pointer, registers.stack_arguments + number - len(registers.arguments))


@dataclass(frozen=True, slots=True)
class SlotContext:
    """Argument of a program at the entry or the exit of one function."""

    arguments: Mapping[int, ContextValue]
    """By N of the `$argN` that has the value by the calling convention."""
    stack: Mapping[int, ContextValue]
    """By N of the `$stackN` of arguments that are on the stack and have no `$argN`."""
    result: ContextValue | None
    """Returned value; None: the program runs at the entry."""
    has_user_range: bool
    own_frames: int = 0

    @classmethod
    def of(cls, signature: Signature, machine: str, *, at_exit: bool, has_user_range: bool) -> SlotContext:
        """Return what a program on a function finds; `machine`: as `uname -m` says it."""
        btf = signature.btf
        convention = convention_of(btf, signature.params, machine, signature.returns)
        arguments, stack, at = dict[int, ContextValue](), dict[int, ContextValue](), 0
        for param, passed in zip(signature.params, convention.params, strict=False):
            pointer = signature.is_pointer(param.type_id)
            longs = -(-size_of(btf, param.type_id) // _SLOT)
            values = [ContextValue((at + n) * _SLOT, pointer_slot=at + n if pointer else None) for n in range(longs)]
            if not (passed.reason or passed.by_reference):
                arguments |= zip(passed.slots, values, strict=False)
                stack |= zip(passed.stack, values[len(passed.slots) :], strict=False)
            at += longs
        result = ContextValue(at * _SLOT) if at_exit else None
        return cls(arguments, stack, result, has_user_range)

    def with_own_frames(self, own_frames: int) -> SlotContext:
        """Return this context with a number of frames that are the program's and its trampoline's."""
        return replace(self, own_frames=own_frames)

    def find(self, expression: Expression) -> ContextValue | None:
        if isinstance(expression, ReturnValue) and not expression.path:
            return self.result
        if isinstance(expression, Argument):
            return self.arguments.get(expression.number)
        if isinstance(expression, Stack) and expression.number:
            number = kstrtoul(expression.number, 10)
            return self.stack.get(number) if number is not None else None
        return None
