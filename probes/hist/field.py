"""Represent a field of a histogram as the kernel stores it: key, value, variable, reference or expression.

`struct hist_field` of kernel/trace/trace_events_hist.c, as far as the kernel's answers depend on it.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from probes.facts.lookups import StaticEventField
from probes.hist.dialect import HistDialect
from probes.rules.events.predicate import COMMON, is_text
from probes.syntax.text import is_identifier

LONG_STRING = 256
"""Bytes of a string of unknown length (MAX_FILTER_STR_VAL)."""
_NUMBER_SIZES = (1, 2, 4, 8)
_DIVISION_SHIFT = 20
_MASK = (1 << 64) - 1


class HistFieldFlag(enum.IntFlag):
    """Flags of a field (HIST_FIELD_FL_*)."""

    NONE = 0
    HITCOUNT = enum.auto()
    KEY = enum.auto()
    STRING = enum.auto()
    HEX = enum.auto()
    SYM = enum.auto()
    SYM_OFFSET = enum.auto()
    EXECNAME = enum.auto()
    SYSCALL = enum.auto()
    STACKTRACE = enum.auto()
    LOG2 = enum.auto()
    TIMESTAMP = enum.auto()
    USECS = enum.auto()
    VAR = enum.auto()
    EXPR = enum.auto()
    VAR_REF = enum.auto()
    CPU = enum.auto()
    ALIAS = enum.auto()
    BUCKET = enum.auto()
    CONST = enum.auto()
    PERCENT = enum.auto()
    GRAPH = enum.auto()
    COMM = enum.auto()


SHOWN = (
    (HistFieldFlag.HEX, "hex"),
    (HistFieldFlag.SYM, "sym"),
    (HistFieldFlag.SYM_OFFSET, "sym-offset"),
    (HistFieldFlag.EXECNAME, "execname"),
    (HistFieldFlag.SYSCALL, "syscall"),
    (HistFieldFlag.LOG2, "log2"),
    (HistFieldFlag.BUCKET, "buckets"),
    (HistFieldFlag.USECS, "usecs"),
    (HistFieldFlag.PERCENT, "percent"),
    (HistFieldFlag.GRAPH, "graph"),
    (HistFieldFlag.STACKTRACE, "stacktrace"),
)
"""Formats by flag, in the order in which the kernel tests the flags (get_hist_field_flags)."""


class HistError(Exception):
    """Rejection of a command by the kernel; error_log's part is noted, the argument has the rest."""


@dataclass(eq=False, slots=True)
class HistField:
    """Field of a histogram, compared by identity."""

    flags: HistFieldFlag
    field: StaticEventField | None = None
    type: str = ""
    size: int = 0
    signed: bool = False
    operands: tuple[HistField, ...] = ()
    operator: str = ""
    name: str = ""
    """Name of an expression, or of the variable referred to."""
    variable: str | None = None
    """Name of the variable that the field is; None: no variable."""
    target: HistField | None = None
    """The variable that the field refers to."""
    constant: int = 0
    offset: int = 0
    """Offset of a key in bytes."""

    @property
    def shown_name(self) -> str:
        """Name to sort by (hist_field_name)."""
        return _shown_name(self, 0)


def is_stack(field: StaticEventField) -> bool:
    """Return whether a field is the stack recorded by a synthetic event."""
    return field.type.startswith("__data_loc ") and "long[" in field.type


def create_field(
    event_field: StaticEventField | None, flags: HistFieldFlag, dialect: HistDialect, variable: str | None = None
) -> HistField:
    """Build a field (create_hist_field). Raises HistError for a field whose size is not that of a number."""
    field = HistField(flags, event_field, variable=variable)
    if flags & (HistFieldFlag.EXPR | HistFieldFlag.ALIAS | HistFieldFlag.VAR_REF):
        return field
    if flags & (HistFieldFlag.HITCOUNT | HistFieldFlag.CONST):
        field.type, field.size = "u64", 8
    elif flags & HistFieldFlag.STACKTRACE:
        field.type, field.size = ("unsigned long[]", dialect.stack_size) if dialect.stack_field else ("", 0)
    elif flags & (HistFieldFlag.LOG2 | HistFieldFlag.BUCKET):
        operand = create_field(event_field, flags & ~(HistFieldFlag.LOG2 | HistFieldFlag.BUCKET), dialect)
        field.operands, field.type, field.size = (operand,), operand.type, operand.size
    elif flags & HistFieldFlag.TIMESTAMP:
        field.type, field.size = "u64", 8
    elif flags & HistFieldFlag.CPU:
        field.type, field.size = "unsigned int", 4
    elif flags & HistFieldFlag.COMM:
        field.type, field.size = "char[]", LONG_STRING
    elif event_field is not None:
        _copy_type(field, event_field, dialect)
    return field


