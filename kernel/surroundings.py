"""What verdicts ask of a machine besides its facts: events and their fields, symbols, files, dynamic events.

Everything is read when it is first asked for, and kept.
"""

from __future__ import annotations

import functools
import os
import stat
from functools import cached_property

from events.format import FormatError, parse_format
from kernel.errors import FileRefused
from kernel.far import FarTarget
from kernel.local import LocalTarget
from kernel.target import Target
from kernel.tracefs import decode
from probes.environment import Environment, EventField, SymbolCount, likely_file


class Surroundings:
    """Looks at one target; what it refuses to show is not known."""

    def __init__(self, target: Target, tracefs: str) -> None:
        """Take a target and the mount point of its tracefs, empty where there is none."""
        self._target = target
        self._tracefs = tracefs
        self._symbol = functools.lru_cache(maxsize=4096)(self._count)
        self._event = functools.lru_cache(maxsize=4096)(self._read_event)

    @cached_property
    def environment(self) -> Environment:
        """Lookups for `kernel_verdict`."""
        return Environment(
            self._event if self._events is not None else None,
            self._symbol if self._kallsyms else None,
            file_error if isinstance(self._target, LocalTarget) else likely_file,
        )

    @property
    def existing(self) -> tuple[str, ...]:
        """Lines of dynamic_events, as they are now; comments of newer kernels are left out."""
        return tuple(line for line in self._text("dynamic_events").splitlines() if line and not line.startswith("#"))

    @cached_property
    def _events(self) -> frozenset[str] | None:
        return frozenset(self._text("available_events").split()) or None

    @cached_property
    def _kallsyms(self) -> bytes:
        """The file; of a machine far away it is not read: it has ten megabytes."""
        if isinstance(self._target, FarTarget):
            return b""
        try:
            return b"\n" + self._target.read("/proc/kallsyms")
        except FileRefused:
            return b""

    def _count(self, name: str) -> SymbolCount:
        word = b" " + name.encode()
        return SymbolCount(self._kallsyms.count(word + b"\n"), self._kallsyms.count(word + b"\t["))

    def _read_event(self, group: str, event: str) -> tuple[EventField, ...] | None:
        if self._events is not None and f"{group}:{event}" not in self._events:
            return None
        try:
            fields = parse_format(self._text(f"events/{group}/{event}/format"), group).fields
        except FormatError:
            return ()
        return tuple(EventField(field.name, field.type, field.size, field.signed) for field in fields)

    def _text(self, name: str) -> str:
        if not self._tracefs:
            return ""
        try:
            return decode(self._target.read(f"{self._tracefs}/{name}"))
        except FileRefused:
            return ""


def file_error(path: str) -> str:
    """What the kernel says of a file of this machine that a uprobe shall sit in; an empty string where it is good."""
    try:
        return "" if stat.S_ISREG(os.stat(path).st_mode) else "NO_REGULAR_FILE"
    except OSError:
        return "FILE_NOT_FOUND"
