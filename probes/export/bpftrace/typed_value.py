"""Translate a probe's values to bpftrace by names: `args->file->f_pos`, as the target's types have them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from btf.render import c_type
from btf.types import Array, Enum, Enum64, Int, Ptr, Struct
from btf.walk import strip
from probes.export.bpftrace.value import BpftraceValue, bracketed, number, text
from probes.fetcharg import Argument, Expression, FetchArg, Hop, ReturnValue, Variable
from probes.functions.convention import FunctionConvention
from probes.functions.fetcharg_types import is_byte, own_type, unwrap
from probes.functions.signature import Signature
from probes.functions.value import Value, ValueUnavailable, locate
from probes.plans.plan import PlanColumn
from probes.syntax.parse_error import ParseError
from probes.syntax.parse_fetcharg import parse_fetcharg

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAMED = {"file": "->f_path.dentry->d_name.name", "dentry": "->d_name.name"}
"""Paths to the name of a structure, as `%pD` and `%pd` print it."""
_MAX_ELEMENTS = 16


@dataclass(frozen=True, slots=True)
class TypedFunction:
    """Function whose values are named by its types."""

    signature: Signature
    convention: FunctionConvention

    def parameter_at(self, slot: int) -> int | None:
        """Return the position of the parameter that is `$argN` whole, N - 1 being the slot; None: none is."""
        places = enumerate(self.convention.params)
        return next((n for n, place in places if place.slots == (slot + 1,) and not place.by_reference), None)

    def slot_of(self, name: str) -> int | None:
        """Return N - 1 of the `$argN` that is a parameter whole; None: no register is."""
        position = self.signature.number_of(name)
        slots = self.convention.params[position].slots if position is not None else ()
        return slots[0] - 1 if len(slots) == 1 else None

    def cast(self, name: str) -> str:
        """Return the type of a parameter for a cast from its register; empty: it has no name."""
        position = self.signature.number_of(name)
        return self._pointer(self.signature.params[position].type_id if position is not None else 0)

    @property
    def result(self) -> str:
        """Type of the returned pointer, for a cast; empty: it has no name, or is no pointer to a structure."""
        return self._pointer(self.signature.returns)

    def _pointer(self, type_id: int) -> str:
        btf = self.signature.btf
        pointer = btf.type(strip(btf, type_id))
        struct = btf.type(strip(btf, pointer.type_id)) if isinstance(pointer, Ptr) else None
        named = isinstance(struct, Struct) and _NAME.fullmatch(struct.name)
        return f"{c_type(btf, struct.id)} *" if isinstance(struct, Struct) and named else ""


@dataclass(frozen=True, slots=True)
class TypedPlace:
    """Place where a function's values are read by name."""

    function: TypedFunction
    parameter: Callable[[str], str]
    """Function that returns the expression of a parameter; empty: it has none of the parameter's type."""
    result: str
    """Expression of the return value; empty: it has none of its type."""
    scalars: bool
    """True if expressions have the types of plain numbers, too; False: 64 bits of a register."""

    def value(self, arg: FetchArg, column: PlanColumn | None) -> BpftraceValue | None:
        """Return a value by names; None: it has none, and is read by offsets."""
        try:
            expression = parse_fetcharg(column.label).expression if column is not None else arg.expression
            named = self._named(expression)
            if named is None or (not named.path and not self.scalars and not _is_text(arg)):
                return None
            located = locate(self.function.signature, self.function.convention, named)
            base = self.parameter(named.name) if isinstance(named, Variable) else self.result
            if not base or not self._is_said(named, located):
                return None
        except (ParseError, ValueUnavailable):
            return None
        return self._shown(base + "".join(map(str, named.path)), located, arg.type or "x64")

    def _named(self, expression: Expression) -> Variable | ReturnValue | None:
        """Return an expression by the name of its parameter."""
        if isinstance(expression, Argument):
            position = self.function.parameter_at(expression.number - 1)
            name = self.function.signature.params[position].name if position is not None else ""
            return Variable(name) if name else None
        return expression if isinstance(expression, Variable | ReturnValue) else None

    def _is_said(self, named: Variable | ReturnValue, located: Value) -> bool:
        """Return whether bpftrace follows a path: structures behind pointers, elements of arrays last."""
        names = [hop.name for hop in named.path if hop.op != "[]"]
        names += [named.name] if isinstance(named, Variable) else []
        if not all(_NAME.fullmatch(name) for name in names) or (named.path[:1] and named.path[0].op != "->"):
            return False
        if not any(hop.op == "[]" for hop in named.path):
            return located.in_memory or not located.is_part
        outer = self._without_last(named)
        return outer is not None and isinstance(self._type(outer.type_id), Array)

    def _without_last(self, named: Variable | ReturnValue) -> Value | None:
        path: tuple[Hop, ...] = named.path[:-1]
        if any(hop.op == "[]" for hop in path) or not path:
            return None
        shorter = Variable(named.name, path) if isinstance(named, Variable) else ReturnValue(path)
        return locate(self.function.signature, self.function.convention, shorter)

    def _type(self, type_id: int) -> object:
        btf = self.function.signature.btf
        return btf.type(strip(btf, type_id))

    def _shown(self, path: str, located: Value, kind: str) -> BpftraceValue | None:
        """Return the value at a path as a type shows it; None: bpftrace does not show it so."""
        if kind in ("string", "ustring"):
            return self._text(path, located, user=kind == "ustring")
        array = re.fullmatch(r"([usx](?:8|16|32|64))\[(\d+)\]", kind)
        if array is not None:
            return self._array(path, located, array[1], int(array[2]))
        btf = self.function.signature.btf
        path, type_id = self._inside(path, located.type_id)
        if "?" in path:
            return None  # an unreadable name
        inner, own = btf.type(type_id), own_type(btf, type_id) or "u64"
        if not isinstance(inner, Int | Enum | Enum64 | Ptr):
            return None
        if located.bit_size:  # the kernel shows the bits of a signed one without their sign
            whole = "u64" if located.bit_size > 32 else "u32"
            return number(path, whole, whole) if own[0] != "s" else None
        return number(path, kind, own)

    def _inside(self, path: str, type_id: int) -> tuple[str, int]:
        """Return the path and the type of the only number in a structure, as of `kuid_t`."""
        btf = self.function.signature.btf
        inner, current = unwrap(btf, type_id), strip(btf, type_id)
        while current != inner:
            struct = btf.type(current)
            if not isinstance(struct, Struct):
                break
            member = struct.members[0]
            name = member.name if not member.name or _NAME.fullmatch(member.name) else "?"
            path, current = f"{path}.{name}" if name else path, strip(btf, member.type_id)
        return path, inner

    def _text(self, path: str, located: Value, *, user: bool) -> BpftraceValue | None:
        btf = self.function.signature.btf
        found = btf.type(unwrap(btf, located.type_id))
        inner = btf.type(strip(btf, found.type_id)) if isinstance(found, Ptr | Array) else None
        if isinstance(found, Array):
            is_string = isinstance(inner, Int) and inner.name == "char"
            return text(path) if is_string else None
        if not isinstance(found, Ptr) or inner is None:
            return None
        if is_byte(btf, found.type_id):
            return text(f"str(uptr({path}))" if user else f"str({path})")
        suffix = _NAMED.get(inner.name) if isinstance(inner, Struct) else None
        return text(f"str({path}{suffix})") if suffix else None

    def _array(self, path: str, located: Value, kind: str, count: int) -> BpftraceValue | None:
        found, btf = self._type(located.type_id), self.function.signature.btf
        if not isinstance(found, Array) or not 0 < count <= min(found.nelems, _MAX_ELEMENTS):
            return None
        own = own_type(btf, found.type_id)
        if own is None or not isinstance(btf.type(strip(btf, found.type_id)), Int):
            return None
        elements = [number(f"{path}[{index}]", kind, own) for index in range(count)]
        formats, values = [each.format for each in elements], [each.values[0] for each in elements]
        return BpftraceValue("{" + ",".join(formats) + "}", tuple(values))


def _is_text(arg: FetchArg) -> bool:
    return arg.type in ("string", "ustring")


def cast_to(kind: str, register: str) -> str:
    """Return a pointer of a type from a register, to follow: `((struct file *)arg0)`."""
    return f"(({kind}){bracketed(register)})" if kind else ""
