"""Complete a fetcharg: arguments and variables, members along a path, types."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import NamedTuple

from probes.completion.cast import ExpressionContext, complete_cast, complete_symbol
from probes.completion.choice import Completion, Completions, ItemKind, Priority, ranked
from probes.completion.scope import Scope
from probes.completion.type_choice import sensible_types, shows
from probes.functions.capture_tree import CaptureNode
from probes.syntax.text import Word

_NESTED = re.compile(r"(?:[+-]u?(?:0[xX])?[0-9a-fA-F]+\()*")
_BASE = re.compile(r"\$?\w+|\$\$\w*|\$arg\*|[$%]\w*|")
_STEP = re.compile(r"->\w+|\.\w+|\[[0-9]+\]")
_LAST = re.compile(r"(?:->|\.|-)\w*|\[[0-9]*|")
_LEAD = re.compile(r"->|\.|\[|-|")
_NUMBERS = tuple(f"{letter}{bits}" for bits in (64, 32, 16, 8) for letter in "xus")
_LEAST_MISSPELT = 3
"""Letters below which a name is no misspelt one."""
_LEAST_SIMILARITY = 0.7
"""Least similarity of a name to the misspelt one, from 0 to 1."""
_TEXTS = ("char", "string", "ustring", "symbol", "symstr")


class _Path(NamedTuple):
    """Expression split into the complete steps and the step being typed."""

    node: CaptureNode | None
    """Node of the complete steps; None: there is no complete step yet."""
    step: str
    """The step being typed: `fi`, `->f_p`, `[`; empty after `[3]`."""
    start: int
    """Column in the expression where that step begins."""


def complete_argument(word: Word, scope: Scope) -> Completions:
    """Complete the last word of a specification, a fetcharg."""
    head = re.match(r"\w*=", word.text)
    at = head.end() if head else 0
    opening = _NESTED.match(word.text, at)
    inner = opening.end() if opening else at
    depth = word.text.count("(", at, inner)
    expression, colon, kind = word.text[inner:].partition(":")
    end = word.start + len(word.text)
    if colon:
        return _types(scope, word.text[at:inner], expression, kind, end)
    context = ExpressionContext(word.text[at:inner], word.start + inner, end)
    if expression.startswith("@") and not scope.in_program:
        return complete_symbol(scope, context, expression)
    if expression.startswith("(") and (completions := complete_cast(scope, context, expression)) is not None:
        return completions
    path = _walk(expression, scope)
    if path is None:
        return _after_unknown(scope, word.text[at:], end)
    start = word.start + inner + path.start
    nested = word.text[at:inner]
    if not path.step and path.node is None:
        return _at_beginning(scope, end, nested, bare=inner == 0)
    nodes = _children(scope, path, nested)
    exact = _exact(path, nodes)
    items = [] if exact is None else _after_step(scope, exact, path, depth)
    names = [_name(node.label) for node in nodes]
    order = ranked(names, _name(path.step)) if path.step else []
    items += [_item(nodes[n]) for n in order if nodes[n] is not exact]
    if path.node is None:
        items += _variables(scope, path.step, nested)
    if exact is None and not items:
        items = [_item(node) for node in _similar(scope, path, nested)]
    if exact is None and (not items or any(item.label == path.step for item in items)):
        return _after_unknown(scope, word.text[at:], end)
    return Completions(start, end, tuple(items), Priority.NEEDED if depth else _priority(exact))


# -- where the cursor is ---------------------------------------------------------------------------------------------


def _walk(expression: str, scope: Scope) -> _Path | None:
    """Follow all complete steps of an expression; None: there is no such path."""
    base = _BASE.match(expression)
    at = base.end() if base else 0
    if at == len(expression):
        return _Path(None, expression, 0)
    complete: list[re.Match[str]] = []
    while (step := _STEP.match(expression, at)) is not None:
        complete.append(step)
        at = step.end()
    if complete and at == len(expression) and not expression.endswith("]"):
        at = complete.pop().start()
    last = _LAST.fullmatch(expression, at)
    node = next((root for root in scope.roots() if base and root.label == base.group()), None)
    for step in complete:
        if node is None or scope.tree is None:
            break
        node = scope.tree.child(node, "0" if step[0].startswith("[") else _name(step[0]))
    return None if node is None or last is None else _Path(node, last.group(), at)


def _name(label: str) -> str:
    """Return a step's name without `->`, `.` and brackets."""
    lead = _LEAD.match(label)
    return label[lead.end() if lead else 0 :].rstrip("]")


