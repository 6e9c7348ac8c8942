"""Replace lines of source code in specifications, `p fs/read_write.c:562`, by the instructions that begin them."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from foreign.refusal import InputRefusal
from kernel.attach.local_variables import SourcePlaces, source_places
from kernel.connection.kernel_info import KernelInfo
from probes.presets.errors import PresetError
from tui.cli.console.output import plain
from tui.cli.console.waiting import waiting

_LINE = re.compile(r"(?P<file>[^\s:]*\.[chS]):(?P<line>\d{1,7})")
_SPEC = re.compile(rf"\s*p(?P<name>:\S+)?\s+{_LINE.pattern}(?P<rest>\s.*)?")


def is_source_line(text: str) -> bool:
    """Return whether a text is a file of source code and a line: `fs/read_write.c:562`."""
    return _LINE.fullmatch(text) is not None


def places_of(info: KernelInfo, text: str, vmlinux: Path | None = None) -> SourcePlaces:
    """Return the instructions at which a line of source begins. Raises InputRefusal, TargetLost."""
    from kernel.attach.debug_info import DebugInfo

    file, _, line = text.rpartition(":")
    with waiting("reading debug information"):
        info.symbols.load()
        symbols = info.symbols.current
        if symbols is None:
            raise InputRefusal(text, "the addresses of this kernel are hidden, or not known here")
        return source_places(DebugInfo(info.target, info.facts.release, vmlinux), symbols, file, int(line))


def with_places(specs: Iterable[str], info: KernelInfo) -> Iterator[str]:
    """Yield specifications with each line of source replaced by the instructions at which it begins, one probe for
    each, and print these. Raises PresetError, TargetLost.
    """
    for spec in specs:
        if (read := _SPEC.fullmatch(spec)) is None:
            yield spec
            continue
        try:
            at = places_of(info, f"{read['file']}:{read['line']}")
        except InputRefusal as error:
            raise PresetError(str(error)) from None
        name, rest = read["name"] or "", read["rest"] or ""
        names = [name, *(f"{name}_{number}" if name else "" for number in range(2, len(at.places) + 1))]
        ours = [f"p{own} {place}{rest}" for own, place in zip(names, at.places, strict=True)]
        print(f"probewright: {plain(f'{at.source} begins at: ' + ', '.join(ours))}", file=sys.stderr)
        yield from ours
