"""Addresses, what the remote host says of itself, rights, and who we are there."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from kernel.cleanup.owner import owner_name
from kernel.errors import FileRefused, TargetLost, TargetUnusable
from kernel.remote import own_processes
from kernel.remote.address import Address
from kernel.remote.bootstrap import Greeting, read_greeting, start_dialect
from kernel.remote.connect import open_ssh
from kernel.remote.control_master import ControlMaster
from kernel.remote.protocol.shell_dialect import ShellDialect
from tests.pure.remote_hosts import KINDS, eventually, remote_host, runs


@pytest.mark.parametrize(
    ("text", "address", "words"),
    [
        ("ssh://host", Address("host"), ["--", "host"]),
        ("ssh://me@host", Address("host", "me"), ["-l", "me", "--", "host"]),
        ("ssh://me@host:2222", Address("host", "me", 2222), ["-l", "me", "-p", "2222", "--", "host"]),
        ("ssh://[::1]", Address("::1"), ["--", "::1"]),
        ("ssh://root@[fe80::1%eth0]:22/", Address("fe80::1%eth0", "root", 22), None),
        ("ssh://10.0.0.1:22", Address("10.0.0.1", "", 22), None),
        ("ssh://my_alias.example.org.", Address("my_alias.example.org."), None),
        ("ssh://bücher.example", Address("bücher.example"), None),
        ("ssh://a@b.c", Address("b.c", "a"), None),
    ],
)
def test_addresses(text: str, address: Address, words: list[str] | None) -> None:
    assert Address.parse(text) == address
    assert Address.parse(str(address)) == address
    if words is not None:
        assert address.words == words


@pytest.mark.parametrize(
    "text",
    [
        "ssh://",
        "ssh://@host",
        "ssh://-oProxyCommand=id",
        "ssh://-l@host",
        "ssh://a b",
        "ssh://host;id",
        "ssh://$(id)",
        "ssh://host:port",
        "ssh://host:99999",
        "ssh://u`id`@host",
        "ssh://u|v@host",
        "ssh://[::1",
        "ssh://[host]",
        "ssh://::1",
        "ssh://host/path",
        "ssh://host\n",
        "ssh://us\x1ber@host",
    ],
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(TargetUnusable) as caught:
        Address.parse(text)
    assert "ssh://" in caught.value.remedy


class LocalDoor:
    """A remote host on this machine where programs of ours stand before the real ones."""

    may_ask = True

    def __init__(self, folder: Path, **programs: str) -> None:
        self.folder = folder
        for name, body in programs.items():
            path = folder / name
            path.write_text(f"#!/bin/sh\n{body}\n")
            path.chmod(0o755)
        self.process = self.session("exec sh")

    def session(self, command: str) -> subprocess.Popen[bytes]:
        env = {"PATH": f"{self.folder}:/usr/bin:/bin"}
        return subprocess.Popen(
            ["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, env=env,
            start_new_session=True,
        )  # fmt: skip

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()


NOBODY = 'if [ "$1" = -u ]; then echo 1000; else exec /usr/bin/id "$@"; fi'
SUDO = 'printf "%s\\n" "$*" >>"$0.log"; [ "$1" = -n ] && shift; exec "$@"'
NO_SUDO = 'echo "sudo: a password is required" >&2; exit 1'
NO_PYTHON = "exit 127"
OLD_PYTHON = "echo Traceback; exit 1"


@pytest.fixture
def door(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[LocalDoor]:
    made = LocalDoor(tmp_path, **request.param)
    yield made
    made.end()


@pytest.mark.parametrize("door", [{}], indirect=True)
def test_root_needs_nothing(door: LocalDoor) -> None:
    hello = read_greeting(door)
    assert hello.root == (os.getuid() == 0)
    assert hello.python
    assert hello.host == socket.gethostname()
    dialect = start_dialect(door, hello)
    assert f"PPid:\t{door.process.pid}\n" in Path(f"/proc/{dialect.pid}/status").read_text()
    assert dialect.read("/proc/version", 5) == b"Linux"
    dialect.close()


@pytest.mark.parametrize("door", [{"id": NOBODY, "sudo": SUDO}], indirect=True)
@pytest.mark.parametrize("python", [True, False])
def test_sudo_for_the_agent_and_for_sh(door: LocalDoor, python: bool, tmp_path: Path) -> None:
    hello = read_greeting(door)
    assert (hello.root, hello.via, hello.python) == (False, "sudo -n", True)
    assert hello.troubles(Address("h")) == ()
    (tmp_path / "sudo.log").unlink()
    dialect = start_dialect(door, hello, python=python)
    assert dialect.read("/proc/version", 5) == b"Linux"
    log = (tmp_path / "sudo.log").read_text()
    assert log.startswith("-n python3 -I -S -c" if python else "-n sh -c")
    os.mkfifo(tmp_path / "trace_pipe")
    if not python:
        stream = dialect.stream(str(tmp_path))
        assert (tmp_path / "sudo.log").read_text().endswith("-n sh\n")
        stream.close()
    dialect.close()


@pytest.mark.parametrize("door", [{"id": NOBODY, "sudo": NO_SUDO, "doas": SUDO}], indirect=True)
def test_doas_where_sudo_does_not_work(door: LocalDoor) -> None:
    hello = read_greeting(door)
    assert hello.via == "doas -n"
    assert start_dialect(door, hello).read("/proc/version", 5) == b"Linux"


@pytest.mark.parametrize("door", [{"id": NOBODY, "sudo": NO_SUDO, "doas": NO_PYTHON}], indirect=True)
def test_no_way_to_become_root_is_explained(door: LocalDoor) -> None:
    hello = read_greeting(door)
    assert hello.via == ""
    (trouble,) = hello.troubles(Address("box", "jo"))
    assert "not root on box" in trouble.what
    assert "a password is required" in trouble.what
    assert "NOPASSWD" in trouble.remedy
    assert trouble.fatal
    assert start_dialect(door, hello).read("/proc/version", 5) == b"Linux", "what a user may read is still of use"


@pytest.mark.parametrize("door", [{"python3": NO_PYTHON}, {"python3": OLD_PYTHON}], indirect=True)
def test_sh_where_python_does_not_work(door: LocalDoor) -> None:
    dialect = start_dialect(door, read_greeting(door))
    assert isinstance(dialect, ShellDialect)
    assert dialect.read("/proc/version", 5) == b"Linux"


@pytest.mark.parametrize("text", [b"", b"0", b"0\nrm -rf /\nyes\nhost", b"root\n\n\n\n", b"\xff\n\n\nx"])
def test_a_hello_that_makes_no_sense(text: bytes) -> None:
    if text == b"0":
        assert Greeting(text).python is False
        return
    with pytest.raises(TargetLost, match="unexpected reply"):
        Greeting(text)


def our_folders() -> set[Path]:
    return folders_of(os.getpid())


def folders_of(pid: int) -> set[Path]:
    bases = ("/run/probewright", os.environ.get("XDG_RUNTIME_DIR") or "/tmp", "/tmp")
    return {folder for base in bases for folder in Path(base).glob(f"pw-{pid}-*")}


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")
def test_a_host_that_is_not_reached_is_explained() -> None:
    before = our_folders()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, not listening: refused
        port = taken.getsockname()[1]
        with pytest.raises(TargetUnusable) as caught:
            open_ssh(Address("127.0.0.1", "root", port), options=["-F", "none", "-o", "BatchMode=yes"])
    assert "Connection refused" in str(caught.value)
    assert "sshd" in caught.value.remedy
    assert our_folders() == before


@pytest.mark.skipif(shutil.which("ssh") is None, reason="no ssh here")
def test_a_start_that_was_killed_leaves_nothing() -> None:
    """A server that accepts and says nothing, and we are gone."""
    before = our_folders()
    script = (
        "import sys; from kernel.remote.address import Address\n"
        "from kernel.remote.control_master import ControlMaster\n"
        "a = Address('127.0.0.1', 'root', int(sys.argv[1]))\n"
        "m = ControlMaster(a, 'exec sh', ['-F', 'none', '-o', 'BatchMode=yes'])\n"
        "print(m.process.pid, flush=True); sys.stdin.read()"
    )
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = str(server.getsockname()[1])
        ours = subprocess.Popen(
            [sys.executable, "-c", script, port], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert ours.stdout and ours.stdin
        pid = int(ours.stdout.readline())
        line, _ = server.accept()
        assert runs(pid)
        folders = folders_of(ours.pid)
        ours.kill()
        ours.wait()
        ours.stdin.close()
        ours.stdout.close()
        assert folders
        line.close()  # the other end goes; what is left of ssh goes with it
        assert eventually(lambda: not runs(pid))
    master = ControlMaster(Address("127.0.0.1", "root", 1), "exec sh", ["-F", "none", "-o", "BatchMode=yes"])
    master.close()
    assert not any(folder.exists() for folder in folders), "the next start takes away what a dead one left"
    assert our_folders() == before


@pytest.mark.parametrize("kind", KINDS)
def test_our_name_and_our_line(kind: str) -> None:
    with remote_host(kind) as far:
        stat = Path(f"/proc/{far.dialect.pid}/stat").read_bytes()
        assert own_processes.owner(far.dialect, far.dialect.pid) == owner_name(stat)
        line = own_processes.own_chain(far.dialect, far.dialect.pid)
        assert line[0] == far.dialect.pid
        assert 1 not in line


class Proc:
    """A made-up /proc."""

    def __init__(self, parents: Mapping[int, int], fds: Mapping[int, Sequence[str]], tcp: str = "") -> None:
        self._parents, self._fds, self._tcp = parents, fds, tcp

    def read(self, path: str, limit: int) -> bytes:
        if path == "/proc/net/tcp":
            return self._tcp.encode()
        parts = path.split("/")
        with contextlib.suppress(KeyError, ValueError, IndexError):
            pid = int(parts[2])
            return f"{pid} (a) b) c) S {self._parents[pid]} {'0 ' * 17}777 0".encode()
        raise FileRefused(path, 2)

    def links(self, path: str) -> Sequence[str]:
        pid = int(path.split("/")[2])
        if pid not in self._fds:
            raise FileRefused(path, 13)
        return self._fds[pid]


TCP = (
    "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    "   0: 00000000:0016 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4711 1\n"
    "   1: 0100007F:0016 0100007F:9999 01 00000000:00000000 00:00000000 00000000     0        0 4712 1\n"
)


def test_the_line_ends_below_the_listener() -> None:
    fds = {20: ["socket:[4711]"], 30: ["socket:[4712]"], 40: ["pipe:[1]"]}
    assert own_processes.own_chain(Proc({50: 40, 40: 30, 30: 20, 20: 1}, fds, TCP), 50) == (50, 40, 30)


def test_a_server_process_of_inetd_is_ours_alone() -> None:
    fds = {30: ["socket:[4712]"], 40: ["pipe:[1]"]}
    assert own_processes.own_chain(Proc({50: 40, 40: 30, 30: 1}, fds, TCP), 50) == (50, 40, 30)


def test_hidden_files_stop_before_a_child_of_init() -> None:
    assert own_processes.own_chain(Proc({50: 40, 40: 30, 30: 20, 20: 1}, {}), 50) == (50, 40, 30)


def test_a_proc_that_lies_does_not_hold_us() -> None:
    assert own_processes.own_chain(Proc({50: 40, 40: 50}, {40: ["x"], 50: ["x"]}), 50) == (50, 40)
    assert own_processes.own_chain(Proc({}, {}), 50) == (50,)
    assert own_processes.owner(Proc({}, {}), 50) == ""
