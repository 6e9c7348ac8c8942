"""Follow a growing call tree for calls of chosen functions that failed, each with its first failure."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from events.clocks.boots import Boots
from events.failures.first_failure import ErrorReturns, FailureChain, FailureSearch, GivenValues
from events.graph.begin_end_columns import Ints, RowKind
from events.graph.tree import CallRowFlag, CallTree


class FailedCalls:
    """Calls of a tree that failed, found once they have returned.

    A chosen call that handed on the error of another one is not counted twice: the outer one stands for both.
    """

    def __init__(
        self,
        tree: CallTree,
        error_returns: ErrorReturns,
        is_chosen: Callable[[int, int], bool] | None = None,
        errnos: frozenset[int] = frozenset(),
        given_values: GivenValues = lambda _: (),
        since: int = 0,
        boots: Boots | None = None,
    ) -> None:
        """Take the tree.

        Args:
            tree: the tree.
            error_returns: forms of the errors of its functions.
            is_chosen: returns whether a function, by the number of a row's `function` and its boot, is one whose
                failures are wanted; None: of all calls that no other call encloses.
            errnos: negative error numbers that are wanted; empty: all.
            given_values: arguments of the calls.
            since: time, in nanoseconds of the kernel's clock, from which on calls that begin are looked at.
            boots: boots of the events of the tree; None: all are of the first.
        """
        self.checked = 0
        """Number of chosen calls that have returned a value."""
        self.failed = 0
        """Number of them that failed."""
        self.dropped = 0
        """Number of chosen calls that the tree dropped before they had returned."""
        self.without_values = 0
        """Number of chosen calls without a recorded result, or without their beginning."""
        self._tree = tree
        self._search = FailureSearch(tree, error_returns, given_values, boots)
        self._is_chosen = is_chosen
        self._boots = boots or Boots()
        self._chosen: dict[tuple[int, int], bool] = {}
        """True for the chosen functions, by number and boot."""
        self._errnos = errnos
        self._since = since
        self._next = tree.first
        self._waiting: list[int] = []
        """Chosen calls that run, or are inside one that does."""

    @property
    def oldest_needed(self) -> int:
        """Oldest row of the tree that is needed still."""
        return min(self._waiting[0] if self._waiting else self._tree.next, self._next)

    def take(self) -> list[FailureChain]:
        """Return the failures of calls that have returned since the last time, in order of their beginning."""
        tree = self._tree
        start = max(self._next, tree.first)
        self.dropped += sum(row < tree.first for row in self._waiting)
        rows = [row for row in self._waiting if row >= tree.first] + self._rows_from(start)
        self._next = tree.next
        waits: set[int] = set()
        counted: set[int] = set()
        chains = []
        for row in rows:
            if self._is_open(row) or self._is_inside(row, waits):
                waits.add(row)
                continue
            chain = None if row in counted else self._check(row)
            if chain is not None:
                counted.update(chain.rows)
                chains.append(chain)
        self._waiting = sorted(waits)
        return chains

    def _check(self, row: int) -> FailureChain | None:
        if self._since and self._tree.row(row).ts < self._since:
            return None
        flags = int(self._tree.columns.column("flags")[row - self._tree.first])
        if not flags & CallRowFlag.RETVAL or flags & CallRowFlag.NO_ENTRY:
            self.without_values += 1
            return None
        self.checked += 1
        chain = self._search.chain(row)
        if chain is None or (self._errnos and chain.errno not in self._errnos):
            return None
        self.failed += 1
        return chain

    def _rows_from(self, start: int) -> list[int]:
        """Return the chosen calls from a row on."""
        columns = self._tree.columns
        part = slice(start - columns.first, None)
        is_call = columns.column("kind")[part] == RowKind.CALL
        function = columns.column("function")[part]
        if self._is_chosen is None:
            return self._outermost(np.flatnonzero(is_call) + start)
        boots = self._boots.of_rows(columns.column("seq")[part])
        rows: list[int] = []
        for boot in np.unique(boots).tolist():
            own = is_call & (boots == boot)
            wanted = [one for one in np.unique(function[own]).tolist() if self._chooses(one, boot)]
            rows += (np.flatnonzero(own & np.isin(function, np.array(wanted, np.uint64))) + start).tolist()
        return rows

    def _chooses(self, function: int, boot: int) -> bool:
        if (function, boot) not in self._chosen:
            self._chosen[function, boot] = self._is_chosen is None or self._is_chosen(function, boot)
        return self._chosen[function, boot]

    def _outermost(self, rows: Ints) -> list[int]:
        """Return those of some calls that no other call encloses."""
        kind, parent = self._tree.columns.column("kind"), self._tree.columns.column("parent") - self._tree.first
        outer = parent[rows - self._tree.first]
        is_enclosed = (outer >= 0) & (kind[np.maximum(outer, 0)] == RowKind.CALL)
        outermost: list[int] = rows[~is_enclosed].tolist()
        return [row for row in outermost if not self._is_inside_call(row)]

    def _is_open(self, row: int) -> bool:
        return bool(self._tree.columns.column("flags")[row - self._tree.first] & CallRowFlag.OPEN)

    def _enclosing(self, row: int) -> int:
        parent = int(self._tree.columns.column("parent")[row - self._tree.first])
        return parent if parent >= self._tree.first else -1

    def _is_inside(self, row: int, rows: set[int]) -> bool:
        """Return whether one of some rows encloses a row."""
        if not rows:
            return False
        while (row := self._enclosing(row)) >= 0:
            if row in rows:
                return True
        return False

    def _is_inside_call(self, row: int) -> bool:
        """Return whether a call encloses a row: interrupts and task switches may, too."""
        while (row := self._enclosing(row)) >= 0:
            if self._tree.columns.column("kind")[row - self._tree.first] == RowKind.CALL:
                return True
        return False
