"""A number of an event compared with another: `count > 4096`."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from events.record import Record

if TYPE_CHECKING:
    from events.columns import Columns, Mask

_TEXT = re.compile(r"\s*([A-Za-z_]\w*)\s*(==|!=|<=|>=|<|>)\s*(-?(?:0[xX][0-9a-fA-F]+|[0-9]+))\s*")
_LIKE_ONE = re.compile(r"\s*([A-Za-z_]\w*)\s*(?:==|!=|<=|>=|<|>)\s*(.*?)\s*")
_OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


@dataclass(frozen=True)
class Comparison:
    """Holds of events that have such a field, if it is a number; an `events.search.Sieve`."""

    field: str
    operator: str
    number: int

    def __call__(self, record: Record) -> bool:
        value = record.values.get(self.field)
        return isinstance(value, int) and bool(_OPERATORS[self.operator](value, self.number))

    def candidates(self, columns: Columns) -> Mask:
        """Exactly the rows it holds of, and those that came as text."""
        from events.columns import is_number  # and numpy, which is there where there are columns

        found = columns.is_text.copy()
        for table in columns.tables.values():
            for field in table.layout.format.fields:
                if field.name == self.field and is_number(field):
                    values, missing = table.column(field)
                    if values.dtype.kind == "b":  # numpy compares these with nothing above 64 bits
                        values = values.view("u1")
                    rows = _OPERATORS[self.operator](values, self.number)
                    found[table.places] = rows if missing is None else rows & ~missing
        return found


def comparison(text: str) -> Comparison | None:
    """What a person typed, if it is one."""
    match = _TEXT.fullmatch(text)
    return (
        Comparison(match[1], match[2], int(match[3], 0) if "x" in match[3].lower() else int(match[3]))
        if match
        else None
    )


def why_none(text: str, fields: Collection[str]) -> str:
    """Why what looks like a comparison can't be one of these fields; empty where it can, or is a plain text."""
    match = _LIKE_ONE.fullmatch(text)
    if match is None:
        return ""
    if match[1] not in fields:
        return f"no field {match[1]}"
    return "" if comparison(text) else f"{match[2] or 'nothing'} is no number"
