"""Warn of values whose recorded form is probably not what the user means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from btf.types import Array, Enum, Enum64, Int, Ptr, Struct
from btf.walk import size_of
from probes.fetcharg import FetchArg, ReturnValue, Variable
from probes.functions.fetcharg_types import default_type, is_text, is_user, unwrap
from probes.lowering.arguments.capture import Capturer
from probes.lowering.arguments.event_words import NamedField
from probes.plans.plan import PlanColumn
from probes.rules.messages.guesses import struct_behind

_NUMBER = re.compile(r"[usx](8|16|32|64)")


def value_warnings(fields: Sequence[NamedField], columns: Sequence[PlanColumn], capturer: Capturer) -> list[str]:
    """Return warnings on the values a person named (`$$args` has suitable types), and on lost signs of all values."""
    names = {column.name for column in columns}
    written = [field for field in fields if field.name in names]
    warnings = (
        (field.name, value_warning(capturer, field.request.arg)) for field in written if field.request.is_explicit
    )
    signs = (lost_sign_warning(capturer, field.request.arg) for field in written)
    return [*(f"{name}: {warning}" for name, warning in warnings if warning), *filter(None, signs)]


def value_warning(capturer: Capturer, arg: FetchArg) -> str:
    """Return a warning that the recorded value is hardly what is meant; empty: none. Raises ValueUnavailable."""
    kind, declared = arg.type, capturer.column(replace(arg, type=None), "").btf_type
    if capturer.signature is None or declared is None:
        return ""
    btf = capturer.signature.btf
    value = btf.type(unwrap(btf, declared))
    if kind is None and isinstance(value, Struct):
        what = "a union" if value.keyword == "union" else "a structure"
        return f"{what}; its first bytes are shown as a number"
    if kind is None and isinstance(value, Array):
        text = "; :string shows it" if is_text(btf, value.type_id) else ""
        return f"an array; its first bytes are shown as a number{text}"
    if kind is None and isinstance(value, Ptr) and is_text(btf, value.type_id):
        return f"its address is recorded, not the text: {_as_text(arg, is_user(btf, value.id))}"
    # An `unsigned long` may well be an address.
    wide = isinstance(btf.type(declared), Int) and size_of(btf, declared) == btf.pointer_size
    is_number = isinstance(value, Enum | Enum64) or (isinstance(value, Int) and (value.is_signed or not wide))
    if kind is not None and kind.partition("[")[0] in ("string", "ustring") and is_number:
        return "a number read as an address of text gives (fault)"
    named = {"%pd": "dentry", "%pD": "file"}.get(kind or "")
    behind = struct_behind(btf, value.id)
    if named and behind is not None and not (isinstance(value, Ptr) and behind.name == named):
        return f"{kind} takes the address of a struct {named}, this is none: what is shown is no name"
    return _misread(capturer, arg)


def _as_text(arg: FetchArg, is_user_pointer: bool) -> str:
    """Return the advice which type records a pointer's text; a mere argument may point to user or kernel memory."""
    named, path = str(arg.expression), isinstance(arg.expression, Variable) and arg.expression.path
    if is_user_pointer:
        return f"{named}:ustring gives it"
    if path or isinstance(arg.expression, ReturnValue):
        return f"{named}:string gives it"
    return f"{named}:ustring gives it from the task's memory, {named}:string from the kernel's"


def _misread(capturer: Capturer, arg: FetchArg) -> str:
    """Return a warning that a number's type has another width than the value."""
    number, expression = _NUMBER.fullmatch(arg.type or ""), arg.expression
    if number is None or capturer.signature is None or not isinstance(expression, Variable | ReturnValue):
        return ""
    btf, value = capturer.signature.btf, capturer.locate(expression)
    kind, bits = btf.type(unwrap(btf, value.type_id)), size_of(btf, value.type_id) * 8
    if not isinstance(kind, Int | Enum | Enum64) or value.is_part:
        return ""
    if value.bit_size:
        if not value.bit_offset and int(number[1]) == value.bit_size:
            return ""
        has = f"{value.bit_size} bits" if value.bit_size > 1 else "one bit"
        return f"it has {has}, {arg.type} shows what lies beside it too; without a type it is alone"
    if int(number[1]) > bits:
        return f"it has {bits} bits, {arg.type} shows what lies beside it too"
    if int(number[1]) < bits and value.in_memory and capturer.is_big_endian:
        return f"it has {bits} bits, and this machine has the highest first: {arg.type} shows those"
    return ""


def lost_sign_warning(capturer: Capturer, arg: FetchArg) -> str:
    """Return a warning that a signed number loses its sign as part of a register; empty: it doesn't."""
    if capturer.signature is None or not isinstance(arg.expression, Variable | ReturnValue):
        return ""
    value = capturer.locate(arg.expression)
    kind = arg.type or default_type(capturer.signature.btf, value.type_id) or ""
    whole = value.in_memory or not value.bit_offset or value.bit_size not in (0, 8, 16, 32, 64)
    if whole or _NUMBER.fullmatch(kind) is None or not kind.startswith("s"):
        return ""
    return f"{arg.expression}: a part of a register has no sign, -1 is shown as the largest number"
