"""Write values of parameters, as a person typed them, for a specification.

A value always stays a single value: numbers are formatted anew, and a text that could end its quotes or begin a
comment is refused with the reason.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

from events.names.errnos import MAX_ERRNO, errno_names, errno_of
from events.names.syscalls import call_names, call_number
from foreign.text import MOST_DIGITS
from probes.presets.errors import PresetError
from probes.presets.schema import Parameter, ParameterType

MAX_PID = 1 << 22
"""PID_MAX_LIMIT of include/linux/threads.h."""
MAX_COMM = 15
"""Largest size of a task's name in bytes: TASK_COMM_LEN without the NUL."""
MAX_PATH = 4095
MAX_TEXT = 255
"""Largest size in bytes of a text that a filter compares (MAX_FILTER_STR_VAL)."""
_MOST_SHOWN = 80
"""Largest number of characters of a refused value that a message repeats."""
_UNITS = {"": 1, "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ns|us|µs|ms|s|m)?")
_NUMBER = re.compile(r"[+-]?(?:0x[0-9a-fA-F]+|[0-9]+)")
_CALLS = re.compile(r"[A-Za-z0-9_.*?,\[\]-]+")
"""Names and patterns of functions with commas between them."""
_BARE = re.compile(r"[A-Za-z0-9_./@+,=~-]+")


def number_of(parameter: Parameter, typed: str) -> int:
    """Return the number typed for a parameter of a numeric type, a duration in nanoseconds. Raises PresetError."""
    text = typed.strip()
    if len(text) > MOST_DIGITS:
        raise _invalid(parameter, typed, f"it has {len(text)} characters, and at most {MOST_DIGITS} can be")
    if parameter.type is ParameterType.DURATION:
        match = _DURATION.fullmatch(text)
        if match is None or (not match[2] and float(match[1])):
            raise _invalid(parameter, typed, "say a time with its unit, as 10ms, 250us or 1.5s")
        number = round(float(match[1]) * _UNITS[match[2] or ""])
    elif _NUMBER.fullmatch(text):
        number = int(text, 16) if "x" in text else int(text)
    else:
        raise _invalid(parameter, typed, "say a whole number")
    if not -(1 << 63) <= number < 1 << 64:
        raise _invalid(parameter, typed, "it does not fit in 64 bits")
    if parameter.type is ParameterType.PID and not 0 <= number <= MAX_PID:
        raise _invalid(parameter, typed, f"process ids are 0 to {MAX_PID}")
    return number


def check_value(parameter: Parameter, typed: str, machine: str = "") -> None:
    """Check a typed value; if the target's architecture is unknown, any system call is valid. Raises PresetError."""
    if parameter.type is not ParameterType.SYSCALL or machine or typed.strip() not in call_names():
        value_text(parameter, typed, quoted=True, machine=machine)


def value_text(parameter: Parameter, typed: str, *, quoted: bool, machine: str = "") -> str:
    """Return a value as written in a specification. Raises PresetError.

    Args:
        parameter: the parameter.
        typed: the value as a person typed it, not empty.
        quoted: the value is in a filter, where text has quotes; else text is part of a place.
        machine: `uname -m` of the target, for system call numbers; empty: unknown.
    """
    if parameter.type is ParameterType.SYSCALL:
        return str(_call(parameter, typed, machine))
    if parameter.type is ParameterType.ERRNO:
        return str(_error(parameter, typed))
    if parameter.type is ParameterType.CALL:
        return f'"{_calls_text(parameter, typed)}"' if quoted else _calls_text(parameter, typed)
    if parameter.type in (ParameterType.INT, ParameterType.DURATION, ParameterType.PID):
        return str(number_of(parameter, typed))
    _check_text(parameter, typed)
    if quoted:
        return f'"{typed}"'
    if not _BARE.fullmatch(typed):
        raise _invalid(parameter, typed, "outside of a filter only letters, digits and _ . / @ + , = ~ - can stand")
    return typed


def _call(parameter: Parameter, typed: str, machine: str) -> int:
    """Return the number of a system call. Raises PresetError."""
    text = typed.strip()
    if _NUMBER.fullmatch(text):
        return number_of(parameter, text)
    number = call_number(machine, text)
    if number is not None:
        return number
    reason = _suggestion(text, call_names(machine), "say a name, as openat, or a number")
    if text in call_names():
        has_names = machine and call_names(machine)
        reason = (
            f"{machine} has none of that name"
            if has_names
            else "say its number: names are not known for this machine"
        )
    raise _invalid(parameter, typed, reason)


def _calls_text(parameter: Parameter, typed: str) -> str:
    """Return names of calls without blanks. Raises PresetError."""
    names = [name.strip() for name in typed.split(",") if name.strip()]
    text = ",".join(names)
    if not _CALLS.fullmatch(text):
        raise _invalid(parameter, typed, "say a system call or a function, as openat, vfs_open or vfs_*")
    _check_text(parameter, text)
    return text


def _error(parameter: Parameter, typed: str) -> int:
    """Return an error as functions return it: negative. Raises PresetError."""
    text = typed.strip().removeprefix("-")
    if _NUMBER.fullmatch(text):
        number = number_of(parameter, text)
        if not 0 < number <= MAX_ERRNO:
            raise _invalid(parameter, typed, f"errors are 1 to {MAX_ERRNO}")
        return -number
    number_by_name = errno_of(f"-{text.upper()}")
    if number_by_name is not None:
        return number_by_name
    raise _invalid(parameter, typed, _suggestion(text.upper(), errno_names(), "say a name, as EACCES, or a number"))


def _suggestion(text: str, names: Collection[str], otherwise: str) -> str:
    similar = difflib.get_close_matches(text, names, 3)
    return f"did you mean {' or '.join(similar)}?" if similar else otherwise


def _check_text(parameter: Parameter, typed: str) -> None:
    """Check that a text can't end its quotes or the line, and fits the kernel's limits. Raises PresetError."""
    forbidden = next((ch for ch in typed if ch in "\"'\\#" or not ch.isprintable()), None)
    if forbidden is not None:
        raise _invalid(parameter, typed, f"{forbidden!a} can't stand in a filter's text; ? stands for any one with ~")
    try:
        size = len(typed.encode())
    except UnicodeEncodeError:
        raise _invalid(parameter, typed, "it is no text") from None
    limit = {ParameterType.COMM: MAX_COMM, ParameterType.PATH: MAX_PATH}.get(parameter.type, MAX_TEXT)
    if size > limit:
        raise _invalid(parameter, typed, f"it has {size} bytes, and at most {limit} can be")


def _invalid(parameter: Parameter, typed: str, reason: str) -> PresetError:
    shown = typed if len(typed) <= _MOST_SHOWN else f"{typed[:_MOST_SHOWN]}..."
    return PresetError(f"{parameter.name}: {ascii(shown)[1:-1]} is no {parameter.type}: {reason}")
