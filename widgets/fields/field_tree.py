"""The tree of a function's arguments and what is behind them: which rows are open, which match a query. No screen."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from probes.fetcharg import FetchArg
from widgets.highlight import SCATTERED, rank

_MOST_LIKE = 5
_ALIKE = 0.7
"""Share of letters; what is less alike was not meant."""


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
    def path(self) -> str:
        """Its name behind that of the argument or field it is in: `file->f_pos`; of an argument its name."""
        own = self.node.label
        return self.name if self.parent is None or own.startswith("[") else f"{self.parent.name}{own}"

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
        """Return the fields that match, best first; for an empty query those beside the row, in their order.

        A query looks at the fields beside the row, at the arguments, and at the fields of each argument, those beside
        the row first among equals. It finds what a pointer to a number leads to as well (`pos[0]`), takes a path
        (`how->fl`), and where nothing has it in its name gives names that are like it (`falgs`).
        """
        owner = self.beside(row)
        beside = [*(owner.fields if owner else ()), *self.roots]
        if not query:
            return list(dict.fromkeys(beside))
        of_all = [one for root in self.roots for one in root.fields]
        beside, of_all = ([*rows, *_behind(rows)] for rows in (beside, of_all))
        far = {one: int(at >= len(beside)) for at, one in reversed(list(enumerate([*beside, *of_all])))}
        by_path, ranked = any(sign in query for sign in ("->", ".")), []
        for one in dict.fromkeys([*beside, *of_all]):
            key = rank(one.path if by_path else one.name, query)
            if key is not None:
                ranked.append(((key[0], far[one], key[1]), one))
        ranked.sort(key=lambda pair: pair[0])
        like = _like(query, far) if not ranked or ranked[0][0][0] == SCATTERED else []
        return list(dict.fromkeys([*like, *(one for _, one in ranked)]))

    def _list(self) -> None:
        self.rows = []
        stack = list(reversed(self.roots))
        while stack:
            row = stack.pop()
            self.rows.append(row)
            if row.opened:
                stack.extend(reversed(row.fields))


def _behind(rows: Iterable[TreeRow]) -> list[TreeRow]:
    """Return the numbers that rows point to."""
    return [one.fields[0] for one in rows if one.node.step == "[" and one.fields]


def _like(query: str, rows: Iterable[TreeRow]) -> list[TreeRow]:
    """Return rows whose names are like a misspelt one, the likest first."""
    names: dict[str, list[TreeRow]] = {}
    for row in rows:
        names.setdefault(row.name.lower(), []).append(row)
    return [
        row for name in difflib.get_close_matches(query.lower(), names, _MOST_LIKE, _ALIKE) for row in names[name]
    ]


def bare(label: str) -> str:
    """A label without the operator before it: `->f_pos` is `f_pos`."""
    return label.removeprefix("->").removeprefix(".")
