"""The tree of a function's arguments and what is behind them: which rows are open, which match a query. No screen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from probes.fetcharg import FetchArg
from widgets.matching import rank


class FieldNode(Protocol):
    """An argument, the return value, or a field behind one."""

    @property
    def label(self) -> str:
        """`file`, `->f_pos`, `.dentry`, `[0]`, `$retval`."""

    @property
    def fetcharg(self) -> FetchArg | None:
        """What is captured when it is ticked; None: it can't be."""

    @property
    def c_type(self) -> str:
        """`struct file *`."""

    @property
    def kernel_type(self) -> str:
        """The type of the kernel's fetcharg: `s64`, `string`; empty: none."""

    @property
    def offset(self) -> int | None:
        """Bytes from the start of the structure it is in; None: it is in none."""

    @property
    def step(self) -> str:
        """How C goes on behind it: `->`, `.` or `[`; empty: nothing is behind it."""

    @property
    def expandable(self) -> bool:
        """Whether it has fields."""

    @property
    def reason(self) -> str:
        """Why it can't be ticked or opened; empty: it can."""

    def children(self) -> Sequence[FieldNode]:
        """Its fields."""


@dataclass(slots=True, eq=False)
class TreeRow:
    """One node in the tree; made when its parent is opened, then kept."""

    node: FieldNode
    parent: TreeRow | None = None
    depth: int = 0
    number: int = 0
    """From 1 for the arguments and the return value; 0: it is deeper."""
    opened: bool = False
    _fields: list[TreeRow] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Its label where it stands by itself: `pos[0]`, `f_pos`."""
        own = bare(self.node.label)
        return f"{self.parent.name}{own}" if own.startswith("[") and self.parent else own

    @property
    def fields(self) -> list[TreeRow]:
        """Rows of its fields, opened or not."""
        if self._fields is None:
            nodes = self.node.children() if self.node.expandable else ()
            self._fields = [TreeRow(node, self, self.depth + 1) for node in nodes]
        return self._fields


class FieldTree:
    """Rows in the order they are shown."""

    def __init__(self, nodes: Sequence[FieldNode]) -> None:
        self.roots = [TreeRow(node, number=number) for number, node in enumerate(nodes, 1)]
        self.rows: list[TreeRow] = list(self.roots)

    def open(self, row: TreeRow) -> None:
        """Show its fields, and the row itself where it is hidden."""
        at: TreeRow | None = row
        while at is not None:
            at.opened = bool(at.fields)
            at = at.parent
        self._list()

    def close(self, row: TreeRow) -> None:
        """Hide its fields; those opened inside stay so for the next time."""
        row.opened = False
        self._list()

    def index(self, row: TreeRow) -> int:
        """Where the row is shown. Raises ValueError where it is hidden."""
        return self.rows.index(row)

    def beside(self, row: TreeRow) -> TreeRow | None:
        """Whose fields a query from this row looks at: its own, else those it is one of."""
        return row if row.node.expandable else row.parent

    def find(self, row: TreeRow, query: str) -> list[TreeRow]:
        """Fields beside a row, and the arguments, that match: best first, all in their order for an empty query.

        A query finds what a pointer to a number leads to as well: `pos[0]`.
        """
        owner = self.beside(row)
        candidates = [*(owner.fields if owner else ()), *self.roots]
        if query:
            candidates += [one.fields[0] for one in candidates if one.node.step == "[" and one.fields]
        ranked = []
        for candidate in dict.fromkeys(candidates):
            key = rank(candidate.name, query)
            if key is not None:
                ranked.append((key, candidate))
        return [candidate for _, candidate in sorted(ranked, key=lambda pair: pair[0])]

    def _list(self) -> None:
        self.rows = []
        stack = list(reversed(self.roots))
        while stack:
            row = stack.pop()
            self.rows.append(row)
            if row.opened:
                stack.extend(reversed(row.fields))


def bare(label: str) -> str:
    """A label without the operator before it: `->f_pos` is `f_pos`."""
    return label.removeprefix("->").removeprefix(".")
