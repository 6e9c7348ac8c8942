"""State of the parse of one expression: what the kernel's context holds while parse_probe_arg reads it.

kernel/trace/trace_probe.c: struct traceprobe_parse_context and the array of fetch_insn. `probes.rules.fetch` reads
expressions into it; what reads casts, BTF paths and variables needs the state only.
"""

from __future__ import annotations

from collections.abc import Callable

from probes.facts.dialect import MAX_OPERATIONS
from probes.rules.site import Site
from probes.syntax.refused import Refused

_NESTED_LIMIT = 8
"""Casts and dereferences in one argument, where the kernel counts them (7.3)."""


class Fetch:
    """The parse of one expression; `ops`, `offset` and `last` are what the kernel's context holds after it."""

    def __init__(self, site: Site, offset: int, read: Callable[[Fetch, str], None]) -> None:
        """Take the place of the probe, the column at which the expression begins, and the reader of expressions."""
        self.site = site
        self._read = read
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
        """Read an expression inside this one. Raises Refused."""
        self._read(self, text)

    def nest(self, text: str) -> None:
        """Count a cast or a dereference. Raises Refused."""
        self._depth += 1
        if self.site.dialect.typecast and self._depth > _NESTED_LIMIT:
            raise Refused("TOO_MANY_NESTED", self.offset, text)

    def store(self, op: str) -> None:
        """Put the operation at the current place."""
        self.ops[-1] = op

    def keep_entry(self, number: str) -> None:
        """Take an argument that is kept from the entry."""
        self.store("EDATA")
        if number not in self.site.entry_args:
            self.site.entry_args.append(number)
