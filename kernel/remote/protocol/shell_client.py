"""Run commands in one remote sh and read their answers (see `kernel.remote.protocol.shell_program`).

The token that ends an answer is random, new for each command, and never on a command line, so that no output of the
remote host can contain it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import select
import subprocess
import threading
import time
from collections.abc import Callable

from foreign.text import encode_text
from kernel.errors import FileRefused, TargetLost
from kernel.remote.answer_limit import CHECK_INTERVAL, AnswerLimit, write_with_checks
from kernel.remote.protocol.second_shell import AFTER, SecondShell
from kernel.remote.protocol.shell_program import PROGRAM

SILENCE = 120
"""Seconds without a command after which the shell undoes and ends."""
_OTHER_WORDS = {
    "no such file": errno.ENOENT,  # dash and busybox, of a redirection
    "directory nonexistent": errno.ENOENT,
    "nonexistent directory": errno.ENOENT,
    "i/o error": errno.EIO,  # from here on musl
    "resource busy": errno.EBUSY,
    "out of memory": errno.ENOMEM,
    "filename too long": errno.ENAMETOOLONG,
    "not supported": errno.EOPNOTSUPP,
    "no file descriptors available": errno.EMFILE,
    "value too large for data type": errno.EOVERFLOW,
    "result not representable": errno.ERANGE,
    "symbolic link loop": errno.ELOOP,
}
_WORDS = {os.strerror(number).lower(): number for number in errno.errorcode} | _OTHER_WORDS


def errno_of(words: str) -> int:
    """Return the errno of an error message that ends with strerror(3)'s text; EIO if unknown."""
    for line in reversed(words.lower().splitlines()):
        message = line.rpartition(": ")[2].strip()
        if message in _WORDS:
            return _WORDS[message]
    return errno.EIO


