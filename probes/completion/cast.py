"""Completion of what is reached by a type or a symbol of the kernel: `(STRUCT)FIELD->member`, `@symbol`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from btf.btf import Btf
from btf.layout import Field, children
from btf.render import c_type
from probes.completion.choice import Completion, Completions, ItemKind, Priority, ranked
from probes.completion.scope import Scope
from probes.completion.type_choice import shows
from probes.rules.cast import find_struct

_STRUCT = re.compile(r"\((\w*)")
_OPERAND = re.compile(r"\((\w+)\)(\$?\w*)")
_MEMBER = re.compile(r"\((\w+)\)\$?\w+->((?:\w+(?:->|\.))*)(\w*)")
_KINDS = ("x64", "s64", "u32", "s32", "string", "symbol")
_MOST = 60


class ExpressionContext(NamedTuple):
    """What stands around an expression: `name=+8(` and where it is in the text."""

    body: str
    """The fetcharg up to the expression, without its name."""
    start: int
    """Where the expression begins in the text."""
    end: int

    @property
    def closing(self) -> str:
        """Brackets that are open."""
        return ")" * self.body.count("(")


def complete_symbol(scope: Scope, around: ExpressionContext, expression: str) -> Completions:
    """Complete `@name`, a variable of the kernel."""
    typed = expression[1:]
    names = scope.known.symbols(typed) if typed else ()
    items = [
        Completion(f"@{name}", ItemKind.VARIABLE, f"@{name}", about="a variable of the kernel")
        for name in names[:_MOST]
        if name != typed
    ]
    exact = typed in names and scope.accepts(f"{around.body}{expression}{around.closing}")
    kinds = _types(scope, around, expression) if exact else []
    note = "" if items or kinds else "part of a variable's name" if not typed else "no variable known begins so"
    return Completions(
        around.start, around.end, (*kinds, *items), Priority.STANDS if exact else Priority.NEEDED, note
    )


def complete_cast(scope: Scope, around: ExpressionContext, expression: str) -> Completions | None:
    """Complete a typecast; None where this kernel has none here, or it is another one than these."""
    dialect = scope.dialect
    if scope.in_program or not (dialect.typecast or (dialect.typecast_known and scope.letter == "e")):
        return None
    if (found := _STRUCT.fullmatch(expression)) is not None:
        return _structs(scope, around, found[1])
    if (found := _OPERAND.fullmatch(expression)) is not None:
        return _operands(scope, around, found[1], found[2])
    if (found := _MEMBER.fullmatch(expression)) is not None and scope.btf is not None:
        return _members(scope, around, expression, found, scope.btf)
    return None


def _structs(scope: Scope, around: ExpressionContext, typed: str) -> Completions:
    names = scope.known.structs(typed) if typed else ()
    items = tuple(Completion(f"({name})", ItemKind.TYPE, f"({name})", f"struct {name}") for name in names[:_MOST])
    note = "" if items else "part of a structure's name" if not typed else "no structure has this in its name"
    return Completions(around.start, around.end, items, Priority.NEEDED, note)


def _operands(scope: Scope, around: ExpressionContext, struct: str, typed: str) -> Completions:
    """What is cast: a field of the event, an argument."""
    if find_struct(scope.btf, struct) is None:
        return Completions(around.end, around.end, (), Priority.NEEDED, "no structure of this name")
    known = {field.name: field.type for field in scope.fields()}
    if scope.letter != "e":
        known = {root.label: root.c_type for root in scope.roots() if root.label[0] != "$"}
    names = [name for name, kind in known.items() if "[" not in kind and "struct" not in kind.partition("*")[0]]
    names = names if scope.letter == "e" else list(known)
    items = tuple(
        Completion(f"({struct}){names[n]}->", ItemKind.FIELD, f"{names[n]}->", known[names[n]])
        for n in ranked(names, typed)[:_MOST]
    )
    return Completions(around.start, around.end, items, Priority.NEEDED, "" if items else "nothing here begins so")


def _members(scope: Scope, around: ExpressionContext, expression: str, found: re.Match[str], btf: Btf) -> Completions:
    struct = find_struct(btf, found[1])
    type_id = _walked(btf, struct, re.findall(r"\w+", found[2])) if struct is not None else None
    if type_id is None:
        return Completions(around.end, around.end, (), Priority.NEEDED, "nothing is behind this")
    lead, typed = expression[: len(expression) - len(found[3])], found[3]
    fields = [field for field in children(btf, type_id).fields if field.name]
    exact = next((field for field in fields if field.name == typed), None)
    items: list[Completion] = []
    if exact is not None:
        items += _types(scope, around, expression)
        items += _onward(btf, exact, expression)
    names = [field.name for field in fields]
    items += [
        Completion(
            f"{lead}{names[n]}", ItemKind.FIELD, names[n], c_type(btf, fields[n].type_id), fields[n].byte_offset
        )
        for n in ranked(names, typed)[:_MOST]
        if fields[n] is not exact and (_goes_on(btf, fields[n]) or scope.accepts(_whole(around, lead + names[n])))
    ]
    stands = exact is not None and scope.accepts(_whole(around, expression))
    note = "" if items else "no member has this in its name"
    return Completions(around.start, around.end, tuple(items), Priority.USUAL if stands else Priority.NEEDED, note)


def _walked(btf: Btf, type_id: int, names: list[str]) -> int | None:
    """The type that members lead to; None: they lead nowhere."""
    for name in names:
        field = next((field for field in children(btf, type_id).fields if field.name == name), None)
        if field is None or not _goes_on(btf, field):
            return None
        type_id = field.type_id
    return type_id


def _goes_on(btf: Btf, field: Field) -> str:
    """How one goes on behind a member: `->`, `.`; empty: not at all."""
    return children(btf, field.type_id).op.replace("[]", "")


def _onward(btf: Btf, field: Field, expression: str) -> Iterator[Completion]:
    if step := _goes_on(btf, field):
        kind = c_type(btf, field.type_id)
        yield Completion(f"{expression}{step}", ItemKind.FIELD, f"{field.name}{step}", kind, field.byte_offset)


def _types(scope: Scope, around: ExpressionContext, expression: str) -> list[Completion]:
    """What stands behind a whole expression: nothing, or a type."""
    whole = _whole(around, expression)
    bare = [Completion(f"{expression}{around.closing} ", ItemKind.TYPE, expression)] if scope.accepts(whole) else []
    return bare + [
        Completion(f"{expression}{around.closing}:{kind} ", ItemKind.TYPE, f"{expression}:{kind}", about=shows(kind))
        for kind in _KINDS
        if scope.accepts(f"{whole}:{kind}")
    ]


def _whole(around: ExpressionContext, expression: str) -> str:
    return f"{around.body}{expression}{around.closing}"
