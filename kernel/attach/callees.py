"""Find the functions that some functions reach by direct calls, in the code of a running kernel."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from events.names.kallsyms import Symbols
from kernel.attach.kcore import Kcore
from kernel.target import Target
from probes.attaching.attach import COLD
from probes.attaching.branches import branch_targets, may_call_pointers

_LARGEST: Final = 1 << 16
"""Bytes of code that are read of a function."""
_MARK_BYTES: Final = 4
"""Bytes of the mark for indirect calls at the beginning of a function, which direct calls skip (ENDBR64, BTI)."""
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
        self._machine = machine
        self._symbols = symbols
        self._callers_of_pointers: set[str] = set()

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

    def _callees(self, names: Sequence[str], is_cut: bool) -> Callees:
        return Callees(tuple(names), is_cut, frozenset(self._callers_of_pointers))

    def _calls(self, name: str) -> Iterator[str]:
        """Yield the functions that a function calls or jumps to, each perhaps more than once."""
        parts = [*self._symbols.named(name), *self._symbols.beginning(f"{name}{COLD}")]
        for part in parts:
            place = self._symbols.find(part.address)
            if place is None or not part.code:
                continue
            code = self._kcore.read(part.address, min(place.size, _LARGEST))
            if may_call_pointers(code, part.address, self._machine):
                self._callers_of_pointers.add(name)
            for target in sorted(branch_targets(code, part.address, self._machine)):
                yield from self._function_at(target)

    def _function_at(self, address: int) -> Iterator[str]:
        place = self._symbols.find(address)
        if place is not None and place.name.startswith(_THUNK):
            yield _THUNK
        elif place is not None and place.offset in (0, _MARK_BYTES):
            for name in self._symbols.names_at(address - place.offset):
                if COLD not in name:
                    yield name
