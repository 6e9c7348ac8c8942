"""What verdicts ask of a machine besides its facts: events and their fields, symbols, files, dynamic events.

Everything is read when it is first asked for, and kept.
"""

from __future__ import annotations

import errno
import functools
import os
import re
import stat
from dataclasses import replace
from functools import cached_property

from events.format import FormatError, parse_format
from foreign.text import encoded
from kernel.cleanup.owner import GROUP_PREFIX
from kernel.errors import FileRefused
from kernel.local.target import LocalTarget
from kernel.recording.target import RecordingTarget, RememberedTarget
from kernel.remote.target import RemoteTarget
from kernel.target import Target
from kernel.tracefs import decode, parse_dynamic_events
from probes.facts.lookups import Environment, StaticEventField, SymbolCount, likely_file
from probes.programs.program import Program, SymbolNotPlaced

MAX_PROGRAM = 64 << 20
"""Bytes of a program whose symbols are read: it comes whole over the line."""
_KALLSYMS = "/proc/kallsyms"
_ENDBR64 = 4
"""Bytes of that instruction."""
_NO_FILES = "the files of that machine are not here: give an offset, /path:0x1000, or probe the machine itself"
_PROGRAMS = 8
"""Programs that are remembered; the symbols of a large one take some ten megabytes."""


class HostEnvironment:
    """Looks at one target; what it refuses to show is not known."""

    def __init__(self, target: Target, tracefs: str) -> None:
        """Take a target and the mount point of its tracefs, empty where there is none."""
        self._target = target
        self._tracefs = tracefs
        self._symbol = functools.lru_cache(maxsize=4096)(self._count)
        self._event = functools.lru_cache(maxsize=4096)(self._read_event)
        self._program = functools.lru_cache(maxsize=_PROGRAMS)(self._read_program)

    @property
    def environment(self) -> Environment:
        """Lookups for `kernel_verdict`."""
        if not self._shows_symbols:
            return self.nearby
        return replace(self.nearby, symbol=self._symbol, code_only=self._code_only, call_at=self.call_at)

    def call_at(self, address: int) -> int | None:
        """How many bytes into the function at an address the call is that ftrace uses; None: not known."""
        return next((at for at in (0, _ENDBR64) if b"\n%x " % (address + at) in self._traced), None)

    @cached_property
    def _traced(self) -> bytes:
        """Traceable functions with the addresses of their calls; read when a probe first asks for one."""
        return b"\n" + self._text("available_filter_functions_addrs").encode()

    @property
    def nearby(self) -> Environment:
        """Lookups for lowering: without the symbols, which take long to read."""
        local = isinstance(self._target, LocalTarget)
        return Environment(
            self._event if self._events is not None else None,
            None,
            self._file_error,
            os.path.realpath if local else None,
            self._groups_of if self._events is not None else None,
            self._program,
            (lambda: self.events) if self._events is not None else None,
        )

    def forget(self) -> None:
        """Look anew at events and programs: something is about to be armed."""
        self.__dict__.pop("_events", None)
        self._event.cache_clear()
        self._program.cache_clear()

    @property
    def events(self) -> tuple[str, ...]:
        """All events, as `group/event`; none where they can't be read."""
        return tuple(sorted(path.replace(":", "/", 1) for path in self._events or ()))

    @property
    def existing(self) -> tuple[str, ...]:
        """Lines of dynamic_events, as they are now; comments of newer kernels are left out."""
        return tuple(line for line in self._text("dynamic_events").splitlines() if line and not line.startswith("#"))

    def made_by(self, owner: str) -> tuple[str, ...]:
        """Lines of dynamic_events of the sessions of an owner, as they are now."""
        group = f":{GROUP_PREFIX}{owner}"
        return tuple(line for line in self.existing if owner and re.match(rf"\w+{group}(_[0-9]+)?/", line))

    @cached_property
    def _events(self) -> frozenset[str] | None:
        return frozenset(self._text("available_events").split()) or None

    @cached_property
    def _shows_symbols(self) -> bool:
        """Whether the table of symbols can be read."""
        try:
            return bool(self._target.read(_KALLSYMS, 64))
        except FileRefused:
            return False

    @cached_property
    def _code_only(self) -> bool:
        """Whether the symbols of variables are left out, as recordings may do."""
        return isinstance(self._target, RecordingTarget) and re.search(rb" [dDbB] ", self._kallsyms) is None

    @cached_property
    def _kallsyms(self) -> bytes:
        """The table: ten megabytes, read when a command first names a symbol."""
        try:
            return b"\n" + self._target.read(_KALLSYMS)
        except FileRefused:
            return b""

    def _file_error(self, path: str) -> str:
        """What is wrong with a file for a uprobe. Far away no file is opened for that: one may be a device."""
        if isinstance(self._target, LocalTarget):
            return file_error(path)
        if (known := likely_file(path)) or not path.startswith("/") or not isinstance(self._target, RemoteTarget):
            return known
        try:
            self._target.list(path)
        except FileRefused as error:
            return "FILE_NOT_FOUND" if error.errno == errno.ENOENT else ""
        return "NO_REGULAR_FILE"

    def _count(self, name: str) -> SymbolCount:
        table, word = self._kallsyms, b" " + encoded(name)
        kernel, modules = table.count(word + b"\n"), table.count(word + b"\t[")
        if kernel + modules != 1:
            return SymbolCount(kernel, modules)
        at = max(table.find(word + b"\n"), table.find(word + b"\t["))
        address = table[table.rfind(b"\n", 0, at) + 1 : at - 2]
        if not address.strip(b"0"):
            return SymbolCount(kernel, modules)  # the kernel hides them
        names = re.findall(rb"\n" + address + rb" \S (\S+)", table)
        return SymbolCount(
            kernel,
            modules,
            tuple(text for twin in names if (text := twin.decode("utf-8", "surrogateescape")) != name),
        )

    def _read_event(self, group: str, event: str) -> tuple[StaticEventField, ...] | None:
        if self._events is not None and f"{group}:{event}" not in self._events:
            return None
        try:
            fields = parse_format(self._text(f"events/{group}/{event}/format"), group).fields
        except FormatError:
            return ()
        return tuple(
            StaticEventField(field.name, field.type, field.size, field.signed, field.spec) for field in fields
        )

    def _groups_of(self, event: str) -> tuple[str, ...]:
        """Groups of the events of this name that nobody made: of those, one is a tracepoint's."""
        made = {found.path for found in parse_dynamic_events(self._text("dynamic_events"))}
        groups = [path.partition(":")[0] for path in sorted(self._events or ()) if path.endswith(f":{event}")]
        return tuple(group for group in groups if f"{group}/{event}" not in made)

    def _read_program(self, path: str) -> Program:
        """Symbols of a file. Raises NotPlaced."""
        from probes.programs.elf_symbols import ProgramError, read_program  # here: pyelftools, which few need

        try:
            data = self._target.read(path, MAX_PROGRAM + 1)
            if len(data) > MAX_PROGRAM:
                raise SymbolNotPlaced(
                    "unreadable_program", f"it is larger than {MAX_PROGRAM >> 20} MB; give an offset"
                )
            return read_program(data)
        except FileRefused as error:
            if isinstance(self._target, RememberedTarget):
                raise SymbolNotPlaced("no_symbols", _NO_FILES) from None
            code = "FILE_NOT_FOUND" if error.errno == errno.ENOENT else "unreadable_program"
            raise SymbolNotPlaced(code, str(error)) from None
        except ProgramError as error:
            raise SymbolNotPlaced("unreadable_program", str(error)) from None

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
