"""Base in which the numbers of a field are shown."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class NumberFormat(NamedTuple):
    """How the numbers of a field read; anything else than this is decimal."""

    hexadecimal: bool = False
    """Above 9."""
    names: Callable[[int], str] | None = None
    """Text of a number that may have a name; None: none has one."""
    only_errors: bool = False
    """Only -4095 to -1 can have a name."""
