"""Keep the names of the functions, tracepoints and events of the target that was opened last, for shells to complete.

Reading them is quick: a shell waits for it at each Tab. Nothing is imported here that takes long.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from foreign.files import read_file
from foreign.refusal import InputRefusal
from kernel.safe_files.ownership import distrust_reason

MOST_BYTES: Final = 32 << 20
"""Largest size in bytes of the file; 57,000 names take 1.5 MB."""
_PLAIN: Final = re.compile(r"[\w.$/ \n-]+", re.ASCII)
"""Names that no shell takes for more than a word; a target may have given any text."""


def path() -> Path:
    """Return the file of the names; PROBEWRIGHT_CACHE names another folder."""
    folder = os.environ.get("PROBEWRIGHT_CACHE")
    if not folder:
        import platformdirs

        folder = platformdirs.user_cache_dir("probewright")
    return Path(folder) / "names" / "last"


def load() -> bytes:
    """Return the names, sorted, each with a newline before and behind it; empty: none are kept, or others may write
    there.
    """
    file = path()
    try:
        return b"" if distrust_reason(file) else read_file(file, MOST_BYTES)
    except (OSError, InputRefusal):
        return b""


def save(names: Iterable[str]) -> None:
    """Keep names in place of those before; a full or read-only disk leaves these."""
    text = "\n".join(["", *sorted(names), ""])
    if _PLAIN.fullmatch(text) is None:
        plain = (name for name in text.split("\n") if name and _PLAIN.fullmatch(name))
        text = "\n".join(["", *sorted(plain), ""])
    data = text.encode("ascii")
    if len(data) > MOST_BYTES or data == load():
        return
    from kernel.remote.btf_cache import write_entry

    with contextlib.suppress(OSError):
        write_entry(path(), data)
