"""Find the functions that some functions reach by direct calls, in the code of a running kernel."""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from events.names.kallsyms import Symbols
from kernel.attach.kcore import Kcore
from kernel.errors import FileRefused
from kernel.target import Target
from probes.attaching.attach import COLD
from probes.code.architectures.table import ARCHITECTURES

_LARGEST: Final = 1 << 16
"""Bytes of code that are read of a function."""
_MARK_BYTES: Final = 4
"""Bytes of the mark for indirect calls at the beginning of a function, which direct calls skip (ENDBR64, BTI)."""
_BLOCK: Final = 1 << 16
"""Bytes that are read at once: each reading takes a slow connection, or an emulated guest, 20 ms."""
_MOST_BLOCKS: Final = 256
_THUNK: Final = "__x86_indirect_"
"""Beginning of the names of functions that calls through pointers go through (retpolines)."""
_MOST_READ: Final = 2000
"""Functions whose code is read."""


class Callees(NamedTuple):
    """Functions that others reach."""

    names: tuple[str, ...]
    """Nearest first."""
    is_cut: bool
    """True if there are more than were asked for."""
    callers_of_pointers: frozenset[str]
    """Functions, roots among them, that seem to call through pointers, too."""


class CalleeSearch:
    """Search for callees on one target. Calls through pointers are not found."""

    def __init__(self, target: Target, machine: str, symbols: Symbols) -> None:
        """Begin to read the kernel's code. Raises FileRefused, TargetLost."""
        self._kcore = Kcore(target)
        self._architecture = ARCHITECTURES.get(machine)
        """None: its code is not read, nothing is found."""
        self._symbols = symbols
        self._callers_of_pointers: set[str] = set()
        self._blocks: dict[int, bytes] = {}
        """Code that was read, by its address; kept for one search."""

    def reached(
        self,
        roots: Iterable[str],
        follows: Callable[[str], bool],
        wants: Callable[[str], bool],
        most: int,
        levels: int = 0,
    ) -> Callees:
        """Return the wanted functions that roots reach, at most so many. Raises FileRefused, TargetLost.

        Args:
            roots: names of functions.
            follows: returns whether the calls of a function matter.
            wants: returns whether a function of which the calls matter is wanted itself.
            most: number of functions.
            levels: levels of calls, that of the roots included; 0: all.
        """
        self._callers_of_pointers.clear()
        self._blocks.clear()
        waiting = deque((name, 1) for name in roots)
        seen, found = {name for name, _ in waiting}, list[str]()
        for _ in range(_MOST_READ):
            if not waiting:
                return self._callees(found, False)
            caller, level = waiting.popleft()
            if level == levels:
                continue
            for name in self._calls(caller):
                if name == _THUNK:
                    self._callers_of_pointers.add(caller)
                if name in seen or name == _THUNK:
                    continue
                seen.add(name)
                if not follows(name):
                    continue
                if wants(name):
                    if len(found) == most:
                        return self._callees(found, True)
                    found.append(name)
                waiting.append((name, level + 1))
        return self._callees(found, True)

    def _code(self, address: int, size: int) -> bytes:
        """Return bytes of code; fewer at the end of a segment. Raises FileRefused, TargetLost."""
        start = address - address % _BLOCK
        if address + size > start + _BLOCK:
            return self._kcore.read(address, size)
        if start not in self._blocks:
            if len(self._blocks) >= _MOST_BLOCKS:
                self._blocks.pop(next(iter(self._blocks)))
            with contextlib.suppress(FileRefused):  # a part of it that nobody wants can't be read
                self._blocks[start] = self._kcore.read(start, _BLOCK)
        code = self._blocks.get(start, b"")[address - start : address - start + size]
        return code if len(code) == size else self._kcore.read(address, size)

    def _callees(self, names: Sequence[str], is_cut: bool) -> Callees:
        return Callees(tuple(names), is_cut, frozenset(self._callers_of_pointers))

    def _calls(self, name: str) -> Iterator[str]:
        """Yield the functions that a function calls or jumps to, each perhaps more than once."""
        architecture = self._architecture
        parts = [*self._symbols.named(name), *self._symbols.beginning(f"{name}{COLD}")]
        for part in parts:
            place = self._symbols.find(part.address)
            if place is None or not part.code or architecture is None:
                continue
            code = self._code(part.address, min(place.size, _LARGEST))
            if architecture.may_call_pointers(code, part.address):
                self._callers_of_pointers.add(name)
            for target in sorted(architecture.branch_targets(code, part.address)):
                yield from self._function_at(target)

    def _function_at(self, address: int) -> Iterator[str]:
        place = self._symbols.find(address)
        if place is not None and place.name.startswith(_THUNK):
            yield _THUNK
        elif place is not None and place.offset in (0, _MARK_BYTES):
            for name in self._symbols.names_at(address - place.offset):
                if COLD not in name:
                    yield name
