"""Handle errors in types: raise them, or report the first and continue with an empty result."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from btf.errors import BtfError

_P = ParamSpec("_P")
_T = TypeVar("_T")
_EXACT: ContextVar[bool] = ContextVar("exact_types", default=False)


class Damage:
    """Handler of BtfErrors in a kernel's types and those of its modules.

    Attributes:
        first: text of the first error that was not raised; empty: none.
        is_raised: True if each error is raised and none reported.
    """

    def __init__(self, *, is_raised: bool = True) -> None:
        self.first = ""
        self.is_raised = is_raised
        self._report: Callable[[str], object] | None = None

    def met(self, error: BtfError) -> None:
        """Raise an error, or record it and report the first; the caller then continues with an empty result."""
        if self.is_raised or _EXACT.get():
            raise error
        if not self.first:
            self.first = str(error)
            if self._report is not None:
                self._report(self.first)

    def listen(self, report: Callable[[str], object]) -> None:
        """Set the function that reports the first error, called from any thread; an earlier error is reported at
        once.
        """
        self._report = report
        if self.first:
            report(self.first)


@contextmanager
def exact_types() -> Iterator[None]:
    """Raise each BtfError within this context: for data written to a kernel, where an empty result would be wrong."""
    token = _EXACT.set(True)
    try:
        yield
    finally:
        _EXACT.reset(token)


class DamagedTypes(Protocol):
    """Types that carry their damage, as `btf.btf.Btf` does."""

    damage: Damage


_B = TypeVar("_B", bound=DamagedTypes)


def empty_on_error(
    empty: Callable[[], _T],
) -> Callable[[Callable[Concatenate[_B, _P], _T]], Callable[Concatenate[_B, _P], _T]]:
    """Return an empty result if a function on types ends with a BtfError that is not to be raised."""

    def decorate(function: Callable[Concatenate[_B, _P], _T]) -> Callable[Concatenate[_B, _P], _T]:
        @wraps(function)
        def wrapper(b: _B, /, *args: _P.args, **options: _P.kwargs) -> _T:
            try:
                return function(b, *args, **options)
            except BtfError as error:
                b.damage.met(error)
                return empty()

        return wrapper

    return decorate
