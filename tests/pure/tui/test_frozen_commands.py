"""Commands on a remote host that stands still: each is over in the documented time, with one line and its status."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import kernel.remote.protocol.agent_client
import kernel.remote.protocol.shell_client
import tui.cli.commands.hosts
import tui.cli.console.early
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.open_target import TargetChoice
from kernel.connection.planner import Planner
from kernel.errors import TargetLost
from kernel.hosts.fleet import Fleet
from kernel.remote import answer_limit, bootstrap
from kernel.remote.bootstrap import read_greeting, read_until
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from tests.pure.remote_hosts import RemoteHost, spawn
from tui.__main__ import main
from tui.cli.console import output

COMMANDS = {
    "list": ["list", "vfs_rea"],
    "check": ["check", "f vfs_read"],
    "show": ["show", "vfs_read"],
    "doctor": ["doctor"],
    "clean": ["clean"],
    "export": ["export", "--as", "sh", "f vfs_read"],
    "run": ["run", "f vfs_read", "--reconnect", "0"],
    "record": ["record", "f vfs_read", "-o", "FOLDER/x.pwr", "--reconnect", "0"],
    "graph": ["graph", "vfs_read", "--reconnect", "0"],
    "several hosts": ["run", "f vfs_read", "-t", "ssh://other", "--reconnect", "0"],
}
ASKING = ("read", "ahead", "list", "links", "perform", "guard", "hold", "stream")
"""What a dialect asks the remote host."""
TRACING = ("/sys/kernel/tracing", "/sys/kernel/debug", "/proc/self/mounts")
"""Paths that the remote host lacks: what this machine can trace decides nothing, and nothing is armed in it."""


class Stopping(RemoteHost):
    """Its process is stopped in front of a question; 0: of none. It has no tracefs, whatever this machine has."""

    def __init__(self, kind: str, stop_at: int) -> None:
        super().__init__(kind)
        self.questions, self._stop_at = 0, stop_at
        self._asking = threading.Lock()
        read, ahead, names = self.dialect.read, self.dialect.ahead, self.dialect.list
        self.dialect.read = lambda path, *more: read(absent(path), *more)  # type: ignore[method-assign]
        self.dialect.list = lambda path: names(absent(path))  # type: ignore[method-assign]
        self.dialect.ahead = lambda paths: {  # type: ignore[method-assign]
            path.removeprefix("/absent"): found for path, found in ahead([*map(absent, paths)]).items()
        }
        for name in ASKING:
            setattr(self.dialect, name, self._counted(getattr(self.dialect, name)))

    def _counted(self, ask: Callable[..., Any]) -> Callable[..., Any]:
        def asked(*arguments: Any) -> Any:
            with self._asking:
                self.questions += 1
                if self.questions == self._stop_at:
                    os.kill(self.process.pid, signal.SIGSTOP)
                    answer_limit.SILENCE_LIMIT = 0.3  # type: ignore[misc]  # before it, an answer has all the time it needs
            return ask(*arguments)

        return asked

    def end(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)
        super().end()


def absent(path: str) -> str:
    """Return a path that is nowhere instead of one of `TRACING`."""
    return f"/absent{path}" if path.startswith(TRACING) else path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often; how long an answer is waited for is cut short by who stops the remote host (`Stopping`)."""
    for module in (answer_limit, kernel.remote.protocol.agent_client, kernel.remote.protocol.shell_client):
        monkeypatch.setattr(module, "CHECK_INTERVAL", 0.05)
    monkeypatch.setattr(kernel.remote.protocol.agent_client, "_FAREWELL", 0.1)
    monkeypatch.setattr(answer_limit, "SILENCE_LIMIT", answer_limit.SILENCE_LIMIT)  # so that it is put back


@pytest.fixture
def told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Iterator[Callable[[str, str, int], tuple[int, str, int]]]:
    """Return a function that runs a command on a remote host: its status, what it says, how often it asked."""
    made: list[Stopping] = []
    usual = answer_limit.SILENCE_LIMIT

    def far(kind: str, stop_at: int) -> RemoteTarget:
        made.append(Stopping(kind, stop_at))
        return RemoteTarget(RemoteConnection(made[-1].dialect, kind), "ssh://far")

    def go(kind: str, name: str, stop_at: int) -> tuple[int, str, int]:
        monkeypatch.setattr(answer_limit, "SILENCE_LIMIT", usual)
        monkeypatch.setenv(
            "XDG_CACHE_HOME", str(tmp_path / f"cache{len(made)}")
        )  # lists and types are asked for anew
        monkeypatch.setattr(output, "take_target", lambda _: TargetChoice(far(kind, stop_at)))
        opener = lambda spec, *_: Planner(KernelInfo(far(kind, stop_at if spec == "ssh://far" else 0)))  # noqa: E731
        monkeypatch.setattr(
            tui.cli.commands.hosts, "Fleet", lambda *args, **more: Fleet(*args, **{**more, "opener": opener})
        )
        monkeypatch.setattr(tui.cli.console.early, "_COMMANDS", frozenset())
        words = [word.replace("FOLDER", str(tmp_path)) for word in COMMANDS[name]]
        status = main([*words, "-t", "ssh://far"])
        return status, capsys.readouterr().err, made[-1].questions

    yield go
    for one in made:
        one.end()


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("kind", ["agent", "dash"])
def test_a_command_ends_whenever_its_remote_host_stands_still(name, kind, told) -> None:
    several = name == "several hosts"  # of which nobody knows who asks how often
    questions = 2 if several else told(kind, name, 0)[2]
    for at in sorted({1, questions // 2 + 1, questions}):
        status, said, _ = told(kind, name, at)
        assert status == 3, f"{at} of {questions}: {status}\n{said}"
        lines = [line for line in said.splitlines() if "did not answer for" in line]
        assert lines and "Traceback" not in said, f"{at} of {questions}: {said}"
        assert several or len(lines) == 1, f"{at} of {questions}: {said}"


class Door:
    """A remote host that says nothing; `typed` is over when nobody is asked for a password any more."""

    def __init__(self, looks: int) -> None:
        self.process = spawn(["sh", "-c", "sleep 60"])
        self.looks = looks

    @property
    def may_ask(self) -> bool:
        self.looks -= 1
        return self.looks > 0

    def session(self, command: str) -> Any:
        raise NotImplementedError


def test_a_greeting_is_waited_for_from_when_nobody_is_asked_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_PATIENCE", 0.1)
    door = Door(looks=3)
    try:
        with pytest.raises(TargetLost, match="sent nothing for"):
            read_greeting(door)
        assert door.looks <= 0, "as long as somebody may type it was waited"
        with pytest.raises(TargetLost, match="sent nothing for"):
            read_until(door.process, b"\nnever\n")
    finally:
        with door.process:  # its pipes are closed
            door.process.kill()
