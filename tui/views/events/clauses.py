"""Make a condition from the event under the cursor, and a time from typed text. Pure."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from types import MappingProxyType
from typing import Final

from events.conditions.comparison import CPU, PID
from events.conditions.condition_parser import free_word, function_clause, number_clause, quote_value
from events.kernel_time import SHOWN_DIGITS, earliest
from events.names.errnos import MAX_ERRNO
from events.names.event_names import event_name
from events.record import Record
from events.text import FAULT, UNNAMED
from widgets.events.event_rows import EventColumn

_SECONDS: Final = re.compile(r"([+-]?)(\d{1,12})(?:\.(\d{1,9}))?")

_KERNEL_HALF: Final = 0xFF00_0000_0000_0000
"""Lowest address of the kernel with the longest addresses, of 57 bits."""
_ERRORS: Final = (1 << 64) - MAX_ERRNO
"""Lowest pointer that is a negative errno."""


def clause_of(
    record: Record,
    column: EventColumn,
    same: bool,
    own: Container[str] = (),
    shown: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return a clause like `count == 4096`. Raises ValueError, with the name of the value, if it can't be compared.

    Args:
        record: the event.
        column: column under the cursor.
        same: True for events with an equal value; False for the others.
        own: field names of events; a property common to all events gets a word that none of these names uses.
        shown: texts of the event's values by field name, for the names of the probed function and of an error.
    """
    sign = "==" if same else "!="
    if column.of_all:
        if column.name == "time":
            raise ValueError("a time: t goes to one")
        if column.name == "cpu":
            return f"{free_word(CPU, own)} {sign} {record.cpu}"
        if column.name == "task":
            return f"{free_word(PID, own)} {sign} {_task_of(record)}"
        return f"event {sign} {quote_value(event_name(record.event))}"
    function = record.format.function if record.format is not None else None
    if function is not None and function.name == column.name and column.name in shown:
        return function_clause(column.name, sign, shown[column.name])
    found = record.values.get(column.name)
    if isinstance(found, bool | int):
        return number_clause(column.name, sign, int(found), shown.get(column.name, ""))
    if isinstance(found, str):
        return f"{column.name} {sign} {quote_value(found)}"
    if found is None and column.name in record.values and _is_text(record, column.name):
        return f'{column.name} {sign} "{FAULT}"'
    if found is None:
        raise ValueError(
            f"{column.name}: this event has no such {'value' if column.name in record.values else 'field'}"
        )
    raise ValueError(f"the values of {column.name}")


def kernel_clause_of(record: Record, column: EventColumn) -> str:
    """Return a clause like `count == 4096` in the syntax of the kernel's filters. Raises ValueError as
    `clause_of`.
    """
    if column == EventColumn("event", of_all=True):
        raise ValueError("the event: a filter belongs to one")
    if (
        record.format is not None
        and record.format.function is not None
        and record.format.function.name == column.name
    ):
        raise ValueError(f"{column.name}: a name for an address, which the kernel's filters don't have")
    if column == EventColumn("task", of_all=True):
        return f"{PID[-1]} == {_task_of(record)}"
    found = record.values.get(column.name)
    if column.of_all or not isinstance(found, str):
        return clause_of(record, column, same=True, own=record.values)
    if "\\x" in found or found in (UNNAMED, FAULT):
        raise ValueError(f"{found}: that is how it is shown, not what the kernel has")
    mark = next((mark for mark in "\"'" if mark not in found), None)
    if mark is None:
        raise ValueError("a value with both kinds of quotes")
    return f"{column.name} == {mark}{found}{mark}"


def _task_of(record: Record) -> int:
    """Return the thread of an event. Raises ValueError where it has none."""
    if record.pid < 0:
        raise ValueError("an event without a task")
    return record.pid


def _is_text(record: Record, name: str) -> bool:
    return record.format is not None and name in record.format.texts


def time_of(text: str, here: int) -> int | None:
    """Return the nanoseconds of `12.304`, or of `+0.5` and `-2` seconds from `here`; None: the text is no time.

    Times in rows are rounded: for such a time, return the first nanosecond that is shown so.
    """
    match = _SECONDS.fullmatch(text.strip())
    if match is None:
        return None
    sign, whole, part = match.groups()
    ns = int(whole) * 1_000_000_000 + int((part or "").ljust(9, "0"))
    return {"": ns if len(part or "") > SHOWN_DIGITS else earliest(ns), "+": here + ns, "-": here - ns}[sign]


def kernel_address_of(record: Record, column: EventColumn) -> int | None:
    """Return the address of the kernel in a column of an event; None: there is none."""
    value = None if column.of_all else record.values.get(column.name)
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    address = value % (1 << 64)
    return address if _KERNEL_HALF <= address < _ERRORS else None
