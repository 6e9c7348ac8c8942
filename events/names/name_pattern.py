"""Match the names of functions with one part of a list: a name, a pattern or an address, of a module or of any."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from events.names.glob import Glob

_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,16}")
_SPECIAL = re.compile(r"[*?\[\\]")
"""Letter by which a name is a pattern."""


class NamePattern(NamedTuple):
    """Pattern for names of functions."""

    text: str
    """The pattern without `!` and module."""
    glob: Glob
    module: str | None
    """Pattern for the module's name as written; None: any module, or the kernel itself."""
    modules: Glob | None
    excluded: bool
    """True if its functions are left out (`!`)."""
    column: int
    """Column of the text in the choice."""

    @property
    def name(self) -> str:
        """The one name that it stands for; empty: it may stand for several."""
        return self.text if _SPECIAL.search(self.text) is None else ""

    @property
    def address(self) -> int:
        """Address of the function that it stands for; 0: it is no address."""
        return int(self.text, 16) if is_address(self.text) else 0

    def matches(self, name: str, module: str | None) -> bool:
        """Return whether it is for a function; with an unknown module (None) the name decides."""
        fits = self.modules is None or module is None or self.modules.matches(module)
        return fits and (name == self.text if self.name else self.glob.matches(name))

    def among(self, modules: Mapping[str, str | None]) -> Collection[str]:
        """Return those of some functions that it is for; `modules`: functions, each with its module (`matches`)."""
        if self.name:
            return (self.name,) if self.name in modules and self.matches(self.name, modules[self.name]) else ()
        found, of = self.glob.among(modules), self.modules
        if of is None:
            return found
        fits = {module for module in set(modules.values()) if module is None or of.matches(module)}
        return [name for name in found if modules[name] in fits]


def names_among(names: Iterable[str], fits: Sequence[tuple[NamePattern, Collection[str]]]) -> list[str]:
    """Return those of some names that a list means, in their order; of a list that only leaves out, all others.

    Args:
        names: of functions.
        fits: the patterns of the list, each with the names that it is for.
    """
    chosen = [names for pattern, names in fits if not pattern.excluded]
    wanted = set[str]().union(*chosen)
    left_out = set[str]().union(*(names for pattern, names in fits if pattern.excluded))
    return [name for name in names if name not in left_out and (not chosen or name in wanted)]


def is_address(text: str) -> bool:
    """Return whether a text is the address of a function: `0xffffffff81234560`."""
    return _ADDRESS.fullmatch(text) is not None
