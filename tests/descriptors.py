"""What a process has open."""

from __future__ import annotations

import contextlib
import os


def descriptors(pid: int | str = "self") -> list[str]:
    """What its descriptors lead to; of those that come or go meanwhile some may be missing."""
    folder, found = f"/proc/{pid}/fd", []
    for name in os.listdir(folder):
        with contextlib.suppress(FileNotFoundError):
            found.append(os.readlink(f"{folder}/{name}"))
    return found
