"""Build the tree of values that a probe on a function can capture: arguments, return value, and their fields.

A node's children are made when the node is opened. Each node has the fetcharg that ticking it adds, or the reason why
it can't be captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from btf.btf import Btf
from btf.layout import StructField, children
from btf.render import c_type, declaration
from btf.types import Array, Float, Fwd, Ptr, Struct
from btf.walk import is_complete, size_of, stripped
from events.names.function_choice import is_type
from probes.fetcharg import Comm, FetchArg, Hop, ReturnValue, Stack, Variable
from probes.functions.convention import FunctionConvention, PassedValue, convention_of
from probes.functions.fetcharg_types import best_type, fetcharg_for, is_text
from probes.functions.signature import Signature, certain_signature_of
from probes.functions.value import ValueUnavailable, locate

MAX_ELEMENTS = 64
"""Largest number of elements of an array in the tree."""


@dataclass(frozen=True, slots=True)
class CaptureNode:
    """Node of the tree: an argument, the return value, a member or an element."""

    label: str
    """Text of the step to this node: `file`, `->f_pos`, `.dentry`, `[3]`, `$retval`."""
    fetcharg: FetchArg | None
    """Fetcharg that ticking the node adds; None: it can't be captured."""
    c_type: str = ""
    """Type in C: `loff_t`."""
    kernel_type: str = ""
    """Type of the fetcharg: `s64`, `string`, `%pD`, `b1` for a bit; empty for a struct."""
    offset: int | None = None
    """Offset in bytes from the last pointer; None: the value is in a register."""
    step: str = ""
    """C operator from this node to its children: `->`, `.` or `[`; empty: no children."""
    reason: str = ""
    """Reason why the value can't be captured; empty: it can."""
    expression: Variable | ReturnValue | None = field(default=None, repr=False)
    type_id: int = field(default=0, repr=False)
    at_exit: bool = False
    """True if the value exists at the exit only."""

    @property
    def expandable(self) -> bool:
        """True if the node has children."""
        return bool(self.step)


_RAW_RESULT = CaptureNode("$retval", FetchArg(ReturnValue()), "", "x64", at_exit=True)


class CaptureTree:
    """The tree of a function on a target."""

    def __init__(
        self,
        btf: Btf | None,
        function: str,
        machine: str,
        look_up: Callable[[Btf, str], Signature | None] = certain_signature_of,
    ) -> None:
        """Take a function's name; a tracepoint's if `look_up` is `probes.functions.signature.tracepoint_of`."""
        signature = look_up(btf, function) if btf is not None else None
        self._signature = signature
        self._convention = (
            convention_of(signature.btf, signature.params, machine, signature.returns)
            if signature
            else FunctionConvention()
        )

    @property
    def parameters(self) -> str:
        """Parameters in C, as in a prototype; empty where there is no signature."""
        signature = self._signature
        if signature is None:
            return ""
        return ", ".join(declaration(signature.btf, one.type_id, one.name, sparse=True) for one in signature.params)

    def roots(self) -> tuple[CaptureNode, ...]:
        """Return the first level: arguments in order, `$retval`, `$comm`, `$stack`."""
        signature = self._signature
        nodes: list[CaptureNode] = []
        if signature is None:
            nodes.append(_RAW_RESULT)
        else:
            pairs = zip(signature.params, self._convention.params, strict=False)
            nodes += [_argument(signature, param.name, param.type_id, passed_value) for param, passed_value in pairs]
            if signature.returns:
                nodes.append(_node(signature, "$retval", ReturnValue(), signature.returns, None, at_exit=True))
            elif is_type(signature.name):  # its functions return different types
                nodes.append(_RAW_RESULT)
        nodes.append(CaptureNode("$comm", FetchArg(Comm()), "char [16]", "string"))
        nodes.append(CaptureNode("$stack", FetchArg(Stack()), "void *", "x64"))
        return tuple(nodes)

    def children(self, node: CaptureNode, part: str = "") -> tuple[CaptureNode, ...]:
        """Return the children of a node, if any; of struct members those whose name contains `part`."""
        low = part.lower()
        return tuple(self._children_of(node, lambda name: low in name.lower()))

    def child(self, node: CaptureNode, name: str) -> CaptureNode | None:
        """Return the member of this name (the element of this number) of a node; None: there is none."""
        return next(self._children_of(node, name.__eq__), None)

    def _children_of(self, node: CaptureNode, accept: Callable[[str], bool]) -> Iterator[CaptureNode]:
        signature, parent = self._signature, node.expression
        if signature is None or parent is None:
            return
        layout = children(signature.btf, node.type_id, MAX_ELEMENTS)
        if not layout.op:
            yield from _pointer_target(signature, node)
        base = 0 if layout.op == "->" else node.offset
        for member in layout.fields:
            if accept(member.name):
                child = _field(signature, parent, layout.op, member, base, node.at_exit)
                yield child if base is not None else self._in_registers(signature, child)

    def _in_registers(self, signature: Signature, node: CaptureNode) -> CaptureNode:
        """Return a member of a struct passed by value, without its fetcharg if no probe can read the member."""
        if node.expression is None or node.fetcharg is None:
            return node
        try:
            locate(signature, self._convention, node.expression)
        except ValueUnavailable as error:
            return replace(node, fetcharg=None, kernel_type="", step="", reason=error.reason or error.code)
        return node


