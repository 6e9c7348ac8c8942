"""Read a file of functions' names, of the machine that probewright runs on."""

from __future__ import annotations

import os

from foreign.files import read_file
from foreign.refusal import InputRefusal
from foreign.text import lines_of
from probes.facts.facts import LARGEST_LIST, MOST_FUNCTIONS


def read_function_list(path: str) -> list[str]:
    """Return the names and patterns in a file: one a line, `#` begins a comment.

    A line of available_filter_functions, `ext4_readdir [ext4]`, is `ext4:ext4_readdir`. Raises InputRefusal.
    """
    try:
        data = read_file(os.path.expanduser(path), LARGEST_LIST)
    except OSError as error:
        raise InputRefusal(path, (error.strerror or "cannot be read").lower()) from None
    lines = lines_of(data.decode("utf-8", "replace"), path, MOST_FUNCTIONS)
    return [_with_module(name) for line in lines if (name := line.partition("#")[0].strip())]


def _with_module(line: str) -> str:
    name, _, module = line.removesuffix("]").rpartition(" [")
    return f"{module}:{name.strip()}" if line.endswith("]") and name else line
