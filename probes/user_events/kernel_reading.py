"""Read the definition of a user event by the kernel's rules (kernel/trace/trace_events_user.c).

    NAME [TYPE FIELD [SIZE]][;TYPE FIELD [SIZE]]…

The kernel splits at single spaces, takes nearly any name, and logs no error: all that it tells is an errno. Texts
stand for bytes, one character each, as in `probes.kernel_verdict`.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from events.names.errnos import MAX_ERRNO
from probes.syntax.text import UINT_MAX, kstrtoul

PREFIX: Final = "u:"
"""Beginning of a line of dynamic_events (USER_EVENTS_PREFIX)."""
GROUP: Final = "user_events"
"""Group of all user events of one format (USER_EVENTS_SYSTEM)."""
MULTI_GROUP: Final = "user_events_multi"
"""Group of user events whose name may have several formats; each has a number behind its name."""
MOST_BYTES: Final = 511
"""Longest definition that a program can register (MAX_EVENT_DESC, less its NUL)."""
MOST_ELEMENTS: Final = 1024
"""Longest array of characters (MAX_FIELD_ARRAY_SIZE)."""
_INT_MAX: Final = (1 << 31) - 1
_BLANKS: Final = " \t\n\v\f\r\xa0"
_PREFIXES: Final = (
    "unsigned ",
    "struct ",
    "__data_loc unsigned ",
    "__data_loc ",
    "__rel_loc unsigned ",
    "__rel_loc ",
)
_SIZES: Final = {
    **{f"{sign}{bits}": bits // 8 for sign in "su" for bits in (8, 16, 32, 64)},
    "char": 1,
    "unsigned char": 1,
    "short": 2,
    "unsigned short": 2,
    "int": 4,
    "unsigned int": 4,
}
NUMBERS: Final = tuple(_SIZES)
"""Types of numbers; `long` is none of them, as its size differs."""
_ARRAYS: Final = ("char[", "unsigned char[")
PLACED: Final = ("__data_loc ", "__rel_loc ")
"""Beginnings of types whose values stand behind all fields."""
_LONGEST_LENGTH: Final = 7
"""Characters behind the `[` of an array, its `]` included."""


class DefinitionRefused(ValueError):
    """A definition that the kernel does not take."""

    def __init__(self, reason: str, token: str = "", column: int = 0, number: int = errno.EINVAL) -> None:
        super().__init__(reason)
        self.reason = reason
        self.token = token
        self.column = column
        """Column in the definition where the wrong part begins."""
        self.number = number
        """The kernel's errno."""


class KernelField(NamedTuple):
    """Field as the kernel keeps it."""

    type: str
    name: str
    size: int
    """Bytes of the field; of a value behind all fields, those of its place."""

    @property
    def text(self) -> str:
        """Field as dynamic_events shows it (user_event_show)."""
        return f"{self.type} {self.name}{f' {self.size}' if self.type.startswith('struct ') else ''}"


class KernelDefinition(NamedTuple):
    """Definition as the kernel keeps it."""

    name: str
    fields: tuple[KernelField, ...]

    @property
    def fields_text(self) -> str:
        """All fields as dynamic_events shows them."""
        return "; ".join(field.text for field in self.fields)

    @property
    def text(self) -> str:
        """Definition as dynamic_events shows it, without its prefix."""
        return f"{self.name} {self.fields_text}" if self.fields else self.name


def read_definition(text: str) -> KernelDefinition:
    """Read a definition (user_event_parse_cmd). Raises DefinitionRefused."""
    name, blank, rest = text.partition(" ")
    if ":" in name:
        raise DefinitionRefused("the kernel knows no flags behind a user event's name", name, 0)
    fields, column = [], len(name) + 1
    for part in rest.split(";") if blank else ():
        if (field := read_field(part, column)) is not None:
            fields.append(field)
        column += len(part) + 1
    return KernelDefinition(name, tuple(fields))


def read_field(text: str, column: int = 0) -> KernelField | None:
    """Read a field (user_event_parse_field); None: the text is blank. Raises DefinitionRefused.

    `column`: where the text begins in the definition.
    """
    body = text.lstrip(_BLANKS)
    start = column + len(text) - len(body)
    if not body:
        return None
    prefix = next((one for one in _PREFIXES if body.startswith(one)), "")
    at = body.find(" ", len(prefix)) if prefix else 0
    if at < 0:
        raise DefinitionRefused("a field needs a type and a name", body, start)
    parts = [body[:at], *body[at + 1 :].split(" ")] if prefix else body.split(" ")
    size = _given_size(parts, start, is_struct=prefix == "struct ")
    if len(parts) < 2:
        raise DefinitionRefused("a field needs a type and a name", body, start)
    if size is None:
        size = _size_of(parts[0], start)
    if size == 0:
        raise DefinitionRefused("a field of no bytes", body, start)
    return KernelField(parts[0], parts[1], size)


