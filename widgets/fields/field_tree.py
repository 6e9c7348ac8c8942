"""Tree of a function's arguments and the fields behind them: open rows, and matches of a query. Imports no screen
code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from probes.fetcharg import FetchArg
from widgets.highlight import SCATTERED, rank

_MOST_SIMILAR = 5
_NUMBER = re.compile(r"[sux](8|16|32|64)|b[0-9]+(@[0-9]+/[0-9]+)?")
"""Types of the kernel for one number."""
_DEEPEST = 4
"""Structures on the way to a field that a query finds: `file->f_inode->i_sb->s_bdev->bd_dev` has four."""
_MOST_DEEP = 4000
"""Fields behind arguments that a query searches."""
_FAR = 2
"""Distance, beside 0 and 1 of what is not behind a structure."""
_LEAST_DEEP = 2
"""Letters of a query that searches deeper structures."""
_LEAST_SIMILARITY = 0.7
"""Minimum similarity of a suggested name, from 0 to 1."""


class FieldNode(Protocol):
    """Argument, return value, or a field behind one."""

    @property
    def label(self) -> str:
        """Label: `file`, `->f_pos`, `.dentry`, `[0]`, `$retval`."""

    @property
    def fetcharg(self) -> FetchArg | None:
        """Fetcharg of a tick; None: it can't be captured."""

    @property
    def c_type(self) -> str:
        """C type, as `struct file *`."""

    @property
    def kernel_type(self) -> str:
        """Type of the kernel's fetcharg: `s64`, `string`; empty: none."""

    @property
    def offset(self) -> int | None:
        """Bytes from the start of its structure; None: it is in none."""

    @property
    def step(self) -> str:
        """Operator of C for the fields behind it: `->`, `.` or `[`; empty: there are none."""

    @property
    def expandable(self) -> bool:
        """True if it has fields."""

    @property
    def reason(self) -> str:
        """Reason why it can't be ticked or opened; empty: it can."""

    def children(self) -> Sequence[FieldNode]:
        """Return its fields."""


@dataclass(slots=True, eq=False)
class TreeRow:
    """Node in the tree; created when its parent is opened, then cached."""

    node: FieldNode
    parent: TreeRow | None = None
    depth: int = 0
    number: int = 0
    """Number from 1 for the arguments and the return value; 0: a deeper row."""
    opened: bool = False
    _fields: list[TreeRow] | None = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """Label by itself: `pos[0]`, `f_pos`."""
        own = bare(self.node.label)
        return f"{self.parent.name}{own}" if own.startswith("[") and self.parent else own

    @property
    def path(self) -> str:
        """Name with those of its argument and structures: `file->f_inode->i_ino`; for an argument its name."""
        return self.node.label if self.parent is None else f"{self.parent.path}{self.node.label}"

    @property
    def fields(self) -> list[TreeRow]:
        """Rows of its fields, opened or not."""
        if self._fields is None:
            nodes = self.node.children() if self.node.expandable else ()
            self._fields = [TreeRow(node, self, self.depth + 1) for node in nodes]
        return self._fields


def is_number(node: FieldNode) -> bool:
    """Return whether a field is one number that a probe can record: an integer, an enum, a bit field; no pointer."""
    if node.fetcharg is None or "*" in node.c_type or node.c_type.startswith(("struct ", "union ")):
        return False
    return bool(_NUMBER.fullmatch(node.kernel_type))


