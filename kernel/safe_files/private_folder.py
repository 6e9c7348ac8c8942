"""Folders for what only this process may read and write: control sockets, logs of ssh, keys of a guest.

The environment may be another user's (`su`, `sudo -E`), who could put a socket or a link of his own where we are
about to make ours. A folder that it names is used only where it is ours and nobody else can change it or its name.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import tempfile
from pathlib import Path

from kernel.agent.journal import ROOTS
from kernel.errors import KernelError
from kernel.safe_files.ownership import distrust, is_private

LONGEST = 60
"""Characters of the folder they are made in: a socket's path has 108 bytes, of which ssh takes 17 itself."""
_NAME = re.compile(r"pw-(\d+)-\w+")
_TEMPORARY = "/tmp"  # noqa: S108 - what is made in it is made by mkdtemp(3)


def private_folder() -> Path:
    """Make a folder of mode 0700 for this process, with a short path; those that dead processes left are removed.

    It lies in /run/probewright for root, in XDG_RUNTIME_DIR for others, else in the folder for temporary files.
    Raises `kernel.errors.KernelError` where none of these can be relied on.
    """
    refused: OSError | None = None
    for base in (_runtime_folder(), tempfile.gettempdir(), _TEMPORARY):
        if not base or len(base) > LONGEST or distrust(Path(base), (0, os.geteuid()), shared=True):
            continue
        _remove_dead(base)
        try:
            made = Path(tempfile.mkdtemp(prefix=f"pw-{os.getpid()}-", dir=base))
        except OSError as error:
            refused = error
            continue
        if is_private(made):
            return made
    why = f"{refused.filename}: {refused.strerror}" if refused else f"others may change what is in {_TEMPORARY}"
    raise KernelError(
        f"there is no safe folder for sockets: {why}", "have TMPDIR name a folder of your own, mode 0700"
    )


def _runtime_folder() -> str:
    """Return the folder of this boot that is ours; empty: there is none."""
    if _is_root():  # whatever the environment says
        with contextlib.suppress(OSError):
            os.mkdir(ROOTS, 0o700)
        return ROOTS if is_private(ROOTS) else ""
    named = os.environ.get("XDG_RUNTIME_DIR", "")
    return named if os.path.isabs(named) and is_private(named) else ""


def _is_root() -> bool:
    return os.geteuid() == 0


def _remove_dead(base: str) -> None:
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match and not os.path.exists(f"/proc/{match[1]}") and is_private(entry.path):
                shutil.rmtree(entry.path, ignore_errors=True)