def _given_size(parts: Sequence[str], start: int, *, is_struct: bool) -> int | None:
    """Return the size behind a structure's field; None: there is none. Raises DefinitionRefused."""
    if len(parts) < 3:
        return None
    column = start + len(parts[0]) + len(parts[1]) + 2
    if not is_struct:
        _size_of(parts[0], start)  # a wrong type says more
        reason = "a size behind the name is for `struct NAME FIELD SIZE`" if parts[2] else "a blank behind the name"
        raise DefinitionRefused(reason, parts[2], column)
    size = kstrtoul(parts[2], 10, UINT_MAX)
    if size is None:
        raise DefinitionRefused("the size of a structure is a decimal number", parts[2], column)
    if len(parts) > 3:
        raise DefinitionRefused("nothing follows a structure's size", parts[3], column + len(parts[2]) + 1)
    if size > _INT_MAX:  # the kernel gives it as its error
        number = UINT_MAX + 1 - size
        number = number if number <= MAX_ERRNO else errno.EINVAL
        raise DefinitionRefused("the structure is too large", parts[2], column, number)
    return size


def _size_of(kind: str, start: int) -> int:
    """Return the bytes of a type (user_field_size). Raises DefinitionRefused."""
    if kind in _SIZES:
        return _SIZES[kind]
    if kind.startswith(PLACED):
        return 4
    if kind.startswith(_ARRAYS):
        return _array_size(kind, start)
    reason = "this is no type of a user event"
    if kind.startswith("struct "):
        reason = "the size of a structure stands behind its field: struct NAME FIELD SIZE"
    elif kind.split(" ")[-1] in ("long", "size_t"):
        reason = "`long` has no size of its own here: u64 or s64"
    raise DefinitionRefused(reason, kind, start)


def _array_size(kind: str, start: int) -> int:
    """Return the bytes of an array of characters (user_field_array_size). Raises DefinitionRefused."""
    behind = kind.partition("[")[2]
    digits, closed, _ = behind.partition("]")
    size = kstrtoul(digits) if closed and len(behind) <= _LONGEST_LENGTH else None
    if not size or size > MOST_ELEMENTS:
        raise DefinitionRefused(f"the length of an array is 1 to {MOST_ELEMENTS}", kind, start)
    return size


def is_same(existing: KernelDefinition, text: str) -> bool:
    """Return whether the kernel takes a definition for an event of this name that it has (user_fields_match)."""
    words = _argument_words(text.partition(" ")[2])
    if not words:
        return not existing.fields
    at = 0
    for field in existing.fields:
        end = next((n + 1 for n in range(at, len(words)) if ";" in words[n]), len(words))
        if at == end:
            return False
        semicolon = ";" if ";" in words[end - 1] else ""
        if " ".join(words[at:end]) != field.text + semicolon:
            return False
        at = end
    return at == len(words)


def _argument_words(text: str) -> list[str]:
    """Return the words of the fields, with a blank put behind each `;` (user_event_argv_split)."""
    spaced = re.sub(f";(?![{_BLANKS}])", "; ", text)
    return re.findall(f"[^{_BLANKS}]+", spaced)


def existing_definitions(lines: Sequence[str]) -> dict[str, list[KernelDefinition]]:
    """Return the user events of lines of dynamic_events, by name; those of several formats have several."""
    found: dict[str, list[KernelDefinition]] = {}
    for line in lines:
        if line.startswith(PREFIX):
            try:
                definition = read_definition(line.removeprefix(PREFIX).lstrip(_BLANKS))
            except DefinitionRefused:
                continue
            found.setdefault(definition.name, []).append(definition)
    return found


def check_existing(text: str, existing: Sequence[KernelDefinition]) -> bool:
    """Return whether the kernel has an event of this very definition. Raises DefinitionRefused for other fields.

    `existing`: user events of its name that have one format (find_user_event).
    """
    if not existing:
        return False
    if any(is_same(one, text) for one in existing):
        return True
    raise DefinitionRefused(
        f"the kernel has it with other fields: {PREFIX}{existing[0].text}", existing[0].name, 0, errno.EADDRINUSE
    )


def registration_errno(text: str, existing: Sequence[KernelDefinition] = ()) -> int:
    """Return the errno with which the kernel answers a registration; 0: it takes it (user_events_ioctl_reg)."""
    if len(text) > MOST_BYTES:
        return errno.EINVAL
    try:
        if ":" not in text.partition(" ")[0] and check_existing(text, existing):
            return 0
        read_definition(text)
    except DefinitionRefused as error:
        return error.number
    return 0
