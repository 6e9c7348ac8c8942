"""Argument types for argparse: each function checks one word of the command line, or raises ArgumentTypeError with
the reason.
"""

from __future__ import annotations

import argparse
import math

from events.names.errnos import errno_name, errno_of


def trigger(text: str) -> str:
    """Return a trigger without surrounding blanks; reject an empty one."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty trigger")
    return text.strip()


def specification(text: str) -> str:
    """Return a probe specification as typed; reject an empty one."""
    if not text.strip():
        raise argparse.ArgumentTypeError("an empty specification")
    return text


def name(text: str) -> str:
    """Return the name of a function or type; reject an empty one."""
    if not text.strip():
        raise argparse.ArgumentTypeError("say a function or a type")
    return text


def natural(text: str) -> int:
    """Return a number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 on")
    return int(text)


def megabytes(text: str) -> int:
    """Return a number of megabytes (from 1 on) as bytes."""
    number = natural(text)
    if not number:
        raise argparse.ArgumentTypeError("a file of 0 MB holds nothing")
    return number << 20


def positive(text: str) -> int:
    """Return a number from 1 on."""
    number = natural(text)
    if not number:
        raise argparse.ArgumentTypeError("0 events are none: leave it out for no limit")
    return number


def seconds(text: str) -> float:
    """Return a duration in seconds from `5`, `5s` or `0.5`; reject 0, negative and infinite ones."""
    try:
        number = float(text.removesuffix("s"))
    except ValueError:
        number = math.nan
    if not 0 < number < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time to wait: say seconds, as 5, 5s or 0.5")
    return number


def microseconds(text: str) -> int:
    """Return a duration in microseconds from `50`, `50us`, `1ms` or `2s`; reject 0."""
    from probes.sources.option import microseconds as read

    number = read(text)
    if not number:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time: say 50us, 1ms or 2s")
    return number


def process(text: str) -> int:
    """Return the number of a process."""
    number = natural(text)
    if not number:
        raise argparse.ArgumentTypeError("0 is no process")
    return number


def errno_list(text: str) -> list[int]:
    """Return the negative numbers of errors by name or number, with commas between them."""
    return [_error_number(word.strip()) for word in text.split(",")]


def _error_number(word: str) -> int:
    number = -int(word) if word.isdecimal() else errno_of(f"-{word.upper().removeprefix('-')}")
    if number is None or errno_name(number) is None:
        raise argparse.ArgumentTypeError(f"{word!r} is no error: say its name, as ENOENT, or its number")
    return number
