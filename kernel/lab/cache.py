"""Manage the lab's own folder, outside every tree: `$PROBEWRIGHT_CACHE`, else the user's cache folder.

apt/ARCH/       lists of Debian's archive       debs/ARCH/      packages used to make an image
kernels/NAME/   vmlinuz, modules, kernel.json   guests/         initramfs images
run/PID_START_N one running guest: keys, console, its initramfs
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from kernel.lab.errors import LabError
from kernel.lab.work import Work
from kernel.safe_files.ownership import distrust_reason, is_private

_REMEDY = "PROBEWRIGHT_CACHE names another folder for the lab"


def root() -> Path:
    """Return the cache folder; create it if missing. Raises LabError, also if another user can change it."""
    path_text = os.environ.get("PROBEWRIGHT_CACHE")
    path = Path(path_text) if path_text else Path(platformdirs.user_cache_dir("probewright"))
    path = path.absolute()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise LabError(f"{path}: {error.strerror}", _REMEDY) from error
    if reason := distrust_reason(path):  # its kernels are run, and its keys open a guest
        raise LabError(reason, _REMEDY)
    return path


@contextmanager
def locked(work: Work, name: str) -> Iterator[None]:
    """Hold a lock on making `name` (a path below the root), among all processes of this user."""
    path = root() / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                work.say(f"waiting for another probewright, which is making {name}")
                work.pause(0.2)
        yield


@contextmanager
def publish(folder: Path) -> Iterator[Path]:
    """Yield a scratch folder that replaces `folder` if the block succeeds: all of it or nothing."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        yield scratch
        if folder.exists():
            shutil.rmtree(folder)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@contextmanager
def publish_file(path: Path) -> Iterator[Path]:
    """Yield a scratch file that replaces `path` if the block succeeds."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield scratch
        scratch.rename(path)
    finally:
        scratch.unlink(missing_ok=True)


def start_time(pid: int) -> str:
    """Return field 22 of /proc/PID/stat, which distinguishes processes with one PID; empty if there is no process."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return stat.rpartition(")")[2].split()[19]


def run_folder() -> Path:
    """Create a private folder for one guest; remove the folders of dead processes."""
    runs = root() / "run"
    runs.mkdir(exist_ok=True, mode=0o700)
    if not is_private(runs):
        raise LabError(f"{runs} is no folder of ours alone (mode 0700)", f"remove it, or {_REMEDY}")
    for path in runs.iterdir():
        owner, start, *_ = [*path.name.split("_"), ""]
        if owner.isdigit() and start_time(int(owner)) != start:
            shutil.rmtree(path, ignore_errors=True)
    pid = os.getpid()
    return Path(tempfile.mkdtemp(prefix=f"{pid}_{start_time(pid)}_", dir=runs))
