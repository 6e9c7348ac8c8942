"""What the kernel makes of one expression: parse_probe_arg and its helpers in kernel/trace/trace_probe.c, as a value.

Nothing is fetched here: the result is the list of operations the kernel would store, the BTF type of the value, and
the column it would put a caret at. Errors come in the kernel's order, at the kernel's columns, its oddities included.
"""

from __future__ import annotations

import re

from probes.dialect import MAX_OPERATIONS
from probes.rules.btf_walk import walk
from probes.rules.cast import bare_field, cast, cast_field, current, per_cpu
from probes.rules.site import Site
from probes.syntax.operand import PER_CPU
from probes.syntax.refused import Refused
from probes.syntax.text import begins_name, kstrtol, kstrtoul

_NESTED_LIMIT = 8
"""Casts and dereferences in one argument, where the kernel counts them (7.3)."""


class Fetch:
    """The parse of one expression; `ops`, `offset` and `last` are what the kernel's context holds after it."""

    def __init__(self, site: Site, offset: int) -> None:
        self.site = site
        self.offset = offset
        """Column the kernel would put a caret at, within the word."""
        self.ops: list[str] = [""]
        self.last: int | None = None
        """BTF type id of the value, modifiers left out; None: not known to BTF."""
        self.bits = (0, 0)
        """Bit offset and size of a bit-field, size 0 where it is none."""
        self.walked = False
        """Whether a field path came last: up to 7.2 the kernel's column is lost then."""
        self.symbols: list[str] = []
        """`SYM+offset` of each `@`, looked up when the whole argument is read."""
        self.field: str | None = None
        """Field of an event that is looked for when the whole argument is read; `comm` needs none (6.1)."""
        self._depth = 0

    @property
    def op(self) -> str:
        """The operation that was stored last."""
        return self.ops[-1]

    def advance(self) -> None:
        """Go to the next operation, like `++code == end`."""
        if len(self.ops) >= MAX_OPERATIONS:
            raise Refused("TOO_MANY_OPS", self.offset)
        self.ops.append("")

    def parse(self, text: str) -> None:
        """Read an expression. Raises Refused."""
        first = text[:1]
        if first == "$":
            self._variable(text)
        elif first == "%":
            self._register(text)
        elif first == "@":
            self._address(text)
        elif first and first in "+-":
            self._dereference(text)
        elif first == "\\":
            self._immediate(text)
        elif first == "(" and self.site.dialect.typecast:
            cast(self, text)
        elif first == "(" and self.site.dialect.typecast_known:
            cast_field(self, text)
        elif self.site.dialect.typecast and text.startswith(PER_CPU):
            per_cpu(self, text)
        elif self.site.dialect.typecast and self.site.on_event and begins_name(text):
            bare_field(self, text)
        elif self.site.dialect.btf_args and begins_name(text):
            if not self.site.on_function:
                raise self._no_name("NOSUP_BTFARG", text)
            walk(self, text)
        else:
            raise self._no_name("BAD_FETCH_ARG", text)

    def _no_name(self, code: str, text: str) -> Refused:
        """A name where none is looked up; that of an event's field wants a `$` only."""
        if not self.site.on_event or not begins_name(text):
            return Refused(code, self.offset, text)
        fields = tuple(f"${name}" for name in self.site.fields or ())
        return Refused(code, self.offset, text, names=fields, hint="A field of the event is written with a $")

    def nest(self, text: str) -> None:
        """Count a cast or a dereference. Raises Refused."""
        self._depth += 1
        if self.site.dialect.typecast and self._depth > _NESTED_LIMIT:
            raise Refused("TOO_MANY_NESTED", self.offset, text)

    def store(self, op: str) -> None:
        """Put the operation at the current place."""
        self.ops[-1] = op

    def _register(self, text: str) -> None:
        if self.site.no_registers:
            # Up to 7.2 the kernel logs BAD_VAR first and then this: no fetch method was found.
            raise Refused("BAD_VAR" if self.site.dialect.typecast else "BAD_FETCH_ARG", self.offset, text)
        known = self.site.dialect.registers
        if not text[1:] or (known is not None and text[1:] not in known):
            names = tuple(f"%{name}" for name in sorted(known or ()))
            raise Refused("BAD_REG_NAME", self.offset, text, names=names)
        self.store("REG")

    def _variable(self, text: str) -> None:
        name, site = text[1:], self.site
        if site.on_event:
            self._event_field(text)
        elif self._is_retval(name):
            if not site.at_exit:
                raise Refused("RETVAL_ON_PROBE", self.offset, text)
            if site.user or not site.dialect.btf_args:
                self.store("RETVAL")
            else:
                walk(self, text)
        elif site.dialect.typecast and not site.user and re.match(r"current(?![A-Za-z0-9_])", name):
            current(self, text)
        elif name.startswith("stack"):
            self._stack(text, name[5:])
        elif name in ("comm", "COMM"):
            self.store("COMM")
        elif name.startswith("arg") and (site.at_entry or site.dialect.btf_args or site.dialect.entry_at_exit):
            self._argument(text, name[3:])
        else:
            hint = self._in_program() if re.fullmatch(r"arg\d+", name) else ""
            raise Refused("BAD_VAR", self.offset, text, hint=hint, names=self._variables())

    def _variables(self) -> tuple[str, ...]:
        """What may stand behind a `$` here, those with a number left out."""
        at_exit, current = self.site.at_exit, self.site.dialect.typecast and not self.site.user
        return ("$comm", "$stack", *(("$retval",) if at_exit else ()), *(("$current",) if current else ()))

    def _event_field(self, text: str) -> None:
        """A field of the event, else the task's name."""
        site, name = self.site, text[1:]
        if not site.dialect.btf_args:
            self.field = name
        if site.has_field(name) or not site.dialect.btf_args:
            self.store("TP_ARG")
        elif name in ("comm", "COMM"):
            self.store("COMM")
        else:
            at = 0 if site.dialect.event_variable_at_name else self.offset
            hint = "The event has no field of this name" if site.fields else ""
            raise Refused("BAD_VAR", at, name, names=tuple(site.fields or ()), hint=hint)

    def _is_retval(self, name: str) -> bool:
        """Older kernels want the bare word; newer ones take what begins with it and look further."""
        return name.startswith("retval") if self.site.dialect.btf_args else name == "retval"

    def _stack(self, text: str, number: str) -> None:
        if not number:
            self.store("STACKP")
            return
        value = kstrtoul(number, 10) if number[0].isascii() and number[0].isdigit() else None
        if value is None:
            raise Refused("BAD_VAR", self.offset, text)
        if value > self.site.dialect.stack_longs and not self.site.user:
            raise Refused("BAD_STACK_NUM", self.offset, text)
        self.store("STACK")

    def _argument(self, text: str, number: str) -> None:
        value = kstrtoul(number, 10)
        if value is None:
            raise Refused("BAD_VAR", self.offset, text)
        if not 0 < value <= self.site.dialect.stack_longs:
            raise Refused("BAD_ARG_NUM", self.offset, text)
        if self.site.at_entry:
            self.store("ARG")
        elif self.site.at_exit and self.site.dialect.entry_at_exit and not self.site.user:
            self.keep_entry(str(value))
        else:
            code = "NOFENTRY_ARGS" if self.site.dialect.btf_args else "BAD_VAR"
            raise Refused(code, self.offset, text, hint=self._in_program())

    def _in_program(self) -> str:
        """Where the arguments are in a program, of which the kernel knows none by number."""
        registers = self.site.dialect.argument_registers
        if not self.site.user or not registers:
            return ""
        return f"In a program arguments are in registers where a function begins: %{' %'.join(registers)}"

    def keep_entry(self, number: str) -> None:
        """Take an argument that is kept from the entry."""
        self.store("EDATA")
        if number not in self.site.entry_args:
            self.site.entry_args.append(number)

    def _address(self, text: str) -> None:
        body, user = text[1:], self.site.user
        if body[:1].isascii() and body[:1].isdigit():
            if kstrtoul(body) is None:
                raise Refused("BAD_MEM_ADDR", self.offset, text)
            self.store("IMM")
        elif body.startswith("+"):
            if not user:
                raise Refused("FILE_ON_KPROBE", self.offset, text)
            if kstrtol(body[1:]) is None:
                raise Refused("BAD_FILE_OFFS", self.offset, text)
            self.store("FOFFS")
        else:
            if user:
                raise Refused("SYM_ON_UPROBE", self.offset, text)
            self.symbols.append(body)
            self.store("SYMBOL")
            self.advance()
            self.store("IMM")
        self.advance()
        self.store("DEREF")

    def _dereference(self, text: str) -> None:
        op = "UDEREF" if text[1:2] == "u" else "DEREF"
        body = text[0] + text[2:] if op == "UDEREF" else text
        body = body.removeprefix("+")  # kstrtol() is given the number without it
        number, brace, rest = body.partition("(")
        if not brace:
            raise Refused("DEREF_NEED_BRACE", self.offset, text)
        if kstrtol(number) is None:
            raise Refused("BAD_DEREF_OFFS", self.offset, text)
        self.nest(text)
        self.offset += len(number) + 1 + (0 if number.startswith("-") else 1)
        here = self.offset
        end = rest.rfind(")")
        if end < 0:
            raise Refused("DEREF_OPEN_BRACE", here + len(rest), text)
        self.parse(rest[:end])
        self.offset = here
        if self.op in ("COMM", "DATA"):
            raise Refused("COMM_CANT_DEREF", here, rest[:end])
        self.advance()
        self.store(op)
        self.last = None
        self.walked = False

    def _immediate(self, text: str) -> None:
        body = text[1:]
        if body.startswith('"'):
            string = body[1:]
            if not string.endswith('"'):
                raise Refused("IMMSTR_NO_CLOSE", self.offset + 2 + len(string), text)
            self.store("DATA")
            return
        number: int | None = None
        if body[:1].isascii() and body[:1].isdigit():
            number = kstrtoul(body)
        elif body.startswith("-"):
            number = kstrtol(body)
        elif body.startswith("+"):
            number = kstrtol(body[1:])
        if number is None:
            raise Refused("BAD_IMM", self.offset + 1, body)
        self.store("IMM")
