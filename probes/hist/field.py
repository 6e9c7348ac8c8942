"""One field of a histogram as the kernel keeps it: key, value, variable, reference or expression.

`struct hist_field` of kernel/trace/trace_events_hist.c, as far as its answers depend on it.
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
"""Bytes of a string whose length isn't known (MAX_FILTER_STR_VAL)."""
_NUMBER_SIZES = (1, 2, 4, 8)
_DIVISION_SHIFT = 20
_MASK = (1 << 64) - 1


class HistFieldFlag(enum.IntFlag):
    """HIST_FIELD_FL_*."""

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
"""How a field is shown, in the order in which the kernel looks (get_hist_field_flags)."""


class HistError(Exception):
    """The kernel gives up on the command; what error_log has of it was noted, its argument says the rest."""


@dataclass(eq=False, slots=True)
class HistField:
    """One field; two are equal when they are the same one."""

    flags: HistFieldFlag
    field: StaticEventField | None = None
    type: str = ""
    size: int = 0
    signed: bool = False
    operands: tuple[HistField, ...] = ()
    operator: str = ""
    name: str = ""
    """Of an expression, or of the variable that is referred to."""
    variable: str | None = None
    """Name of the variable that it is."""
    target: HistField | None = None
    """The variable it refers to."""
    constant: int = 0
    offset: int = 0
    """Of a key, in bytes."""

    @property
    def shown_name(self) -> str:
        """The name to sort by (hist_field_name)."""
        return _shown_name(self, 0)


def is_stack(field: StaticEventField) -> bool:
    """Whether it is the stack that a synthetic event recorded."""
    return field.type.startswith("__data_loc ") and "long[" in field.type


def create_field(
    event_field: StaticEventField | None, flags: HistFieldFlag, dialect: HistDialect, variable: str | None = None
) -> HistField:
    """Build one (create_hist_field). Raises Failed for a field of a size that is no number's."""
    made = HistField(flags, event_field, variable=variable)
    if flags & (HistFieldFlag.EXPR | HistFieldFlag.ALIAS | HistFieldFlag.VAR_REF):
        return made
    if flags & (HistFieldFlag.HITCOUNT | HistFieldFlag.CONST):
        made.type, made.size = "u64", 8
    elif flags & HistFieldFlag.STACKTRACE:
        made.type, made.size = ("unsigned long[]", dialect.stack_size) if dialect.stack_field else ("", 0)
    elif flags & (HistFieldFlag.LOG2 | HistFieldFlag.BUCKET):
        operand = create_field(event_field, flags & ~(HistFieldFlag.LOG2 | HistFieldFlag.BUCKET), dialect)
        made.operands, made.type, made.size = (operand,), operand.type, operand.size
    elif flags & HistFieldFlag.TIMESTAMP:
        made.type, made.size = "u64", 8
    elif flags & HistFieldFlag.CPU:
        made.type, made.size = "unsigned int", 4
    elif flags & HistFieldFlag.COMM:
        made.type, made.size = "char[]", LONG_STRING
    elif event_field is not None:
        _take(made, event_field, dialect)
    return made


def _take(made: HistField, field: StaticEventField, dialect: HistDialect) -> None:
    """Take type and size of an event's field."""
    made.type = field.type
    if is_text(field):
        dynamic = "__data_loc" in field.type or "__rel_loc" in field.type
        made.flags |= HistFieldFlag.STRING
        made.size = LONG_STRING if dynamic else field.size
    elif dialect.stack_field and is_stack(field):
        made.flags |= HistFieldFlag.STACKTRACE
        made.size = LONG_STRING
    elif field.size in _NUMBER_SIZES:
        made.size, made.signed = field.size, field.signed
    else:
        raise HistError(f"{field.name} is neither a number nor text")


def refer(made: HistField, target: HistField, dialect: HistDialect) -> HistField:
    """Make a field refer to a variable (init_var_ref)."""
    kept = (
        HistFieldFlag.TIMESTAMP
        | HistFieldFlag.USECS
        | (HistFieldFlag.STACKTRACE if dialect.stack_by_flag else HistFieldFlag.NONE)
    )
    made.flags |= target.flags & kept
    made.target = target
    made.type, made.size, made.signed = target.type, target.size, target.signed
    made.name = target.variable if target.variable is not None else target.name
    return made


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
        return field.name  # where its event is named, that comes before: it can't be sorted by, a sort ends at a dot
    if flags & HistFieldFlag.TIMESTAMP:
        return "common_timestamp"
    if flags & HistFieldFlag.STACKTRACE and field.type:  # older kernels give it neither type nor name
        return "common_stacktrace"
    return "hitcount" if flags & HistFieldFlag.HITCOUNT else ""


def expression_text(field: HistField, level: int = 0) -> str:
    """Give the text under which an expression is known (expr_str)."""
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
    shown = "" if flags & HistFieldFlag.VAR_REF else next((name for flag, name in SHOWN if flags & flag), "")
    return f"{text}.{shown}" if shown else text


def combine(operator: str, left: int, right: int, known_multiplier: bool) -> int:
    """Compute a constant like the kernel does, which divides small numbers by a multiplication that rounds up."""
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
    """Say what an older name of a field of every event stands for; NONE: it is no such name."""
    if name in ("CPU", "cpu"):
        return HistFieldFlag.CPU
    if name in ("stacktrace", "STACKTRACE") and dialect.stack_field:
        return HistFieldFlag.STACKTRACE
    if name in ("COMM", "comm") and dialect.comm_field:
        return HistFieldFlag.COMM | HistFieldFlag.STRING
    return HistFieldFlag.NONE


def find_field(name: str, fields: Mapping[str, StaticEventField] | None) -> StaticEventField | None:
    """Look for a field of an event, or one that all have; where its fields aren't known any may be there."""
    if fields is None and name not in COMMON:
        return StaticEventField(name, "", 8) if is_identifier(name) else None
    found = (fields or {}).get(name)
    if found is not None and found.size:
        return found
    common = COMMON.get(name) if found is None and name not in _GENERIC else None
    return common if common is not None and common.size else None