class ShellClient:
    """Connection with one remote sh: commands to it, and their answers."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        silence: int = SILENCE,
        start_shell: Callable[[], subprocess.Popen[bytes]] | None = None,
    ) -> None:
        """Send the program to a shell. Raises TargetLost.

        Args:
            process: has a POSIX shell behind its stdin and stdout which reads its script there.
            silence: seconds without a command after which the shell undoes and ends.
            start_shell: starts one more remote shell, which reports whether this one works
                (`kernel.remote.protocol.second_shell`); None: there is none.
        """
        if process.stdin is None or process.stdout is None:
            raise ValueError("the process needs pipes")
        self._to, self._from = process.stdin, process.stdout
        self._turn = threading.Lock()
        self._lost = ""
        self.answer_limit = AnswerLimit()
        self._silence = silence
        self._quiet = threading.Event()
        self.last_received = time.monotonic()
        """Time of the last byte from the remote host, by time.monotonic()."""
        self.unanswered: float | None = None
        """Time at which the command without an answer was sent, by time.monotonic(); None: there is none."""
        self._start_shell = start_shell
        self._witness: SecondShell | None = None
        """Second shell, started while the answer to a command is overdue."""
        self.pid = 0
        self._data = bytearray()
        self._stale = b""
        self._start()
        try:
            self.pid = int(self.run("echo $$ >&3").decode("ascii", "replace"))
        except ValueError:
            raise self._lose("unexpected reply from the remote host in place of the shell's process id") from None
        self.packs = self._can("gzip -1 -c </dev/null >/dev/null")
        self.run(f"t_watch {silence}")
        threading.Thread(target=self._keep_talking, name="sh pulse", daemon=True).start()

    def run(self, command: str, path: str = "", limit: int = 1 << 20) -> bytes:
        """Run one command and return its raw output. Raises FileRefused for `path` if it fails, ValueError,
        TargetLost.
        """
        token = secrets.token_hex(16)
        lines = command.count("\n") + 1
        with self._turn:
            if self._lost:
                raise TargetLost(self._lost)
            self.unanswered = time.monotonic()
            try:
                self._send(encode_text(f"{lines} {token}\n{command}\n"))
                output, status, words = self._answer(token.encode(), limit)
            finally:
                self.unanswered = None
                self._dismiss_witness()
        if status:
            raise FileRefused(path, errno_of(words.decode("utf-8", "replace")))
        return output

    def close(self) -> None:
        """Make the shell undo and end. Safe to call twice."""
        self._quiet.set()
        self.answer_limit.set_deadline(time.monotonic())
        with contextlib.suppress(TargetLost, FileRefused):
            self.run("exec 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-; t_undo")
        self._lost = self._lost or "closed"
        with contextlib.suppress(OSError, ValueError):
            self._to.close()

    @property
    def loss(self) -> str:
        """Reason why the connection is lost; empty: it works."""
        return self._lost

    def lose(self, reason: str) -> None:
        """Give up the connection for a reason; callers waiting for an answer get TargetLost within `CHECK_INTERVAL`
        seconds.
        """
        self._lose(reason)

    def check(self) -> None:
        """Raise TargetLost if the connection is lost."""
        if self._lost:
            raise TargetLost(self._lost)

    def _can(self, command: str) -> bool:
        with contextlib.suppress(FileRefused):
            self.run(command)
            return True
        return False

    def _keep_talking(self) -> None:
        """Reset the shell's watchdog at intervals; notice its end even while no command runs."""
        with contextlib.suppress(TargetLost, FileRefused):
            due = time.monotonic() + self._silence / 6
            while not self._quiet.wait(max(0.0, min(CHECK_INTERVAL, due - time.monotonic()))):
                self._listen()
                if time.monotonic() >= due:
                    due = time.monotonic() + self._silence / 6
                    self.run(f"t_watch {self._silence}")

    def _listen(self) -> None:
        """Receive unrequested output, or the end of the connection, while no answer is due. Raises TargetLost."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            while not self._quiet.is_set() and select.select([self._from], [], [], 0)[0]:
                self._receive()
                if len(self._data) > 1 << 17:
                    raise self._lose("unexpected reply from the remote host: output that was not requested")
        except (OSError, ValueError):  # our end was closed
            raise self._lose("the connection was lost") from None
        finally:
            self._turn.release()

    def _send(self, data: bytes) -> None:
        try:
            write_with_checks(self._to.fileno(), data, lambda last: self._check_patience(last, last))
        except (OSError, ValueError):
            raise self._lose("the connection was lost") from None

    def _start(self) -> None:
        """Send the program and wait for its answer: a shell reads its script ahead, so nothing may follow at once."""
        token = secrets.token_hex(16)
        self._send(PROGRAM.encode() + f"printf '\\n%s\\n' {token}; t_loop\n".encode())
        end = f"\n{token}\n".encode()
        while not self._data.endswith(end):
            self._receive()
            if len(self._data) > 1 << 17:
                raise self._lose("unexpected reply from the remote host: the login prints without end")
        self._data.clear()

    def _answer(self, token: bytes, limit: int) -> tuple[bytes, int, bytes]:
        """Return output, exit status, error text."""
        head, tail = b"\n" + token + b" ", b"\n" + token + b"\n"
        stale, self._stale = self._stale, token  # until it is read: an interrupt may arrive
        while not self._data.endswith(tail):
            if len(self._data) > limit + (1 << 17):
                raise self._lose("unexpected reply from the remote host: more bytes than requested")
            self._receive()
        data, self._stale = bytes(self._data), b""
        self._data.clear()
        if stale:
            data = data.rpartition(b"\n" + stale + b"\n")[2]
        output, separator, rest = data[: -len(tail)].rpartition(head)
        status, _, words = rest.partition(b" ")
        if not separator or not status.isdigit() or len(status) > 3:
            raise self._lose("unexpected reply from the remote host: an answer without a status")
        return output, int(status), words

    def _receive(self) -> None:
        last_byte = time.monotonic()
        while not select.select([self._from], [], [], CHECK_INTERVAL)[0]:
            self._look_at_work(time.monotonic() - last_byte)
            self._check_patience(last_byte, last_byte)
        received = os.read(self._from.fileno(), 1 << 16)
        if not received:
            raise self._lose("the connection was lost, or the shell on the remote host ended")
        self._data += received
        self.last_received = time.monotonic()

    def _look_at_work(self, waited: float) -> None:
        """Count the remote host as heard if the second shell reports work; `waited` in seconds."""
        if self._witness is None and self._start_shell is not None and self.pid and waited >= AFTER:
            self._witness = SecondShell(self._start_shell, self.pid)
        if self._witness is not None and self._witness.tells_of_work():
            self.last_received = time.monotonic()

    def _dismiss_witness(self) -> None:
        witness, self._witness = self._witness, None
        if witness is not None:
            witness.close()

    def _check_patience(self, asked: float, progress: float) -> None:
        """Raise TargetLost if the connection is lost, or the limit of waiting for an answer is exceeded."""
        self.check()
        waited = self.answer_limit.exhausted(time.monotonic(), asked, progress, self.last_received)
        if waited is not None:
            raise self._lose(f"the remote host did not answer for {waited:.0f} s")

    def _lose(self, reason: str) -> TargetLost:
        self._lost = self._lost or reason
        self._quiet.set()
        return TargetLost(self._lost)
