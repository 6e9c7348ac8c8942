"""Complete the specification at the cursor, for one target.

Names come from what is known already; what has to be asked of the target (its events, and their fields) is learnt
aside, by a worker, and offered from then on.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import cached_property

from btf.btf import Btf
from btf.kinds import Kind
from events.names.kallsyms import Symbols
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused, KernelError
from probes.attaching.catalog import Function
from probes.command import CommandText
from probes.completion.choice import Completions, NameSources, ranked
from probes.completion.complete import complete
from probes.facts.facts import Feature
from probes.facts.lookups import Environment, StaticEventField
from probes.functions.function_index import STUB
from probes.names import split_name
from probes.programs.program import Program, SymbolNotPlaced
from probes.static_events import is_static
from probes.syntax.text import is_identifier
from probes.user_events.kernel_reading import GROUP
from tui.compose.functions.function_index import Functions
from tui.compose.specification import asks_target

_MOST = 60
_LEAST = 3
"""Letters of a variable's name before any are looked for: there are some hundred thousand."""


class Completer:
    """Completes for one connection."""

    def __init__(self, info: KernelInfo, functions: Functions) -> None:
        self._info = info
        self._functions = functions
        self._events: tuple[str, ...] = ()
        self._fields: dict[tuple[str, str], tuple[StaticEventField, ...]] = {}
        self._folders: dict[str, tuple[str, ...]] = {}
        """Names in each folder that was listed."""
        self._programs: dict[str, Program] = {}
        self._looked: set[str] = set()
        """Paths that were asked for; a file that is no program is not read at each key."""
        self._symbols: Symbols | None = None
        self._structs: tuple[str, ...] = ()
        self._made: tuple[str, ...] | None = None
        """Lines of dynamic_events that are ours; None: not read."""
        self._events_read = False
        self._asked_events: set[tuple[str, str]] = set()
        """Events whose fields were asked for."""
        self._learnt: dict[str, str] = {}
        """Texts that the target was asked about, each with the reason for which it did not answer."""

    def complete(self, text: str, cursor: int) -> Completions:
        """Return the words that may stand at the cursor."""
        known = NameSources(
            self._info.facts,
            self._types,
            self._found,
            self._info.function,
            lambda query: _matching(self._tracepoints, query),
            lambda query: _matching(self._events, query),
            Environment(
                (lambda group, event: self._fields.get((group, event))) if self._fields else None,
                program=self._program,
            ),
            self._folders.get,
            self._variables,
            lambda query: _matching(self._structs, query),
            lambda: self._made or (),
            self._info.target.recording is not None,
        )
        found = complete(text, cursor, known)
        if not found.items and (note := self._note_of_unread(text, cursor)):
            return Completions(cursor, cursor, urge=found.urge, note=note)
        return found

    def _note_of_unread(self, text: str, cursor: int) -> str:
        """Return which names at the cursor are being read, or why they were not; empty: they are known."""
        if not (names := self._unread(text[:cursor])):
            return ""
        if text in self._learnt:
            return f"not read: {names}; {why}" if (why := self._learnt[text]) else ""
        return f"being read: {names}" if asks_target(CommandText.parse(text)) else ""

    def _unread(self, before: str) -> str:
        """Return the names that the end of a text needs, and that the target was not asked for; empty: none."""
        words, between, facts = before.split(), before[-1:].isspace(), self._info.facts
        place, is_place = words[1] if len(words) > 1 else "", len(words) + between == 2
        if is_static(before) or (before.startswith("e") and facts.has(Feature.EPROBE_EVENTS)):
            if not self._events_read:
                return "the names of events" if len(words) + between > 1 else ""
            return "" if is_place or split_name(place) in self._asked_events else f"the fields of {place}"
        if before.startswith("-"):
            return "the events that we made" if self._made is None else ""
        if before[:1] in ("p", "r") and "/" in place and facts.has(Feature.UPROBE_EVENTS):
            path = place.partition(":")[0]
            unread = [one for one in _paths(path) if one not in self._looked]
            return unread[0] if unread else ""
        if words and "@" in words[-1]:
            return "" if self._symbols is not None else "the kernel's variables"
        if ("(" in before or place.startswith("[")) and not self._structs and self._info.btf is not None:
            return "the kernel's structures"
        return ""

    def learn(self, text: str) -> None:
        """Ask the target what a text is about; waits for it. Raises KernelError."""
        try:
            self._learn(text)
        except KernelError as error:
            self._learnt[text] = str(error)
            raise
        self._learnt[text] = ""

    def _learn(self, text: str) -> None:
        words = text.split()
        place = words[1] if len(words) > 1 else ""
        if text.startswith("e") or is_static(text):
            self._learn_event(place)
        elif text.startswith("-"):
            self._made = self._info.environment.made_by(self._info.target.owner)
        elif text[:1] in ("p", "r") and "/" in place:
            self._learn_program(place.partition(":")[0])
        if "@" in text and self._info.symbols.current is not None:
            self._info.symbols.current.prepare()
            self._symbols = self._info.symbols.current
        if ("(" in text or place.startswith("[")) and not self._structs and self._info.btf is not None:
            self._structs = tuple(dict.fromkeys(self._info.btf.names_of(Kind.STRUCT)))

    def _learn_event(self, place: str) -> None:
        around = self._info.environment
        if place == f"{GROUP}/":  # programs register events at any time
            around.forget()
            self._events, self._events_read = (), False
        self._events = self._events or around.events
        self._events_read = True
        event, look_up = split_name(place), around.nearby.event
        if event not in self._fields and look_up is not None and (fields := look_up(*event)):
            self._fields[event] = fields
        self._asked_events.add(event)

    def _learn_program(self, path: str) -> None:
        """List the folder that a path is in, and look whether it is a folder or a program itself."""
        programs = self._info.programs
        for one in _paths(path):
            if one in self._looked:
                continue
            try:
                self._folders[one] = tuple(self._info.target.list(one))
            except FileRefused:
                if programs is not None and isinstance(program := programs.read(one), Program):
                    self._programs[one] = program
            self._looked.add(one)

    def _program(self, path: str) -> Program:
        """Return a program that was read already. Raises SymbolNotPlaced."""
        try:
            return self._programs[path]
        except KeyError:
            raise SymbolNotPlaced("no_symbols", "it was not read yet") from None

    def _variables(self, start: str) -> Sequence[str]:
        """Return the kernel's variables that begin so; none before the symbols were read."""
        if self._symbols is None or len(start) < _LEAST:
            return ()
        found = itertools.islice((e.name for e in self._symbols.beginning(start) if not e.code), _MOST)
        return tuple(dict.fromkeys(name for name in found if is_identifier(name)))

    def _types(self, function: str) -> Btf | None:
        """Return the types to read a function with; those of a module only if they were read already."""
        module = self._info.function(function).module
        return self._info.btf_of("" if self._info.unread_module(function) else module)

    def _found(self, query: str) -> Sequence[Function]:
        names = map(self._functions.names.__getitem__, self._functions.find(query)[0])
        functions = itertools.islice(filter(self._functions.is_function, names), _MOST)
        return [self._info.function(name) for name in functions]

    @cached_property
    def _tracepoints(self) -> tuple[str, ...]:
        btf = self._info.btf
        functions = btf.functions if btf is not None else ()
        return tuple(name.removeprefix(STUB) for name in functions if name.startswith(STUB))


def _matching(names: Sequence[str], query: str) -> Sequence[str]:
    return [names[n] for n in ranked(names, query)[:_MOST]]


def _paths(path: str) -> list[str]:
    """Return the folder that a path is in, and the path: what is looked at to complete it."""
    found = dict.fromkeys((path.rpartition("/")[0] or "/", path.rstrip("/") or "/"))
    return [one for one in found if one.startswith("/")]
