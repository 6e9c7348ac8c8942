"""Types that lie: the error is raised, or told once to somebody who goes on with what is left out."""

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
    """What comes of a BtfError in a kernel's types and in its modules'.

    Attributes:
        first: the first error that was not raised; empty: there was none.
        is_raised: each error is raised, and nothing told.
    """

    def __init__(self, *, is_raised: bool = True) -> None:
        self.first = ""
        self.is_raised = is_raised
        self._tell: Callable[[str], object] | None = None

    def met(self, error: BtfError) -> None:
        """Raise an error, or remember it and tell the first: the caller goes on with an empty answer."""
        if self.is_raised or _EXACT.get():
            raise error
        if not self.first:
            self.first = str(error)
            if self._tell is not None:
                self._tell(self.first)

    def listen(self, tell: Callable[[str], object]) -> None:
        """Have the first error told, from any thread; one that was met before is told now."""
        self._tell = tell
        if self.first:
            tell(self.first)


@contextmanager
def exact_types() -> Iterator[None]:
    """Have each BtfError raised in here: for what is written to a kernel, where an empty answer would be wrong."""
    token = _EXACT.set(True)
    try:
        yield
    finally:
        _EXACT.reset(token)


class DamagedTypes(Protocol):
    """Types that carry their damage, as `btf.btf.Btf` does."""

    damage: Damage


_B = TypeVar("_B", bound=DamagedTypes)


def instead(
    empty: Callable[[], _T],
) -> Callable[[Callable[Concatenate[_B, _P], _T]], Callable[Concatenate[_B, _P], _T]]:
    """Give an empty answer where a question to types ends in a BtfError that is not to be raised."""

    def decorate(ask: Callable[Concatenate[_B, _P], _T]) -> Callable[Concatenate[_B, _P], _T]:
        @wraps(ask)
        def answer(b: _B, /, *args: _P.args, **options: _P.kwargs) -> _T:
            try:
                return ask(b, *args, **options)
            except BtfError as error:
                b.damage.met(error)
                return empty()

        return answer

    return decorate
