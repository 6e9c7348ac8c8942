"""OpenSSH's own server on the loopback of this machine: its keys, port and folder are the test's."""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import shlex
import shutil
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from tests.real.conftest import REQUIRED
from tests.real.processes import PATIENCE, ended, until

_BINARY = "/usr/sbin/sshd"
_RUN = Path("/run/sshd")
"""Where a server of root locks its other half in; Debian makes it when its own server starts."""


def must(there: object, what: str) -> None:
    """Skip the test, with the reason, where something is missing, unless it must run."""
    if not there:
        if REQUIRED:
            pytest.fail(what)
        pytest.skip(what)


class Server:
    """One sshd, for the user that we are, or for any where we are root; use it in a with block."""

    def __init__(self, folder: Path, **settings: str) -> None:
        """`settings` of sshd_config(5) win over these."""
        must(os.path.exists(_BINARY), "no sshd here: apt-get install openssh-server")
        self.folder = folder
        self.user = getpass.getuser()
        # Bound, and nobody listens: the server may use the port, and nobody else gets it.
        self._reserved = socket.socket()
        self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._reserved.bind(("127.0.0.1", 0))
        self.port: int = self._reserved.getsockname()[1]
        self._settings = settings
        for name in ("host", "key"):
            subprocess.run(
                ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(folder / name)], check=True
            )
        shutil.copy(folder / "key.pub", folder / "authorized")
        # The client has seen this server before.
        (folder / "known").write_text(f"[127.0.0.1]:{self.port} {(folder / 'host.pub').read_text()}")

    def client(self, **hosts: Mapping[str, str]) -> dict[str, str]:
        """Environment in which `ssh` has a configuration of these hosts, as a user has in ~/.ssh/config.

        Every host is this server, with its key, unless its settings say otherwise.
        """
        both = {
            "HostName": "127.0.0.1",
            "Port": str(self.port),
            "User": self.user,
            "IdentityFile": str(self.folder / "key"),
            "IdentitiesOnly": "yes",
            "IdentityAgent": "none",
            "UserKnownHostsFile": str(self.folder / "known"),
            "GlobalKnownHostsFile": "none",
        }
        lines = []
        for host, settings in {**hosts, "*": {}}.items():
            lines.append(f"Host {host}")
            lines += [
                f"  {name} {value}"
                for name, value in {**both, **settings}.items()
                if host != "*" or name != "HostName"
            ]
        config = self.folder / "config"
        config.write_text("\n".join(lines) + "\n")
        binary = shutil.which("ssh")
        assert binary is not None
        wrapper = self.folder / "bin" / "ssh"
        wrapper.parent.mkdir(exist_ok=True)
        wrapper.write_text(f'#!/bin/sh\nexec {binary} -F {shlex.quote(str(config))} "$@"\n')
        wrapper.chmod(0o755)
        return {**os.environ, "PATH": f"{wrapper.parent}:{os.environ['PATH']}"}

    def admit(self, name: str) -> None:
        """Let another user in by the key; nobody but us reads our folder, so it goes into that one's."""
        home = Path(f"~{name}").expanduser() / ".ssh"
        home.mkdir(mode=0o700)
        shutil.copy(self.folder / "key.pub", home / "authorized_keys")
        for path in (home, home / "authorized_keys"):
            shutil.chown(path, name)

    def log(self) -> str:
        """What the server said."""
        return (self.folder / "log").read_text()

    def __enter__(self) -> Self:
        if os.getuid() == 0:
            _RUN.mkdir(mode=0o755, exist_ok=True)  # it stays, for other servers of tests use it by now
        settings = {
            "Port": str(self.port),
            "ListenAddress": "127.0.0.1",
            "HostKey": str(self.folder / "host"),
            "AuthorizedKeysFile": f"{self.folder}/authorized .ssh/authorized_keys",
            "PidFile": "none",
            "StrictModes": "no",  # the folder is below /tmp
            "PermitRootLogin": "yes",
            "UsePAM": "no",
            "PasswordAuthentication": "no",
            "KbdInteractiveAuthentication": "no",
            "LogLevel": "VERBOSE",
            **self._settings,
        }
        config = self.folder / "sshd_config"
        config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        self._process = subprocess.Popen(
            [_BINARY, "-D", "-f", str(config), "-E", str(self.folder / "log")], stdin=subprocess.DEVNULL
        )
        assert until(self._answers), self.log()
        return self

    def _answers(self) -> bool:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1) as line:
            return line.recv(4) == b"SSH-"
        assert self._process.poll() is None, self.log()
        return False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)
        self._reserved.close()


@contextlib.contextmanager
def account(*, sudo: bool = False) -> Iterator[tuple[str, str]]:
    """A user of this machine that lives for one test: name and password. Only root can make one.

    Args:
        sudo: it may become root without a password.
    """
    must(os.getuid() == 0, "only root can make a user for a test")
    must(not sudo or shutil.which("sudo"), "no sudo here: apt-get install sudo")
    name, password = f"pwtest{secrets.token_hex(3)}", secrets.token_hex(8)
    rule = Path("/etc/sudoers.d") / name
    subprocess.run(["useradd", "--create-home", "--shell", "/bin/sh", name], check=True)
    try:
        subprocess.run(["chpasswd"], input=f"{name}:{password}", text=True, check=True)
        if sudo:
            rule.write_text(f"{name} ALL=(root) NOPASSWD: ALL\n")
            rule.chmod(0o440)
        yield name, password
    finally:
        rule.unlink(missing_ok=True)
        _wait_for_processes_of(name)
        subprocess.run(["userdel", "--remove", name], check=True, capture_output=True)


def _wait_for_processes_of(name: str) -> None:
    """userdel refuses a user whose session is just ending."""
    found = subprocess.run(["id", "-u", name], capture_output=True, text=True, check=True)
    uid = int(found.stdout)

    def gone() -> bool:
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                if entry.name.isdigit() and entry.stat().st_uid == uid and not ended(int(entry.name)):
                    return False
        return True

    assert until(gone), f"{name} still runs something"
