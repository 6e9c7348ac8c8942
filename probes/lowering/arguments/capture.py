"""Write a fetcharg as a word for the kernel: by BTF name where possible, else by argument number and offsets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from btf.types import Array, Enum, Enum64, Int, Ptr, Struct, Type
from btf.walk import size_of, strip
from probes.facts.dialect import Dialect
from probes.fetcharg import (
    Argument,
    Cast,
    Comm,
    Dereference,
    Expression,
    FetchArg,
    PerCpu,
    ReturnValue,
    Variable,
    innermost,
)
from probes.functions.convention import FunctionConvention, has_kernel_position
from probes.functions.fetcharg_types import default_type, is_byte, own_type, unwrap
from probes.functions.signature import Signature, dentry_offsets
from probes.functions.value import Value, ValueUnavailable, locate, nest
from probes.lowering.arguments.naming import naming_of
from probes.lowering.arguments.pointers import numbers_of
from probes.plans.plan import PlanColumn
from probes.rules.messages.guesses import guess_name, name_hint, struct_behind, texts_in
from probes.rules.site import Site

_NUMBER = re.compile(r"[usx](8|16|32|64)")
_UNVALUED = ("string", "ustring", "symstr", "symbol", "%pd", "%pD")


@dataclass(frozen=True, slots=True)
class Capturer:
    """Writer of fetchargs for a place, with everything that decides how a value is written."""

    site: Site
    signature: Signature | None
    convention: FunctionConvention
    by_name: bool
    """True if the kernel itself looks this function up in BTF."""

    @property
    def dialect(self) -> Dialect:
        return self.site.dialect

    def words(self, arg: FetchArg, name: str) -> list[str]:
        """Return the words for a fetcharg under a field name, the best first. Raises ValueUnavailable."""
        alternatives = []
        result = self.convention.result
        if (
            isinstance(arg.expression, ReturnValue)
            and arg.type is None
            and result.longs > 1
            and self._is_plain_result
        ):
            half = f"$retval:s{self.dialect.bits}"
            raise ValueUnavailable("not_in_registers", f"it takes two registers; {half} is the first", token=str(arg))
        nameable = self._nameable(arg.expression)
        self.check_text(arg)
        if nameable:
            alternatives.append(word_of(name, str(arg.expression), self._type(arg.type) or self._own_width(arg)))
            if self._is_number_as_text(arg):
                return alternatives  # At an offset, the kernel would read the number's bytes as text.
        if not self.by_name or _has_btf_name(arg.expression):
            value, kind = self._by_offset(arg)
            alternatives.append(word_of(name, value, kind))
        return alternatives or [word_of(name, str(arg.expression), self._type(arg.type))]

    def _own_width(self, arg: FetchArg) -> str | None:
        """Return the type of a value that the kernel would assume to be wider; None: its default is right."""
        if self.signature is None or not isinstance(arg.expression, Variable | ReturnValue):
            return None
        type_id, btf = self.locate(arg.expression).type_id, self.signature.btf
        own = own_type(btf, type_id)
        return own if own != default_type(btf, type_id) else None

    @property
    def argument_numbers(self) -> dict[str, int]:
        """N of `$argN` by the parameters and registers that hold the same."""
        registers = self.dialect.argument_registers if self.site.at_entry else ()
        return numbers_of(self.signature, self.convention) | {
            f"%{register}": number for number, register in enumerate(registers, 1)
        }

    def column(self, arg: FetchArg, name: str) -> PlanColumn:
        """Return a description of the field's content."""
        expression = arg.expression
        is_retval = isinstance(expression, ReturnValue) and not expression.path
        type_id: int | None = None
        if self.signature is not None and isinstance(expression, Variable | ReturnValue):
            type_id = self.locate(expression).type_id
        elif self.signature is not None and isinstance(expression, Argument):
            pairs = zip(self.signature.params, self.convention.params, strict=False)
            whole = (p for p, w in pairs if w.slots == (expression.number,) and not w.by_reference)
            if (param := next(whole, None)) is not None:
                type_id, expression = param.type_id, Variable(param.name)
        valued = arg.type is None or not (arg.type in _UNVALUED or "[" in arg.type)
        kept = valued and (
            isinstance(expression, Argument) or (isinstance(expression, Variable) and not expression.path)
        )
        if not valued or type_id is None or self.signature is None:
            return PlanColumn(name, str(arg.expression), None, is_retval, kept)
        naming = ""
        if isinstance(expression, Variable | ReturnValue):
            naming = naming_of(self.signature, expression, type_id, self.site.environment)
        return PlanColumn(name, str(arg.expression), type_id, is_retval, kept, naming=naming)

    def check_text(self, arg: FetchArg) -> None:
        """Check that a value with a string type is text: other bytes would be shown as a name.

        Kernels before 6.6 read any memory at the address; later ones take a structure's size as a type id
        (btf_type_is_char_ptr). Raises ValueUnavailable.
        """
        kind, expression = arg.type or "", arg.expression
        target = self._read_as_text(arg)
        if target is None or self.signature is None or not isinstance(expression, Variable | ReturnValue):
            return
        btf, struct = self.signature.btf, struct_behind(self.signature.btf, target.id)
        is_text = isinstance(target, Ptr | Array) and is_byte(btf, target.type_id)
        if is_text or ("[" in kind and isinstance(target, Array) and struct is None):
            return
        if self._is_number_as_text(arg) and self._nameable(expression):
            return  # The kernel itself decides whether a number can be an address.
        if struct is None and not self.locate(expression).in_memory:
            return  # The value is the address of memory without a type.
        steps = texts_in(btf, target.id)
        hint = f"This is no text, but has some: {' '.join(steps)}" if steps else ""
        raise ValueUnavailable(
            "BAD_TYPE4STR", offset=len(str(expression)), token=f":{kind}", hint=hint, corrections=steps
        )

    def _read_as_text(self, arg: FetchArg) -> Type | None:
        """Return the type of a value that is to be read as text; None: it is not, or its type is unknown.

        Raises ValueUnavailable.
        """
        if (arg.type or "").partition("[")[0] not in ("string", "ustring") or self.signature is None:
            return None
        if isinstance(arg.expression, Variable) or (
            isinstance(arg.expression, ReturnValue) and self.signature.returns
        ):
            btf = self.signature.btf
            return btf.type(unwrap(btf, self.locate(arg.expression).type_id))
        return None

    def _is_number_as_text(self, arg: FetchArg) -> bool:
        return isinstance(self._read_as_text(arg), Int | Enum | Enum64)

    def locate(self, expression: Variable | ReturnValue) -> Value:
        """Locate a value of the function. Raises ValueUnavailable."""
        if self.signature is None:
            raise ValueUnavailable("NO_BTF_ENTRY", token=str(expression))
        if isinstance(expression, Variable) and self.signature.number_of(expression.name) is None:
            raise self._no_argument(expression.name, self.signature)
        value = locate(self.signature, self.convention, expression)
        if value.base.startswith("$stack") and not self.site.at_entry:
            raise ValueUnavailable(
                "not_in_registers", "it is on the stack, which is gone at the exit", token=str(expression)
            )
        return value

    def _no_argument(self, name: str, signature: Signature) -> ValueUnavailable:
        """Return the error for a name that no argument has, with similar names."""
        registers = () if self.site.no_registers else tuple(self.dialect.registers or ())
        meant, names = guess_name(name, signature, registers), [param.name for param in signature.params]
        if self.site.tracepoint and meant == ("$retval",):
            meant = ()
        return ValueUnavailable(
            "NO_BTFARG", token=name, names=names, hint=name_hint(name, signature), corrections=meant
        )

    def _type(self, kind: str | None) -> str | None:
        return type_on_kernel(kind, self.dialect)

    def _nameable(self, expression: Expression) -> bool:
        """Return whether the kernel, given this text, reads the right value."""
        expression = innermost(expression)
        if isinstance(expression, ReturnValue) and not expression.path:
            return self.by_name or self.signature is None  # otherwise it would be hexadecimal, even -ENOENT
        if isinstance(expression, ReturnValue):
            return self.by_name and self._agrees(expression)
        if not isinstance(expression, Variable):
            return True
        if not self.by_name or self.signature is None or any(hop.op == "[]" for hop in expression.path):
            return False
        number = self.signature.number_of(expression.name)
        return number is not None and has_kernel_position(self.convention, number) and self._agrees(expression)

    @property
    def _is_plain_result(self) -> bool:
        """True if the function does not return a struct."""
        btf, returns = (self.signature.btf, self.signature.returns) if self.signature is not None else (None, 0)
        return btf is not None and not isinstance(btf.type(strip(btf, returns)), Struct)

    def _agrees(self, expression: Variable | ReturnValue) -> bool:
        """Return whether the kernel reads the path's value correctly. Raises ValueUnavailable for a wrong path.

        Kernels misread bit-fields. They shift eight bytes of the record although the field has fewer, which damages
        data already written after it, text above all; they read a bit-field of whole bytes in the width of its type;
        and they count from the lowest bit on big-endian machines too (parse_btf_bitfield, fetch_apply_bitfield).
        """
        if any(hop.op == "[]" for hop in expression.path):
            return False
        value = self.locate(expression)
        return value.kernel_agrees and not value.bit_size

    @property
    def is_big_endian(self) -> bool:
        """True if the highest byte of a value comes first."""
        return self.signature is not None and self.signature.btf.byteorder == "big"

    def _by_offset(self, arg: FetchArg) -> tuple[str, str | None]:
        """Return the text without BTF names, and its type."""
        expression = arg.expression
        if isinstance(expression, Variable | ReturnValue):
            if self.signature is None and isinstance(expression, ReturnValue) and not expression.path:
                return "$retval", self._type(arg.type)
            return self.typed(self.locate(expression), arg.type)
        if isinstance(expression, Dereference | Cast | PerCpu):
            return self._inner(expression), self._type(arg.type)
        return str(expression), self._type(arg.type)

    def _inner(self, expression: Expression) -> str:
        """Return the text of the expression within a dereference or a cast."""
        if isinstance(expression, Dereference | PerCpu):
            return str(replace(expression, inner=Comm(self._inner(expression.inner))))
        if isinstance(expression, Cast):
            return str(replace(expression, inner=Comm(self._inner(expression.inner)), bracketed=True))
        if isinstance(expression, Variable | ReturnValue) and not (
            self.signature is None and isinstance(expression, ReturnValue) and not expression.path
        ):
            return self.locate(expression).address
        return str(expression)

    def typed(self, value: Value, wanted: str | None) -> tuple[str, str | None]:
        """Return the text of a value, with a type that says everything the kernel would know from BTF."""
        signature = self.signature
        assert signature is not None  # noqa: S101 - the value was located with it
        btf = signature.btf
        kind = self._type(wanted)
        text = value.address
        if kind in ("%pd", "%pD"):
            name, dentry = dentry_offsets(btf)
            return nest(text, (name, 0) if kind == "%pd" else (dentry, name, 0)), "string"
        if kind is not None and kind.partition("[")[0] in ("string", "ustring"):
            target = btf.type(unwrap(btf, value.type_id))
            if isinstance(target, Ptr) and is_byte(btf, target.type_id):
                text = nest(text, (0,), user=kind.startswith("u"))
            return text, kind
        if kind is None:
            kind = self._default(value)
        elif value.is_part and _NUMBER.fullmatch(kind):
            width = min(int(kind[1:]), value.bit_size or size_of(btf, value.type_id) * 8)
            kind = bit_type(value.bit_offset, width, self.dialect.bits)
        return text, kind

    def _default(self, value: Value) -> str | None:
        """Return the type that the kernel would take from BTF, including bit-fields."""
        signature = self.signature
        assert signature is not None  # noqa: S101
        bits = self.dialect.bits
        if value.bit_size:
            kind = bit_type(value.bit_offset, value.bit_size, bits if not value.in_memory else 8)
            return _from_lowest_bit(kind) if value.in_memory and signature.btf.byteorder == "big" else kind
        if value.bit_offset:
            return bit_type(value.bit_offset, size_of(signature.btf, value.type_id) * 8, bits)
        return own_type(signature.btf, value.type_id) or f"x{bits}"


