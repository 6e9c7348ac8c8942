"""Find the sections of a kernel's code that tracing treats specially, by the symbols at their bounds."""

from __future__ import annotations

import enum
from bisect import bisect_right
from collections.abc import Callable, Mapping


class TextSection(enum.StrEnum):
    """Section of the code (include/asm-generic/vmlinux.lds.h)."""

    INIT = "init"
    """Code that runs while the kernel boots, after which its memory is freed; also exit code of built-in modules."""
    NOINSTR = "noinstr"
    """Code without instrumentation, which runs where tracing isn't safe (entry from user space, idle, NMI)."""
    ENTRY = "entry"
    """Assembly between user space and the kernel."""


_BOUNDS = (
    (TextSection.NOINSTR, "__noinstr_text_start", "__noinstr_text_end"),
    (TextSection.NOINSTR, "__cpuidle_text_start", "__cpuidle_text_end"),
    (TextSection.ENTRY, "__entry_text_start", "__entry_text_end"),
    (TextSection.INIT, "_sinittext", "_einittext"),
    (TextSection.INIT, "__exittext_begin", "__exittext_end"),
    (TextSection.INIT, "__init_begin", "__init_end"),
)


class TextSections:
    """Sections by address; the bounds are looked up once."""

    def __init__(self, address_of: Callable[[str], int | None]) -> None:
        """Look up the bounds; `address_of` returns the address of a symbol, None where there is no such symbol."""
        bounds = ((section, address_of(start), address_of(end)) for section, start, end in _BOUNDS)
        parts = [(section, range(start, end)) for section, start, end in bounds if start is not None and end]
        self._cuts = sorted({cut for _, part in parts for cut in (part.start, part.stop)})
        self._sections = [None, *(next((name for name, part in parts if cut in part), None) for cut in self._cuts)]
        start, end = address_of("_stext"), address_of("_etext")
        self._text = range(start, end) if start is not None and end is not None else None

    def at(self, address: int) -> TextSection | None:
        """Return the section of an address; None: ordinary code, or code of a module."""
        return self._sections[bisect_right(self._cuts, address)]

    def of_functions(self, addresses: Mapping[str, int]) -> dict[str, TextSection | None]:
        """Return the section of each of the kernel's own symbols, without symbols known to be data."""
        text, cuts, sections_between = self._text, self._cuts, self._sections
        sections = {name: sections_between[bisect_right(cuts, address)] for name, address in addresses.items()}
        if text is None:
            return sections
        return {name: part for name, part in sections.items() if addresses[name] in text or part is TextSection.INIT}

    def is_code(self, address: int) -> bool | None:
        """Return whether an address is in the kernel's own code; None: the bounds are unknown.

        The letter in kallsyms is no proof: newer kernels call data `t` as well.
        """
        if self._text is None:
            return None
        return address in self._text or self.at(address) is TextSection.INIT
