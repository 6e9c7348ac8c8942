"""A remote host that sends what makes no sense: the target is lost with a reason, nothing grows, nothing hangs."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kernel.agent import frames
from kernel.agent.ring_reader import write_all
from kernel.errors import FileRefused, TargetLost
from kernel.remote.bootstrap import read_until
from kernel.remote.protocol.agent_client import AgentClient
from kernel.remote.protocol.shell_client import ShellClient, errno_of
from kernel.target import Effect, Step
from tests.pure.remote_hosts import eventually, remote_host, spawn

HELLO = frames.frame(0, frames.OK, b"1", b"77", b"0")
PONG = frames.frame(1, frames.OK)
# Says one thing at first, then one more each time it hears something, then swallows everything or goes.
PARROT = """
import os, sys
for said in sys.stdin.readline().split():
    sys.stdout.buffer.write(bytes.fromhex(said)); sys.stdout.flush()
    os.read(0, 65536)
while sys.argv[1] == "stays" and os.read(0, 65536):
    pass
"""


def parrot(*said: bytes, then: str = "stays") -> subprocess.Popen[bytes]:
    process = spawn([sys.executable, "-I", "-S", "-c", PARROT, then])
    assert process.stdin
    write_all(process.stdin.fileno(), b" ".join(words.hex().encode() for words in said) + b"\n")
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe:
            pipe.close()


@pytest.mark.parametrize(
    "data",
    [
        b"Welcome to this machine, dear user, how are you today?\r\n",
        struct.pack("!IIB", 1 << 31, 0, frames.OK),
        struct.pack("!IIB", 4, 0, frames.OK) + struct.pack("!I", 1 << 31),
        struct.pack("!IIB", 3, 0, frames.OK) + b"abc",
        frames.frame(0, 99, b"what"),
        frames.frame(0, frames.OK),
        frames.frame(0, frames.OK, b"1", b"-4", b"0"),
        frames.frame(0, frames.OK, b"1", b"9" * 4000, b"0"),
        frames.frame(0, frames.ERROR, b"not a number"),
    ],
)
def test_a_hello_that_makes_no_sense(data: bytes) -> None:
    process = parrot(data)
    try:
        with pytest.raises((TargetLost, ValueError)) as caught:
            AgentClient(process)
        assert isinstance(caught.value, TargetLost), caught.value
        assert "unexpected reply" in str(caught.value)
    finally:
        end(process)


@pytest.mark.parametrize(
    "answer",
    [
        frames.frame(2, frames.MORE, b"", b"x" * 101),
        frames.frame(2, frames.MORE, b"z", zlib.compress(bytes(10 << 20))),
        frames.frame(2, frames.MORE, b"z", b"no zlib at all"),
        frames.frame(2, frames.MORE, b""),
        frames.frame(2, frames.MORE, b"", b"x" * 60) + frames.frame(2, frames.MORE, b"", b"x" * 60),
        frames.frame(2, frames.PERFORM),
    ],
)
def test_an_answer_that_makes_no_sense(answer: bytes) -> None:
    process = parrot(HELLO, PONG, answer)
    try:
        line = AgentClient(process)
        assert line.pid == 77
        with pytest.raises(TargetLost, match="unexpected reply"):
            line.fetch(frames.READ, b"/x", b"100", path="/x", limit=100)
    finally:
        end(process)


def test_who_closes_our_end_of_the_pipe_takes_nothing_from_the_reader() -> None:
    """Its number would be another line's soon."""
    process = parrot(HELLO, PONG, frames.frame(2, frames.OK, b"one"), frames.frame(3, frames.OK, b"two"))
    try:
        line = AgentClient(process)
        assert process.stdout
        process.stdout.close()
        assert [line.request(frames.LIST, b"/x") for _ in range(2)] == [[b"one"], [b"two"]]
    finally:
        end(process)


@pytest.mark.parametrize(
    "fields",
    [
        (b"1", b"4096", b"", frames.pack(b"0", bytes(4000))),
        (b"1", b"4096", b"", frames.pack(b"0")),
        (b"1", b"4096", b"", frames.pack(b"zero", bytes(4096))),
        (b"1", b"4096", b"", b"\xff\xff\xff\xff"),
        (b"1", b"4096", b"z", zlib.compress(bytes(40 << 20))),
        (b"1", b"4096", b""),
        (b"1", b"9" * 12, b"", b""),
    ],
)
def test_a_pass_that_makes_no_sense(fields: tuple[bytes, ...]) -> None:
    opened = frames.frame(2, frames.OK, b"1", b"4096")
    process = parrot(HELLO, PONG, opened)
    try:
        line = AgentClient(process)
        stream = line.open_stream(b"/x")
        with pytest.raises((ValueError, zlib.error)):
            stream.take([*fields])
    finally:
        end(process)
    process = parrot(HELLO, PONG, opened + frames.frame(2, frames.PASS, *fields))
    try:
        line = AgentClient(process)
        with pytest.raises(TargetLost, match="unexpected reply"):
            line.open_stream(b"/x").read(60)
    finally:
        end(process)


