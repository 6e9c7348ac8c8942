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
"""Most casts and dereferences in an argument, where the kernel counts them (7.3)."""


class Fetch:
    """State of parsing an expression; `ops`, `offset` and `last` are what the kernel's context has afterwards."""

    def __init__(self, site: Site, offset: int, read: Callable[[Fetch, str], None]) -> None:
        """Take the place of the probe, the column at which the expression begins, and the reader of expressions."""
        self.site = site
        self._read = read
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
        """Read an expression inside this one. Raises Refused."""
        self._read(self, text)

    def nest(self, text: str) -> None:
        """Count a cast or a dereference. Raises Refused."""
        self._depth += 1
        if self.site.dialect.typecast and self._depth > _NESTED_LIMIT:
            raise Refused("TOO_MANY_NESTED", self.offset, text)

    def store(self, op: str) -> None:
        """Store the operation at the current position."""
        self.ops[-1] = op

    def keep_entry(self, number: str) -> None:
        """Store an entry argument that is available at the exit."""
        self.store("EDATA")
        if number not in self.site.entry_args:
            self.site.entry_args.append(number)
