"""Names of numbers: one for each of several numbers, or one for each flag of a set."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple


class NamedNumber(NamedTuple):
    """Number with its name, or flag; a flag of several bits is set where all of them are."""

    number: int
    name: str


class NumberNames:
    """Names of the numbers of a field."""

    def __init__(self, named: tuple[NamedNumber, ...], *, are_flags: bool = False, fallback: str = "") -> None:
        """Take the names.

        Args:
            named: numbers with their names, in the order in which they are looked up: of flags that share bits the
                first that is set is said.
            are_flags: True if a number is a set of them.
            fallback: name of 0 among flags that have none for it.
        """
        self.named = named
        self.are_flags = are_flags
        self._none = fallback

    @cached_property
    def _by_number(self) -> Mapping[int, str]:
        return dict(reversed(self.named))

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number of each name."""
        found: dict[str, int] = {}
        for number, name in self.named:
            found.setdefault(name, number)
        return found

    def text(self, value: int) -> str | None:
        """Return the name of a number, of flags all that are set: `FILE|IMMED|0x40`; None: it has none.

        Args:
            value: number, of which flags are looked up as if it were unsigned.
        """
        if not self.are_flags:
            return self._by_number.get(value)
        if not value:
            return self._by_number.get(0, self._none) or None
        names, left = list[str](), value
        for number, name in self.named:
            if number and left & number == number:
                names.append(name)
                left &= ~number
        return "|".join([*names, *([hex(left)] if left else [])]) if names else None
