"""Turn file operations on the remote host into commands of its sh."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Callable, Mapping, Sequence

from foreign.packed import gunzip
from foreign.refusal import InputRefusal
from kernel.errors import FileRefused, TargetLost
from kernel.remote.heartbeat import start_heartbeat
from kernel.remote.protocol.shell_client import SILENCE, ShellClient
from kernel.remote.protocol.shell_quote import escape, quote
from kernel.remote.protocol.text_stream import TextStream
from kernel.target import BpfAnswer, BpfPart, Effect, Step

_BLOCK = 4096
"""Block size in bytes of `t_read_at`."""
_HOLDS = range(4, 10)
"""Descriptors for held files: POSIX redirects single digits only."""


class ShellDialect:
    """Remote host accessed through sh; a `kernel.remote.protocol.dialect.RemoteDialect`."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        start_shell: Callable[[], subprocess.Popen[bytes]],
        silence: int = SILENCE,
    ) -> None:
        """Use a shell; `start_shell` starts one more, with equal rights and unbuffered output."""
        self._shell = ShellClient(process, silence, start_shell)
        self._another = start_shell
        self.pid = self._shell.pid
        self._guards: list[tuple[Step, int]] = []
        self._count = 0
        self._held: dict[int, str] = {}
        self._streams: list[TextStream] = []

    @property
    def last_received(self) -> float:
        return max([self._shell.last_received, *(stream.last_received for stream in self._streams)])

    @property
    def unanswered(self) -> float | None:
        return self._shell.unanswered

    @property
    def loss(self) -> str:
        return self._shell.loss

    def lose(self, reason: str) -> None:
        self._shell.lose(reason)
        for stream in self._streams:
            stream.lose(reason)

    def set_deadline(self, ends: float) -> None:
        self._shell.answer_limit.set_deadline(ends)

    def read(self, path: str, limit: int, offset: int = 0) -> bytes:
        if offset:
            return self._read_at(path, limit, offset)
        if self._shell.packs and path.startswith("/sys/kernel/btf/"):
            return self._unpack(path, limit)
        return self._shell.run(f"t_read {self._word(path)} {limit}", path, limit)

    def _read_at(self, path: str, limit: int, offset: int) -> bytes:
        """Read whole blocks, and cut off here what precedes the offset."""
        first, last = offset // _BLOCK, -(-(offset + limit) // _BLOCK)
        command = f"t_read_at {self._word(path)} {first} {last - first}"
        return self._shell.run(command, path, (last - first) * _BLOCK)[offset % _BLOCK :][:limit]

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:  # noqa: ARG002 - one after the other
        return {}

    def perform(self, step: Step) -> None:
        command = self._command(step)
        if step.effect is Effect.RMDIR:  # a file held open below the folder would prevent its removal
            for fd in [fd for fd, held in self._held.items() if held.startswith(f"{step.path}/")]:
                self._shell.run(f"exec {fd}<&-")
                del self._held[fd]
        self._shell.run(command, step.path)

    def list(self, path: str) -> Sequence[str]:
        return sorted(self._split(self._shell.run(f"t_list {self._word(path)}", path, 16 << 20), "\0"))

    def links(self, path: str) -> Sequence[str]:
        return self._split(self._shell.run(f"t_links {self._word(path)}", path), "\n\0")

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        """Raise FileRefused: those of BPF programs are asked for, which a shell has not."""
        raise FileRefused(path, errno.ENOSYS)

    def guard(self, undo: Step) -> None:
        self._count += 1
        command = self._command(undo)
        if undo.expects:  # an event whose name others may use too; settings are changed for graphs only
            line = quote(undo.expects.decode("utf-8", "surrogateescape"))
            command = f"! t_has {self._word(undo.path)} {line} || {command}"
        self._shell.run(f"t_guard {self._count} {quote(command)}", undo.path)
        self._guards.append((undo, self._count))

    def unguard(self, undo: Step) -> None:
        for at in range(len(self._guards) - 1, -1, -1):
            if self._guards[at][0] == undo:
                self._shell.run(f"t_unguard {self._guards.pop(at)[1]}")
                break

    def hold(self, path: str) -> None:
        fd = next((fd for fd in _HOLDS if fd not in self._held), None)
        if fd is None:
            raise FileRefused(path, errno.EMFILE)
        self._shell.run(f"t_hold {fd} {self._word(path)}", path)
        self._held[fd] = path

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart]) -> BpfAnswer:  # noqa: ARG002
        """Raise FileRefused: a shell has no system calls."""
        raise FileRefused("bpf(2)", errno.ENOSYS)

    def close_bpf(self, files: Sequence[int]) -> None:
        """Return without effect, as no file was given."""

    def stream(self, instance: str) -> TextStream:
        # Check the path first: the other shell could only report that there is no output.
        self._shell.run(f"t_there {self._word(instance + '/trace_pipe')}", instance)
        stream = TextStream(self._another(), instance, lambda: self._shell.loss, self._shell.answer_limit)
        self._streams = [*(earlier for earlier in self._streams if not earlier.closed), stream]
        start_heartbeat(lambda: self._shell.run(":"), lambda: self.last_received, lambda: stream.closed)
        return stream

    def stream_pids(self) -> tuple[int, ...]:
        return tuple(pid for stream in self._streams for pid in stream.pids)

    def close(self) -> None:
        for stream in self._streams:
            stream.close()
        self._shell.close()

    def _command(self, step: Step) -> str:
        path = self._word(step.path)
        if step.effect in (Effect.REGISTER, Effect.RELEASE, Effect.WRITE_EVENT):  # a shell has no ioctl(2)
            raise FileRefused(step.path, errno.ENOSYS)
        if step.effect in (Effect.MKDIR, Effect.RMDIR, Effect.UNLINK):
            return f"t_{step.effect.value} {path}"
        if not step.data:
            return f"t_empty {path}" if step.effect is Effect.WRITE else f"t_there {path}"
        return f"t_{step.effect.value} {path} {quote(escape(step.data))}"

    def _unpack(self, path: str, limit: int) -> bytes:
        packed = self._shell.run(f"t_pack {self._word(path)}", path, limit)
        try:
            return gunzip(packed, path, limit)
        except InputRefusal as error:
            raise TargetLost(f"unexpected reply from the remote host: {error}") from None

    @staticmethod
    def _word(path: str) -> str:
        try:
            return quote(path)
        except ValueError:
            raise FileRefused(path, errno.EINVAL) from None

    @staticmethod
    def _split(data: bytes, end: str) -> Sequence[str]:
        return data.decode("utf-8", "surrogateescape").split(end)[:-1]
