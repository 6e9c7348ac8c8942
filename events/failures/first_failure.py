"""Find the first failure of a call: the function in which the error arose that the call returned.

From the call that failed, the chain goes down to the last call inside it that returned the same error, and so on; the
last function of the chain is the origin. An error that a caller handled is in no chain: what that caller returned is
another value, or a later call inside it returned the same error again. A call that was given the error as an argument
(`link_path_walk(ERR_PTR(-ELOOP), nd)`) and returned it is in no chain, either.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from btf.functions.error_returns import ErrorReturn
from events.clocks.boots import Boots
from events.graph.begin_end_columns import Ints, Places, RowKind
from events.graph.tree import CallRowFlag, CallTree
from events.names.errnos import MAX_ERRNO

_INCOMPLETE: Final = CallRowFlag.NO_EXIT | CallRowFlag.LOST | CallRowFlag.OPEN

ErrorReturns = Callable[[int, int], ErrorReturn]
"""Function that returns the form of the errors of a function, by the number of a row's `function` and its boot."""
GivenValues = Callable[[int], Collection[int]]
"""Function that returns the arguments of the call of a row, as signed numbers; empty: they are unknown."""


class FailureChain(NamedTuple):
    """Calls that returned one error, each inside the one before it."""

    rows: tuple[int, ...]
    """Rows of the tree: the call that failed first, the origin last."""
    errno: int
    """Negative error number that all of them returned."""
    is_ambiguous: bool
    """True if a call of the chain had calls of several functions inside it that returned the error: the last one was
    taken."""
    is_incomplete: bool
    """True if the return of a call inside the origin was not recorded."""
    handled: int
    """Row of the last call inside the origin that could fail, if it returned another error, which the origin may have
    replaced; -1: it returned none."""

    @property
    def origin(self) -> int:
        """Row of the first failure."""
        return self.rows[-1]


def errors_in_results(retval: Ints, form: NDArray[np.uint8]) -> Ints:
    """Return the negative error number in each result register; 0: there is none.

    Args:
        retval: the registers.
        form: `ErrorReturn` of the function of each.
    """
    low = (retval << 32) >> 32
    narrow = (form == ErrorReturn.INT) | ((form == ErrorReturn.UNKNOWN) & (retval >> 31 == 1))
    value = np.where(narrow, low, retval)
    failed = (value < 0) & (value >= -MAX_ERRNO) & (form != ErrorReturn.NONE)
    return np.where(failed, value, 0)


class FailureSearch:
    """Search of a tree for first failures."""

    def __init__(
        self,
        tree: CallTree,
        error_returns: ErrorReturns,
        given_values: GivenValues = lambda _: (),
        boots: Boots | None = None,
    ) -> None:
        """Take the tree, and the boots of its events; None: all are of the first."""
        self._tree = tree
        self._given_values = given_values
        self._error_returns = error_returns
        self._boots = boots or Boots()
        self._forms: dict[tuple[int, int], ErrorReturn] = {}
        """Forms by function and boot, in which other functions have its address."""

    def errors(self, rows: Ints | Places) -> Ints:
        """Return the negative error number that each row returned; 0: none, or it is no call."""
        columns, at = self._tree.columns, rows - self._tree.first
        has = columns.column("flags")[at] & CallRowFlag.RETVAL != 0
        is_call = columns.column("kind")[at] == RowKind.CALL
        boots = self._boots.of_rows(columns.column("seq")[at])
        functions = zip(columns.column("function")[at].tolist(), boots.tolist(), strict=True)
        forms = np.array([self._form(function, boot) for function, boot in functions], np.uint8)
        numbers: Ints = np.where(has & is_call, errors_in_results(columns.column("retval")[at], forms), 0)
        return numbers

    def chain(self, row: int) -> FailureChain | None:
        """Return the chain of a call that has returned; None: it returned no error.

        Raises IndexError if the tree dropped the row.
        """
        self._tree.row(row)
        errno = int(self.errors(np.array([row]))[0])
        if not errno:
            return None
        rows, is_ambiguous = [row], False
        while len(found := self._failed_inside(rows[-1], errno)):
            is_ambiguous |= len(set(self._functions(found))) > 1
            rows.append(int(found[-1]))
        inside = self._calls_inside(rows[-1])
        flags = self._tree.columns.column("flags")[inside - self._tree.first]
        telling = [one for one in inside.tolist() if not self._hides_errors(one)]
        handled = telling[-1] if telling and self.errors(np.array(telling[-1:]))[0] else -1
        is_incomplete = bool((flags & _INCOMPLETE).any())
        return FailureChain(tuple(rows), errno, is_ambiguous, is_incomplete, handled)

    def _failed_inside(self, row: int, errno: int) -> Ints:
        """Return the calls directly inside a row that returned an error and were not given it; if none returned it,
        those inside calls that return no errors, which may hand one on in another way.
        """
        level = self._calls_inside(row)
        while len(level):
            found: Ints = level[self.errors(level) == errno]
            if len(found):
                return np.array([one for one in found.tolist() if errno not in self._given_values(one)], np.int64)
            parts = [self._calls_inside(one) for one in level.tolist() if self._hides_errors(one)]
            level = np.concatenate(parts) if parts else level[:0]
        return level

    def _calls_inside(self, row: int) -> Ints:
        """Return the calls directly inside a row, in order."""
        columns, first = self._tree.columns, self._tree.first
        stop = min(int(columns.column("after")[row - first]), self._tree.next)
        part = slice(row + 1 - first, stop - first)
        inside = columns.column("parent")[part] == row
        inside &= columns.column("kind")[part] == RowKind.CALL
        rows: Ints = np.flatnonzero(inside) + row + 1
        return rows

    def _functions(self, rows: Ints) -> list[int]:
        functions: list[int] = self._tree.columns.column("function")[rows - self._tree.first].tolist()
        return functions

    def _hides_errors(self, row: int) -> bool:
        boot = self._boots.of(int(self._tree.columns.column("seq")[row - self._tree.first]))
        (function,) = self._functions(np.array([row]))
        return self._form(function, boot) is ErrorReturn.NONE

    def _form(self, function: int, boot: int) -> ErrorReturn:
        form = self._forms.get((function, boot))
        if form is None:
            form = self._forms[function, boot] = self._error_returns(function, boot)
        return form