def _argument(signature: Signature, name: str, type_id: int, passed_value: PassedValue) -> CaptureNode:
    if passed_value.reason:
        return CaptureNode(name, None, c_type(signature.btf, type_id), reason=passed_value.reason, type_id=type_id)
    node = _node(signature, name, Variable(name), type_id, 0 if passed_value.by_reference else None, at_exit=False)
    if passed_value.longs > 1 and node.fetcharg is not None:
        return _uncapturable(node, "it is in two registers: $$args shows each")
    return node


def _field(
    signature: Signature,
    parent: Variable | ReturnValue,
    op: str,
    member: StructField,
    base: int | None,
    at_exit: bool,
) -> CaptureNode:
    step = Hop(op, member.name)
    offset = None if base is None else base + member.byte_offset
    node = _node(signature, str(step), _extend(parent, step), member.type_id, offset, at_exit, member.bit_size)
    if base is None and op == "[]":
        return _uncapturable(node, "an array in registers can't be captured")
    return node


def _pointer_target(signature: Signature, node: CaptureNode) -> tuple[CaptureNode, ...]:
    """Return the target of a pointer to a plain value: `pos[0]`."""
    kind = stripped(signature.btf, node.type_id)
    if node.expression is None or not isinstance(kind, Ptr) or not _has_value(signature.btf, kind.type_id):
        return ()
    step = Hop("[]", "0")
    return (_node(signature, "[0]", _extend(node.expression, step), kind.type_id, 0, node.at_exit),)


def _has_value(btf: Btf, type_id: int) -> bool:
    return not is_text(btf, type_id) and is_complete(btf, type_id) and best_type(btf, type_id) is not None


def _extend(expression: Variable | ReturnValue, step: Hop) -> Variable | ReturnValue:
    if isinstance(expression, Variable):
        return Variable(expression.name, (*expression.path, step))
    return ReturnValue((*expression.path, step))


def _node(
    signature: Signature,
    label: str,
    expression: Variable | ReturnValue,
    type_id: int,
    offset: int | None,
    at_exit: bool,
    bit_size: int = 0,
) -> CaptureNode:
    btf = signature.btf
    best = best_type(btf, type_id)
    kind = f"b{bit_size}" if bit_size else best or ""
    arg = FetchArg(expression) if bit_size else fetcharg_for(signature.btf, expression, type_id)
    node = CaptureNode(
        label, arg, c_type(btf, type_id), kind, offset, _step(btf, type_id), "", expression, type_id, at_exit
    )
    if best is None:
        return _uncapturable(node, _reason(btf, type_id))
    if offset is None and best.endswith("]"):
        return _uncapturable(node, "an array in registers can't be captured")
    return node


def _uncapturable(node: CaptureNode, reason: str) -> CaptureNode:
    return CaptureNode(
        node.label,
        None,
        node.c_type,
        "",
        node.offset,
        node.step,
        reason,
        node.expression,
        node.type_id,
        node.at_exit,
    )


def _step(btf: Btf, type_id: int) -> str:
    kind = stripped(btf, type_id)
    if isinstance(kind, Struct):
        return "." if kind.members else ""
    if isinstance(kind, Array):
        return "[" if not is_text(btf, kind.type_id) and is_complete(btf, kind.type_id) else ""
    if not isinstance(kind, Ptr):
        return ""
    target = stripped(btf, kind.type_id)
    if isinstance(target, Struct):
        return "->" if target.members else ""
    return "[" if _has_value(btf, kind.type_id) else ""


def _reason(btf: Btf, type_id: int) -> str:
    kind = stripped(btf, type_id)
    if isinstance(kind, Struct):
        return f"a {kind.keyword}: open it and pick from its members" if kind.members else f"an empty {kind.keyword}"
    if isinstance(kind, Array):
        return "an array without a length" if not kind.nelems else "an array: open it and pick an element"
    if isinstance(kind, Float):
        return "a floating-point value can't be captured"
    if isinstance(kind, Fwd):
        return "only declared, its members are not known"
    if is_complete(btf, type_id):
        return f"a value of {size_of(btf, type_id)} bytes can't be captured"
    return "it has no value"