def type_on_kernel(kind: str | None, dialect: Dialect) -> str | None:
    """Return the type, or this kernel's substitute for a type that it lacks."""
    if kind is not None and not dialect.char and re.fullmatch(r"char(\[.*)?", kind):
        return f"u8{kind[4:]}"
    return kind


def bit_type(offset: int, size: int, smallest: int) -> str:
    """Return `bSIZE@OFFSET/CONTAINER` with the smallest container, of at least `smallest` bits, for the bits."""
    container = next((bits for bits in (8, 16, 32, 64) if bits >= max(smallest, offset + size)), 64)
    return f"b{size}@{offset}/{container}"


def _from_lowest_bit(kind: str) -> str:
    """Return a bit-field type counted from the lowest bit.

    BTF counts from the first byte, which is the highest on a big-endian machine.
    """
    size, offset, container = map(int, re.findall(r"\d+", kind))
    return f"b{size}@{container - offset - size}/{container}"


def _has_btf_name(expression: Expression) -> bool:
    """Return whether an expression contains a BTF name."""
    expression = innermost(expression)
    return isinstance(expression, Variable) or (isinstance(expression, ReturnValue) and bool(expression.path))


def needs_entry(expression: Expression) -> bool:
    """Return whether an expression is an argument, which exists at the entry of a call."""
    return isinstance(innermost(expression), Variable | Argument)


def needs_exit(expression: Expression) -> bool:
    """Return whether an expression exists at the exit only."""
    return isinstance(innermost(expression), ReturnValue)


def word_of(name: str, value: str, kind: str | None) -> str:
    """Return the word of a fetcharg; a bare name needs no `name=`."""
    head = "" if value == name and kind not in ("%pd", "%pD") else f"{name}="
    return f"{head}{value}" + (f":{kind}" if kind is not None else "")


def field_name(arg: FetchArg, names: Sequence[str]) -> str:
    """Return a preferred field name: the last member of the path, and more of the path where that name is in use."""
    expression = arg.expression
    while isinstance(expression, Dereference):
        expression = expression.inner
    if isinstance(expression, Variable | ReturnValue):
        first = expression.name if isinstance(expression, Variable) else "ret"
        steps = [first, *(hop.name for hop in expression.path)]
        for count in range(1, len(steps) + 1):
            name = "_".join(steps[-count:])
            if not steps[-count][:1].isdigit() and name not in names:
                return name
        return "_".join(steps)
    text = str(expression).lstrip("$%@\\+-")
    return re.sub(r"\W+", "_", text).strip("_") or "value"
