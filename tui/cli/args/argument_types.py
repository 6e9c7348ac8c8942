"""Argument types for argparse: each function checks one word of the command line, or raises ArgumentTypeError with
the reason.
"""

from __future__ import annotations

import argparse
import math


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