def _copy_type(hist_field: HistField, field: StaticEventField, dialect: HistDialect) -> None:
    """Copy type and size of an event's field. Raises HistError."""
    hist_field.type = field.type
    if is_text(field):
        dynamic = "__data_loc" in field.type or "__rel_loc" in field.type
        hist_field.flags |= HistFieldFlag.STRING
        hist_field.size = LONG_STRING if dynamic else field.size
    elif dialect.stack_field and is_stack(field):
        hist_field.flags |= HistFieldFlag.STACKTRACE
        hist_field.size = LONG_STRING
    elif field.size in _NUMBER_SIZES:
        hist_field.size, hist_field.signed = field.size, field.signed
    else:
        raise HistError(f"{field.name} is neither a number nor text")


def refer(field: HistField, target: HistField, dialect: HistDialect) -> HistField:
    """Make a field refer to a variable (init_var_ref)."""
    inherited = (
        HistFieldFlag.TIMESTAMP
        | HistFieldFlag.USECS
        | (HistFieldFlag.STACKTRACE if dialect.stack_by_flag else HistFieldFlag.NONE)
    )
    field.flags |= target.flags & inherited
    field.target = target
    field.type, field.size, field.signed = target.type, target.size, target.signed
    field.name = target.variable if target.variable is not None else target.name
    return field


def _shown_name(field: HistField, level: int) -> str:
    if level > 1:
        return ""
    flags = field.flags
    if field.field is not None:
        return field.field.name
    if flags & (HistFieldFlag.LOG2 | HistFieldFlag.ALIAS | HistFieldFlag.BUCKET) and field.operands:
        return _shown_name(field.operands[0], level + 1)
    if flags & HistFieldFlag.CPU:
        return "common_cpu"
    if flags & HistFieldFlag.COMM:
        return "common_comm"
    if flags & (HistFieldFlag.EXPR | HistFieldFlag.VAR_REF):
        return (
            field.name
        )  # an event path would precede the name, but a sort key ends at its dot, so such a field can't be sorted by
    if flags & HistFieldFlag.TIMESTAMP:
        return "common_timestamp"
    if flags & HistFieldFlag.STACKTRACE and field.type:  # older kernels set neither type nor name
        return "common_stacktrace"
    return "hitcount" if flags & HistFieldFlag.HITCOUNT else ""


def expression_text(field: HistField, level: int = 0) -> str:
    """Return the text that names an expression (expr_str)."""
    if level > 1:
        return ""
    if not field.operands:
        return _operand_text(field)
    if field.operator == "unary":
        inner = expression_text(field.operands[0], level + 1)
        return f"-({inner})" if inner else ""
    return field.operator.join(map(_operand_text, field.operands))


def _operand_text(field: HistField) -> str:
    flags = field.flags
    text = "$" if flags & HistFieldFlag.VAR_REF else str(field.constant) if flags & HistFieldFlag.CONST else ""
    text += field.shown_name
    modifier = "" if flags & HistFieldFlag.VAR_REF else next((name for flag, name in SHOWN if flags & flag), "")
    return f"{text}.{modifier}" if modifier else text


def combine(operator: str, left: int, right: int, known_multiplier: bool) -> int:
    """Compute a constant as the kernel does, which divides small numbers by a multiplication that rounds up."""
    if operator == "+":
        return left + right & _MASK
    if operator == "-":
        return left - right & _MASK
    if operator == "*":
        return left * right & _MASK
    if not right & (right - 1) or right > 1 << _DIVISION_SHIFT or left >= 1 << _DIVISION_SHIFT:
        return left // right
    multiplier = (1 << _DIVISION_SHIFT) // right if known_multiplier else 0
    return left * multiplier + (1 << _DIVISION_SHIFT) - 1 >> _DIVISION_SHIFT


_GENERIC = frozenset({"CPU", "cpu", "COMM", "comm", "stacktrace", "STACKTRACE"})


def generic_flags(name: str, dialect: HistDialect) -> HistFieldFlag:
    """Return the flags of an older name of a common field; NONE: no such name."""
    if name in ("CPU", "cpu"):
        return HistFieldFlag.CPU
    if name in ("stacktrace", "STACKTRACE") and dialect.stack_field:
        return HistFieldFlag.STACKTRACE
    if name in ("COMM", "comm") and dialect.comm_field:
        return HistFieldFlag.COMM | HistFieldFlag.STRING
    return HistFieldFlag.NONE


def find_field(name: str, fields: Mapping[str, StaticEventField] | None) -> StaticEventField | None:
    """Return a field of an event or a common one; any name is valid where the fields are unknown."""
    if fields is None and name not in COMMON:
        return StaticEventField(name, "", 8) if is_identifier(name) else None
    field = (fields or {}).get(name)
    if field is not None and field.size:
        return field
    common = COMMON.get(name) if field is None and name not in _GENERIC else None
    return common if common is not None and common.size else None
