"""The mark that a cut line leaves among the events, as data: it comes as text, which says it to people."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from events.decode import Value
from events.record import Record

EVENT: Final = "line_cut"
"""Name of its event; it has no group and no format."""
_SECONDS: Final = re.compile(r"\d+\.\d+", re.ASCII)


def is_mark(record: Record) -> bool:
    """Whether an event says that the line was cut, and not what a task did."""
    return record.event == EVENT and record.format is None


def task_name(record: Record) -> str:
    """Name of the task of an event; a mark has none: what stands there is for those who read a table."""
    return "" if is_mark(record) else record.comm


def typed(values: Mapping[str, Value]) -> dict[str, Value | float]:
    """Fields of a mark as they were printed, each as what it is: seconds are a number, and a note has no quotes."""
    return {name: _typed(value) for name, value in values.items()}


def unquoted(text: str) -> str:
    """A string as it is, of one that was printed with quotes."""
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def _typed(value: Value) -> Value | float:
    if not isinstance(value, str):
        return value
    return float(value) if _SECONDS.fullmatch(value) else unquoted(value)