def _children(scope: Scope, path: _Path, nested: str) -> list[CaptureNode]:
    """Return the nodes that the step being typed may be, within the open brackets."""
    if path.node is None:
        return [root for root in scope.roots() if _is_available(scope, root, nested)]
    by_value = path.node.step == "." and path.node.offset is None
    if scope.tree is None or (scope.letter == "t" and (by_value or path.node.step == "[")):
        return []  # the kernel's own syntax has no such path, and a tracepoint's arguments can't be lowered
    children = scope.tree.children(path.node, _name(path.step))
    return [node for node in children if node.fetcharg is not None or node.expandable]


def _similar(scope: Scope, path: _Path, nested: str) -> list[CaptureNode]:
    """Return the nodes whose names are similar to a misspelt step, the most similar first."""
    name = _name(path.step)
    if len(name) < _LEAST_MISSPELT:
        return []
    nodes: dict[str, CaptureNode] = {}
    for node in _children(scope, path._replace(step=""), nested):
        nodes.setdefault(_name(node.label).lower(), node)
    return [nodes[one] for one in difflib.get_close_matches(name.lower(), nodes, cutoff=_LEAST_SIMILARITY)]


def _inside(nested: str, expression: str) -> str:
    """Return an expression within open brackets, with the brackets closed."""
    return f"{nested}{expression}{')' * nested.count('(')}"


def _is_available(scope: Scope, root: CaptureNode, nested: str) -> bool:
    if scope.letter == "t" and root.label in scope.names:
        return False
    if root.fetcharg is not None:
        return scope.accepts(_inside(nested, root.label))
    return root.expandable and (not root.at_exit or scope.at_exit or scope.letter == "f")


def _exact(path: _Path, nodes: list[CaptureNode]) -> CaptureNode | None:
    """Return the node that is typed in full; None: no such node."""
    if path.node is not None and not path.step:
        return path.node
    if path.node is None:
        return next((node for node in nodes if node.label == path.step), None)
    return next((node for node in nodes if node.step != "[" and _name(node.label) == _name(path.step)), None) or next(
        (node for node in nodes if node.label == path.step), None
    )


def _priority(exact: CaptureNode | None) -> Priority:
    if exact is None or exact.fetcharg is None:
        return Priority.NEEDED
    return Priority.STANDS if exact.fetcharg.type is None and exact.step != "->" else Priority.USUAL


# -- what is offered -------------------------------------------------------------------------------------------------


def _at_beginning(scope: Scope, end: int, nested: str, bare: bool) -> Completions:
    """Return the completions at the beginning of a fetcharg."""
    roots = _children(scope, _Path(None, "", 0), nested)
    if scope.at_exit:  # values that exist at the exit only come first
        roots.sort(key=lambda root: not root.at_exit)
    items = [_item(root) for root in roots if not root.label.startswith("$") or root.at_exit]
    if scope.letter == "e" or scope.in_program:
        items += _variables(scope, "$", nested)
    if scope.in_program and not scope.at_exit:
        items += _variables(scope, "%", nested)
    if bare and scope.tree is not None and len(items) > 1 and scope.accepts("$$args"):
        items.append(_variable("$$args"))
    items += [_item(root) for root in roots if root.label.startswith("$") and not root.at_exit]
    if bare and scope.arguments and scope.letter != "t":
        items.append(
            Completion("if ", ItemKind.WORD, "if", description="record only where a condition on these fields holds")
        )
    note = "the fields of this event are not known yet" if scope.letter == "e" and not scope.fields() else ""
    urge = Priority.NEEDED if nested else Priority.STANDS if scope.arguments else Priority.USUAL
    return Completions(end, end, tuple(items), urge, note)


def _item(node: CaptureNode) -> Completion:
    """Return a node as an item; a node without a value of its own ends with the operator to its children."""
    root = node.label[:1] not in "-.["
    kind = ItemKind.FIELD if not root else ItemKind.VARIABLE if node.label.startswith("$") else ItemKind.ARGUMENT
    operator = node.step if node.step == "->" or node.fetcharg is None else ""
    label = node.label if root or node.label.startswith("[") else _name(node.label)
    return Completion(
        f"{node.label}{operator}",
        kind,
        f"{label}{operator}",
        node.c_type,
        node.offset,
        "" if operator else node.kernel_type,
    )


def _after_step(scope: Scope, node: CaptureNode, path: _Path, depth: int) -> list[Completion]:
    """Return the items after a complete step: its types, and the operator to its children."""
    typed = node.label if path.step else ""
    name = node.label if path.node is None or node.label.startswith("[") else _name(node.label)
    operator_items: list[Completion] = []
    if node.step:
        operator_items.append(
            Completion(f"{typed}{node.step}", ItemKind.FIELD, f"{name}{node.step}", node.c_type, node.offset)
        )
    if node.fetcharg is None:
        return operator_items
    if depth:
        closed = ")" * depth
        return [
            *operator_items,
            Completion(f"{typed}{closed}", ItemKind.FIELD, f"{name}{closed}", node.c_type, node.offset),
        ]
    types = [
        Completion(f"{typed}:{kind} ", ItemKind.TYPE, f"{name}:{kind}", description=shows(kind))
        if kind is not None
        else Completion(f"{typed} ", ItemKind.TYPE, name, node.c_type, node.offset, shows(node.kernel_type))
        for kind in _types_of(scope, node)
    ]
    return [*operator_items, *types] if node.step == "->" else [*types, *operator_items]


