"""A program in a pseudo-terminal of its own, for tests and figures that must see what a person sees."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time


class Terminal:
    """One child process under a pty; `output` grows as it is read."""

    def __init__(
        self, command: list[str], columns: int = 120, rows: int = 40, env: dict[str, str] | None = None
    ) -> None:
        self.started = time.perf_counter()
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.environ.update({"TERM": "xterm-256color", "COLORTERM": "truecolor", **(env or {})})
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execvp(command[0], command)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.output = b""

    def read(self, timeout: float) -> bytes:
        """Read what comes within `timeout` seconds; empty where nothing does or the child is gone."""
        if not select.select([self.fd], [], [], timeout)[0]:
            return b""
        try:
            data = os.read(self.fd, 1 << 16)
        except OSError:
            return b""
        self.output += data
        return data

    def wait_for(self, text: bytes, timeout: float = 60) -> float:
        """Seconds from the start until `text` was seen behind what was waited for before."""
        end = time.perf_counter() + timeout
        while text not in self.output:
            if time.perf_counter() > end:
                raise TimeoutError(f"{text!r} not seen in {self.output[-2000:]!r}")
            self.read(0.2)
        return time.perf_counter() - self.started

    def send(self, keys: bytes) -> None:
        """Type; what was read so far is forgotten, so that `wait_for` sees only the answer."""
        self.output = b""
        os.write(self.fd, keys)

    def cpu_seconds(self) -> float:
        """CPU time the child has used, all its threads included."""
        # MAKE_PROCESS_CPUCLOCK(pid, CPUCLOCK_SCHED) of the kernel: nanoseconds, where /proc/PID/stat has ticks.
        return time.clock_gettime_ns(~self.pid << 3 | 2) / 1e9

    def close(self) -> None:
        """End the child and wait for it."""
        try:
            os.kill(self.pid, signal.SIGTERM)
            for _ in range(50):
                if os.waitpid(self.pid, os.WNOHANG)[0]:
                    break
                self.read(0.05)
            else:
                os.kill(self.pid, signal.SIGKILL)
                os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.fd)
