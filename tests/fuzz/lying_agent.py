"""A remote host that speaks to us as our agent does, on a kernel that is a dict, and lies in some of its frames."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
import time
from collections.abc import Callable
from random import Random
from types import SimpleNamespace
from typing import Any

from kernel.agent import frames
from kernel.errors import FileRefused
from kernel.remote.protocol.agent_dialect import AgentDialect
from kernel.remote.protocol.dialect import RemoteConnection
from kernel.remote.target import RemoteTarget
from kernel.target import Effect, Step
from tests.btf_writer import every_kind
from tests.events_data import captured
from tests.fake_target import ROOT, FakeTarget, Served
from tests.fuzz import material
from tests.fuzz.mutation import damaged

EVIL = b"\x1b]0;title\x07\x9b31m\xe2\x80\xae"
"""What no terminal may get."""
_PID = 4242
_KALLSYMS = b"ffffffff81000000 T _text\nffffffff81001000 T record_read\nffffffff81002000 T vfs_read\t[%s]\n" % EVIL


class LyingKernel(Served, FakeTarget):
    """Files of a small machine, with names that are escape sequences."""

    def __init__(self) -> None:
        plain = {path: text.encode("utf-8", "surrogateescape") for path, text in material.machine().items()}
        super().__init__(plain)
        self._be(_PID)
        self.files |= {
            "/proc/kallsyms": _KALLSYMS,
            "/sys/kernel/btf/vmlinux": every_kind(),
            "/proc/modules": b"mod 1 0 - Live 0x0\n",
            "/proc/sys/kernel/random/boot_id": b"one\n",
            f"{ROOT}/saved_cmdlines": b"812 %s\n7 two words\n" % EVIL,
            f"{ROOT}/error_log": b"[ 1.0] trace_fprobe: error: %s\n  Command: f x\n  ^\n" % EVIL,
        }


class LyingAgent:
    """One remote host, and a new connection to it each time it is reached."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._honest = random.choice((0, 15, 60, 300))
        """Frames before the first lie."""
        self._share = random.choice((0.02, 0.2))
        """Of lies among the frames after those."""
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
        hears, near_writes = os.pipe()
        near_reads, says = os.pipe()
        process: Any = SimpleNamespace(
            stdin=os.fdopen(near_writes, "wb", buffering=0), stdout=os.fdopen(near_reads, "rb", buffering=0)
        )
        heard, said = os.fdopen(hears, "rb"), os.fdopen(says, "wb", buffering=0)
        over = threading.Event()
        threading.Thread(target=self._serve, args=(heard, said, over), name="liar", daemon=True).start()

        def hang_up() -> None:
            over.set()
            with contextlib.suppress(OSError, ValueError):
                process.stdin.close()
            process.stdout.close()

        self._ends.append(hang_up)
        try:
            dialect = AgentDialect(process)
        except BaseException:
            hang_up()
            raise
        return RemoteConnection(dialect, "agent", (), hang_up)

    def _serve(self, heard: Any, said: Any, over: threading.Event) -> None:
        """Answer until the near side hangs up, or a lie has ended the line."""
        session = _Session(self._kernel)
        with contextlib.suppress(OSError, ValueError, frames.struct.error), heard, said:
            said.write(self._lied(frames.frame(0, frames.OK, b"1", b"%d" % _PID, b"0")))
            while not over.is_set():
                head = heard.read(frames.HEAD.size)
                if len(head) < frames.HEAD.size:
                    return
                size, ident, op = frames.HEAD.unpack(head)
                for answer in session.answers(ident, op, frames.unpack(heard.read(size))):
                    said.write(self._lied(answer))

    def _lied(self, frame: bytes) -> bytes:
        random = self._random
        self._honest -= 1
        if self._honest > 0 or random.random() > self._share:
            return frame
        size, ident, op = frames.HEAD.unpack_from(frame)
        payload = frame[frames.HEAD.size :]
        match random.randrange(8):
            case 0:
                return frame + frame
            case 1:
                return frames.frame(random.choice((0, ident, ident + 1, 1 << 31)), random.randrange(70), EVIL) + frame
            case 2:
                return frames.HEAD.pack(random.choice((1 << 31, 0, size + 1)), ident, op) + payload
            case 3:
                time.sleep(random.choice((0.05, 0.3)))
                return (
                    frame if random.random() < 0.8 else b""
                )  # no answer: somebody waits until the connection is lost
            case 4:
                return frames.frame(ident, frames.ERROR, random.choice((b"2", b"0", b"-1", b"9" * 30, b"")))
            case 5:
                return frames.frame(ident, frames.MORE, *frames.squeeze(EVIL * 50_000)) + frame
            case 6 if len(payload) > 8:  # fields whose lengths are right, with other content
                return frames.frame(ident, op, *[damaged(one, random)[: 1 << 18] for one in frames.unpack(payload)])
            case _:
                hurt = damaged(payload, random)
                return frames.HEAD.pack(len(hurt), ident, op) + hurt


class _Session:
    """What an honest agent answers."""

    def __init__(self, kernel: LyingKernel) -> None:
        self._kernel = kernel
        self._stream = 0
        self._pages = 0

    def answers(self, ident: int, op: int, fields: list[bytes]) -> list[bytes]:
        """Frames that answer one request."""
        try:
            return self._answers(ident, op, fields)
        except FileRefused as error:
            return [frames.frame(ident, frames.ERROR, b"%d" % error.errno)]

    def _answers(self, ident: int, op: int, fields: list[bytes]) -> list[bytes]:
        path = fields[0].decode("utf-8", "surrogateescape") if fields else ""
        done, kernel = frames.frame(ident, frames.OK), self._kernel
        match op:
            case frames.READ:
                found = kernel.read(path, *(frames.number(one) for one in fields[1:]))
                return [frames.frame(ident, frames.MORE, *frames.squeeze(found[: frames.PART])), done]
            case frames.LIST:
                return [frames.frame(ident, frames.OK, *(name.encode() for name in kernel.list(path)))]
            case frames.LINKS:
                kernel.links(path)
            case frames.PERFORM:
                kernel.perform(Step(Effect(path), fields[1].decode(), fields[2]))
            case frames.STREAM:
                self._stream = ident
                return [frames.frame(ident, frames.OK, b"1", b"4096"), self._passed(), self._passed()]
            case frames.CREDIT:
                return [self._passed()]
            case frames.SYNC:
                return [self._passed(), frames.frame(ident, frames.OK, b"1")]
        return [done]

    def _passed(self) -> bytes:
        """Some real pages."""
        self._pages += 1
        page = _pages()[self._pages % len(_pages())]
        body = frames.squeeze(frames.pack(b"0", page))
        return frames.frame(self._stream, frames.PASS, b"1", b"%d" % len(page), *body)


@functools.cache
def _pages() -> list[bytes]:
    return [data[:4096] for data in captured("7.2", "mixed").raw.values()]
