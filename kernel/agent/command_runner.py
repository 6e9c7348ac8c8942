"""Run one command for a client: hold it until it is released, send on its output with times, and end it with us.

A process of its own, apart from the agent, as the user who has logged in; on this machine too. The sent source is
frames.py and this file, concatenated (`kernel.connection.held_program`). Requests come through standard input, which
ends when the client is gone, however that ended: then the command and its process group are ended.
"""

# This file is Python 3.6 and imports the standard library alone: it runs on the remote host too.
import errno
import fcntl
import os
import select
import signal
import struct
import sys
import termios
import time

from kernel.agent.frames import HEAD, MAX_REQUEST, frame, number, unpack

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

START, RELEASE, SIGNAL, END, ASK_TIME, TERMINAL, INPUT, RESIZE = range(1, 9)
"""Requests: START (file of standard input, words…), RELEASE, SIGNAL (number), END, ASK_TIME, TERMINAL (rows, columns,
words…: START with a pseudo terminal, or with pipes where there is none), INPUT (bytes typed), RESIZE (rows, columns).
"""
HELD, FAILED, OUTPUT, ENDED, TIME = range(64, 69)
"""Answers: HELD (process, ours, `1` if it has a pseudo terminal), FAILED (errno), OUTPUT (stream, nanoseconds,
bytes), ENDED (`-` if by a signal, number), TIME (nanoseconds: no output comes with an earlier one). Nanoseconds are
those of CLOCK_MONOTONIC, as of the trace clock `mono`.
"""
TERM = b"linux"
"""Value of TERM for a command with a pseudo terminal."""
_GRACE = 2.0
"""Seconds from SIGTERM to SIGKILL."""
_PART = 1 << 16
_LAST_PARTS = 64
"""Parts of output that are read once the command has ended; processes that it left may write on."""
_MOST_TYPED = 1 << 16
"""Bytes of typed input that wait for a command that does not read; more is dropped."""
_OWN = ("SIGINT", "SIGQUIT", "SIGHUP", "SIGTSTP", "SIGTTOU", "SIGPIPE")
"""Signals that we ignore and that the command gets as they were."""


def find_program(word: str, environment: "Mapping[str, str]") -> str:
    """Return the file of a command, looked for as execvp(3) does. Raises OSError: ENOENT, EACCES."""
    if "/" in word:
        candidates = [word]
    else:
        folders = environment.get("PATH", os.defpath).split(":") if word else []
        candidates = [os.path.join(folder or ".", word) for folder in folders]
    reason = errno.ENOENT
    for path in candidates:
        if not os.path.exists(path):
            continue
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
        reason = errno.EACCES
    raise OSError(reason, os.strerror(reason))


def now() -> bytes:
    """Return the time in nanoseconds."""
    return b"%d" % int(time.monotonic() * 1e9)


def write_whole(data: bytes) -> None:
    """Write to the client; waits while it does not read. Raises OSError."""
    while data:
        data = data[os.write(1, data) :]


