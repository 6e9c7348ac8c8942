"""Find the modules on a machine's disk that contain a function and aren't loaded."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from foreign.packed import unpack
from foreign.refusal import InputRefusal
from foreign.text import encode_text
from kernel.errors import FileRefused
from kernel.target import Target
from probes.attaching.values import AbsentModule

_MOST = 3
"""Most modules that are searched for one function."""
_LARGEST = 64 << 20
"""Most bytes of a module, compressed or not."""


class AbsentModules:
    """Modules below /lib/modules/RELEASE; each index is read on first use."""

    def __init__(self, target: Target, release: str) -> None:
        self._target = target
        self._folder = f"/lib/modules/{release}"

    def with_function(self, name: str) -> Sequence[AbsentModule]:
        """Return the modules with a function: certain if exported or found in the file, else guessed by the module's
        name.
        """
        if not self._paths:
            return ()
        exported = re.search(rb"^alias symbol:%s (\S+)$" % re.escape(encode_text(name)), self._exports, re.MULTILINE)
        if exported and (module := exported[1].decode("utf-8", "surrogateescape")) in self._paths:
            return (AbsentModule(module, is_proven=True),)
        candidates = ((module, self._contains(module, name)) for module in self._named_like(name)[:_MOST])
        return sorted(
            (AbsentModule(m, is_proven=bool(contained)) for m, contained in candidates if contained is not False),
            key=lambda a: not a.is_proven,
        )

    def _named_like(self, name: str) -> list[str]:
        """Return the modules with whose name the function's begins, the longest first."""
        words = name.lstrip("_").split("_")
        starts = ("_".join(words[:count]) for count in range(len(words), 0, -1))
        return [start for start in starts if start in self._paths]

    def _contains(self, module: str, name: str) -> bool | None:
        """Return whether the module's file has the name in its string table; None: unreadable."""
        try:
            data = unpacked(self._target.read(posixpath.join(self._folder, self._paths[module]), _LARGEST))
        except FileRefused:
            return None
        return None if data is None else b"\0%s\0" % encode_text(name) in data

    @cached_property
    def _paths(self) -> Mapping[str, str]:
        """File of each module that isn't loaded, below the folder or absolute."""
        loaded = set(re.findall(r"^(\S+) ", self._text("/proc/modules"), re.MULTILINE))
        paths = re.findall(r"^((?>[^\s:]+?\.ko)[^\s:]*+):", self._text(f"{self._folder}/modules.dep"), re.MULTILINE)
        paths_by_module = {posixpath.basename(path).partition(".ko")[0].replace("-", "_"): path for path in paths}
        return {name: path for name, path in paths_by_module.items() if name not in loaded}

    @cached_property
    def _exports(self) -> bytes:
        return self._data(f"{self._folder}/modules.symbols")

    def _text(self, path: str) -> str:
        return self._data(path).decode("utf-8", "replace")

    def _data(self, path: str) -> bytes:
        try:
            return self._target.read(path)
        except FileRefused:
            return b""


def unpacked(data: bytes) -> bytes | None:
    """Return a module's file as ELF; None: damaged, or in an unsupported compression (zstd)."""
    if not data.startswith((b"\x7fELF", b"\xfd7zXZ", b"\x1f\x8b")):
        return None
    try:
        return unpack(data, "", _LARGEST)
    except InputRefusal:
        return None
