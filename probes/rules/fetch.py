"""Parse an expression as the kernel does: parse_probe_arg and its helpers in kernel/trace/trace_probe.c.

The module fetches no values: the result is the list of operations the kernel would store, the BTF type of the value,
and the column where the kernel would put a caret. Errors come in the kernel's order, at the kernel's columns, its
oddities included.
"""

from __future__ import annotations

from probes.facts.dialect import MAX_OPERATIONS
from probes.rules.btf_walk import walk
from probes.rules.cast import bare_field, cast, cast_field, per_cpu
from probes.rules.site import Site
from probes.rules.variable import variable
from probes.syntax.operand import PER_CPU
from probes.syntax.refused import Refused
from probes.syntax.text import begins_name, kstrtol, kstrtoul

_NESTED_LIMIT = 8
"""Most casts and dereferences in an argument, where the kernel counts them (7.3)."""


class Fetch:
    """State of parsing an expression; `ops`, `offset` and `last` are what the kernel's context has afterwards."""

    def __init__(self, site: Site, offset: int) -> None:
        self.site = site
        self.offset = offset
        """Column within the word where the kernel would put a caret."""
        self.ops: list[str] = [""]
        self.last: int | None = None
        """BTF type id of the value, without modifiers; None: BTF doesn't have the type."""
        self.bits = (0, 0)
        """Bit offset and size of a bit-field, size 0: no bit-field."""
        self.walked = False
        """True if the expression ended in a field path, after which kernels up to 7.2 lose the column."""
        self.symbols: list[str] = []
        """`SYM+offset` of each `@`, looked up after the whole argument is parsed."""
        self.field: str | None = None
        """Field of an event, looked up after the whole argument is parsed; `comm` needs none (6.1)."""
        self._depth = 0

    @property
    def op(self) -> str:
        """The operation stored last."""
        return self.ops[-1]

    def advance(self) -> None:
        """Go to the next operation, like `++code == end`. Raises Refused."""
        if len(self.ops) >= MAX_OPERATIONS:
            raise Refused("TOO_MANY_OPS", self.offset)
        self.ops.append("")

    def parse(self, text: str) -> None:
        """Parse an expression. Raises Refused."""
        first = text[:1]
        if first == "$":
            variable(self, text)
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
                raise self._name_error("NOSUP_BTFARG", text)
            walk(self, text)
        else:
            raise self._name_error("BAD_FETCH_ARG", text)

    def _name_error(self, code: str, text: str) -> Refused:
        """Return the error for a name where the kernel looks up none; an event's field only lacks its `$`."""
        if not self.site.on_event or not begins_name(text):
            return Refused(code, self.offset, text)
        fields = tuple(f"${name}" for name in self.site.fields or ())
        return Refused(code, self.offset, text, names=fields, hint="A field of the event is written with a $")

    def _no_registers_hint(self) -> str:
        if self.site.on_event:
            return "An event has fields, no registers: $FIELD"
        if self.site.tracepoint:
            return "A tracepoint has arguments, no registers: name them, or count them, $arg1"
        return "An fprobe has no registers: a kprobe has, p in place of f"

    def nest(self, text: str) -> None:
        """Count a cast or a dereference. Raises Refused."""
        self._depth += 1
        if self.site.dialect.typecast and self._depth > _NESTED_LIMIT:
            raise Refused("TOO_MANY_NESTED", self.offset, text)

    def store(self, op: str) -> None:
        """Store the operation at the current position."""
        self.ops[-1] = op

    def _register(self, text: str) -> None:
        if self.site.no_registers:
            # Up to 7.2 the kernel logs BAD_VAR first and this error after it: it found no fetch method.
            code = "BAD_VAR" if self.site.dialect.typecast else "BAD_FETCH_ARG"
            raise Refused(code, self.offset, text, hint=self._no_registers_hint())
        registers = self.site.dialect.registers
        if not text[1:] or (registers is not None and text[1:] not in registers):
            names = tuple(f"%{name}" for name in sorted(registers or ()))
            raise Refused("BAD_REG_NAME", self.offset, text, names=names)
        self.store("REG")

    def keep_entry(self, number: str) -> None:
        """Store an entry argument that is available at the exit."""
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
        body = body.removeprefix("+")  # the kernel passes kstrtol() the number without its plus
        number, brace, rest = body.partition("(")
        if not brace:
            raise Refused("DEREF_NEED_BRACE", self.offset, text)
        if kstrtol(number) is None:
            raise Refused("BAD_DEREF_OFFS", self.offset, text)
        self.nest(text)
        self.offset += len(number) + 1 + (0 if number.startswith("-") else 1)
        column = self.offset
        end = rest.rfind(")")
        if end < 0:
            raise Refused("DEREF_OPEN_BRACE", column + len(rest), text)
        self.parse(rest[:end])
        self.offset = column
        if self.op in ("COMM", "DATA"):
            raise Refused("COMM_CANT_DEREF", column, rest[:end])
        self.advance()
        self.store(op)
        self.last = None
        self.walked = False

    def _immediate(self, text: str) -> None:
        body = text[1:]
        if body.startswith('"'):
            string = body[1:]
            if not string.endswith('"') and (string or not self.site.dialect.lone_quote):
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
