"""Create folders that only this process may use: for control sockets, logs of ssh, keys of a guest.

The environment may be another user's (`su`, `sudo -E`), who could put his own socket or link where we are about to
create ours. A folder named there is used only if it is ours and nobody else can change it or its name.
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
from kernel.safe_files.ownership import distrust_reason, is_private

LONGEST = 60
"""Most characters of the parent folder: a socket's path has 108 bytes, of which ssh takes 17 itself."""
_NAME = re.compile(r"pw-(\d+)-\w+")
_TEMPORARY = "/tmp"  # noqa: S108 - folders in it are created by mkdtemp(3)


def private_folder() -> Path:
    """Create a folder of mode 0700 for this process, with a short path; remove those of dead processes.

    It is in /run/probewright for root, in XDG_RUNTIME_DIR for others, else in the folder for temporary files. Raises
    `kernel.errors.KernelError` if none of these is safe.
    """
    mkdtemp_error: OSError | None = None
    for base in (_runtime_folder(), tempfile.gettempdir(), _TEMPORARY):
        if not base or len(base) > LONGEST or distrust_reason(Path(base), (0, os.geteuid()), shared=True):
            continue
        _remove_dead(base)
        try:
            folder = Path(tempfile.mkdtemp(prefix=f"pw-{os.getpid()}-", dir=base))
        except OSError as error:
            mkdtemp_error = error
            continue
        if is_private(folder):
            return folder
    reason = f"others may change what is in {_TEMPORARY}"
    if mkdtemp_error:
        reason = f"{mkdtemp_error.filename}: {mkdtemp_error.strerror}"
    raise KernelError(
        f"there is no safe folder for sockets: {reason}", "have TMPDIR name a folder of your own, mode 0700"
    )


def _runtime_folder() -> str:
    """Return our folder of this boot; empty: there is none."""
    if _is_root():  # whatever the environment says
        with contextlib.suppress(OSError):
            os.mkdir(ROOTS, 0o700)
        return ROOTS if is_private(ROOTS) else ""
    folder = os.environ.get("XDG_RUNTIME_DIR", "")
    return folder if os.path.isabs(folder) and is_private(folder) else ""


def _is_root() -> bool:
    return os.geteuid() == 0


def _remove_dead(base: str) -> None:
    with contextlib.suppress(OSError), os.scandir(base) as entries:
        for entry in entries:
            match = _NAME.fullmatch(entry.name)
            if match and not os.path.exists(f"/proc/{match[1]}") and is_private(entry.path):
                shutil.rmtree(entry.path, ignore_errors=True)
