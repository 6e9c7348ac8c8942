"""A connection between two ports of the loopback, with a delay and a bit rate, which can be cut.

It buffers no more than a real connection: a writer that is faster has to wait.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections import deque
from types import TracebackType
from typing import Self

_PIECE = 4096
_ROOM = 64 << 10
"""Bytes that wait at an end, as in the buffers of a socket."""


class SlowConnection:
    """Takes connections at `port` and carries them to another port of the loopback; use it in a with block."""

    def __init__(self, to: int, delay: float = 0.0, bits: float = 0.0) -> None:
        """Take where to, the seconds of one way, and the bits a second of each direction (0: any number)."""
        self.carried = 0
        """Bytes of both directions."""
        self.cut_at = 0
        """When so many bytes were carried it is cut, once, and carries what comes anew; 0: never."""
        self._to = to
        self.bits = bits
        """A second, of what comes from now on."""
        self._delay = delay
        self._whole = True
        self._ends: list[socket.socket] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]

    def __enter__(self) -> Self:
        threading.Thread(target=self._listen, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        self.cut()

    def cut(self) -> None:
        """End what there is, and refuse what comes."""
        with self._lock:
            self._whole = False
            ends, self._ends = self._ends, []
        for end in ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()

    def mend(self) -> None:
        """From now on it carries again."""
        self._whole = True

    def _listen(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._whole:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._to))
            for end in (near, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _ROOM)
            with self._lock:
                self._ends += [near, far]
            for one, other in ((near, far), (far, near)):
                way = _Way(self._delay, self)
                threading.Thread(target=self._take, args=(one, way), daemon=True).start()
                threading.Thread(target=self._give, args=(way, other), daemon=True).start()

    def _take(self, source: socket.socket, way: _Way) -> None:
        data = b"x"
        while data:
            try:
                data = source.recv(_PIECE)
            except OSError:
                data = b""
            way.put(data)

    def _give(self, way: _Way, to: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := way.get():
                to.sendall(data)
                self.carried += len(data)
                if self.cut_at and self.carried >= self.cut_at:
                    self.cut_at = 0
                    self.cut()
                    self.mend()
            to.shutdown(socket.SHUT_WR)


class _Way:
    """One direction."""

    def __init__(self, delay: float, line: SlowConnection) -> None:
        self._delay = delay
        self._line = line
        self._held: deque[tuple[float, bytes]] = deque()
        self._size = 0
        self._free_at = 0.0
        self._changed = threading.Condition()

    def put(self, data: bytes) -> None:
        """Bytes at the near end; waits until there is room. Nothing: the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._size < _ROOM + self._line.bits / 8 * self._delay)
            now = time.monotonic()
            self._free_at = max(self._free_at, now) + (len(data) * 8 / self._line.bits if self._line.bits else 0.0)
            self._held.append((self._free_at + self._delay, data))
            self._size += len(data)
            self._changed.notify_all()

    def get(self) -> bytes:
        """Bytes that have arrived; waits for them."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._held))
            due, data = self._held[0]
        time.sleep(max(0.0, due - time.monotonic()))
        with self._changed:
            self._held.popleft()
            self._size -= len(data)
            self._changed.notify_all()
        return data
