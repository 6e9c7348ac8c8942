"""The ssh target through OpenSSH's own server, to this machine: keys, aliases, jump hosts, questions, sudo.

Nothing is armed: this machine belongs to whoever runs the tests. What its kernel says is compared with what it says
without ssh.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kernel.remote.address import Address
from kernel.remote.connect import open_ssh
from tests.real import command
from tests.real.openssh import Server, account
from tests.real.processes import descendants, remains
from tests.real.tmux import Tmux

APPLICATION = [sys.executable, "-m", "tui"]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with Server(tmp_path) as made:
        yield made


def doctor(target: str, env: dict[str, str] | None = None) -> dict[str, Any]:
    done = command.run("doctor", "--target", target, "--json", env=env)
    assert done.status in (0, 3), done
    (told,) = done.objects
    assert done.status == (0 if told["usable"] else 3)
    return told


SAME = ("machine", "release", "version", "cpus", "boot_id", "tracefs", "features", "tracers", "lockdown", "functions")


def test_a_key_opens_it_and_the_kernel_is_the_same(server: Server) -> None:
    env = server.client()
    here, there = doctor("local"), doctor(f"ssh://{server.user}@127.0.0.1:{server.port}", env)
    assert {name: there[name] for name in SAME} == {name: here[name] for name in SAME}
    # Root over there is root here; anyone else is told in addition why not.
    both = [[trouble["what"] for trouble in told["troubles"]] for told in (here, there)]
    assert set(both[0]) <= set(both[1])
    assert there["target"] == f"ssh://{server.user}@127.0.0.1:{server.port}"
    assert server.log().count("Accepted publickey") == 1, "one connection is all it takes"


def test_list_through_a_jump_host_by_its_alias(server: Server) -> None:
    env = server.client(far={"ProxyJump": "gate"}, gate={})
    found = command.run("list", "vfs_read", "--limit", "3", "--target", "ssh://far", "--json", env=env)
    assert found.status == 0, found
    assert found.objects[0]["name"] == "vfs_read"
    here = command.run("list", "vfs_read", "--limit", "3", "--target", "local", "--json")
    # Who is not root here is told more of why not when coming from afar.
    assert [(one["name"], one["kinds"]) for one in found.objects] == [
        (one["name"], one["kinds"]) for one in here.objects
    ]
    assert server.log().count("Accepted publickey") == 2, "the gate and what is behind it"


@pytest.mark.parametrize("python", [True, False], ids=["agent", "sh"])
def test_both_dialects_read_what_is_there(server: Server, python: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", server.client()["PATH"])
    target = open_ssh(Address("127.0.0.1", server.user, server.port), python=python)
    try:
        assert target.access == ("agent" if python else "sh")
        assert target.read("/proc/sys/kernel/osrelease").decode().strip() == os.uname().release
        assert target.facts().boot_id == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        assert "cpu" in target.list("/sys/devices/system")
    finally:
        target.close()


def test_a_key_that_nobody_knows_is_refused_with_a_way_out(server: Server) -> None:
    (server.folder / "authorized").write_text("")
    env = server.client(far={"BatchMode": "yes"})
    done = command.run("doctor", "--target", "ssh://far", env=env)
    assert (done.status, done.out) == (3, ""), done
    assert "Permission denied" in done.err and "ssh-copy-id" in done.err


def test_a_changed_host_key_is_refused(server: Server) -> None:
    known = server.folder / "known"
    known.write_text(known.read_text().split(" ")[0] + " " + (server.folder / "key.pub").read_text())
    done = command.run("doctor", "--target", "ssh://far", env=server.client(far={"BatchMode": "yes"}))
    assert (done.status, done.out) == (3, ""), done
    assert "host's key" in done.err


def opened(env: dict[str, str], target: str) -> Tmux:
    """The application, in a terminal, with this `ssh`."""
    return Tmux(["env", f"PATH={env['PATH']}", *APPLICATION, "--target", target])


def left_tidily(terminal: Tmux) -> None:
    """The application is there; leave it."""
    terminal.wait(lambda screen: f"Linux {os.uname().release}" in screen)
    below = descendants(terminal.pid)
    assert "ssh" in below.values(), below
    terminal.press("C-q")
    assert terminal.status() == 0, terminal.screen()
    assert remains(terminal.pid, below) == []


def test_ssh_asks_for_the_host_key_before_the_screen_is_taken(server: Server) -> None:
    (server.folder / "known").write_text("")
    with opened(server.client(far={}), "ssh://far") as terminal:
        asked = terminal.wait(lambda screen: "continue connecting (yes/no" in screen)
        assert "authenticity of host" in asked
        assert "functions" not in asked
        terminal.press("y", "e", "s", "Enter")
        left_tidily(terminal)
    assert (server.folder / "known").read_text()


def test_no_to_the_host_key_ends_it(server: Server) -> None:
    (server.folder / "known").write_text("")
    with opened(server.client(far={}), "ssh://far") as terminal:
        terminal.wait(lambda screen: "continue connecting (yes/no" in screen)
        terminal.press("n", "o", "Enter")
        screen = terminal.wait(lambda screen: "Host key verification failed" in screen)
        assert "can't be opened" in screen
        terminal.press("C-q")
        assert terminal.status() == 0


@pytest.mark.parametrize("way", ["password", "keyboard-interactive"])
def test_ssh_asks_for_the_password_before_the_screen_is_taken(tmp_path: Path, way: str) -> None:
    ways = {"password": "PasswordAuthentication", "keyboard-interactive": "KbdInteractiveAuthentication"}
    with account() as (name, password), Server(tmp_path, UsePAM="yes", **{ways[way]: "yes"}) as server:
        env = server.client(far={"User": name, "PreferredAuthentications": way, "PubkeyAuthentication": "no"})
        with opened(env, "ssh://far") as terminal:
            asked = terminal.wait(lambda screen: "assword:" in screen)
            assert name in asked
            terminal.press(*"wrong", "Enter")
            terminal.wait(lambda screen: screen.count("assword:") == 2)
            terminal.press(*password, "Enter")
            left_tidily(terminal)
            assert password not in terminal.screen()


def test_who_is_not_root_is_told_so(tmp_path: Path) -> None:
    with account() as (name, _), Server(tmp_path, UsePAM="yes") as server:
        server.admit(name)
        there = doctor("ssh://far", server.client(far={"User": name}))
        assert not there["usable"]
        (told,) = [one for one in there["troubles"] if one["what"].startswith("not root on")]
        assert "sudo" in told["what"]
        assert "NOPASSWD: ALL" in told["remedy"]


def test_sudo_makes_root(tmp_path: Path) -> None:
    with account(sudo=True) as (name, _), Server(tmp_path, UsePAM="yes") as server:
        server.admit(name)
        there, here = doctor("ssh://far", server.client(far={"User": name})), doctor("local")
        assert there["uid"] == 0
        assert {name: there[name] for name in SAME} == {name: here[name] for name in SAME}
        assert [one["what"] for one in there["troubles"]] == [one["what"] for one in here["troubles"]]
