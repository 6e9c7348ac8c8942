"""Compile a filter to BPF instructions: compare values that lie on the stack."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.fetch import FAULT_BITS, NotCompiled
from probes.bpf.filters.condition import Condition, FilterJunction, FilterNegation
from probes.bpf.filters.glob import GlobCompiler
from probes.bpf.instructions import AluOperation, Helper, JumpCondition
from probes.bpf.record import StoredType
from probes.rules.events.predicate import Predicate
from probes.syntax.text import kstrtol, kstrtoul

_SIGNED = {"<": JumpCondition.SLT, "<=": JumpCondition.SLE, ">": JumpCondition.SGT, ">=": JumpCondition.SGE}
_UNSIGNED = {"<": JumpCondition.LT, "<=": JumpCondition.LE, ">": JumpCondition.GT, ">=": JumpCondition.GE}
_EITHER = {"==": JumpCondition.EQ, "!=": JumpCondition.NE, "&": JumpCondition.SET}
_SPECIAL = re.compile(r"[\[\\]")


class ComparedValue(NamedTuple):
    """Value on the stack that a filter compares."""

    type: StoredType
    offset: int
    """Bytes from the end of the stack, negative."""
    fault_bit: int = 0
    """Bit in the register `FAULT_BITS` that is set where the value could not be read; 0: it always can."""


def compared_fields(condition: Condition) -> list[str]:
    """Return the names of the fields that a condition compares, each once."""
    if isinstance(condition, Predicate):
        return [] if condition.is_function else [condition.field.name]
    inner = (condition.condition,) if isinstance(condition, FilterNegation) else condition.conditions
    return list(dict.fromkeys(name for one in inner for name in compared_fields(one)))


def compares_functions(condition: Condition | None) -> bool:
    """Return whether a condition names a function."""
    if condition is None or isinstance(condition, Predicate):
        return condition is not None and condition.is_function
    inner = (condition.condition,) if isinstance(condition, FilterNegation) else condition.conditions
    return any(map(compares_functions, inner))


class FilterCompiler:
    """Compiler of a condition into jumps."""

    def __init__(
        self,
        assembler: Assembler,
        values: Mapping[str, ComparedValue],
        functions: Sequence[str] = (),
        context: int = 1,
    ) -> None:
        """Take the program and what is compared.

        Args:
            assembler: the program.
            values: compared values by name of the field.
            functions: functions of the program; where there are several, their numbers here are their cookies.
            context: register with the program's argument.
        """
        self._assembler = assembler
        self._values = values
        self._functions = functions
        self._context = context

    def jump_unless(self, condition: Condition, otherwise: JumpLabel) -> None:
        """Continue at a label where a condition does not hold. Raises NotCompiled."""
        holds = JumpLabel()
        self._compile(condition, holds, otherwise)
        self._assembler.place(holds)

    def _compile(self, condition: Condition, holds: JumpLabel, fails: JumpLabel) -> None:
        """Jump to one of two labels."""
        if isinstance(condition, Predicate):
            self._predicate(condition, holds)
            self._assembler.jump(fails)
        elif isinstance(condition, FilterNegation):
            self._compile(condition.condition, fails, holds)
        else:
            self._junction(condition, holds, fails)

    def _junction(self, junction: FilterJunction, holds: JumpLabel, fails: JumpLabel) -> None:
        for condition in junction.conditions[:-1]:
            following = JumpLabel()
            if junction.needs_all:
                self._compile(condition, following, fails)
            else:
                self._compile(condition, holds, following)
            self._assembler.place(following)
        self._compile(junction.conditions[-1], holds, fails)

    def _predicate(self, predicate: Predicate, holds: JumpLabel) -> None:
        """Jump to a label where a predicate holds, else go on."""
        if predicate.is_function:
            self._function(predicate, holds)
            return
        value = self._values.get(predicate.field.name)
        if value is None or value.type.elements > 1:
            raise NotCompiled(f"{predicate.field.name} in the filter")
        if predicate.value[:1] in ("'", '"'):
            self._text(predicate, value, holds)
        else:
            self._number(predicate, value, holds)

    def _function(self, predicate: Predicate, holds: JumpLabel) -> None:
        out, name, equal = self._assembler, predicate.value.strip("\"'"), predicate.operator == "=="
        there = name in self._functions
        if len(self._functions) < 2 or not there:
            out.jump_always(holds, never=there != equal)
            return
        out.move(1, self._context)
        out.call(Helper.GET_ATTACH_COOKIE)
        comparison = JumpCondition.EQ if equal else JumpCondition.NE
        out.jump_if(comparison, 0, self._functions.index(name), holds)

    def _number(self, predicate: Predicate, value: ComparedValue, holds: JumpLabel) -> None:
        """Compare a number; no comparison holds for one that could not be read."""
        out, (kind, offset, fault_bit), unread = self._assembler, value, JumpLabel()
        signed = kind.signed or (predicate.field.signed and kind.size < 8)
        number = kstrtol(predicate.value) if signed else kstrtoul(predicate.value)
        comparison = _EITHER.get(predicate.operator) or (_SIGNED if signed else _UNSIGNED).get(predicate.operator)
        if number is None or comparison is None or kind.declared.startswith("char["):
            raise NotCompiled(f"{predicate.field.name} {predicate.operator} {predicate.value}")
        if fault_bit:
            out.jump_if(JumpCondition.SET, FAULT_BITS, fault_bit, unread)
        out.load(3, 10, offset, kind.size)
        if signed and kind.size < 8:
            out.alu(AluOperation.LSH, 3, 64 - kind.size * 8)
            out.alu(AluOperation.ARSH, 3, 64 - kind.size * 8)
        if comparison is JumpCondition.SET and signed:
            number &= (1 << 64) - 1
            number -= 1 << 64 if number >> 63 else 0
        if -(1 << 31) <= number < 1 << 31:
            out.jump_if(comparison, 3, number, holds)
        else:
            out.constant(4, number)
            out.jump_if_registers(comparison, 3, 4, holds)
        out.place(unread)

    def _text(self, predicate: Predicate, value: ComparedValue, holds: JumpLabel) -> None:
        """Compare a text: as a whole, or with a pattern; in memory there may be anything behind its NUL."""
        pattern = predicate.value[1:-1]
        negated = predicate.operator == "!="
        if predicate.operator == "~":
            negated = pattern.startswith("!")
            pattern = pattern[negated:]
        if not value.type.declared.startswith("char[") or (predicate.operator == "~" and _SPECIAL.search(pattern)):
            raise NotCompiled(f"{predicate.field.name} {predicate.operator} {predicate.value}")
        out, differs, done = self._assembler, JumpLabel(), JumpLabel()
        body, star, rest = pattern.partition("*") if predicate.operator == "~" else (pattern, "", "")
        if predicate.operator == "~" and (rest or "?" in body):
            GlobCompiler(out, value.offset, value.type.size).jump_unless(pattern, differs)
        else:
            self._compare(body.encode() if star else body.encode() + b"\0", value, differs)
        out.jump_always(done if negated else holds)
        out.place(differs)
        if negated:
            out.jump(holds)
        out.place(done)

    def _compare(self, wanted: bytes, value: ComparedValue, differs: JumpLabel) -> None:
        """Compare bytes with the beginning of a text, eight at a time."""
        out = self._assembler
        if len(wanted) > value.type.size:
            out.jump_always(differs)
        for at in range(0, min(len(wanted), value.type.size), 8):
            part = wanted[at : at + 8]
            out.load(3, 10, value.offset + at, 8)
            if len(part) < 8:
                out.alu(AluOperation.LSH, 3, 64 - 8 * len(part))
            number = int.from_bytes(part, "little") << 64 - 8 * len(part)
            out.constant(4, number)
            out.jump_if_registers(JumpCondition.NE, 3, 4, differs)
