"""Look up data of a machine for verdicts, beyond its facts: events and fields, symbols, files, dynamic events.

All data is read on first use, and cached.
"""

from __future__ import annotations

import errno
import functools
import os
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property

from events.format import Field, FormatError, parse_format
from foreign.text import encode_text
from kernel.cleanup.owner import GROUP_PREFIX
from kernel.errors import FileRefused
from kernel.target import Target, TargetKind
from kernel.tracefs import decode, parse_dynamic_events
from probes.facts.lookups import Environment, StaticEventField, SymbolCount
from probes.functions.known_numbers import CALL_EVENT, call_argument, event_field
from probes.programs.program import Program, SymbolNotPlaced

MAX_PROGRAM = 64 << 20
"""Bytes of a program whose symbols are read: the whole file is transferred."""
_KALLSYMS = "/proc/kallsyms"
_ENDBR64 = 4
"""Size of that instruction in bytes."""
_NO_FILES = "the files of that machine are not here: give an offset, /path:0x1000, or probe the machine itself"
_SYSCALLS = "syscalls"
"""Group of the events of system calls with their arguments (include/linux/syscalls.h)."""
_PROGRAMS = 8
"""Most cached programs; the symbols of a large one take some ten megabytes."""


def _naming(call: str, field: Field) -> str:
    """Return how the numbers of an event's field are named; `call`: the system call of the event, empty: none."""
    if call:
        return call_argument(call, field.name, field.type) or field.naming
    return field.naming or event_field(field.name, field.type)


def event_fields(group: str, event: str, fields: Iterable[Field]) -> tuple[StaticEventField, ...]:
    """Return the fields of an event as a probe on it reads them."""
    call = event.removeprefix(CALL_EVENT) if group == _SYSCALLS and event.startswith(CALL_EVENT) else ""
    return tuple(
        StaticEventField(field.name, field.type, field.size, field.signed, field.spec, _naming(call, field))
        for field in fields
    )


class HostEnvironment:
    """Lookups on one target; data that it refuses to show is unknown."""

    def __init__(self, target: Target, tracefs: str) -> None:
        """Take a target and the mount point of its tracefs; empty: there is none."""
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
        """Return the offset in bytes of the call that ftrace uses in the function at an address; None: unknown."""
        return next((at for at in (0, _ENDBR64) if b"\n%x " % (address + at) in self._traced), None)

    @cached_property
    def _traced(self) -> bytes:
        """Traceable functions with the addresses of their calls; read when first needed."""
        return b"\n" + self._text("available_filter_functions_addrs").encode()

    @property
    def nearby(self) -> Environment:
        """Lookups for lowering: without the symbols, which take long to read."""
        local = self._target.kind is TargetKind.LOCAL
        return Environment(
            self._event if self._events is not None else None,
            None,
            self._target.file_error,
            os.path.realpath if local else None,
            self._predefined_groups if self._events is not None else None,
            self._program,
            (lambda: self.events) if self._events is not None else None,
        )

    def forget(self) -> None:
        """Drop cached events and programs, as a probe is about to be armed."""
        self.__dict__.pop("_events", None)
        self._event.cache_clear()
        self._program.cache_clear()

    @property
    def events(self) -> tuple[str, ...]:
        """All events, as `group/event`; empty if they can't be read."""
        return tuple(sorted(path.replace(":", "/", 1) for path in self._events or ()))

    def read_events(self) -> tuple[str, ...]:
        """Read the list of events anew, and return it as `events` has it."""
        self.__dict__.pop("_events", None)
        return self.events

    @property
    def existing(self) -> tuple[str, ...]:
        """Present lines of dynamic_events; comments of newer kernels are left out."""
        return tuple(line for line in self._text("dynamic_events").splitlines() if line and not line.startswith("#"))

    def made_by(self, owner: str) -> tuple[str, ...]:
        """Return the present lines of dynamic_events that belong to an owner's sessions."""
        group = f":{GROUP_PREFIX}{owner}"
        return tuple(line for line in self.existing if owner and re.match(rf"\w+{group}(_[0-9]+)?/", line))

    @cached_property
    def _events(self) -> frozenset[str] | None:
        return frozenset(self._text("available_events").split()) or None

    @cached_property
    def _shows_symbols(self) -> bool:
        """True if the symbol table can be read."""
        try:
            return bool(self._target.read(_KALLSYMS, 64))
        except FileRefused:
            return False

    @cached_property
    def _code_only(self) -> bool:
        """True if the symbols of variables are missing, as in recordings."""
        return self._target.recording is not None and re.search(rb" [dDbB] ", self._kallsyms) is None

    @cached_property
    def _kallsyms(self) -> bytes:
        """Symbol table: ten megabytes, read when a command first names a symbol."""
        try:
            return b"\n" + self._target.read(_KALLSYMS)
        except FileRefused:
            return b""

    def _count(self, name: str) -> SymbolCount:
        table, word = self._kallsyms, b" " + encode_text(name)
        kernel, modules = table.count(word + b"\n"), table.count(word + b"\t[")
        if kernel + modules != 1:
            return SymbolCount(kernel, modules)
        at = max(table.find(word + b"\n"), table.find(word + b"\t["))
        address = table[table.rfind(b"\n", 0, at) + 1 : at - 2]
        if not address.strip(b"0"):
            return SymbolCount(kernel, modules)  # the kernel hides addresses
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
        return event_fields(group, event, fields)

    def _predefined_groups(self, event: str) -> tuple[str, ...]:
        """Return the groups of predefined events with this name: one of them is a tracepoint's."""
        defined = {event_line.path for event_line in parse_dynamic_events(self._text("dynamic_events"))}
        groups = [path.partition(":")[0] for path in sorted(self._events or ()) if path.endswith(f":{event}")]
        return tuple(group for group in groups if f"{group}/{event}" not in defined)

    def _read_program(self, path: str) -> Program:
        """Read the symbols of a file. Raises SymbolNotPlaced."""
        from probes.programs.elf_symbols import ProgramError, read_program  # here: pyelftools, which is seldom needed

        try:
            data = self._target.read(path, MAX_PROGRAM + 1)
            if len(data) > MAX_PROGRAM:
                raise SymbolNotPlaced(
                    "unreadable_program", f"it is larger than {MAX_PROGRAM >> 20} MB; give an offset"
                )
            return read_program(data)
        except FileRefused as error:
            if not self._target.is_kernel:
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
