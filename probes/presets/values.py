"""Values of parameters: what a person typed -> what stands in a specification.

A value can never become anything but one value: numbers are written anew, and a text that could end the quotes it
stands in, or begin a comment, is refused with the reason.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection

from events.names.errnos import errno_names, errno_of
from events.names.syscalls import call_names, call_number
from probes.presets.errors import PresetError
from probes.presets.schema import Parameter, ParameterType

MAX_PID = 1 << 22
"""PID_MAX_LIMIT of include/linux/threads.h."""
MAX_ERRNO = 4095
"""Of include/linux/err.h: what a function returns as an error."""
MAX_COMM = 15
"""Bytes: TASK_COMM_LEN without the zero."""
MAX_PATH = 4095
MAX_TEXT = 255
"""Bytes: what a filter compares (MAX_FILTER_STR_VAL)."""
_UNITS = {"": 1, "ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000, "m": 60_000_000_000}
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ns|us|µs|ms|s|m)?")
_NUMBER = re.compile(r"[+-]?(?:0x[0-9a-fA-F]+|[0-9]+)")
_BARE = re.compile(r"[A-Za-z0-9_./@+,=~-]+")


def number_of(parameter: Parameter, typed: str) -> int:
    """Of one whose type is a number, or that has one as its value. Raises PresetError."""
    text = typed.strip()
    if parameter.type is ParameterType.DURATION:
        found = _DURATION.fullmatch(text)
        if found is None or (not found[2] and float(found[1])):
            raise _bad(parameter, typed, "say a time with its unit, as 10ms, 250us or 1.5s")
        number = round(float(found[1]) * _UNITS[found[2] or ""])
    elif _NUMBER.fullmatch(text):
        number = int(text, 16) if "x" in text else int(text)
    else:
        raise _bad(parameter, typed, "say a whole number")
    if not -(1 << 63) <= number < 1 << 64:
        raise _bad(parameter, typed, "it does not fit in 64 bits")
    if parameter.type is ParameterType.PID and not 0 <= number <= MAX_PID:
        raise _bad(parameter, typed, f"process ids are 0 to {MAX_PID}")
    return number


def check_value(parameter: Parameter, typed: str, machine: str = "") -> None:
    """Whether it is one; a system call of any architecture, where the target's is not known. Raises PresetError."""
    if parameter.type is not ParameterType.SYSCALL or machine or typed.strip() not in call_names():
        written(parameter, typed, quoted=True, machine=machine)


def written(parameter: Parameter, typed: str, *, quoted: bool, machine: str = "") -> str:
    """The value as it stands in a specification. Raises PresetError.

    Args:
        parameter: whose value.
        typed: as a person gave it, not empty.
        quoted: in a filter, where text has quotes; else text is part of a place.
        machine: `uname -m` of the target, whose numbers system calls have; empty: not known.
    """
    if parameter.type is ParameterType.SYSCALL:
        return str(_call(parameter, typed, machine))
    if parameter.type is ParameterType.ERRNO:
        return str(_error(parameter, typed))
    if parameter.type in (ParameterType.INT, ParameterType.DURATION, ParameterType.PID):
        return str(number_of(parameter, typed))
    _check_text(parameter, typed)
    if quoted:
        return f'"{typed}"'
    if not _BARE.fullmatch(typed):
        raise _bad(parameter, typed, "outside of a filter only letters, digits and _ . / @ + , = ~ - can stand")
    return typed


def _call(parameter: Parameter, typed: str, machine: str) -> int:
    """The number of a system call. Raises PresetError."""
    text = typed.strip()
    if _NUMBER.fullmatch(text):
        return number_of(parameter, text)
    number = call_number(machine, text)
    if number is not None:
        return number
    why = _meant(text, call_names(machine), "say a name, as openat, or a number")
    if text in call_names():
        known = machine and call_names(machine)
        why = f"{machine} has none of that name" if known else "say its number: names are not known for this machine"
    raise _bad(parameter, typed, why)


def _error(parameter: Parameter, typed: str) -> int:
    """An error as functions return it: negative. Raises PresetError."""
    text = typed.strip().removeprefix("-")
    if _NUMBER.fullmatch(text):
        number = number_of(parameter, text)
        if not 0 < number <= MAX_ERRNO:
            raise _bad(parameter, typed, f"errors are 1 to {MAX_ERRNO}")
        return -number
    known = errno_of(f"-{text.upper()}")
    if known is not None:
        return known
    raise _bad(parameter, typed, _meant(text.upper(), errno_names(), "say a name, as EACCES, or a number"))


def _meant(text: str, names: Collection[str], otherwise: str) -> str:
    near = difflib.get_close_matches(text, names, 3)
    return f"did you mean {' or '.join(near)}?" if near else otherwise


def _check_text(parameter: Parameter, typed: str) -> None:
    """What would end the quotes, cut the line or be no text of the kernel's. Raises PresetError."""
    bad = next((ch for ch in typed if ch in "\"'\\#" or not ch.isprintable()), None)
    if bad is not None:
        raise _bad(parameter, typed, f"{bad!a} can't stand in a filter's text; ? stands for any one with ~")
    try:
        size = len(typed.encode())
    except UnicodeEncodeError:
        raise _bad(parameter, typed, "it is no text") from None
    limit = {ParameterType.COMM: MAX_COMM, ParameterType.PATH: MAX_PATH}.get(parameter.type, MAX_TEXT)
    if size > limit:
        raise _bad(parameter, typed, f"it has {size} bytes, and at most {limit} can be")


def _bad(parameter: Parameter, typed: str, why: str) -> PresetError:
    return PresetError(f"{parameter.name}: {ascii(typed)[1:-1]} is no {parameter.type}: {why}")
