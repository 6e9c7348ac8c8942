"""Compile a filter to BPF instructions: compare values that lie on the stack."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from probes.bpf.assembler import Assembler, JumpLabel
from probes.bpf.condition import Condition, FilterJunction, FilterNegation
from probes.bpf.fetch import NotCompiled
from probes.bpf.instructions import AluOperation, JumpCondition
from probes.bpf.record import StoredType
from probes.rules.events.predicate import Predicate
from probes.syntax.text import kstrtol, kstrtoul

_SIGNED = {"<": JumpCondition.SLT, "<=": JumpCondition.SLE, ">": JumpCondition.SGT, ">=": JumpCondition.SGE}
_UNSIGNED = {"<": JumpCondition.LT, "<=": JumpCondition.LE, ">": JumpCondition.GT, ">=": JumpCondition.GE}
_EITHER = {"==": JumpCondition.EQ, "!=": JumpCondition.NE, "&": JumpCondition.SET}
_SPECIAL = re.compile(r"[*?\[\\]")


class ComparedValue(NamedTuple):
    """Value on the stack that a filter compares."""

    type: StoredType
    offset: int
    """Bytes from the end of the stack, negative."""


def compared_fields(condition: Condition) -> list[str]:
    """Return the names of the fields that a condition compares, each once."""
    if isinstance(condition, Predicate):
        return [condition.field.name]
    inner = (condition.condition,) if isinstance(condition, FilterNegation) else condition.conditions
    return list(dict.fromkeys(name for one in inner for name in compared_fields(one)))


class FilterCompiler:
    """Compiler of a condition into jumps."""

    def __init__(self, assembler: Assembler, values: Mapping[str, ComparedValue]) -> None:
        """Take the program, and the compared values by name of the field."""
        self._assembler = assembler
        self._values = values

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
        value = self._values.get(predicate.field.name)
        if value is None or value.type.elements > 1:
            raise NotCompiled(f"{predicate.field.name} in the filter")
        if predicate.value[:1] in ("'", '"'):
            self._text(predicate, value, holds)
        else:
            self._number(predicate, value, holds)

    def _number(self, predicate: Predicate, value: ComparedValue, holds: JumpLabel) -> None:
        out, (kind, offset) = self._assembler, value
        signed = kind.signed or (predicate.field.signed and kind.size < 8)
        number = kstrtol(predicate.value) if signed else kstrtoul(predicate.value)
        comparison = _EITHER.get(predicate.operator) or (_SIGNED if signed else _UNSIGNED).get(predicate.operator)
        if number is None or comparison is None or kind.declared.startswith("char["):
            raise NotCompiled(f"{predicate.field.name} {predicate.operator} {predicate.value}")
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

    def _text(self, predicate: Predicate, value: ComparedValue, holds: JumpLabel) -> None:
        """Compare eight bytes at a time: the whole text with its end, or the beginning of `~ "begin*"`."""
        pattern = predicate.value[1:-1]
        body, star, rest = pattern.partition("*") if predicate.operator == "~" else (pattern, "", "")
        data = body.encode()
        if _SPECIAL.search(body) or rest or pattern[:1] == "!" or not value.type.declared.startswith("char["):
            raise NotCompiled(f"{predicate.field.name} {predicate.operator} {predicate.value}")
        wanted = data if star else data + b"\0"
        out, differs, equal = self._assembler, JumpLabel(), JumpLabel()
        if len(wanted) > value.type.size:
            out.jump(differs)
        for at in range(0, min(len(wanted), value.type.size), 8):
            part = wanted[at : at + 8]
            out.load(3, 10, value.offset + at, 8)
            if len(part) < 8:
                out.alu(AluOperation.LSH, 3, 64 - 8 * len(part))
            number = int.from_bytes(part, "little") << 64 - 8 * len(part)
            out.constant(4, number)
            out.jump_if_registers(JumpCondition.NE, 3, 4, differs)
        if predicate.operator == "!=":
            out.jump(equal)
            out.place(differs)
            out.jump(holds)
            out.place(equal)
        else:
            out.jump(holds)
            out.place(differs)
