"""Names of numbers, one for each of several numbers or each flag of a set; and the format of a field's numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import NamedTuple


class NumberFormat(NamedTuple):
    """Format of the numbers of a field; decimal unless stated otherwise."""

    hexadecimal: bool = False
    """True if numbers above 9 are hexadecimal."""
    names: Callable[[int], str] | None = None
    """Function that returns the text of a number that may have a name; None: numbers have no names."""
    only_errors: bool = False
    """True if only -4095 to -1 can have a name."""
    lowest: int = 0
    """Smallest number that can have a name, read as unsigned."""
    beside: Callable[[str], bool] | None = None
    """Function that returns whether a text may stand in one that a number has behind it, which depends on the event;
    None: there is none."""


class NamedNumber(NamedTuple):
    """Number with its name; among flags, bits that are set where it is said."""

    number: int
    name: str
    mask: int = 0
    """Bits of a set of flags that are this number where it is said, as the access mode of `O_RDONLY`; 0: those of the
    number."""


class NumberNames:
    """Names of the numbers of a field."""

    def __init__(
        self,
        named: tuple[NamedNumber, ...],
        *,
        are_flags: bool = False,
        fallback: str = "",
        rest_octal: bool = False,
    ) -> None:
        """Take the names.

        Args:
            named: numbers with their names, in the order in which they are looked up: of flags that share bits the
                first that is set is said.
            are_flags: True if a number is a set of them.
            fallback: name of 0 among flags that have none for it.
            rest_octal: True if bits without a name are said in octal, as permissions are.
        """
        self.named = named
        self.are_flags = are_flags
        self._none = fallback
        self._rest_octal = rest_octal

    @cached_property
    def _by_number(self) -> Mapping[int, str]:
        return {_as_int(one.number): one.name for one in reversed(self.named)}

    @cached_property
    def numbers(self) -> Mapping[str, int]:
        """Number of each name."""
        found: dict[str, int] = {}
        for one in self.named:
            found.setdefault(one.name, one.number)
        return found

    def text(self, value: int) -> str | None:
        """Return the name of a number, of flags all that are set: `O_RDWR|O_CREAT|0x4000000`; None: it has none.

        Args:
            value: number; an `int` that was recorded in more bits or as unsigned is found, too.
        """
        if not self.are_flags:
            return self._by_number.get(_as_int(value))
        if not value and (none := self._by_number.get(0, self._none)):
            return none
        names, left = list[str](), value
        for number, name, mask in self.named:
            mask = mask or number
            if mask and left & mask == number:
                names.append(name)
                left &= ~mask
        if self._rest_octal and (left or not names):
            return "|".join([*names, f"0{left:o}" if left else "0"])
        return "|".join([*names, *([hex(left)] if left else [])]) if names else None


def _as_int(value: int) -> int:
    """Return the `int` whose 32 bits a register has with its sign or zeros above; another number as it is."""
    low, high = value & 0xFFFF_FFFF, value >> 32 & 0xFFFF_FFFF
    return (low ^ 1 << 31) - (1 << 31) if high in (0, 0xFFFF_FFFF) else value
