"""Split a typed command line into words, or hand it to a shell where it has signs of one. Pure."""

from __future__ import annotations

import re
import shlex
from typing import Final, NamedTuple

MOST_CHARACTERS: Final = 1 << 16
"""Characters of a line; the kernel takes 128 KiB of one word (MAX_ARG_STRLEN)."""
_QUOTED: Final = re.compile(r"'[^']*+'|\\.|\"(?:[^\"\\$`]|\\.)*+\"", re.DOTALL)
"""Text in quotes that means itself; a shell looks into double ones for `$` and backquotes."""
_OF_SHELL: Final = re.compile(r"[|&;<>()$`*?\[\]{}~!#\n\"]|^\s*+\w++=")


class CommandLine(NamedTuple):
    """Words that are executed."""

    words: tuple[str, ...]
    by_shell: bool
    """True: the first two are a shell and `-c`."""


def read_command_line(text: str) -> CommandLine:
    """Return the words of a line as a shell would split it, or `sh -c` and the line where it has signs of a shell.

    Raises ValueError: it has no words, a quote has no end, or it is too long.
    """
    if len(text) > MOST_CHARACTERS:
        raise ValueError(f"longer than {MOST_CHARACTERS} characters")
    if "\0" in text:
        raise ValueError("a NUL is in no word")
    try:
        words = shlex.split(text)
    except ValueError:
        raise ValueError("a quote has no end") from None
    if not words:
        raise ValueError("no command")
    if _OF_SHELL.search(_QUOTED.sub("_", text)):
        return CommandLine(("sh", "-c", text.strip()), by_shell=True)
    return CommandLine(tuple(words), by_shell=False)
