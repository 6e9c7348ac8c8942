"""Find the names of fields in an event's filter (kernel/trace/trace_events_filter.c)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_TOKEN = re.compile(
    r"""(?P<string>"[^"]*"|'[^']*')
      | (?P<cpus>CPUS\s*\{[^}]*\})
      | (?P<number>[0-9][0-9A-Za-z_]*)
      | (?P<name>\$?[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_]+)?)
      | (?P<operator>&&|\|\||[!=<>~&|()+-]+)
      | (?P<space>\s+)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_OPERATORS = frozenset({"==", "!=", "<", "<=", ">", ">=", "~", "&"})
EVERYWHERE = frozenset(
    {
        "common_type",
        "common_flags",
        "common_preempt_count",
        "common_pid",
        "common_cpu",
        "common_comm",
        "CPU",
        "cpu",
        "COMM",
        "comm",
        "stacktrace",
        "STACKTRACE",
        "__probe_ip",
        "__probe_func",
        "__probe_ret_ip",
    }
)
"""Fields that a filter may name on any function probe."""


class FieldName(NamedTuple):
    """A field that a filter names."""

    text: str
    column: int


def names_in(text: str) -> tuple[FieldName, ...]:
    """Return the names of fields: the words to the left of an operator."""
    tokens = [m for m in _TOKEN.finditer(text) if m.lastgroup != "space"]
    names = []
    for match, following in zip(tokens, [*tokens[1:], None], strict=False):
        if match.lastgroup != "name" or match.group() == "if":
            continue
        operator = following is not None and following.lastgroup == "operator"
        if operator and following is not None and (following.group().rstrip("-+(!") in _OPERATORS):
            names.append(FieldName(match.group().removesuffix(".function").removesuffix(".ustring"), match.start()))
    return tuple(names)


def renamed(text: str, old: str, new: str) -> str:
    """Return a filter with another name for a field, also where it has a suffix such as `.function`."""
    for name in reversed(names_in(text)):
        if name.text == old:
            end = name.column + len(old)
            text = text[: name.column] + new + text[end:].removeprefix(".function")
    return text


def first_unknown(text: str, fields: Sequence[str]) -> FieldName | None:
    """Return the first name that is not a recorded field; None: all are."""
    allowed = EVERYWHERE.union(fields)
    return next((name for name in names_in(text) if name.text not in allowed), None)
