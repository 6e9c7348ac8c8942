"""Slips in the condition behind `if`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from probes.slips.slip import Slip

_BARE_VALUE = re.compile(r"(==|!=|~)\s*([^\s\"'&|()]+)")
_OPERATORS: Final = (("===", "=="), (r"(?<![=!<>])=(?![=<>])", "=="), ("=>", ">="), ("=<", "<="), ("<>", "!="))


def quotes(slip: Slip) -> Iterator[str]:
    """Text without quotes."""
    yield slip.conditioned(lambda condition: _BARE_VALUE.sub(lambda match: f'{match[1]} "{match[2]}"', condition))


def operator(slip: Slip) -> Iterator[str]:
    """`=` for `==`, `and` for `&&`, and their like."""

    def as_in_c(condition: str) -> str:
        for wrong, right in _OPERATORS:
            condition = re.sub(wrong, right, condition)
        return re.sub(r"\bor\b", "||", re.sub(r"\band\b", "&&", condition))

    yield slip.conditioned(as_in_c)


def closed(slip: Slip) -> Iterator[str]:
    """A bracket that is not closed."""
    yield f"{slip.text})"


def opened(slip: Slip) -> Iterator[str]:
    """A bracket that was never opened."""
    yield slip.conditioned(lambda condition: f"({condition}")
    yield slip.conditioned(lambda condition: condition[: condition.rfind(")")])


def quote(slip: Slip) -> Iterator[str]:
    """Text that is not closed."""
    yield f'{slip.text}"'
    yield f"{slip.text}'"


def no_condition(slip: Slip) -> Iterator[str]:
    """An `if` with nothing behind it."""
    yield slip.text.removesuffix("if").rstrip()
