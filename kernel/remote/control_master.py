"""The system's ssh, as a control master of our own.

Its first session is the line to the far side; more sessions go through its socket. It ends when we do, however we do:
what keeps it is a pipe from us, never ControlPersist.
"""

from __future__ import annotations

import atexit
import contextlib
import shutil
import signal
import subprocess
from collections.abc import Callable, Sequence

from kernel.errors import TargetUnusable
from kernel.remote.address import Address
from kernel.remote.ssh_stderr import StandardError
from kernel.safe_files.private_folder import private_folder

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
# What is sent to our group, by a key or by timeout(1), goes to ssh too, which must outlive it: we still have to undo.
# (An own session would do, but ssh asks for passwords on the terminal.) It ends by SIGHUP, as its jump hosts do.
_DEAF = ["sh", "-c", 'trap "" INT QUIT TERM TSTP; exec "$@"', "sh"]
_END = signal.SIGHUP
_GRACE = 5.0
FAREWELL = 0.5
"""Seconds for one that has nothing to finish."""


class ControlMaster:
    """One connection."""

    def __init__(
        self,
        address: Address,
        command: str,
        options: Sequence[str] = (),
        *,
        asking: bool = True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Start it with `command` as its first session; `options` of ssh win over the user's configuration,
        not over ours.

        ssh may ask at the terminal (/dev/tty) now, unless it is told not to (`asking`): then a screen may hold the
        terminal. `tell` is given each line that comes on its standard error, made printable, until `hush`; it is
        called from another thread. Whether ssh comes up shows in what the session says. Raises KernelError.
        """
        if shutil.which("ssh") is None:
            raise TargetUnusable("ssh is not installed here", "apt install openssh-client")
        self.address = address
        self._asking = asking
        self._folder = private_folder()
        self._log = self._folder / "log"
        self._socket = str(self._folder / "m").replace("%", "%%")
        settings = _OURS if asking else {**_OURS, "BatchMode": "yes"}
        ours = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        argv = ["ssh", *ours, "-o", f"ControlPath={self._socket}", "-E", str(self._log), "-T", *options]
        try:
            self.process = subprocess.Popen(
                [*_DEAF, *argv, *address.words, command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=not asking,
            )
        except OSError:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise
        self._stderr = StandardError(self.process, tell if asking else None)
        atexit.register(self._abandon)

    @property
    def may_ask(self) -> bool:
        """Whether ssh may be asking at the terminal: its socket is there from when the far side let us in."""
        return self._asking and not (self._folder / "m").exists()

    def hush(self) -> None:
        """The greeting is over: what comes on standard error from now on is dropped."""
        self._stderr.hush()

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

    @property
    def failed(self) -> bool:
        """Whether ssh has ended by an error of its own (255, as ssh(1) has it) or by a signal; waits a moment."""
        try:
            status = self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            return False
        return status == 255 or status < 0

    def words(self) -> str:
        """Return what ssh itself had to say, its last lines: foreign text."""
        with contextlib.suppress(OSError), self._log.open("rb") as file:
            file.seek(max(0, self._log.stat().st_size - 2000))
            return file.read().decode(errors="replace").strip()
        return ""

    @property
    def heard(self) -> str:
        """What came on its standard error before the greeting was over: of a jump host or the far side; printable."""
        self._stderr.join(FAREWELL)
        return self._stderr.said

    def _abandon(self) -> None:
        """We end without close(): in the middle of a question for a password, say. ssh sets the terminal right."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            self.process.send_signal(_END)
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self, grace: float = _GRACE) -> None:
        """End it and wait until it is gone; the line's pipe should be closed before. Safe to call twice.

        grace: seconds that it may take to end by itself, which one that asks for a password doesn't.
        """
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        for sign in (_END, signal.SIGKILL):
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