class Runner:
    """Server of one client, for one command."""

    def __init__(self) -> None:
        self.buffer = b""
        self.pid = 0
        """Process of the command, which is that of its group; 0: there is none."""
        self.has_ended = False
        self.has_client = True
        self.kill_at = 0.0
        """Time by time.monotonic() at which the process group is killed; 0: it is not to end."""
        self.gate = self.failure = self.guard = -1
        self.outputs = {}  # type: dict[int, bytes]
        self.master = -1
        """Our end of the pseudo terminal of the command; -1: it has none."""
        self.typed = b""
        """Input that the pseudo terminal had no room for."""
        self.terminal = -1
        """File of the terminal that the command gets as its foreground group; -1: none."""
        self.former = 0
        """Process group that had the terminal before."""
        self.wake, self.woken = os.pipe()
        for end in (self.wake, self.woken):
            os.set_blocking(end, False)
        self.inherited = {name: signal.getsignal(getattr(signal, name)) for name in _OWN}
        for name in _OWN:
            signal.signal(getattr(signal, name), signal.SIG_IGN)
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.woken)

    def send(self, op: int, *fields: bytes) -> None:
        if self.has_client:
            write_whole(frame(0, op, *fields))

    def start(self, stdin: bytes, *words: bytes) -> None:
        """Start the process of the command with pipes; see `fork`. Raises OSError."""
        source = int(stdin)
        if source >= 0:
            os.set_inheritable(source, False)
        self.start_with_pipes(source, words)
        if source >= 0:
            self.find_terminal(source)
        self.tell_held()

    def start_with_pipes(self, source: int, words: "tuple[bytes, ...]") -> None:
        """Start the process of the command; `source`: its standard input, -1: /dev/null. Raises OSError."""
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        self.fork(words, (source, out_end, err_end))
        for end, stream in ((out, b"1"), (err, b"2")):
            os.set_blocking(end, False)
            self.outputs[end] = stream

    def start_in_terminal(self, rows: bytes, columns: bytes, *words: bytes) -> None:
        """Start the process of the command as the leader of a pseudo terminal; with pipes where none can be had.

        Raises OSError.
        """
        try:
            self.master, end = os.openpty()
        except OSError:
            self.start_with_pipes(-1, words)
        else:
            self.outputs[self.master] = b"1"
            self.resize(rows, columns)
            self.fork(words, (end, end, end))
            os.set_blocking(self.master, False)
        self.tell_held()

    def tell_held(self) -> None:
        """Tell the client of the process, and start its guard."""
        self.start_guard()
        self.send(HELD, b"%d" % self.pid, b"%d" % os.getpid(), b"1" if self.master >= 0 else b"")

    def fork(self, words: "tuple[bytes, ...]", files: "tuple[int, int, int]") -> None:
        """Start the process of the command, which waits before it executes it; closes the files that it was given
        here, except one that the client passed. Raises OSError.
        """
        path = find_program(os.fsdecode(words[0]), os.environ)
        gate, self.gate = os.pipe()
        self.failure, failed = os.pipe()
        self.pid = os.fork()
        if not self.pid:
            try:
                if self.master >= 0:
                    os.setsid()
                    fcntl.ioctl(files[0], termios.TIOCSCTTY, 0)
                else:
                    os.setpgid(0, 0)
                self.become(path, words, files, gate)
            except OSError as error:
                os.write(failed, b"%d" % (error.errno or 0))
            finally:
                os._exit(127)
        for end in {gate, failed, *files[1:]}:
            os.close(end)
        if self.master < 0:
            try:
                os.setpgid(self.pid, self.pid)
            except OSError:  # it did so itself
                pass

    def resize(self, rows: bytes, columns: bytes) -> None:
        """Give the pseudo terminal a size; the kernel tells the command by SIGWINCH."""
        if self.master in self.outputs:
            size = struct.pack("HHHH", min(number(rows), 999), min(number(columns), 999), 0, 0)
            fcntl.ioctl(self.master, termios.TIOCSWINSZ, size)

    def type(self, data: bytes) -> None:
        """Give the command what was typed, as far as its pseudo terminal has room; the rest waits."""
        self.typed = (self.typed + data)[:_MOST_TYPED]
        while self.master in self.outputs and self.typed:
            try:
                self.typed = self.typed[os.write(self.master, self.typed) :]
            except OSError:  # no room, or nobody has it open any more
                return

    def start_guard(self) -> None:
        """Start a process that ends the command if this one is killed."""
        guarded, self.guard = os.pipe()
        if os.fork():
            os.close(guarded)
            return
        try:
            os.setsid()
            os.close(self.guard)
            signal.set_wakeup_fd(-1)
            for fd in (0, 1, 2, self.gate, *self.outputs):
                os.close(fd)
            if not os.read(guarded, 1):
                self.signal(signal.SIGTERM)
                self.signal(signal.SIGCONT)
                time.sleep(_GRACE)
                self.signal(signal.SIGKILL)
        finally:
            os._exit(0)

    def become(self, path: str, words: "tuple[bytes, ...]", files: "tuple[int, int, int]", gate: int) -> None:
        """Wait for the release, then execute the command in this process; ends it if none comes. Raises OSError."""
        source = files[0] if files[0] >= 0 else os.open(os.devnull, os.O_RDONLY)
        # None of the three may lie where another one goes.
        spare = [os.dup(fd) for fd in (source, files[1], files[2])]
        os.close(self.gate)
        environment = dict(os.environb)
        if self.master >= 0:
            environment[b"TERM"] = TERM
            os.close(self.master)
        signal.set_wakeup_fd(-1)
        for place, fd in enumerate(spare):
            os.dup2(fd, place)
        for name in ("SIGTERM", "SIGCHLD"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        for name, handler in self.inherited.items():
            kept = signal.SIG_IGN if handler == signal.SIG_IGN else signal.SIG_DFL
            signal.signal(getattr(signal, name), kept)
        for name in ("SIGPIPE", "SIGXFSZ"):  # Python itself ignores them
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        if not os.read(gate, 1):
            os._exit(1)
        try:
            os.execve(path, words, environment)  # noqa: S606 - as the user wrote it
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without `#!`.
            os.execve("/bin/sh", (b"sh", os.fsencode(path), *words[1:]), environment)  # noqa: S606

    def find_terminal(self, source: int) -> None:
        """Note the terminal of standard input if the client's process group has it."""
        try:
            if os.isatty(source) and os.tcgetpgrp(source) == os.getpgid(os.getppid()):
                self.terminal, self.former = source, os.tcgetpgrp(source)
        except OSError:
            pass

    def give_terminal(self, group: int) -> None:
        if self.terminal >= 0:
            try:
                os.tcsetpgrp(self.terminal, group)  # SIGTTOU is ignored
            except OSError:
                pass

    def release(self) -> None:
        """Let the command run. Raises OSError: it could not be executed."""
        self.give_terminal(self.pid)
        os.write(self.gate, b"\n")
        os.close(self.gate)
        reason = os.read(self.failure, 16)
        if reason:
            raise OSError(number(reason), "not executed")

    def signal(self, sign: int) -> None:
        """Send a signal to the process group of the command; with a pseudo terminal to all that belong to it."""
        for group in self.groups() if self.pid else ():
            try:
                os.killpg(group, sign)
            except OSError:  # nobody is left
                pass

    def groups(self) -> "set[int]":
        """Return the process groups of the command: that of its process, and with a pseudo terminal those of its
        session, in which shells give each job a group of its own.
        """
        found = {self.pid}
        for name in os.listdir("/proc") if self.master >= 0 else ():
            try:
                if name.isdigit() and os.getsid(int(name)) == self.pid:
                    found.add(os.getpgid(int(name)))
            except OSError:  # it has ended
                pass
        return found

    def end(self) -> None:
        """Begin to end the command: SIGTERM, and SIGKILL after some seconds."""
        if not self.kill_at:
            self.kill_at = time.monotonic() + (_GRACE if self.pid and not self.has_ended else 0.0)
            self.signal(signal.SIGTERM)
            if self.master >= 0:  # interactive shells ignore the other one
                self.signal(signal.SIGHUP)
            self.signal(signal.SIGCONT)

    def reap(self) -> None:
        """Send the status of the command once it has ended; one that was stopped goes on: nobody could resume it."""
        while self.pid and not self.has_ended:
            pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return
            if os.WIFSTOPPED(status):
                self.signal(signal.SIGCONT)
                continue
            self.has_ended = True
            self.give_terminal(self.former)
            if self.kill_at:
                self.signal(signal.SIGKILL)  # the rest of its group
            for _ in range(_LAST_PARTS):
                if not self.copy(list(self.outputs)):
                    break
            by_signal = os.WIFSIGNALED(status)
            code = os.WTERMSIG(status) if by_signal else os.WEXITSTATUS(status)
            os.write(self.guard, b"\n")  # what it left may stay
            self.send(ENDED, b"-" if by_signal else b"", b"%d" % code)

    def copy(self, ready: "list[int]") -> bool:
        """Send what there is in pipes, a part of each; return whether there was something."""
        found = False
        for fd in ready:
            if fd not in self.outputs:
                continue
            try:
                data = os.read(fd, _PART)
            except BlockingIOError:
                continue
            except OSError:  # EIO: nobody has the pseudo terminal open
                data = b""
            if data:
                found = True
                self.send(OUTPUT, self.outputs[fd], now(), data)
            else:
                del self.outputs[fd]
                os.close(fd)
        return found

    def take(self) -> bool:
        """Carry out the requests that have come; return False once the client is gone."""
        data = os.read(0, _PART)
        self.buffer += data
        while len(self.buffer) >= HEAD.size:
            size, _, op = HEAD.unpack_from(self.buffer)
            if size > MAX_REQUEST:
                return False
            if len(self.buffer) < HEAD.size + size:
                break
            fields = unpack(self.buffer[HEAD.size : HEAD.size + size])
            self.buffer = self.buffer[HEAD.size + size :]
            try:
                self.answer(op, fields)
            except OSError as error:
                self.send(FAILED, b"%d" % (error.errno or 0))
        return bool(data)

    def answer(self, op: int, fields: "list[bytes]") -> None:
        if op == START:
            self.start(*fields)
        elif op == TERMINAL:
            self.start_in_terminal(*fields)
        elif op == INPUT:
            self.type(fields[0])
        elif op == RESIZE:
            self.resize(*fields)
        elif op == RELEASE:
            self.release()
        elif op == SIGNAL:
            self.signal(number(fields[0]))
        elif op == END:
            self.end()
        elif op == ASK_TIME:
            self.send(TIME, now())

    def serve(self) -> None:
        """Serve until the command has ended, or could not be started, or the client is gone and it was ended."""
        while not self.has_ended:
            poll = select.poll()
            for fd in (self.wake, *([0, *self.outputs] if self.has_client else [])):
                poll.register(fd, select.POLLIN | (select.POLLOUT if self.typed and fd == self.master else 0))
            wait = max(0.0, self.kill_at - time.monotonic()) * 1000 + 1 if self.kill_at else None
            ready = [fd for fd, _ in poll.poll(wait)]
            if self.wake in ready:
                os.read(self.wake, 4096)
            if self.has_client and 0 in ready and not self.take():
                self.has_client = False
                self.end()
            if self.has_client:
                self.type(b"")
                self.copy(ready)
            if self.kill_at and time.monotonic() >= self.kill_at:
                self.signal(signal.SIGKILL)
                if not self.pid:
                    return
                self.kill_at += _GRACE
            self.reap()

    def main(self) -> None:
        try:
            self.serve()
        except (OSError, ValueError, TypeError, IndexError):  # the client is gone, or sent a malformed frame
            self.has_client = False
            self.end()
            self.serve()


if __name__ == "__main__":
    Runner().main()
    sys.exit(0)
