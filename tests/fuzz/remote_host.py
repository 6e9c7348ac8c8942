"""A remote host whose answers are damaged: frames of the agent, or what a plain shell says, over a pair of pipes."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import threading
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from btf.damage import Damage
from kernel.agent import frames
from kernel.connection.kernel_info import KernelInfo
from kernel.connection.planner import Planner
from kernel.errors import FileRefused, KernelError
from kernel.remote.protocol.agent_dialect import AgentDialect
from kernel.remote.protocol.shell_dialect import ShellDialect
from kernel.target import Effect, Step
from kernel.watch.watch import Watch
from probes.command import parse_armable
from probes.refusal import CannotLower
from tests.fuzz.kinds import Kind
from tests.fuzz.lying_shell import LyingShell
from tests.fuzz.mutation import damaged

_PATIENCE = 0.1
_ANSWERS = (
    frames.frame(0, frames.OK, b"1", b"77", b"0"),
    frames.frame(1, frames.OK),
    frames.frame(2, frames.MORE, b"", b"content of a file") + frames.frame(2, frames.OK),
    frames.frame(3, frames.OK, b"a", b"b"),
    frames.frame(4, frames.MORE, *frames.squeeze(b"text " * 1000)) + frames.frame(4, frames.OK),
    frames.frame(5, frames.ERROR, b"2"),
    frames.frame(6, frames.OK, b"a"),
    frames.frame(7, frames.OK)
    + frames.frame(7, frames.PASS, b"1", b"4096", *frames.squeeze(frames.pack(b"0", bytes(4096)))),
    frames.frame(8, frames.OK, b"1"),
    frames.frame(9, frames.OK),
)


def _answers(random: Random) -> bytes:
    answers = list(_ANSWERS)
    for _ in range(random.choice((1, 1, 2))):
        at = random.randrange(len(answers))
        answers[at] = damaged(answers[at], random)
    return json.dumps([one.hex() for one in answers]).encode()


def _feed(asked: Callable[[bytes], None]) -> Callable[[bytes], None]:
    """Ask; an error of the line's own threads, which nobody would see, fails too."""

    def feed(data: bytes) -> None:
        told: list[threading.ExceptHookArgs] = []
        before, threading.excepthook = threading.excepthook, told.append
        try:
            asked(data)
        finally:
            threading.excepthook = before
            assert not told, told[0].exc_value

    return feed


def _asked(data: bytes) -> None:
    """Ask for one thing after the other; the remote host answers each time it hears something, then hangs up."""
    answers = [bytes.fromhex(one) for one in json.loads(data)]
    hears, near_writes = os.pipe()
    near_reads, says = os.pipe()
    process = SimpleNamespace(
        stdin=os.fdopen(near_writes, "wb", buffering=0), stdout=os.fdopen(near_reads, "rb", buffering=0)
    )
    far = threading.Thread(target=_speak, args=(answers, hears, says), daemon=True)
    far.start()
    try:
        dialect = AgentDialect(process)
        dialect.read("/x", 1000)
        dialect.list("/x")
        dialect.read("/y", 8000)
        with contextlib.suppress(FileRefused):
            dialect.read("/none", 100)
        dialect.links("/x")
        stream = dialect.stream("/instance")
        stream.read(0.01)
        dialect.perform(Step(Effect.WRITE, "/x", b"1"))
        dialect.close()
    finally:
        process.stdin.close()
        far.join(5)
        process.stdout.close()


def _speak(answers: list[bytes], hears: int, says: int) -> None:
    try:
        for one in answers:
            os.write(says, one[: 1 << 15])
            # Who waits for an answer waits for two minutes: a remote host that hears nothing hangs up.
            if not select.select([hears], [], [], _PATIENCE)[0] or not os.read(hears, 1 << 16):
                break
    except OSError:
        pass
    finally:
        os.close(says)
        os.close(hears)


# -- a plain shell -----------------------------------------------------------------------------------------------

