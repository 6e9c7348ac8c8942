"""Represent a preset: probes that answer a question, with its parameters, and the view for the answer."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

VERSION = 1
"""Version of the files that this program writes, and the newest that it reads."""
MAX_BYTES = 64 << 10
"""Largest size in bytes of a file that is read: presets are written by hand, and have a few KB."""
NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
"""Pattern for a preset's name, which is also a file name and a word of a command."""
PARAMETER = re.compile(r"[a-z][a-z0-9_]{0,31}")


class PresetView(enum.StrEnum):
    """View that is opened when the preset is armed."""

    EVENTS = "events"
    CALLS = "calls"
    SUMMARY = "summary"
    FAILURES = "failures"
    """First failures of traced calls: such a preset has no probes."""


class ParameterType(enum.StrEnum):
    """Type of a parameter's values."""

    INT = "int"
    STR = "str"
    DURATION = "duration"
    """Duration such as `10ms` or `1.5s`; in a specification a number of nanoseconds."""
    PATH = "path"
    PID = "pid"
    COMM = "comm"
    """Name of a task: at most 15 bytes."""
    SYSCALL = "syscall"
    """System call, as `openat` or its number; in a specification the number on the target's architecture."""
    CALL = "call"
    """System calls or functions whose calls are traced, as `openat`, `vfs_open` or `vfs_*`; several with commas."""
    ERRNO = "errno"
    """Error, as `EACCES` or 13, with or without a minus; in a specification negative, as functions return it."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """Parameter of a preset; `${name}` in a specification."""

    name: str
    type: ParameterType
    default: str = ""
    """Value as a person would type it; empty: no value, and filter clauses that name the parameter are left out."""
    help: str = ""


@dataclass(frozen=True, slots=True)
class Preset:
    """Preset: probes, or traced calls, that answer a question, with parameters and a view."""

    name: str
    title: str
    """Title, a single line."""
    probes: tuple[tuple[str, ...], ...]
    """Specifications with parameters, alternatives for each probe; the first that the kernel accepts is armed. None
    with the view of failures."""
    question: str = ""
    """Question that the preset answers."""
    tags: tuple[str, ...] = ()
    description: str = ""
    parameters: tuple[Parameter, ...] = ()
    view: PresetView = PresetView.EVENTS
    columns: tuple[str, ...] = ()
    """Fields to show; none: all."""
    min_latency: str = ""
    """Shortest latency of the calls shown: a duration, or `${name}`; empty: all calls are shown."""
    calls: tuple[str, ...] = ()
    """System calls and functions that are traced, with the view of failures: names, patterns or `${name}`."""
    errno: str = ""
    """Error of the failures shown: a name, or `${name}`; empty: every error."""

    def parameter(self, name: str) -> Parameter | None:
        """Return the parameter of a name; None: there is none."""
        return next((parameter for parameter in self.parameters if parameter.name == name), None)


class PresetChoice(NamedTuple):
    """A preset with the values chosen for its parameters."""

    preset: Preset
    values: Mapping[str, str]
