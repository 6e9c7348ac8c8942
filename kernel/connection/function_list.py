"""Read a file of functions' names, of the machine that probewright runs on."""

from __future__ import annotations

import os
import stat
from typing import Final

from foreign.files import read_file
from foreign.refusal import InputRefusal
from foreign.text import lines_of
from probes.facts.facts import LARGEST_LIST, MOST_FUNCTIONS

_MOST_KEPT: Final = 8
_FROM_SHELL: Final = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")
"""Beginnings of the names of pipes that a shell made: `@<(…)`."""
_kept: dict[str, tuple[tuple[int, ...], list[str]]] = {}
"""Names by path, each with the state of the file, which is looked at with each key while a text is typed."""


def read_function_list(path: str) -> list[str]:
    """Return the names and patterns in a file: one a line, `#` begins a comment; a pipe is read once.

    A line of available_filter_functions, `ext4_readdir [ext4]`, is `ext4:ext4_readdir`. Raises InputRefusal.
    """
    file = os.path.expanduser(path)
    try:
        state = _state_of(file)
        kept = _kept.get(path)
        if kept is not None and kept[0] == state:
            return kept[1]
        data = read_file(file, LARGEST_LIST)
    except OSError as error:
        raise InputRefusal(path, (error.strerror or "cannot be read").lower()) from None
    names = _names(data, path)
    if len(_kept) >= _MOST_KEPT:
        _kept.clear()
    _kept[path] = state, names
    return names


def _state_of(file: str) -> tuple[int, ...]:
    """Return what changes with a file's content. Raises OSError, and InputRefusal for a named pipe."""
    found = os.stat(file)
    if not stat.S_ISFIFO(found.st_mode):
        return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns
    if not file.startswith(_FROM_SHELL):
        raise InputRefusal(file, "a named pipe, whose writer may keep it waiting; a shell makes one by <(…)")
    return found.st_dev, found.st_ino


def _names(data: bytes, path: str) -> list[str]:
    lines = lines_of(data.decode("utf-8", "replace"), path, MOST_FUNCTIONS)
    return [_with_module(name) for line in lines if (name := line.partition("#")[0].strip())]


def _with_module(line: str) -> str:
    name, _, module = line.removesuffix("]").rpartition(" [")
    return f"{module}:{name.strip()}" if line.endswith("]") and name else line