def _types_of(scope: Scope, node: CaptureNode) -> list[str | None]:
    """Return the types for a node, its own first."""
    if node.fetcharg is None:
        return []
    kinds = sensible_types(node.kernel_type, node.c_type, node.fetcharg.type)
    return [kind for kind in kinds if kind is None or scope.accepts(f"{node.fetcharg.expression}:{kind}")]


def _variables(scope: Scope, typed: str, nested: str) -> list[Completion]:
    """Return the variables outside the tree that begin with `typed` and that this place and this kernel take."""
    if typed[:1] == "%" and scope.letter in "pr":
        names = [f"%{name}" for name in sorted(scope.dialect.registers or ()) if f"%{name}".startswith(typed)]
        return (
            [Completion(n, ItemKind.REGISTER, n) for n in names]
            if names and scope.accepts(_inside(nested, names[0]))
            else []
        )
    if typed[:1] != "$":
        return []
    if scope.letter == "e":
        field_types = [(f"${field.name}", field.type) for field in scope.fields()]
        return [Completion(n, ItemKind.VARIABLE, n, kind) for n, kind in field_types if n.startswith(typed)]
    count = len([root for root in scope.roots() if not root.label.startswith("$")])
    if scope.in_program:
        count = len(scope.dialect.argument_registers)
    numbers = [f"$arg{n}" for n in range(1, count + 1)]
    root_names = {root.label for root in scope.roots()}
    names_offered = [name for name in (*_DESCRIPTIONS, *numbers) if name.startswith(typed) and name not in root_names]
    return [_variable(name) for name in names_offered if scope.accepts(_inside(nested, name))]


_DESCRIPTIONS = {
    "$retval": "what the function returns",
    "$$args": "all arguments, each with its best type",
    "$arg*": "all arguments, as the kernel takes them",
    "$comm": "name of the task",
    "$stack": "address of the stack",
    "$stack0": "first long on the stack; $stackN: the N-th behind it",
    "$current": "the task that runs",
}


def _variable(name: str) -> Completion:
    return Completion(
        f"{name} " if name in ("$$args", "$arg*") else name,
        ItemKind.VARIABLE,
        name,
        description=_DESCRIPTIONS.get(name, "an argument by its number"),
    )


def _after_unknown(scope: Scope, body: str, end: int) -> Completions:
    """Return the types after an expression that is only checked by the kernel's rules."""
    if not scope.accepts(body):
        return Completions(end, end, (), Priority.NEEDED, "nothing here has this in its name")
    field = (
        next((field for field in scope.fields() if f"${field.name}" == body), None) if scope.letter == "e" else None
    )
    texts = _TEXTS if field is None else _TEXTS[1:2] if "char" in field.type else _TEXTS[3:4]
    kinds = _accepted(scope, body, (*texts, *_NUMBERS[:6]) if field is not None else (*_NUMBERS[:6], *texts))
    items = [Completion(f":{kind} ", ItemKind.TYPE, f":{kind}", description=shows(kind)) for kind in kinds]
    return Completions(end, end, tuple(items), Priority.STANDS)


def _accepted(scope: Scope, body: str, kinds: Iterable[str]) -> list[str]:
    return [kind for kind in kinds if scope.accepts(f"{body}:{kind}")]


def _types(scope: Scope, nested: str, expression: str, typed: str, end: int) -> Completions:
    """Return the completions after the colon."""
    path = None if nested else _walk(expression, scope)
    node = _exact(path, _children(scope, path, nested)) if path is not None else None
    if node is not None and node.fetcharg is not None:
        kinds = [kind or node.kernel_type for kind in _types_of(scope, node)]
        kinds += [kind for kind in _NUMBERS if typed and kind not in kinds]  # any value can be shown as a number
        kinds = [kind for kind in kinds if kind.startswith(typed)]
    else:
        kinds = [kind for kind in (*_NUMBERS, *_TEXTS) if kind.startswith(typed)]
        kinds = _accepted(scope, f"{nested}{expression}", kinds)
    items = tuple(Completion(f"{kind} ", ItemKind.TYPE, kind, description=shows(kind)) for kind in kinds)
    urge = Priority.STANDS if typed in kinds else Priority.NEEDED
    return Completions(end - len(typed), end, items, urge, "" if items else "no type here begins so")
