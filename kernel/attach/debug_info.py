"""Debug information of a target's kernel, where the near machine has it: a vmlinux of the very same build."""

from __future__ import annotations

import contextlib
from functools import cached_property
from pathlib import Path

from btf.debug.dwarf import DwarfError
from btf.debug.inlined import DebugFile, build_id
from kernel.errors import FileRefused
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
"""Where Debian, Fedora and SUSE put it, and a kernel's own build."""


class DebugInfo:
    """Found when it is first asked for; the build ids must be the same, or every address would be a lie."""

    def __init__(self, target: Target, release: str, chosen: Path | None = None) -> None:
        """`chosen`: the only file to look at; None: where distributions put them."""
        self._target = target
        self._release = release
        self._chosen = chosen
        self.path: Path | None = None

    @cached_property
    def file(self) -> DebugFile | None:
        """The file, open; None: there is none of this kernel."""
        try:
            wanted = build_id(self._target.read(_NOTES, 1 << 16))
        except FileRefused:
            return None
        for path in self._paths(wanted.hex()) if wanted else ():
            with contextlib.suppress(OSError, DwarfError):
                file = DebugFile(path)
                if file.build_id == wanted:
                    self.path = path
                    return file
                file.close()
        return None

    def _paths(self, identity: str) -> list[Path]:
        if self._chosen is not None:
            return [self._chosen]
        names = {"release": self._release, "first": identity[:2], "rest": identity[2:]}
        return [Path(place.format(**names)) for place in _PLACES]
