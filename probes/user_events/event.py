"""Represent a user event that probewright registers: name, typed fields, and a filter; read it from text.

    u:request u64 length; char[16] verb; __rel_loc char[] path if length > 1000

The line is the kernel's own (Documentation/trace/user_events.rst); the filter is probewright's. Blanks may be of any
number here, `str()` has single ones. Apart from the kernel's rules are ours (`own_refusal`): the kernel takes names
that no file, filter or reader can have.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from probes.names import RESERVED_FIELDS
from probes.syntax.parse_error import ParseError, refuse
from probes.syntax.text import is_identifier
from probes.user_events.kernel_reading import (
    MOST_BYTES,
    PLACED,
    PREFIX,
    DefinitionRefused,
    KernelDefinition,
    KernelField,
    read_field,
)

MOST_RECORD: Final = 3900
"""Most bytes of an event: a larger one finds no place in a page of the ring buffer, and is lost without a word."""
_LONGEST_NAME: Final = 255
"""Longest name of a folder (NAME_MAX): the event has one."""
_TAKEN_NAMES: Final = frozenset({"enable", "filter"})
"""Names of files beside the folders of events."""
_FILTER: Final = re.compile(r"\sif(?:\s+|$)")
_BEGIN: Final = re.compile(r"\s*u:")


@dataclass(frozen=True, slots=True)
class UserEvent:
    """Request to define a user event, and to record it; see the module for the syntax."""

    name: str
    fields: tuple[KernelField, ...] = ()
    filter: str = ""
    """Filter on the fields, in the kernel."""

    @property
    def subject(self) -> str:
        return self.name

    @property
    def definition(self) -> str:
        """Definition in the kernel's words, as it is registered: `request u64 length; char[16] verb`."""
        return KernelDefinition(self.name, self.fields).text

    def __str__(self) -> str:
        return f"{PREFIX}{self.definition}{f' if {self.filter}' if self.filter else ''}"


def is_user_event(text: str) -> bool:
    """Return whether a text defines a user event."""
    return _BEGIN.match(text) is not None


def parse_user_event(text: str) -> UserEvent:
    """Read the definition of a user event. Raises ParseError, with the column in the text with single blanks."""
    command = " ".join(text.split())
    match = _FILTER.search(command)
    condition = command[match.end() :].strip() if match else ""
    if match and not condition:
        raise refuse("no_filter", len(command))
    body = command[: match.start()] if match else command
    rest = body[len(PREFIX) :].lstrip()
    start = len(body) - len(rest)
    name = re.match(r"[^\s;]*", rest)[0]  # type: ignore[index]
    _check_name(name, start)
    fields: list[KernelField] = []
    at = start + len(name)
    for part in rest[len(name) :].split(";"):
        column = at + len(part) - len(part.lstrip())
        try:
            field = read_field(part.strip())
        except DefinitionRefused as error:
            raise _refused(error.token, column + error.column, error.reason) from None
        if field is not None:
            _check_field(field, fields, body.find(field.name, column + len(field.type)))
            fields.append(field)
        at += len(part) + 1
    event = UserEvent(name, tuple(fields), condition)
    _check_size(event)
    return event


def _check_name(name: str, column: int) -> None:
    if not name:
        raise _refused(PREFIX, 0, "it needs a name: u:NAME TYPE FIELD; TYPE FIELD")
    if ":" in name:
        raise _refused(name, column, "the kernel knows no flags behind a user event's name")
    if "/" in name:
        raise _refused(name, column, "all user events are in the group user_events: say the name alone")
    if not is_identifier(name) or len(name) > _LONGEST_NAME or name in _TAKEN_NAMES:
        raise _refused(name, column, f"a name has up to {_LONGEST_NAME} letters, digits and _, and no digit first")


def _check_field(field: KernelField, before: list[KernelField], column: int) -> None:
    if not is_identifier(field.name):
        raise _refused(field.name, column, "the name of a field has letters, digits and _, and no digit first")
    if any(one.name == field.name for one in before):
        raise _refused(field.name, column, "two fields have this name: filters and views could not tell them apart")
    if field.name == "if":
        raise _refused(field.name, column, "`if` stands before a filter: a field needs another name")
    if field.name in RESERVED_FIELDS:
        raise _refused(field.name, column, "every event has a field of this name")


def _check_size(event: UserEvent) -> None:
    if len(event.definition) > MOST_BYTES:
        raise _refused(event.name, len(PREFIX), f"a definition has at most {MOST_BYTES} characters")
    if least_bytes(event.fields) > MOST_RECORD:
        reason = f"its fields have more than {MOST_RECORD} bytes, and no such event would be recorded"
        raise _refused(event.name, len(PREFIX), reason)


def least_bytes(fields: tuple[KernelField, ...]) -> int:
    """Return the bytes of an event whose texts are empty."""
    return sum(field.size + field.type.startswith(PLACED) for field in fields)


def _refused(token: str, column: int, reason: str) -> ParseError:
    return refuse("bad_user_event", column, token, f"{reason[:1].upper()}{reason[1:]}")
