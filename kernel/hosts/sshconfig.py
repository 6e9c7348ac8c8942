"""Read the host aliases of `~/.ssh/config`: its `Host` lines, through its `Include` lines (ssh_config(5)).

Settings of a host are left to ssh: an alias becomes `ssh://ALIAS`. Words with `*`, `?` or `!` are patterns only, no
host names.
"""

from __future__ import annotations

import fnmatch
import glob
import re
import shlex
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from foreign.files import home_path, read_file
from foreign.refusal import InputRefusal
from kernel.errors import TargetUnusable
from kernel.hosts.errors import GroupError
from kernel.remote.address import Address

_DEPTH = 16
"""READCONF_MAX_DEPTH of OpenSSH's readconf.c."""
_MOST_BYTES = 4 << 20
_MOST_FILES = 1000
"""Maximum files that are included; two lines that include their own file would be 65,536."""


def aliases(path: Path | None = None) -> tuple[str, ...]:
    """Return the host aliases, in the order of the file, each once. Raises GroupError if it can't be read."""
    folder = Path.home() / ".ssh"
    return tuple(dict.fromkeys(_aliases(path or folder / "config", folder, 0, count())))


def targets(pattern: str, path: Path | None = None) -> tuple[str, ...]:
    """Return `--target` of each host whose alias matches a pattern such as `web-*`. Raises GroupError."""
    all_aliases = aliases(path)
    specs = [f"ssh://{alias}" for alias in all_aliases if fnmatch.fnmatchcase(alias, pattern)]
    if not specs:
        some = ", ".join(all_aliases[:8]) or "none"
        raise GroupError(f"no Host of {path or '~/.ssh/config'} fits {pattern}", f"it names: {some}")
    return tuple(specs)


def _aliases(path: Path, folder: Path, depth: int, files: Iterator[int]) -> Iterator[str]:
    if depth > _DEPTH:
        return
    if next(files) > _MOST_FILES:
        raise GroupError(f"{path}: more than {_MOST_FILES} files are included", "name the hosts in the configuration")
    try:
        text = read_file(path, _MOST_BYTES).decode("utf-8", "replace")
    except (OSError, InputRefusal) as error:
        if depth:  # as ssh does: an Include may name a missing file
            return
        reason = f"{path}: {error.strerror}" if isinstance(error, OSError) else str(error)
        raise GroupError(reason, "name the hosts in the configuration instead") from None
    for line in text.splitlines():
        # A keyword and its words, separated by blanks or one `=`.
        match = re.match(r"\s*+(host|include)(?:\s*+=\s*+|\s++)(.*)", line, re.IGNORECASE)
        if match is None:
            continue
        try:
            words = shlex.split(match[2], comments=True)
        except ValueError:  # ssh itself reports the error
            continue
        if match[1].lower() == "include":
            for word in words:
                pattern = str(home_path(word)) if word.startswith("~") else str(folder / word)
                for name in sorted(glob.glob(pattern)):
                    yield from _aliases(Path(name), folder, depth + 1, files)
        else:
            yield from (word for word in words if _names_a_host(word))


def _names_a_host(word: str) -> bool:
    if set("*?!") & set(word):
        return False
    try:
        return Address.parse(f"ssh://{word}").host == word
    except TargetUnusable:  # ssh accepts it, but we could not pass it on a command line
        return False
