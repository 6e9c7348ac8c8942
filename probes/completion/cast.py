"""Complete expressions that begin with a type or a kernel symbol: `(STRUCT)FIELD->member`, `@symbol`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from btf.btf import Btf
from btf.layout import StructField, children
from btf.render import c_type
from probes.completion.choice import Completion, Completions, ItemKind, Priority, ranked
from probes.completion.scope import Scope
from probes.completion.type_choice import shows
from probes.rules.cast import find_struct

_STRUCT = re.compile(r"\((\w*)")
_OPERAND = re.compile(r"\((\w+)\)(\$?\w*)")
_MEMBER = re.compile(r"\((\w+)\)\$?\w+->((?:\w+(?:->|\.))*)(\w*)")
_KINDS = ("x64", "s64", "u32", "s32", "string", "symbol")
_MAX_ITEMS = 60


class ExpressionContext(NamedTuple):
    """Text around an expression, `name=+8(`, and its position."""

    body: str
    """Fetcharg up to the expression, without its name."""
    start: int
    """Column in the text where the expression begins."""
    end: int

    @property
    def closing(self) -> str:
        """Closing brackets for the open ones."""
        return ")" * self.body.count("(")


def complete_symbol(scope: Scope, context: ExpressionContext, expression: str) -> Completions:
    """Complete `@name`, a variable of the kernel."""
    typed = expression[1:]
    names = scope.known.symbols(typed) if typed else ()
    items = [
        Completion(f"@{name}", ItemKind.VARIABLE, f"@{name}", description="a variable of the kernel")
        for name in names[:_MAX_ITEMS]
        if name != typed
    ]
    exact = typed in names and scope.accepts(f"{context.body}{expression}{context.closing}")
    kinds = _types(scope, context, expression) if exact else []
    note = "" if items or kinds else "part of a variable's name" if not typed else "no variable known begins so"
    return Completions(
        context.start, context.end, (*kinds, *items), Priority.STANDS if exact else Priority.NEEDED, note
    )


def complete_cast(scope: Scope, context: ExpressionContext, expression: str) -> Completions | None:
    """Complete a typecast; None where this kernel has none here, or the syntax is unknown."""
    dialect = scope.dialect
    if scope.in_program or not (dialect.typecast or (dialect.typecast_known and scope.letter == "e")):
        return None
    if (match := _STRUCT.fullmatch(expression)) is not None:
        return _structs(scope, context, match[1])
    if (match := _OPERAND.fullmatch(expression)) is not None:
        return _operands(scope, context, match[1], match[2])
    if (match := _MEMBER.fullmatch(expression)) is not None and scope.btf is not None:
        return _members(scope, context, expression, match, scope.btf)
    return None


def _structs(scope: Scope, context: ExpressionContext, typed: str) -> Completions:
    names = scope.known.structs(typed) if typed else ()
    items = tuple(
        Completion(f"({name})", ItemKind.TYPE, f"({name})", f"struct {name}") for name in names[:_MAX_ITEMS]
    )
    note = "" if items else "part of a structure's name" if not typed else "no structure has this in its name"
    return Completions(context.start, context.end, items, Priority.NEEDED, note)


def _operands(scope: Scope, context: ExpressionContext, struct: str, typed: str) -> Completions:
    """Complete the operand of a cast: a field of the event, an argument."""
    if find_struct(scope.btf, struct) is None:
        return Completions(context.end, context.end, (), Priority.NEEDED, "no structure of this name")
    operands = {field.name: field.type for field in scope.fields()}
    if scope.letter != "e":
        operands = {root.label: root.c_type for root in scope.roots() if not root.label.startswith("$")}
    names = [name for name, kind in operands.items() if "[" not in kind and "struct" not in kind.partition("*")[0]]
    names = names if scope.letter == "e" else list(operands)
    items = tuple(
        Completion(f"({struct}){names[n]}->", ItemKind.FIELD, f"{names[n]}->", operands[names[n]])
        for n in ranked(names, typed)[:_MAX_ITEMS]
    )
    return Completions(context.start, context.end, items, Priority.NEEDED, "" if items else "nothing here begins so")


def _members(
    scope: Scope, context: ExpressionContext, expression: str, match: re.Match[str], btf: Btf
) -> Completions:
    struct = find_struct(btf, match[1])
    type_id = _type_at(btf, struct, re.findall(r"\w+", match[2])) if struct is not None else None
    if type_id is None:
        return Completions(context.end, context.end, (), Priority.NEEDED, "nothing is behind this")
    lead, typed = expression[: len(expression) - len(match[3])], match[3]
    fields = [field for field in children(btf, type_id).fields if field.name]
    exact = next((field for field in fields if field.name == typed), None)
    items: list[Completion] = []
    if exact is not None:
        items += _types(scope, context, expression)
        items += _operator_items(btf, exact, expression)
    names = [field.name for field in fields]
    items += [
        Completion(
            f"{lead}{names[n]}", ItemKind.FIELD, names[n], c_type(btf, fields[n].type_id), fields[n].byte_offset
        )
        for n in ranked(names, typed)[:_MAX_ITEMS]
        if fields[n] is not exact
        and (_member_operator(btf, fields[n]) or scope.accepts(_fetcharg(context, lead + names[n])))
    ]
    is_complete = exact is not None and scope.accepts(_fetcharg(context, expression))
    note = "" if items else "no member has this in its name"
    return Completions(
        context.start, context.end, tuple(items), Priority.USUAL if is_complete else Priority.NEEDED, note
    )


def _type_at(btf: Btf, type_id: int, names: list[str]) -> int | None:
    """Return the type at the end of a path of members; None: no such path."""
    for name in names:
        field = next((field for field in children(btf, type_id).fields if field.name == name), None)
        if field is None or not _member_operator(btf, field):
            return None
        type_id = field.type_id
    return type_id


def _member_operator(btf: Btf, field: StructField) -> str:
    """Return the operator from a member to its own members, `->` or `.`; empty: it has none."""
    return children(btf, field.type_id).op.replace("[]", "")


def _operator_items(btf: Btf, field: StructField, expression: str) -> Iterator[Completion]:
    if step := _member_operator(btf, field):
        kind = c_type(btf, field.type_id)
        yield Completion(f"{expression}{step}", ItemKind.FIELD, f"{field.name}{step}", kind, field.byte_offset)


def _types(scope: Scope, context: ExpressionContext, expression: str) -> list[Completion]:
    """Return the items after a complete expression: the expression itself, and each type."""
    fetcharg = _fetcharg(context, expression)
    bare = (
        [Completion(f"{expression}{context.closing} ", ItemKind.TYPE, expression)] if scope.accepts(fetcharg) else []
    )
    return bare + [
        Completion(
            f"{expression}{context.closing}:{kind} ", ItemKind.TYPE, f"{expression}:{kind}", description=shows(kind)
        )
        for kind in _KINDS
        if scope.accepts(f"{fetcharg}:{kind}")
    ]


def _fetcharg(context: ExpressionContext, expression: str) -> str:
    return f"{context.body}{expression}{context.closing}"
