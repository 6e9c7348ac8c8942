"""Run the system's ssh as a private control master.

Its first session is the connection to the remote host; more sessions use its socket. It ends with our process,
however that ends: a pipe from us keeps it running, never ControlPersist.
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
    # Some of these options are newer than ssh versions still in use; first, so that it applies to the rest.
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
# Signals to our process group, from a key or from timeout(1), reach ssh too, which must outlive them: we still have
# to undo. (A session of its own would do, but ssh asks for passwords on the terminal.) SIGHUP ends it, as it does its
# jump hosts.
_DEAF = ["sh", "-c", 'trap "" INT QUIT TERM TSTP; exec "$@"', "sh"]
_END = signal.SIGHUP
_GRACE = 5.0
FAREWELL = 0.5
"""Seconds until a master with nothing to finish is ended."""


class ControlMaster:
    """An ssh connection: master process, socket folder and log."""

    def __init__(
        self,
        address: Address,
        command: str,
        options: Sequence[str] = (),
        *,
        asking: bool = True,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        """Start ssh with `command` as its first session; `options` of ssh win over the user's configuration, not over
        ours.

        ssh may prompt at the terminal (/dev/tty) now unless `asking` is False: then a screen may hold the terminal.
        `tell` is called from another thread with each line of its standard error, made printable, until `hush`. The
        output of the session shows whether ssh connects. Raises KernelError.
        """
        if shutil.which("ssh") is None:
            raise TargetUnusable("ssh is not installed here", "apt install openssh-client")
        self.address = address
        self._asking = asking
        self._folder = private_folder()
        self._log = self._folder / "log"
        self._socket = str(self._folder / "m").replace("%", "%%")
        settings = _OURS if asking else {**_OURS, "BatchMode": "yes"}
        own_options = [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]
        argv = ["ssh", *own_options, "-o", f"ControlPath={self._socket}", "-E", str(self._log), "-T", *options]
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
        """True while ssh may be prompting at the terminal: its socket exists once the remote host has accepted the
        login.
        """
        return self._asking and not (self._folder / "m").exists()

    def hush(self) -> None:
        """Drop standard error from now on, as the remote shell has answered."""
        self._stderr.hush()

    def session(self, command: str) -> subprocess.Popen[bytes]:
        """Start one more session, with pipes. It never connects by itself: without the master it fails."""
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
        """True if ssh ended by an error of its own (255, ssh(1)) or by a signal; waits up to `FAREWELL` seconds."""
        try:
            status = self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            return False
        return status == 255 or status < 0

    def words(self) -> str:
        """Return the last lines of the log of ssh itself: foreign text."""
        with contextlib.suppress(OSError), self._log.open("rb") as file:
            file.seek(max(0, self._log.stat().st_size - 2000))
            return file.read().decode(errors="replace").strip()
        return ""

    @property
    def early_stderr(self) -> str:
        """Standard error before the remote shell answered: from a jump host or the remote host; printable."""
        self._stderr.join(FAREWELL)
        return self._stderr.text

    def _abandon(self) -> None:
        """End ssh at exit without close(), for instance while it asks for a password; ssh restores the terminal."""
        with contextlib.suppress(OSError):
            if self.process.stdin:
                self.process.stdin.close()
        try:
            self.process.wait(FAREWELL)
        except subprocess.TimeoutExpired:
            self.process.send_signal(_END)
        shutil.rmtree(self._folder, ignore_errors=True)

    def close(self, grace: float = _GRACE) -> None:
        """End ssh and wait until it is gone; close the pipe of the connection before. Safe to call twice.

        grace: seconds that ssh may take to end by itself; an ssh that asks for a password doesn't.
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
