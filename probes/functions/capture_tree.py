"""The tree of what a probe on one function can capture: arguments, what is returned, and the fields behind them.

Nodes are made when they are opened; each says what ticking it captures, or why it can't be captured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from btf.btf import Btf
from btf.layout import Field, children
from btf.render import c_type
from btf.types import Array, Float, Fwd, Ptr, Struct
from btf.walk import is_complete, size_of, stripped
from probes.fetcharg import Comm, FetchArg, Hop, ReturnValue, Stack, Variable
from probes.functions.convention import FunctionConvention, PassedValue, passed
from probes.functions.fetcharg_types import best_type, is_text
from probes.functions.signature import Signature, certain_signature_of
from probes.functions.value import ValueUnavailable, locate
from probes.lowering.arguments.selection import tick

MAX_ELEMENTS = 64
"""Elements of an array that are shown."""


@dataclass(frozen=True, slots=True)
class CaptureNode:
    """One line of the tree."""

    label: str
    """`file`, `->f_pos`, `.dentry`, `[3]`, `$retval`."""
    fetcharg: FetchArg | None
    """What ticking captures; None: it can't be captured."""
    c_type: str = ""
    """As C writes it: `loff_t`."""
    kernel_type: str = ""
    """As the kernel stores it: `s64`, `string`, `%pD`, `b1` for a bit; empty for a struct."""
    offset: int | None = None
    """Bytes from the last pointer; None: it is in a register."""
    step: str = ""
    """How C goes on behind it: `->`, `.` or `[`; empty: nothing is behind it."""
    reason: str = ""
    """Why it can't be captured; empty: it can."""
    expression: Variable | ReturnValue | None = field(default=None, repr=False)
    type_id: int = field(default=0, repr=False)
    at_exit: bool = False
    """There at the exit only."""

    @property
    def expandable(self) -> bool:
        """Whether there is something behind it."""
        return bool(self.step)


class CaptureTree:
    """The tree of one function on one target."""

    def __init__(
        self,
        btf: Btf | None,
        function: str,
        machine: str,
        look_up: Callable[[Btf, str], Signature | None] = certain_signature_of,
    ) -> None:
        """Take a function's name; a tracepoint's with `look_up` being `probes.functions.signature.tracepoint_of`."""
        signature = look_up(btf, function) if btf is not None else None
        self._signature = signature
        self._where = (
            passed(signature.btf, signature.params, machine, signature.returns) if signature else FunctionConvention()
        )

    def roots(self) -> tuple[CaptureNode, ...]:
        """Give the first level: arguments in order, `$retval`, `$comm`, `$stack`."""
        signature = self._signature
        nodes: list[CaptureNode] = []
        if signature is None:
            nodes.append(CaptureNode("$retval", FetchArg(ReturnValue()), "", "x64", at_exit=True))
        else:
            pairs = zip(signature.params, self._where.params, strict=False)
            nodes += [_argument(signature, param.name, param.type_id, one) for param, one in pairs]
            if signature.returns:
                nodes.append(_node(signature, "$retval", ReturnValue(), signature.returns, None, at_exit=True))
        nodes.append(CaptureNode("$comm", FetchArg(Comm()), "char [16]", "string"))
        nodes.append(CaptureNode("$stack", FetchArg(Stack()), "void *", "x64"))
        return tuple(nodes)

    def children(self, node: CaptureNode, part: str = "") -> tuple[CaptureNode, ...]:
        """Give what is one step below a node, if anything; of members those that have `part` in their name."""
        low = part.lower()
        return tuple(self._below(node, lambda name: low in name.lower()))

    def child(self, node: CaptureNode, name: str) -> CaptureNode | None:
        """Give the member of this name (the element of this number) below a node; None: there is none."""
        return next(self._below(node, name.__eq__), None)

    def _below(self, node: CaptureNode, wanted: Callable[[str], bool]) -> Iterator[CaptureNode]:
        signature, parent = self._signature, node.expression
        if signature is None or parent is None:
            return
        below = children(signature.btf, node.type_id, MAX_ELEMENTS)
        if not below.op:
            yield from _pointed(signature, node)
        base = 0 if below.op == "->" else node.offset
        for member in below.fields:
            if wanted(member.name):
                found = _field(signature, parent, below.op, member, base, node.at_exit)
                yield found if base is not None else self._in_registers(signature, found)

    def _in_registers(self, signature: Signature, node: CaptureNode) -> CaptureNode:
        """A member of what is passed by value may lie where nothing can be read."""
        if node.expression is None or node.fetcharg is None:
            return node
        try:
            locate(signature, self._where, node.expression)
        except ValueUnavailable as error:
            return replace(node, fetcharg=None, kernel_type="", step="", reason=error.reason or error.code)
        return node


def _argument(signature: Signature, name: str, type_id: int, where: PassedValue) -> CaptureNode:
    if where.reason:
        return CaptureNode(name, None, c_type(signature.btf, type_id), reason=where.reason, type_id=type_id)
    node = _node(signature, name, Variable(name), type_id, 0 if where.by_reference else None, at_exit=False)
    if where.longs > 1 and node.fetcharg is not None:
        return _without(node, "it is in two registers: $$args shows each")
    return node


def _field(
    signature: Signature, parent: Variable | ReturnValue, op: str, member: Field, base: int | None, at_exit: bool
) -> CaptureNode:
    step = Hop(op, member.name)
    offset = None if base is None else base + member.byte_offset
    node = _node(signature, str(step), _longer(parent, step), member.type_id, offset, at_exit, member.bit_size)
    if base is None and op == "[]":
        return _without(node, "an array in registers can't be captured")
    return node


def _pointed(signature: Signature, node: CaptureNode) -> tuple[CaptureNode, ...]:
    """What a pointer to a plain value leads to: `pos[0]`."""
    kind = stripped(signature.btf, node.type_id)
    if node.expression is None or not isinstance(kind, Ptr) or not _has_value(signature.btf, kind.type_id):
        return ()
    step = Hop("[]", "0")
    return (_node(signature, "[0]", _longer(node.expression, step), kind.type_id, 0, node.at_exit),)


def _has_value(btf: Btf, type_id: int) -> bool:
    return not is_text(btf, type_id) and is_complete(btf, type_id) and best_type(btf, type_id) is not None


def _longer(expression: Variable | ReturnValue, step: Hop) -> Variable | ReturnValue:
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
    arg = FetchArg(expression) if bit_size else tick(signature, expression, type_id)
    node = CaptureNode(
        label, arg, c_type(btf, type_id), kind, offset, _step(btf, type_id), "", expression, type_id, at_exit
    )
    if best is None:
        return _without(node, _reason(btf, type_id))
    if offset is None and best.endswith("]"):
        return _without(node, "an array in registers can't be captured")
    return node


def _without(node: CaptureNode, reason: str) -> CaptureNode:
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
