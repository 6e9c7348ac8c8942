"""A preset as a value: probes that answer one question, with what may be chosen, and how the answer is looked at."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

VERSION = 1
"""Of the files that this program writes, and the newest that it reads."""
MAX_BYTES = 256 << 10
"""Of a file that is read: a preset is written by hand."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""Of a preset: it is also the name of its file, and a word of a command."""
PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,31}")


class PresetView(enum.StrEnum):
    """What is opened when it is armed."""

    EVENTS = "events"
    CALLS = "calls"
    SUMMARY = "summary"


class ParameterType(enum.StrEnum):
    """What values a parameter takes."""

    INT = "int"
    STR = "str"
    DURATION = "duration"
    """`10ms`, `1.5s`; in a specification a number of nanoseconds."""
    PATH = "path"
    PID = "pid"
    COMM = "comm"
    """Name of a task: at most 15 bytes."""
    SYSCALL = "syscall"
    """`openat` or its number; in a specification the number that the target's architecture has for it."""
    ERRNO = "errno"
    """`EACCES`, 13 or either with a minus; in a specification the negative number, as functions return it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One thing that may be chosen; `${name}` in a specification."""

    name: str
    type: ParameterType
    default: str = ""
    """As a person would type it; empty: no value, and clauses of a filter that name it are left out."""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Preset:
    """See the module."""

    name: str
    title: str
    """One line."""
    probes: tuple[tuple[str, ...], ...]
    """Specifications with parameters in them. Of each the first text is armed that the kernel takes."""
    question: str = ""
    """What it answers."""
    tags: tuple[str, ...] = ()
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    view: PresetView = PresetView.EVENTS
    columns: tuple[str, ...] = ()
    """Fields to show; none: all."""
    min_latency: str = ""
    """Calls that took less are not shown: a duration, or `${name}`; empty: all are."""

    def parameter(self, name: str) -> Parameter | None:
        """The one of that name."""
        return next((one for one in self.parameters if one.name == name), None)


class PresetChoice(NamedTuple):
    """A preset with the values that were given for its parameters."""

    preset: Preset
    given: Mapping[str, str]