_TOKEN = b"TOKEN"
"""Stands for the token of a command, which the remote host knows and a mutation can't guess."""
_SAID = (
    *(b"4242\n", b"", b"", b"a\0b\0", b"content of a file", b"text " * 1000),
    *(b"/dev/null\n\0", b"", b"", b"", b""),
)
"""Outputs of the commands of `_asked_of_shell`, one after the other: the first three begin the shell."""


def _shell_answers(random: Random) -> bytes:
    answers = [b"%s\n%s 0 \n%s\n" % (said, _TOKEN, _TOKEN) for said in _SAID]
    for _ in range(random.choice((1, 1, 2))):
        at = random.randrange(len(answers))
        answers[at] = damaged(answers[at], random)
    if random.random() < 0.3:
        answers[random.randrange(len(answers))] = b"\n%s 1 sh: /x: No such file or directory\n%s\n" % (_TOKEN, _TOKEN)
    return json.dumps([one.hex() for one in answers]).encode()


def _asked_of_shell(data: bytes) -> None:
    answers = [bytes.fromhex(one) for one in json.loads(data)]
    hears, near_writes = os.pipe()
    near_reads, says = os.pipe()
    process: Any = SimpleNamespace(
        stdin=os.fdopen(near_writes, "wb", buffering=0), stdout=os.fdopen(near_reads, "rb", buffering=0)
    )
    far = threading.Thread(target=_be_shell, args=(answers, hears, says), daemon=True)
    far.start()
    try:
        dialect = ShellDialect(process, lambda: process)
        for ask in (
            lambda: dialect.list("/x"),
            lambda: dialect.read("/x", 1000),
            lambda: dialect.read("/y", 8000),
            lambda: dialect.links("/x"),
            lambda: dialect.guard(Step(Effect.WRITE, "/x", b"0")),
            lambda: dialect.perform(Step(Effect.WRITE, "/x", b"1")),
        ):
            with contextlib.suppress(FileRefused):
                ask()
        dialect.close()
    finally:
        process.stdin.close()
        far.join(5)
        process.stdout.close()


def _be_shell(answers: list[bytes], hears: int, says: int) -> None:
    """Say the program's word, then one answer to each command, with its token; then hang up."""
    try:
        heard = b""
        while b"t_loop\n" not in heard:
            heard += os.read(hears, 1 << 16) or b"t_loop\n"
        found = re.search(rb"printf '\\n%s\\n' ([0-9a-f]{32})", heard)
        os.write(says, b"Welcome\n" + (b"\n%s\n" % found[1] if found else b""))
        for one in answers:
            if not select.select([hears], [], [], _PATIENCE)[0]:
                break
            command = os.read(hears, 1 << 16)
            token = command.split(b"\n", 1)[0].rpartition(b" ")[2]
            os.write(says, one.replace(_TOKEN, token)[: 1 << 15])
    except OSError:
        pass
    finally:
        os.close(says)
        os.close(hears)


def _seed(random: Random) -> bytes:
    return b"%d" % random.getrandbits(32)


def _watched_by_shell(data: bytes) -> None:
    """Look at a remote host that lies, arm, and see what comes; all of it may be refused."""
    random = Random(int(data))
    liar = LyingShell(random, random.choice((0, 10, 60, 150, 400)))
    closing: list[Callable[[], None]] = [liar.end]
    try:
        target = liar.target()
        closing.append(target.close)
        planner = Planner(KernelInfo(target, Damage(is_raised=False)))
        planner.info.warm()
        watch = Watch(planner)
        closing.append(watch.close)
        with contextlib.suppress(CannotLower):
            watch.armed.arm(parse_armable(random.choice(("f record_read n", "p vfs_read", "f record_find%return"))))
        for _ in range(3):
            watch.tick(0.01)
            watch.counts()
            watch.names()
    finally:
        for close in reversed(closing):
            with contextlib.suppress(KernelError):
                close()


KINDS: dict[str, Kind] = {
    "agent": Kind(_answers, _feed(_asked), (KernelError,), 2),
    "shell": Kind(_shell_answers, _feed(_asked_of_shell), (KernelError,), 2),
    "lying shell": Kind(_seed, _feed(_watched_by_shell), (KernelError,), 2),
}
