"""The system's ssh, as a control master of our own.

Its first session is the line to the far side; more sessions go through its socket. It ends when we do, however we do:
what keeps it is a pipe from us, never ControlPersist.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from kernel.address import Address
from kernel.errors import TargetUnusable

_OURS = {
    # Newer than some ssh that is still in use; first, so that it counts for the rest.
    "IgnoreUnknown": "SessionType,ForkAfterAuthentication,StdinNull",
    "ControlMaster": "yes",
    "ControlPersist": "no",
    "ServerAliveInterval": "5",
    "ServerAliveCountMax": "3",
    "ConnectTimeout": "20",
    "ClearAllForwardings": "yes",
    "ExitOnForwardFailure": "no",
    "ForwardAgent": "no",
    "ForwardX11": "no",
    "Tunnel": "no",
    "PermitLocalCommand": "no",
    "RemoteCommand": "none",
    "RequestTTY": "no",
    "SessionType": "default",
    "ForkAfterAuthentication": "no",
    "StdinNull": "no",
    "LogLevel": "ERROR",
}
# An interrupt at our terminal goes to ssh too: it must outlive it, so that we can still undo. (An own session would
# do, but ssh asks for passwords on the terminal.)
_DEAF = ["sh", "-c", 'trap "" INT QUIT TSTP; exec "$@"', "sh"]
_GRACE = 5.0
FAREWELL = 0.5
"""Seconds for one that has nothing to finish."""
_FOLDER = re.compile(r"pw-(\d+)-\w+")


class Master:
    """One connection."""

    def __init__(self, address: Address, command: str, options: Sequence[str] = (), *, asking: bool = True) -> None:
        """Start it with `command` as its first session; `options` of ssh win over the user's configuration,
        not over ours.

        ssh may ask at the terminal now, unless it is told not to (`asking`): then a screen may hold the terminal.
        Whether it comes up shows in what the session says. Raises TargetUnusable.
        """
        if shutil.which("ssh") is None:
            raise TargetUnusable("ssh is not installed here", "apt install openssh-client")
        self.address = address
        self._folder = _run_folder()
        self._log = self._folder / "log"
        self._socket = str(self._folder / "m").replace("%", "%%")
        settings = _OURS if asking else {**_OURS, "BatchMode": "yes"}
        ours = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        argv = ["ssh", *ours, "-o", f"ControlPath={self._socket}", "-E", str(self._log), "-T", *options]
        try:
            # Its stderr is ours: ssh says there that a hardware key wants to be touched. Later it is silent.
            self.process = subprocess.Popen(
                [*_DEAF, *argv, *address.words, command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=None if asking else subprocess.DEVNULL,
                bufsize=0,
                start_new_session=not asking,
            )
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        atexit.register(self._abandon)

    def session(self, command: str) -> subprocess.Popen[bytes]:
        """One more session, with pipes. It never connects by itself: without the master it fails."""
        return subprocess.Popen(
            [
                *("ssh", "-F", "none", "-o", f"ControlPath={self._socket}", "-o", "ControlMaster=no"),
                *("-o", "ProxyCommand=false", "-o", "BatchMode=yes", "-o", "LogLevel=ERROR", "-T"),
                *(*self.address.words, command),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )

    def words(self) -> str:
        """What ssh had to say, its last lines: foreign text."""
        with contextlib.suppress(OSError), self._log.open("rb") as file:
            file.seek(max(0, self._log.stat().st_size - 2000))
            return file.read().decode(errors="replace").strip()
        return ""

    def _abandon(self) -> None:
        """We end without close(): in the middle of a question for a password, say. ssh sets the terminal right."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            self.process.terminate()
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self, grace: float = _GRACE) -> None:
        """End it and wait until it is gone; the line's pipe should be closed before. Safe to call twice.

        grace: seconds that it may take to end by itself, which one that asks for a password doesn't.
        """
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        for sign in (signal.SIGTERM, signal.SIGKILL):
            try:
                self.process.wait(grace)
                break
            except subprocess.TimeoutExpired:
                self.process.send_signal(sign)
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        shutil.rmtree(self._folder, ignore_errors=True)
        atexit.unregister(self._abandon)


def _run_folder() -> Path:
    """A private folder with a short name (a socket's path has 108 bytes, and ssh adds 17); those of the dead go."""
    base = os.environ.get("XDG_RUNTIME_DIR", "")
    if not base or not os.access(base, os.W_OK) or len(base) > 60:
        base = tempfile.gettempdir()
    if len(base) > 60:
        base = "/tmp"  # noqa: S108 - mkdtemp makes a folder of ours in it
    with contextlib.suppress(OSError):
        for entry in Path(base).iterdir():
            match = _FOLDER.fullmatch(entry.name)
            if match and not Path("/proc", match[1]).exists() and entry.stat().st_uid == os.getuid():
                shutil.rmtree(entry, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"pw-{os.getpid()}-", dir=base))
