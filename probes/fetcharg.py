"""Represent the expression of a fetcharg as a small tree that prints as text.

The text is the kernel's own (Documentation/trace/kprobetrace.rst, fprobetrace.rst); `str()` of a node prints it,
`probes.syntax.parse` reads it back to an equal node. Numbers keep the spelling in which they were written, so that
text -> tree -> text is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Hop(NamedTuple):
    """Step of a field path: `->f_pos`, `.dentry` or `[3]`."""

    op: str
    """`->`, `.` or `[]`."""
    name: str
    """Member name, or the index as written for `[]`."""

    def __str__(self) -> str:
        return f"[{self.name}]" if self.op == "[]" else f"{self.op}{self.name}"


@dataclass(frozen=True, slots=True)
class Variable:
    """A BTF parameter by its name, with a path into the structures behind it: `file->f_path.dentry`."""

    name: str
    path: tuple[Hop, ...] = ()

    def __str__(self) -> str:
        return self.name + "".join(map(str, self.path))


@dataclass(frozen=True, slots=True)
class ReturnValue:
    """`$retval`, with an optional path: `$retval->i_ino`."""

    path: tuple[Hop, ...] = ()

    def __str__(self) -> str:
        return "$retval" + "".join(map(str, self.path))


@dataclass(frozen=True, slots=True)
class Argument:
    """`$argN`, N from 1."""

    number: int
    written: str = ""
    """Digits as written, where they aren't plain (`01`)."""

    def __str__(self) -> str:
        return f"$arg{self.written or self.number}"


@dataclass(frozen=True, slots=True)
class AllArguments:
    """`$arg*` (the kernel's: every argument raw) or `$$args` (probewright's: each with its best type)."""

    best: bool = False
    rest: str = ""
    """Characters after the `*`, which the kernel ignores."""

    def __str__(self) -> str:
        return "$$args" if self.best else f"$arg*{self.rest}"


@dataclass(frozen=True, slots=True)
class Comm:
    """`$comm`: the name of the current task."""

    spelling: str = "$comm"

    def __str__(self) -> str:
        return self.spelling


@dataclass(frozen=True, slots=True)
class Stack:
    """`$stack` (the address) or `$stackN` (the N-th entry)."""

    number: str = ""

    def __str__(self) -> str:
        return f"$stack{self.number}"


@dataclass(frozen=True, slots=True)
class Register:
    """`%di`: a register by the kernel's name for it (regs_query_register_offset)."""

    name: str

    def __str__(self) -> str:
        return f"%{self.name}"


@dataclass(frozen=True, slots=True)
class SymbolAddress:
    """`@jiffies+8`, `@0xffffffff81000000`, `@+0x10` (file offset of a user probe)."""

    text: str

    def __str__(self) -> str:
        return f"@{self.text}"


@dataclass(frozen=True, slots=True)
class Dereference:
    """`+8(inner)` or `+u8(inner)`: memory of the kernel or of the user at an offset in bytes."""

    offset: str
    """Offset with its sign, as written: `+8`, `-0x10`."""
    inner: Expression
    user: bool = False
    rest: str = ""
    """Characters after the closing bracket, which the kernel ignores."""

    def __str__(self) -> str:
        sign, number = self.offset[0], self.offset[1:]
        return f"{sign}{'u' if self.user else ''}{number}({self.inner}){self.rest}"


@dataclass(frozen=True, slots=True)
class Immediate:
    r"""`\1234`, or a string: `\"text"`."""

    text: str

    def __str__(self) -> str:
        return f"\\{self.text}"


@dataclass(frozen=True, slots=True)
class EventField:
    """`$prev_pid`: a field of the event an event probe is attached to."""

    name: str

    def __str__(self) -> str:
        return f"${self.name}"


@dataclass(frozen=True, slots=True)
class CurrentTask:
    """`$current->comm`: the running task, with a path to a member."""

    path: tuple[Hop, ...] = ()

    def __str__(self) -> str:
        return "$current" + "".join(map(str, self.path))


@dataclass(frozen=True, slots=True)
class Cast:
    """`(sk_buff)skbaddr->len`, `(file,f_path.dentry)($arg1)->f_mode`: the pointed-to type, and a path in it."""

    struct: str
    inner: Expression
    path: tuple[Hop, ...] = ()
    member: str | None = None
    """Path of the member that the value points to; None: it points to the beginning of the struct."""
    bracketed: bool = False
    """True if the expression is in brackets."""

    def __str__(self) -> str:
        member = "" if self.member is None else f",{self.member}"
        inner = f"({self.inner})" if self.bracketed else str(self.inner)
        return f"({self.struct}{member}){inner}{''.join(map(str, self.path))}"


@dataclass(frozen=True, slots=True)
class PerCpu:
    """`this_cpu_ptr(@runqueues)` or `this_cpu_read(...)`: this CPU's instance of a per-CPU variable."""

    read: bool
    """True: the variable's value (`this_cpu_read`); False: its address (`this_cpu_ptr`)."""
    inner: Expression
    rest: str = ""
    """Characters after the closing bracket."""

    def __str__(self) -> str:
        return f"this_cpu_{'read' if self.read else 'ptr'}({self.inner}){self.rest}"


Expression = (
    Variable
    | ReturnValue
    | Argument
    | AllArguments
    | Comm
    | Stack
    | Register
    | SymbolAddress
    | Dereference
    | Immediate
    | EventField
    | CurrentTask
    | Cast
    | PerCpu
)


def innermost(expression: Expression) -> Expression:
    """Return the expression inside all dereferences, casts and per-CPU reads."""
    while isinstance(expression, Dereference | Cast | PerCpu):
        expression = expression.inner
    return expression


@dataclass(frozen=True, slots=True)
class FetchArg:
    """`name=expression:type`; name and type may be left to the kernel."""

    expression: Expression
    name: str | None = None
    type: str | None = None
    """`u64`, `string`, `symbol`, `b4@0/32`, `u8[16]`, `%pd`, ...; None: by BTF, else x64."""

    def __str__(self) -> str:
        name = "" if self.name is None else f"{self.name}="
        kind = "" if self.type is None else f":{self.type}"
        return f"{name}{self.expression}{kind}"


def variable(name: str, *path: str) -> Variable:
    """Build `file->f_path.dentry` from `variable("file", "->f_path", ".dentry")`."""
    return Variable(name, tuple(hop(step) for step in path))


def hop(text: str) -> Hop:
    """Read one step: `->name`, `.name` or `[3]`."""
    if text.startswith("->"):
        return Hop("->", text[2:])
    if text.startswith("."):
        return Hop(".", text[1:])
    return Hop("[]", text[1:-1])
