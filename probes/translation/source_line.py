"""Read a probe on a line of source, `p fs/read_write.c:562 count=%dx`, in whose place its instructions are probed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

_LINE = re.compile(r"(?P<file>[^\s:]*\.[chS]):(?P<line>\d{1,7})")
_SPEC = re.compile(rf"\s*p(?P<name>:\S+)?\s+{_LINE.pattern}(?P<rest>\s.*)?")


class SourceLineSpec(NamedTuple):
    """Probe on a line of source code."""

    file: str
    """Name of the file, or the end of its path."""
    line: int
    name: str
    """Group and event as written, with a colon before them; empty: none."""
    rest: str
    """Text of its values, with the blank before them."""

    def specs(self, places: Sequence[str]) -> list[str]:
        """Return a probe for each instruction of the line; a name that was written is numbered from the second on."""
        names = [self.name, *(f"{self.name}_{number}" if self.name else "" for number in range(2, len(places) + 1))]
        return [f"p{name} {place}{self.rest}" for name, place in zip(names, places, strict=False)]


def source_line_of(text: str) -> SourceLineSpec | None:
    """Return the probe on a line of source that a text is; None: it is another one."""
    read = _SPEC.fullmatch(text)
    if read is None:
        return None
    return SourceLineSpec(read["file"], int(read["line"]), read["name"] or "", read["rest"] or "")


def is_source_line(text: str) -> bool:
    """Return whether a text is a file of source code and a line: `fs/read_write.c:562`."""
    return _LINE.fullmatch(text) is not None
