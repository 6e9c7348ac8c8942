"""Turn file operations on the remote host into requests to its agent."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Mapping, Sequence

from foreign.text import encode_text
from kernel.agent import frames
from kernel.errors import FileRefused
from kernel.remote.protocol.agent_client import SILENCE, WINDOW, AgentClient
from kernel.remote.protocol.page_stream import AgentStream
from kernel.target import BpfAnswer, BpfPart, Step


class AgentDialect:
    """Remote host accessed through its agent; a `kernel.remote.protocol.dialect.RemoteDialect`."""

    def __init__(self, process: subprocess.Popen[bytes], silence: int = SILENCE) -> None:
        self._client = AgentClient(process, silence)
        self.pid = self._client.pid

    @property
    def last_received(self) -> float:
        return self._client.last_received

    @property
    def unanswered(self) -> float | None:
        return self._client.unanswered

    @property
    def loss(self) -> str:
        return self._client.loss

    def lose(self, reason: str) -> None:
        self._client.lose(reason)

    def set_deadline(self, ends: float) -> None:
        self._client.answer_limit.set_deadline(ends)

    def read(self, path: str, limit: int, offset: int = 0) -> bytes:
        return self._client.fetch(frames.READ, encode(path), b"%d" % limit, b"%d" % offset, path=path, limit=limit)

    def ahead(self, paths: Sequence[str]) -> Mapping[str, bytes | FileRefused]:
        return self._client.fetch_all(frames.READ, [(path, encode(path)) for path in paths], 64 << 20)

    def perform(self, step: Step) -> None:
        self._step(frames.PERFORM, step)

    def list(self, path: str) -> Sequence[str]:
        return [decode(name) for name in self._client.request(frames.LIST, encode(path), path=path)]

    def links(self, path: str) -> Sequence[str]:
        return tuple(decode(link) for link in self._client.request(frames.LINKS, encode(path), path=path))

    def folder_inodes(self, path: str) -> Sequence[tuple[int, str]]:
        lines = (line.partition(b" ") for line in self._client.request(frames.FOLDERS, encode(path), path=path))
        return [(int(inode), decode(below)) for inode, _, below in lines if inode.isdigit() and len(inode) <= 20]

    def guard(self, undo: Step) -> None:
        self._tell(frames.GUARD, undo)

    def unguard(self, undo: Step) -> None:
        self._tell(frames.UNGUARD, undo)

    def hold(self, path: str) -> None:
        self._client.request(frames.HOLD, encode(path), path=path)

    def bpf(self, command: int, attributes: bytes, parts: Sequence[BpfPart]) -> BpfAnswer:
        fields = [field for part in parts for field in (b"%d" % part.offset, part.kind, part.data)]
        answer = self._client.request(frames.BPF, b"%d" % command, attributes, *fields, path="bpf(2)")
        sign = -1 if answer[1:2] == [b"-"] else 1
        return BpfAnswer(sign * frames.number(answer[0]), tuple(answer[2:]))

    def close_bpf(self, files: Sequence[int]) -> None:
        self._client.request(frames.DROP, *(b"%d" % fd for fd in files))

    def stream(self, instance: str, window: int = WINDOW) -> AgentStream:
        return self._client.open_stream(encode(instance), window)

    def stream_pids(self) -> tuple[int, ...]:
        # The agent reads the buffers itself, and to the kernel each of its other threads is a task of its own.
        return tuple(task for task in self._client.tasks if task != self.pid)

    def close(self) -> None:
        self._client.close()

    def _tell(self, op: int, undo: Step) -> None:
        # The agent handles requests in order: the undo step is registered before the next request is carried out.
        self._client.tell(op, undo.effect.value.encode(), encode(undo.path), undo.data, undo.expects)

    def _step(self, op: int, step: Step, *extra: bytes) -> None:
        self._client.request(op, step.effect.value.encode(), encode(step.path), step.data, *extra, path=step.path)


def encode(path: str) -> bytes:
    """Return a path as bytes for a request. Raises FileRefused for NUL, which no path can hold."""
    if "\0" in path:
        raise FileRefused(path, errno.EINVAL)
    return encode_text(path)


def decode(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")
