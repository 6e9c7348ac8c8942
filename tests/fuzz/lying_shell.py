"""A remote host without Python that lies: a shell over pipes that answers commands from files of a small machine."""

from __future__ import annotations

import codecs
import contextlib
import gzip
import os
import re
import shlex
import threading
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from kernel.errors import FileRefused
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.protocol.shell_dialect import ShellDialect
from kernel.remote.target import RemoteTarget
from kernel.target import Effect, Step
from tests.fuzz.lying_agent import EVIL, LyingKernel
from tests.fuzz.mutation import damaged

_PID = 4242
_LINES = (
    b"           <...>-812   [000] .....    12.345678: vfs_read: (vfs_read+0x0/0x130) count=4242\n",
    b"              dd-7     [001] d..2.    13.000001: sys_openat(dfd: -1, filename: 0)\n",
    b"CPU:1 [LOST 12 EVENTS]\n",
    b"%s-99999999999999999999 [-01] ..... -5.5: %s: n=-9223372036854775809\n" % (EVIL, EVIL),
    b"\0\xff\xfe: [: (:\n",
)
_ENDLESS = 3 << 20
"""Bytes of a line or an answer that has no end."""


class LyingShell:
    """One remote host, and a new connection to it each time it is reached."""

    def __init__(self, random: Random, honest: int) -> None:
        """`honest`: answers before the first lie, which is random, as is how often it lies then."""
        self._random = random
        self._honest = honest
        self._share = random.choice((0.02, 0.2, 0.6))
        self._kernel = LyingKernel()
        self._ends: list[Callable[[], None]] = []

    def target(self) -> RemoteTarget:
        """Reach it. Raises TargetLost."""
        return RemoteTarget(self._reach(None, False), "ssh://liar", again=self._reach)

    def end(self) -> None:
        """Hang up every line: who waits for an answer hears so."""
        for hang_up in self._ends:
            hang_up()

    def _reach(self, cancel: threading.Event | None, asking: bool) -> RemoteConnection:
        process = self._process(self._serve)
        try:
            dialect = ShellDialect(process, lambda: self._process(self._stream))
        except BaseException:
            process.kill()
            raise
        return RemoteConnection(dialect, "sh", (), process.kill)

    def _process(self, serve: Callable[[int, int], None]) -> Any:
        """Return what looks like a process with pipes; `serve` gets what it hears, and what it says goes to."""
        hears, near_writes = os.pipe()
        near_reads, says = os.pipe()
        stdin, stdout = os.fdopen(near_writes, "wb", buffering=0), os.fdopen(near_reads, "rb", buffering=0)

        def run() -> None:
            try:
                with contextlib.suppress(OSError):
                    serve(hears, says)
            finally:
                os.close(says)
                os.close(hears)

        thread = threading.Thread(target=run, name="liar", daemon=True)
        thread.start()

        def hang_up() -> None:
            with contextlib.suppress(OSError, ValueError):
                stdin.close()
            with contextlib.suppress(OSError, ValueError):
                stdout.close()

        self._ends.append(hang_up)
        return SimpleNamespace(
            stdin=stdin,
            stdout=stdout,
            kill=hang_up,
            communicate=hang_up,
            wait=lambda timeout=0: thread.join(timeout or None),
        )

    # -- commands --------------------------------------------------------------------------------------------------

    def _serve(self, hears: int, says: int) -> None:
        with os.fdopen(os.dup(hears), "rb") as heard:
            program = b""
            while not program.endswith(b"t_loop\n"):
                if not (line := heard.readline()):
                    return
                program += line
            _write(says, b"\n%s\n" % program.split()[-2].rstrip(b";"))
            while head := heard.readline():
                lines, token = head.split()
                command = b"".join(heard.readline() for _ in range(int(lines)))
                output, status, words = self._answer(command.decode("utf-8", "surrogateescape").rstrip("\n"))
                answer = b"%s\n%s %d %s\n%s\n" % (output, token, status, words, token)
                if not self._lie(says, answer, output, token):
                    return

    def _answer(self, command: str) -> tuple[bytes, int, bytes]:
        """Return output, status and error text of an honest shell."""
        try:
            return self._done(*shlex.split(command)), 0, b""
        except FileRefused as error:
            return b"", 1, b"sh: %s" % os.strerror(error.errno).encode()

    def _done(self, name: str = ":", path: str = "", *more: str) -> bytes:
        kernel = self._kernel
        match name:
            case "echo":
                return b"%d\n" % _PID if path == "$$" else b""
            case "t_read":
                return kernel.read(path, int(more[0]))
            case "t_read_at":
                first, count = map(int, more)
                return kernel.read(path, count << 12, first << 12)
            case "t_pack":
                return gzip.compress(kernel.read(path), mtime=0)
            case "t_list":
                return b"".join(found.encode("utf-8", "surrogateescape") + b"\0" for found in kernel.list(path))
            case "t_links":
                kernel.links(path)
            case "t_mkdir" | "t_rmdir" | "t_unlink":
                kernel.perform(Step(Effect(name[2:]), path))
            case "t_write" | "t_append":
                data = codecs.decode(re.sub(r"\\0(\d{3})", r"\\\1", more[0]), "unicode_escape").encode("latin-1")
                kernel.perform(Step(Effect(name[2:]), path, data))
        return b""

    def _lie(self, says: int, answer: bytes, output: bytes, token: bytes) -> bool:
        """Say an answer, or what is none; False: the line is hung up."""
        random = self._random
        self._honest -= 1
        if self._honest > 0 or random.random() > self._share:
            _write(says, answer)
            return True
        ending = b"\n%s %s\n%s\n"
        status = random.choice(
            (b"-1 x", b"256 x", b"99999999999999999999 x", b"", b"1", b"1 " + EVIL, b"\xb2 x", b"0x1 ", b"01 x")
        )
        match random.randrange(9):
            case 0:
                _write(says, output + ending % (token, status, token))
            case 1:
                _write(says, damaged(answer, random))
                return False  # who has no end of an answer waits for it
            case 2:
                _write(says, b"x" * _ENDLESS)
                return False
            case 3:
                _write(says, damaged(output, random)[: 1 << 18] + ending % (token, b"0 ", token))
            case 4:  # twice: the second one is in front of the next answer
                _write(says, answer + answer)
            case 5:
                _write(says, EVIL * random.choice((1, 10_000)) + answer)
            case 6:
                _write(says, answer[: random.randrange(len(answer))])
                return False
            case 7:
                number = random.choice((b"-1", b"9" * 30, b"0", b"\xef\xbc\x91", b" 7 ", b"-0"))
                _write(says, re.sub(rb"\d+", number, output, count=3) + ending % (token, b"0 ", token))
            case _:
                _write(
                    says, output[: len(output) // 2] + b"\n%s 0 \n" % token + output + ending % (token, b"1 ", token)
                )
        return True

    # -- a stream --------------------------------------------------------------------------------------------------

    def _stream(self, hears: int, says: int) -> None:
        """Be the shell that reads a trace_pipe: its processes, then lines, until nobody hears."""
        random = self._random
        heard = b""
        while not (found := re.search(rb"t_run '[^\n]*' ([0-9a-f]{32})\n", heard)):
            if not (more := os.read(hears, 1 << 16)):
                return
            heard += more
        hello = b"%s 11 12 13\n" % found[1]
        if self._honest <= 0 and random.random() < self._share:
            _write(says, random.choice((hello[:-3] + b"-1\n", EVIL + hello, hello * 2, b"x" * _ENDLESS)))
            return  # whoever has no hello waits for it
        _write(says, hello)
        for _ in range(random.randrange(40)):
            line = random.choice(_LINES)
            _write(says, damaged(line, random) if random.random() < self._share else line)
        if random.random() < self._share:
            _write(says, b"y" * _ENDLESS)
        os.read(hears, 1)


def _write(to: int, data: bytes) -> None:
    while data:
        data = data[os.write(to, data) :]
