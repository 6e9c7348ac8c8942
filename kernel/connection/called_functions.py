"""Find the traceable functions that others call, in the code of the kernel that is open; kept for its boot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from events.names.kallsyms import Symbols
from foreign.count_text import counted
from foreign.refusal import InputRefusal
from kernel.attach.callees import CalleeSearch
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import FileRefused
from probes.code.architectures.table import ARCHITECTURES, names_text
from probes.facts.lookups import CalledFunctions
from probes.functions.function_index import index_of

_MOST: Final = 5000
"""Functions that are found at most."""
_CODE: Final = "the kernel's code"


class CalledFunctionSearch:
    """Search for the functions that others call, on one kernel."""

    def __init__(self, info: KernelInfo) -> None:
        self._info = info
        self._search: tuple[int, Symbols, CalleeSearch] | None = None
        """Boot and symbols that the search is for."""
        self._found: dict[tuple[int, tuple[str, ...], int], CalledFunctions] = {}

    def known(self, callers: Sequence[str], depth: int) -> CalledFunctions | None:
        """Return what was found before; None: it was not looked for. Never waits."""
        return self._found.get((self._info.symbols.boot, tuple(callers), depth))

    def find(self, callers: Sequence[str], depth: int) -> CalledFunctions:
        """Return the traceable functions that some functions call directly, so many levels down.

        Raises InputRefusal: the code can't be read, or a name is none of this kernel; TargetLost.
        """
        key = self._info.symbols.boot, tuple(callers), depth
        if key not in self._found:
            try:
                self._found[key] = self._look(callers, depth)
            except FileRefused as error:
                raise InputRefusal(_CODE, f"can't be read ({error})") from None
        return self._found[key]

    def _look(self, callers: Sequence[str], depth: int) -> CalledFunctions:
        symbols, facts = self._info.symbols.current, self._info.facts
        if symbols is None:
            raise InputRefusal(_CODE, "the addresses of its functions are hidden, or not known here")
        if facts.machine not in ARCHITECTURES:
            raise InputRefusal(_CODE, f"calls are found in that of {names_text()}, not of {facts.machine}")
        for name in callers:
            if not symbols.named(name):
                raise InputRefusal(name, "no function of this kernel has this name")
        if self._search is None or self._search[:2] != (self._info.symbols.boot, symbols):
            self._search = self._info.symbols.boot, symbols, CalleeSearch(self._info.target, facts.machine, symbols)
        count = index_of(facts).count
        found = self._search[2].reached(callers, lambda _: True, lambda name: count(name) == 1, _MOST, depth + 1)
        notes = ["there are more, farther down"] if found.is_cut else []
        if found.callers_of_pointers:
            calling = counted(len(found.callers_of_pointers), "of them calls", "of them call")
            notes.append(f"{calling} through pointers, too, which is not seen")
        return CalledFunctions(found.names, "; ".join(notes))
