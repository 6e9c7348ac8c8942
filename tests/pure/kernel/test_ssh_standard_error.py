"""What a far host writes to the standard error of ssh: safe lines before the greeting, nothing behind it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernel.errors import TargetUnusable
from kernel.remote.address import Address
from kernel.remote.connect import open_connection
from kernel.remote.control_master import ControlMaster
from kernel.remote.ssh_stderr import LONGEST_LINE, MOST_LINES, StandardError
from tests.pure.remote_hosts import eventually

ESCAPES = r"\033]0;owned\007\033]52;c;cm0gLXJmIC8K\007\033[2J\033[H[sudo] password for jo: "
FAKE = r"""#!/bin/sh
# Stands for ssh: says terrible things before, in and after the greeting, of a shell that greets as any other.
test -p /dev/stderr && echo pipe >>"$0.seen" || echo other >>"$0.seen"
case $* in *ControlMaster=no*) exec sh;; esac
printf 'beforeESCAPES\n' >&2
printf 'unendedESCAPES' >&2
behind() { while ! test -e "$0.go"; do sleep 0.05; done; printf 'behindESCAPES\n' >&2; touch "$0.gone"; }
behind </dev/null >/dev/null &
sh -c 'read first; printf "inESCAPES\n" >&2; printf "%s\n" "$first"; exec cat' | sh
touch "$0.go"
""".replace("ESCAPES", ESCAPES)
RAW = ("\x1b", "\x07")


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "ssh"
    path.write_text(FAKE)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return path


@pytest.mark.parametrize("python", [True, False])
def test_a_far_host_reaches_the_terminal_in_safe_lines_only(
    fake: Path, capfd: pytest.CaptureFixture[str], python: bool
) -> None:
    told: list[str] = []
    reached = open_connection(Address("box"), tell=told.append, python=python)
    at_greeting = list(told)
    fake.with_name("ssh.go").touch()
    assert eventually(fake.with_name("ssh.gone").exists)
    assert reached.dialect.read("/proc/version", 5) == b"Linux"
    reached.dialect.close()
    reached.hang_up()
    assert at_greeting and at_greeting[0].startswith(r"box says: before\x1b]0;owned\x07")
    assert told == at_greeting, "behind the greeting nothing is told"
    assert not any(sign in line for line in told for sign in RAW)
    out = capfd.readouterr()
    assert (out.out, out.err) == ("", ""), "nothing goes round the pipe"
    assert set((fake.parent / "ssh.seen").read_text().split()) == {"pipe"}


def test_nothing_is_told_where_a_screen_may_hold_the_terminal(fake: Path) -> None:
    told: list[str] = []
    reached = open_connection(Address("box"), tell=told.append, asking=False)
    reached.dialect.close()
    reached.hang_up()
    assert told == []
    assert set((fake.parent / "ssh.seen").read_text().split()) == {"pipe"}


def test_what_a_command_prints_of_it(fake: Path) -> None:
    words = [sys.executable, "-m", "tui", "check", "-t", "ssh://box", "p vfs_read"]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=120)
    text = done.stderr.decode()
    assert r"probewright: box says: before\x1b]0;owned\x07" in text
    assert "behind" not in text
    assert not any(sign in text + done.stdout.decode() for sign in RAW)


def test_the_last_words_of_one_that_does_not_come_up_are_safe(fake: Path) -> None:
    fake.write_text(rf"""#!/bin/sh
printf 'jump host: no way{ESCAPES}\n' >&2
exit 255
""")
    with pytest.raises(TargetUnusable) as caught:
        open_connection(Address("box"))
    assert "jump host: no way" in str(caught.value)
    assert not any(sign in str(caught.value) for sign in RAW)


def test_a_flood_neither_holds_ssh_nor_is_kept(fake: Path) -> None:
    fake.write_text(
        "#!/bin/sh\nhead -c 3000000 /dev/zero | tr '\\0' x >&2\nyes no | head -200000 >&2\necho up\nread x\n"
    )
    told: list[str] = []
    master = ControlMaster(Address("box"), "exec sh", tell=told.append)
    assert master.process.stdout
    assert master.process.stdout.read(3) == b"up\n"
    master.close()
    assert 1 < len(told) <= MOST_LINES
    assert max(map(len, told)) <= LONGEST_LINE


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGQUIT, signal.SIGTERM])
def test_a_signal_to_our_group_leaves_the_line_up(fake: Path, sign: signal.Signals) -> None:
    """As timeout(1) sends it: what was counted is still to come over the line."""
    fake.write_text("#!/bin/sh\nexec cat\n")
    master = ControlMaster(Address("box"), "exec sh")
    assert master.process.stdin and master.process.stdout
    for line in (b"it runs\n", b"it still does\n"):
        master.process.stdin.write(line)
        assert master.process.stdout.readline() == line
        master.process.send_signal(sign)
    master.close()
    assert master.process.returncode == 0


def test_a_line_that_does_not_end_by_itself_is_ended(fake: Path) -> None:
    fake.write_text("#!/bin/sh\necho up; exec sleep 1000\n")
    master = ControlMaster(Address("box"), "exec sh")
    assert master.process.stdout and master.process.stdout.readline() == b"up\n"
    master.close(0.01)
    assert master.process.returncode == -signal.SIGHUP


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_any_bytes_are_told_in_printable_lines(parts: list[bytes]) -> None:
    told: list[str] = []
    process = subprocess.Popen(["sh", "-c", "cat >&2"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0)
    heard = StandardError(process, told.append)
    assert process.stdin
    process.stdin.write(b"\n".join(parts))
    process.stdin.close()
    heard.join(60)
    assert not heard.is_alive()
    assert process.wait() == 0
    assert all(line.isprintable() for line in told)
    assert len(told) == sum(bool(line.strip(b" \t\r")) for line in b"\n".join(parts).split(b"\n"))
