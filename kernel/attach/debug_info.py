"""Find debug information of a target's kernel on the local machine: a vmlinux of the very same build."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from btf.debug.dwarf import DwarfError, SourceLine
from btf.debug.inlined import DebugFile, build_id
from events.names.kallsyms import Symbols
from kernel.errors import FileRefused
from kernel.safe_files.ownership import distrust_reason
from kernel.target import Target

_NOTES = "/sys/kernel/notes"
_PLACES = (
    "/usr/lib/debug/boot/vmlinux-{release}",
    "/usr/lib/debug/lib/modules/{release}/vmlinux",
    "/usr/lib/debug/usr/lib/modules/{release}/vmlinux",
    "/usr/lib/debug/.build-id/{first}/{rest}.debug",
    "/lib/modules/{release}/build/vmlinux",
    "/boot/vmlinux-{release}",
)
"""Paths used by Debian, Fedora and SUSE, and of a kernel's own build."""


class DebugInfo:
    """Debug information, searched on first use; the build ids must be equal, or every address would be wrong."""

    def __init__(self, target: Target, release: str, override: Path | None = None) -> None:
        """Take the target; `override`: the only file to look at; None: the paths of distributions."""
        self._target = target
        self._release = release
        self._override = override
        self.path: Path | None = None

    @cached_property
    def file(self) -> DebugFile | None:
        """Open file; None: there is none of this kernel."""
        try:
            target_build_id = build_id(self._target.read(_NOTES, 1 << 16))
        except FileRefused:
            return None
        for path in self._paths(target_build_id.hex()) if target_build_id else ():
            if self._override is None and distrust_reason(path):  # `build` of a kernel is a link into somebody's home
                continue
            with contextlib.suppress(OSError, DwarfError):
                file = DebugFile(path)
                if file.build_id == target_build_id:
                    self.path = path
                    return file
                file.close()
        return None

    def distance(self, symbols: Symbols) -> int | None:
        """Return what is added to an address of the running kernel for that in the file; None: there is none."""
        start = next((one.address for one in symbols.named("_stext")), None)
        return self.file.text - start if self.file is not None and start is not None else None

    def source_lines(self, addresses: Iterable[int], symbols: Symbols) -> dict[int, SourceLine]:
        """Return the source lines of addresses of the running kernel.

        Raises DwarfError: the debug information can't be read.
        """
        distance = self.distance(symbols)
        if self.file is None or distance is None:
            return {}
        found = self.file.source_lines(address + distance for address in addresses)
        return {linked - distance: line for linked, line in found.items()}

    def _paths(self, identity: str) -> list[Path]:
        if self._override is not None:
            return [self._override]
        names = {"release": self._release, "first": identity[:2], "rest": identity[2:]}
        return [Path(place.format(**names)) for place in _PLACES]