class FieldTree:
    """Rows in the order in which they are shown."""

    def __init__(self, nodes: Sequence[FieldNode]) -> None:
        self.roots = [TreeRow(node, number=number) for number, node in enumerate(nodes, 1)]
        self.rows: list[TreeRow] = list(self.roots)

    def open(self, row: TreeRow) -> None:
        """Open a row, and the rows above it."""
        at: TreeRow | None = row
        while at is not None:
            at.opened = bool(at.fields)
            at = at.parent
        self._list()

    def close(self, row: TreeRow) -> None:
        """Close a row; rows opened inside stay open for the next time."""
        row.opened = False
        self._list()

    def index(self, row: TreeRow) -> int:
        """Return the place of a row. Raises ValueError if it is hidden."""
        return self.rows.index(row)

    def beside(self, row: TreeRow) -> TreeRow | None:
        """Return the row whose fields a query searches first: the row itself, else its parent."""
        return row if row.node.expandable else row.parent

    def numbers(self, row: TreeRow) -> list[TreeRow]:
        """Return the numbers of a structure: of a row's own fields, or of those beside it where it has none.

        Beside an argument these are the arguments; the return value and variables of the kernel are none.
        """
        owner = self.beside(row)
        if owner is not None and owner.node.step != "[":
            return [one for one in owner.fields if is_number(one.node)]
        beside = owner.parent.fields if owner is not None and owner.parent is not None else self.roots
        return [one for one in beside if is_number(one.node) and not one.node.label.startswith("$")]

    def find(self, row: TreeRow, query: str) -> list[TreeRow]:
        """Return the matching fields, best first; for an empty query the siblings of the row, in their order.

        A query searches the siblings of the row, the arguments, the fields of each argument, and those of structures
        behind them, as `_deeper` bounds it; among equal matches siblings come first, and what is nearer to an
        argument. It matches numbers behind pointers as well (`pos[0]`), accepts a path (`how->fl`), and without a
        match returns similar names (`falgs`).
        """
        owner = self.beside(row)
        beside = [*(owner.fields if owner else ()), *self.roots]
        if not query:
            return list(dict.fromkeys(beside))
        of_all = [one for root in self.roots for one in root.fields]
        beside, of_all = ([*rows, *_behind(rows)] for rows in (beside, of_all))
        deeper = _deeper(self.roots) if len(query) >= _LEAST_DEEP else []
        far = {one: _FAR + one.depth for one in deeper}
        far |= {one: int(at >= len(beside)) for at, one in reversed(list(enumerate([*beside, *of_all])))}
        by_path, ranked = any(sign in query for sign in ("->", ".")), []
        for one in dict.fromkeys([*beside, *of_all, *deeper]):
            key = rank(one.path if by_path else one.name, query)
            if key is not None and (
                key[0] < SCATTERED or far[one] < _FAR
            ):  # letters anywhere in thousands tell nothing
                ranked.append(((key[0], far[one], key[1]), one))
        ranked.sort(key=lambda pair: pair[0])
        has_near = any(key[0] < SCATTERED and key[1] < _FAR for key, _ in ranked)
        has_exact = any(one.name == query for _, one in ranked)
        # A slip for a field that is near is likelier than a part of the name of one that is far.
        like = [] if has_near or has_exact else _similar(query, [one for one in far if far[one] < _FAR])
        if not like and (not ranked or ranked[0][0][0] == SCATTERED):
            like = _similar(query, far)
        return list(dict.fromkeys([*like, *(one for _, one in ranked)]))

    def _list(self) -> None:
        self.rows = []
        stack = list(reversed(self.roots))
        while stack:
            row = stack.pop()
            self.rows.append(row)
            if row.opened:
                stack.extend(reversed(row.fields))


def _deeper(roots: Iterable[TreeRow]) -> list[TreeRow]:
    """Return the fields behind the arguments, nearest first, as deep as `_DEEPEST`, and up to `_MOST_DEEP` of them.

    The fields of a structure are among them once, by the shortest path to it: `d_parent` leads to its own type.
    """
    found: list[TreeRow] = []
    level, types = list(roots), set[str]()
    for _ in range(_DEEPEST):
        behind: list[TreeRow] = []
        for row in level:
            named = row.node.c_type.rstrip("* ")
            if not row.node.expandable or named in types:
                continue
            types.add(named)
            behind += row.fields
            if len(found) + len(behind) >= _MOST_DEEP:
                return [*found, *behind][:_MOST_DEEP]
        found += behind
        level = behind
    return found


def _behind(rows: Iterable[TreeRow]) -> list[TreeRow]:
    """Return the numbers that rows point to."""
    return [one.fields[0] for one in rows if one.node.step == "[" and one.fields]


def _similar(query: str, rows: Iterable[TreeRow]) -> list[TreeRow]:
    """Return rows whose names are similar to a misspelt one, the most similar first."""
    names: dict[str, list[TreeRow]] = {}
    for row in rows:
        names.setdefault(row.name.lower(), []).append(row)
    return [
        row
        for name in difflib.get_close_matches(query.lower(), names, _MOST_SIMILAR, _LEAST_SIMILARITY)
        for row in names[name]
    ]


def bare(label: str) -> str:
    """Return a label without its operator: `->f_pos` is `f_pos`."""
    return label.removeprefix("->").removeprefix(".")
