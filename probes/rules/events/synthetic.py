"""Parse a synthetic event by the kernel's rules, `s:name type field[; type field]` (trace_events_synth.c)."""

from __future__ import annotations

from probes.rules.deletion import SYNTHETIC
from probes.rules.events.fields import SYNTHETIC_SIZES
from probes.rules.parsed_event import ParsedEvent
from probes.syntax.refused import Refused, RefusedWord
from probes.syntax.text import UINT_MAX, is_identifier, kstrtoul

MAX_FIELDS = 64
MAX_STRING = 256


def read_dynamic(command: str, taken: frozenset[str]) -> ParsedEvent:
    """Parse a command to dynamic_events that begins with `s:`, without leading white space. Raises RefusedWord."""
    name, blank, fields = _split(command)
    if not blank:
        raise _error(command, "INVALID_CMD")
    name = name[2:]
    if "/" in command[2:]:  # the kernel searches the fields for a slash too
        if not name.startswith(f"{SYNTHETIC}/"):
            raise _error(command, "INVALID_DYN_CMD")
        name = name.removeprefix(f"{SYNTHETIC}/")
    _check_shape(command, command[command.index(name, 2) :] if name else fields)
    return _parse(command, name, fields, taken)


def read_bare(command: str, taken: frozenset[str]) -> ParsedEvent | None:
    """Parse a command to synthetic_events; None for the deletion of an existing event. Raises RefusedWord."""
    _check_shape(command, command)
    name, blank, fields = _split(command)
    if name.startswith("!"):
        if name[1:] not in taken:
            raise RefusedWord(Refused("refused_without_message", 0, name), command=command)
        return None
    if not blank:
        raise _error(command, "INVALID_CMD")
    return _parse(command, name, fields, taken)


def _split(command: str) -> tuple[str, str, str]:
    """Split a command into name, first blank, and fields."""
    at = min((i for i in (command.find(" "), command.find("\t")) if i >= 0), default=len(command))
    return command[:at], command[at : at + 1], command[at:].lstrip()


def _check_shape(command: str, text: str) -> None:
    """Check that a name and a field are there (check_command)."""
    first = text.split(";", 1)[0]
    if not first.startswith("!") and len(first.split()) < 3:
        raise _error(command, "INVALID_CMD")


def _error(command: str, code: str, token: str | None = None) -> RefusedWord:
    """Return the error, placed at the first occurrence of the token's text (errpos)."""
    return RefusedWord(
        Refused(code, max(command.find(token), 0) if token is not None else 0, token or ""), command=command
    )


def _parse(command: str, name: str, text: str, taken: frozenset[str]) -> ParsedEvent:
    if not name:
        raise _error(command, "INVALID_CMD")
    if not is_identifier(name):
        raise _error(command, "BAD_NAME", name)
    if name in taken:
        raise _error(command, "EVENT_EXISTS", name)
    fields: list[tuple[str, str]] = []
    for part in text.split(";"):
        words = part.split()
        while words:
            field, words = _field(command, words)
            if len(fields) == MAX_FIELDS:
                raise _error(command, "TOO_MANY_FIELDS")
            fields.append(field)
    if not fields:
        raise _error(command, "INVALID_CMD")
    return ParsedEvent("s", SYNTHETIC, name, fields=tuple(fields))


def _field(command: str, words: list[str]) -> tuple[tuple[str, str], list[str]]:
    """Parse a field; returns its name and type, and the words after it (parse_synth_field)."""
    unsigned = words[0] == "unsigned"
    if unsigned and len(words) < 3:
        raise _error(command, "INCOMPLETE_TYPE", words[0])
    kind = words[int(unsigned)]
    if len(words) < 2 + unsigned:
        raise _error(command, "INVALID_FIELD", kind)
    written = words[1 + unsigned]
    name, bracket, size = written.partition("[")
    if not is_identifier(name):
        raise _error(command, "BAD_NAME", written)
    full_type = f"{'unsigned ' if unsigned else ''}{kind}{bracket}{size}"
    if not _has_size(full_type):
        bad_array = "char[" in full_type and full_type not in SYNTHETIC_SIZES and bool(bracket)
        raise _error(command, "INVALID_ARRAY_SPEC", written) if bad_array else _error(command, "INVALID_TYPE", kind)
    return (name, full_type), words[2 + unsigned :]


def _has_size(kind: str) -> bool:
    """Return whether the kernel knows the size of a type (synth_field_size)."""
    if kind in SYNTHETIC_SIZES:
        return True
    if "char[" in kind:
        number, closing, rest = kind.partition("char[")[2].partition("]")
        if not closing or rest or kind.index("]") < kind.index("char["):
            return False
        size = kstrtoul(number, 0, UINT_MAX) if len(number) <= 3 else None
        return not number or (size is not None and size <= MAX_STRING)
    return "long[" in kind
