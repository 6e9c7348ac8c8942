"""Fetch arguments drawn over their whole grammar, for each kind of place a probe can have."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import NamedTuple

from probes.facts.facts import Feature
from probes.facts.lookups import StaticEventField
from probes.functions.signature import Signature
from tests.spec_material import Material

_REGISTERS = {
    "x86_64": ("di", "si", "dx", "ax", "sp", "r8", "flags"),
    "aarch64": ("x0", "x1", "x30", "sp", "lr", "pc"),
}
_SCALARS = [f"{letter}{bits}" for letter in "usx" for bits in (8, 16, 32, 64)]
_BITS = ["b4@2/8", "b1@31/32", "b64@0/64", "b3@0x4/16"]
_ODD: tuple[str, ...] = (
    "string",
    "ustring",
    "symstr",
    "char",
    "%pd",
    "u8[4]",
    "b1@0/8",
    "symbol",
    "u64[2]",
    "x8[1]",
    "string[1]",
)
_ODD += ("u8[0x10]", "u16[010]", "s8[+4]")
_OFFSETS = ("+0", "+8", "-8", "+0x10", "+16", "+u0", "+u8", "-u4", "+-8", "+010", "+u-0x8", "-0")
_CASTS = ("task_struct", "file", "inode", "nosuch", "list_head")
Choice = tuple[Callable[[], str], list[str]]
"""Something that makes an expression, and types that fit it."""


class Where(NamedTuple):
    """What arguments can be drawn for."""

    letter: str
    """`k`, `u`, `f`, `t`, `e`."""
    returns: bool = False
    signature: Signature | None = None
    fields: Mapping[str, StaticEventField] = {}


class Arguments:
    """Draws arguments for one kernel."""

    def __init__(self, material: Material, rng: random.Random) -> None:
        self._m = material
        self._rng = rng
        features = material.facts.features
        self._btf = Feature.BTF_ARGS in features
        self._casts = Feature.TYPECAST in features
        self._scalars = [*_SCALARS, *_BITS, "symbol", *(["char"] if Feature.CHAR_TYPE in features else [])]
        more = ["string", "ustring", "string", "u8[4]", "x64[64]", "string[2]", "ustring[3]", "b3@1/8[2]"]
        self._memory = [*self._scalars, *more]

    def draw(self, where: Where) -> str:
        """Any number of arguments, each with a blank in front."""
        rng = self._rng
        words = [self.one(where, number) for number in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5)))]
        if self._btf and where.letter in "kft" and rng.random() < 0.08:
            words.insert(rng.randrange(len(words) + 1), "$arg*")
        return "".join(f" {word}" for word in words)

    def one(self, where: Where, number: int) -> str:
        """One argument."""
        rng = self._rng
        value, types = self._value(where, 0)
        name = "" if rng.random() < 0.35 else f"{rng.choice(('a', 'x', 'value', '_v9'))}{number or ''}="
        if rng.random() < 0.02:
            name = f"{'n' * (32 - len(str(number)))}{number}="
        chosen = rng.choice(types) if types and rng.random() < 0.6 else ""
        if rng.random() < 0.04:
            chosen = rng.choice(_ODD)
        return f"{name}{value}{f':{chosen}' if chosen else ''}"

    def _value(self, where: Where, depth: int) -> tuple[str, list[str]]:
        """An expression, and types that fit it."""
        rng = self._rng
        if rng.random() < (0.25 if depth < 3 else 0.1):
            inner, _ = self._value(where, depth + 1)
            offset = rng.choice(_OFFSETS)
            user = "u" in offset
            return f"{offset}({inner})", [t for t in self._memory if not user or "[" not in t or "string" in t]
        if where.letter != "u" and rng.random() < 0.08:
            sign = rng.choice(("", "", "+8", "-4", "+0x10"))
            symbol = rng.choice(self._m.data) if rng.random() < 0.95 else "nosuch_symbol"
            return f"@{symbol}{sign}", self._memory
        chosen = [] if rng.random() < 0.2 else self._own(where)
        make, types = rng.choice(chosen or self._general(depth))
        return make(), types

    def _general(self, depth: int) -> list[Choice]:
        """What stands everywhere; text can't be dereferenced."""
        rng = self._rng
        numbers: list[Choice] = [
            (lambda: rng.choice(("\\1", "\\-5", "\\0x10", "\\+7")), [*_SCALARS, "string"]),
            (lambda: f"@{rng.choice(('0x1000', '12345', '0'))}", self._memory),
        ]
        if depth and rng.random() < 0.9:
            return numbers
        comm: Choice = (lambda: rng.choice(("$comm", "$COMM")), ["string"])
        return [*numbers, comm, (lambda: rng.choice(('\\"abc"', '\\""')), ["string"])]

    def _own(self, where: Where) -> list[Choice]:
        """Values of this kind of probe."""
        rng, registers = self._rng, _REGISTERS.get(self._m.facts.machine, ("sp",))
        if where.letter == "e":
            return self._of_event(where)
        words = [*self._scalars, *([] if where.letter == "u" else ["symstr"])]
        stacks = ("$stack", "$stack0", "$stack12", "$stack2048", "$stack1", "$stack", "$stack2049")
        own: list[Choice] = [(lambda: rng.choice(stacks), words)]
        if where.letter in "ku":
            own += [(lambda: f"%{rng.choice(registers)}", words)] * 2
        if where.letter == "u":
            own.append((lambda: f"@+{rng.choice(('0x100', '8', '-8'))}", self._memory))
        if where.returns:
            own += [(lambda: "$retval", words)] * 3
        if where.letter in "kft" and not (where.returns and not self._btf):
            own.append((lambda: f"$arg{rng.choice((1, 1, 1, 2, 2, 3, 9, 0))}", words))
        if where.signature is not None and self._btf:
            own += self._by_name(where.signature, where.returns, words)
        if self._casts and where.letter != "u":
            own += self._of_newer(where)
        return own

    def _of_event(self, where: Where) -> list[Choice]:
        if not where.fields:
            return []
        rng, field = self._rng, self._rng.choice(list(where.fields))
        texts = "char" in where.fields[field].type
        types = ["string"] if texts else [*self._scalars, "string", "ustring", "symstr"]
        found: list[Choice] = [(lambda: f"${field}", types)] * 6
        member = rng.choice(("pid", "comm", "f_mode", "i_ino", "next", "f_path.dentry->d_sb", "se.load"))
        if self._btf:
            found.append((lambda: f"({rng.choice(_CASTS)}){field}->{member}", self._memory))
        return found

    def _of_newer(self, where: Where) -> list[Choice]:
        """Casts and per-CPU variables in function probes."""
        rng = self._rng
        inner = rng.choice(("$arg1", "(+0($stack0))", "+8($stack0)", "($arg2)", "$current"))
        casts = ("->f_mode", "->f_path.dentry->d_sb", "->f_inode")
        return [
            (lambda: f"(file){inner}{rng.choice(casts)}", self._memory),
            (lambda: f"$current->{rng.choice(('pid', 'comm', 'mm->pgd'))}", self._memory),
            (lambda: f"this_cpu_{rng.choice(('ptr', 'read'))}({inner})", self._scalars),
        ]

    def _by_name(self, signature: Signature, returns: bool, words: list[str]) -> list[Choice]:
        """Parameters and what is returned, with paths."""
        rng, m = self._rng, self._m
        found: list[Choice] = []
        if signature.params:
            param = rng.choice(signature.params)
            name, text = param.name or "nameless", ["string"] if m.is_text(signature.btf, param.type_id) else []
            found += [(lambda: name, [*words, *text])] * 2
            walked: Choice = (lambda: name + m.path(signature.btf, param.type_id, rng), [*self._memory, "%pd", "%pD"])
            found += [walked] * 4
        if returns and signature.returns:
            found += [(lambda: "$retval" + m.path(signature.btf, signature.returns, rng), self._memory)] * 2
        return found
