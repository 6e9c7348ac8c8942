"""Modules that lie on a machine's disk and aren't loaded: which of them has a function?"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from functools import cached_property

from foreign.packed import unpack
from foreign.refusal import InputRefusal
from foreign.text import encoded
from kernel.errors import FileRefused
from kernel.target import Target
from probes.attaching.values import AbsentModule

_MOST = 3
"""Modules that are looked into for one function."""
_LARGEST = 64 << 20
"""Bytes of a module, packed or unpacked."""


class AbsentModules:
    """Looks below /lib/modules/RELEASE; each index is read when it is first asked for."""

    def __init__(self, target: Target, release: str) -> None:
        self._target = target
        self._folder = f"/lib/modules/{release}"

    def with_function(self, name: str) -> Sequence[AbsentModule]:
        """Modules that have it: for sure where one exports it or it was found in the file, else by its name."""
        if not self._paths:
            return ()
        exported = re.search(rb"^alias symbol:%s (\S+)$" % re.escape(encoded(name)), self._exports, re.MULTILINE)
        if exported and (module := exported[1].decode("utf-8", "surrogateescape")) in self._paths:
            return (AbsentModule(module, certain=True),)
        found = ((module, self._has(module, name)) for module in self._called_like(name)[:_MOST])
        return sorted(
            (AbsentModule(m, certain=bool(has)) for m, has in found if has is not False), key=lambda a: not a.certain
        )

    def _called_like(self, name: str) -> list[str]:
        """Modules with whose name the function's begins, the longest first."""
        words = name.lstrip("_").split("_")
        starts = ("_".join(words[:count]) for count in range(len(words), 0, -1))
        return [start for start in starts if start in self._paths]

    def _has(self, module: str, name: str) -> bool | None:
        """Whether the module's file has the name in its table of strings; None: it can't be read."""
        try:
            data = unpacked(self._target.read(posixpath.join(self._folder, self._paths[module]), _LARGEST))
        except FileRefused:
            return None
        return None if data is None else b"\0%s\0" % encoded(name) in data

    @cached_property
    def _paths(self) -> Mapping[str, str]:
        """Module that isn't loaded -> its file, below the folder or absolute."""
        loaded = set(re.findall(r"^(\S+) ", self._text("/proc/modules"), re.MULTILINE))
        paths = re.findall(r"^((?>[^\s:]+?\.ko)[^\s:]*+):", self._text(f"{self._folder}/modules.dep"), re.MULTILINE)
        named = {posixpath.basename(path).partition(".ko")[0].replace("-", "_"): path for path in paths}
        return {name: path for name, path in named.items() if name not in loaded}

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
    """A module's file as ELF; None: packed in a way that can't be read here (zstd), or damaged."""
    if not data.startswith((b"\x7fELF", b"\xfd7zXZ", b"\x1f\x8b")):
        return None
    try:
        return unpack(data, "", _LARGEST)
    except InputRefusal:
        return None
