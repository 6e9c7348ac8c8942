"""`probewright` as a process, on a guest that is reached as any machine over ssh."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from kernel.lab.guest import Guest
from tests.json_reader import read_line
from tests.real.processes import PATIENCE

TOP = Path(__file__).parents[2]
SPEC = "f vfs_read%return file->f_pos count $retval"


def ssh_to(guest: Guest, folder: Path) -> dict[str, str]:
    """Environment in which `address(guest)` is that guest, with its key: the user's own are not asked."""
    binary = shutil.which("ssh")
    assert binary is not None
    wrapper = folder / "ssh"
    wrapper.write_text(f'#!/bin/sh\nexec {binary} {shlex.join(guest.ssh_options)} -o HostName=127.0.0.1 "$@"\n')
    wrapper.chmod(0o755)
    return {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}


def screen_on(guest: Guest, folder: Path) -> list[str]:
    """Return the words that start the application on a guest; `folder` is for its way there."""
    return ["env", f"PATH={ssh_to(guest, folder)['PATH']}", sys.executable, "-m", "tui", "--target", address(guest)]


def address(guest: Guest) -> str:
    """Return one name for all guests of a kernel: they share a boot, and with it cached symbols and types."""
    return f"ssh://root@{guest.kernel.release.replace('+', '-')}"


def start(*words: str, env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    """Begin a command; its output comes through pipes."""
    command = [sys.executable, "-m", "tui", *words]
    return subprocess.Popen(
        command, cwd=TOP, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0
    )


class Done:
    """A command that has ended."""

    def __init__(self, status: int, out: bytes, err: bytes) -> None:
        self.status = status
        self.out = out.decode()
        self.err = err.decode()

    @property
    def objects(self) -> list[dict[str, Any]]:
        """Standard output as JSON, one object a line."""
        return [read_line(line) for line in self.out.splitlines()]

    def __repr__(self) -> str:
        return f"status {self.status}\n{self.out[-2000:]}\n{self.err[-2000:]}"


def finish(process: subprocess.Popen[bytes]) -> Done:
    """Wait for a command's end; one that does not come to it is killed, so that no other test meets it."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise
    return Done(process.returncode, out, err)


def run(*words: str, env: dict[str, str] | None = None, stdin: bytes = b"") -> Done:
    """A command from begin to end."""
    command = [sys.executable, "-m", "tui", *words]
    done = subprocess.run(command, cwd=TOP, env=env, input=stdin, capture_output=True, timeout=PATIENCE)
    return Done(done.returncode, done.stdout, done.stderr)
