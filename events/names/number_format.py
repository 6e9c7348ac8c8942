"""Describe how the numbers of a field are displayed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class NumberFormat(NamedTuple):
    """Format of the numbers of a field; decimal unless stated otherwise."""

    hexadecimal: bool = False
    """True if numbers above 9 are hexadecimal."""
    names: Callable[[int], str] | None = None
    """Function that returns the text of a number that may have a name; None: numbers have no names."""
    only_errors: bool = False
    """True if only -4095 to -1 can have a name."""