def test_a_remote_host_that_sends_more_than_was_asked_for() -> None:
    """The window is a promise of the agent's; the near side counts."""
    body = frames.pack(b"0", bytes(8 << 20))
    one = frames.frame(2, frames.PASS, b"0", b"%d" % (8 << 20), b"z", zlib.compress(body, 9))
    opened = frames.frame(2, frames.OK, b"1", b"4096")
    process = parrot(HELLO, PONG, opened + one * 64)
    try:
        line = AgentClient(process)
        stream = line.open_stream(b"/x")
        assert eventually(lambda: bool(line._lost))
        with pytest.raises(TargetLost, match="more pages than were asked for"):
            for _ in range(100):
                stream.read(0.1)
    finally:
        end(process)


@settings(max_examples=25)
@given(st.binary(max_size=200))
def test_any_garbage_ends_the_line(garbage: bytes) -> None:
    process = parrot(HELLO, PONG, garbage + b"\xff" * 9, then="goes")
    try:
        line = AgentClient(process)
        with pytest.raises((TargetLost, FileRefused)):
            line.request(frames.LIST, b"/x")
            line.request(frames.LIST, b"/x")
    except TargetLost:
        pass  # in the hello already
    finally:
        end(process)


@settings(max_examples=25)
@given(st.binary(min_size=9, max_size=100))
def test_garbage_to_the_agent_is_the_end_with_undo(garbage: bytes) -> None:
    """Whatever the near side becomes, the agent does not outlive it, and what was guarded is undone."""
    log = Path(f"/tmp/pw-test-garbage-{os.getpid()}")
    log.write_text("armed")
    try:
        with remote_host("agent") as far:
            far.dialect.guard(Step(Effect.WRITE, str(log), b"undone"))
            assert far.process.stdin
            far.process.stdin.write(b"\xff" + garbage)  # a length of at least 4 GB
            far.process.wait(60)
            assert log.read_text() == "undone"
    finally:
        log.unlink()


def test_a_login_that_talks_before() -> None:
    noise = "echo 'Last login: never'; printf 'no newline'; cat /proc/version; exec sh"
    process = spawn(["sh", "-c", noise])
    try:
        assert ShellClient(process).run("printf '%s' here >&3") == b"here"
    finally:
        end(process)


ANSWERS = """
import os, re
heard = b""
while not (begun := re.search(rb"([0-9a-f]{32}); t_loop", heard)):
    heard += os.read(0, 65536)
os.write(1, b"\\n" + begun[1] + b"\\n")
token = os.read(0, 65536).split()[1]
os.write(1, b"no number\\n" + token + b" 0 \\n" + token + b"\\n")
os.read(0, 65536)
"""


def test_a_shell_without_a_process_number() -> None:
    process = spawn([sys.executable, "-I", "-S", "-c", ANSWERS])
    try:
        with pytest.raises(TargetLost, match="in place of the shell's process id"):
            ShellClient(process)
    finally:
        end(process)


def test_a_login_that_never_stops() -> None:
    process = spawn(["sh", "-c", "yes"])
    try:
        with pytest.raises(TargetLost, match="prints without end"):
            read_until(process, b"\nnever\n")
    finally:
        end(process)


def test_a_login_that_ends() -> None:
    process = spawn(["sh", "-c", "echo This account is not available.; exit 1"])
    try:
        with pytest.raises(TargetLost, match="lost before"):
            read_until(process, b"\nnever\n")
    finally:
        end(process)


def test_a_shell_command_that_is_interrupted_leaves_no_mess(monkeypatch: pytest.MonkeyPatch) -> None:
    with remote_host("dash") as far:
        shell = far.dialect._shell
        receive = shell._receive

        def interrupted() -> None:
            raise KeyboardInterrupt

        monkeypatch.setattr(shell, "_receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            shell.run("echo lost answer >&3")
        monkeypatch.setattr(shell, "_receive", receive)
        assert shell.run("echo mine >&3") == b"mine\n"
        assert shell.run("echo mine too >&3") == b"mine too\n"


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("dd: error writing 'standard output': Invalid argument\n0+1 records in", 22),
        ("dash: 1: cannot open /x: No such file", 2),
        ("sh: can't create /x: nonexistent directory", 2),
        ("sh: can't create /x: Permission denied", 13),
        ("rmdir: failed to remove '/x': Device or resource busy", 16),
        ("rmdir: '/x': Resource busy", 16),  # musl
        ("mkdir: can't create directory '/x: No such file': File exists", 17),
        ("", 5),
        ("something else altogether", 5),
    ],
)
def test_errno_from_words(words: str, number: int) -> None:
    assert errno_of(words) == number
