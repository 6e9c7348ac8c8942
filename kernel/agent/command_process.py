"""Start the process of a command with pipes or a pseudo terminal, and signal it; a part of the runner's source."""

# This file is Python 3.6 and imports the standard library alone: it runs on the remote host too.
import errno
import fcntl
import os
import select
import signal
import struct
import termios
import time

from kernel.agent.frames import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

TERM = b"linux"
"""Value of TERM for a command with a pseudo terminal."""
GRACE = 2.0
"""Seconds from SIGTERM to SIGKILL."""
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


def echo_of(code: int) -> bytes:
    """Return what a terminal with ECHO, ECHOCTL, ICRNL and ONLCR (termios(3)) writes for a typed byte."""
    if code in b"\r\n":
        return b"\r\n"
    return b"^%c" % (code ^ 0x40) if (code < 0x20 and code != 0x09) or code == 0x7F else b"%c" % code


class CommandProcess:
    """Command with a process group of its own, which waits until it is released."""

    def __init__(self) -> None:
        """Ignore the signals that are meant for the command alone."""
        self.pid = 0
        """Process of the command, which is that of its group; 0: there is none."""
        self.gate = self.failure = self.guard = -1
        self.outputs = {}  # type: dict[int, bytes]
        self.master = -1
        """Our end of the pseudo terminal of the command; -1: it has none."""
        self.typed = b""
        """Input that the pseudo terminal had no room for."""
        self.echo = b""
        """Bytes that the terminal itself will write for what was typed, which the command did not write."""
        self.terminal = -1
        """File of the terminal that the command gets as its foreground group; -1: none."""
        self.former = 0
        """Process group that had the terminal before."""
        self.inherited = {name: signal.getsignal(getattr(signal, name)) for name in _OWN}
        for name in _OWN:
            signal.signal(getattr(signal, name), signal.SIG_IGN)

    def start(self, stdin: bytes, *words: bytes) -> None:
        """Start the process of the command with pipes; see `fork`. Raises OSError."""
        source = int(stdin)
        if source >= 0:
            os.set_inheritable(source, False)
        self.start_with_pipes(source, words)
        if source >= 0:
            self.find_terminal(source)

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
        # The end of a read would be an event of many probes: by then this task is one of those that are recorded.
        release = select.poll()
        release.register(gate, select.POLLIN)
        if not release.poll()[0][1] & select.POLLIN:
            os._exit(1)
        try:
            os.execve(path, words, environment)  # noqa: S606 - as the user wrote it
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
            # A script without `#!`.
            os.execve("/bin/sh", (b"sh", os.fsencode(path), *words[1:]), environment)  # noqa: S606

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
                time.sleep(GRACE)
                self.signal(signal.SIGKILL)
        finally:
            os._exit(0)

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
                echoes = termios.tcgetattr(self.master)[3] & termios.ECHO
                count = os.write(self.master, self.typed)
            except (OSError, termios.error):  # no room, or nobody has it open any more
                return
            if echoes:
                self.echo += b"".join(map(echo_of, self.typed[:count]))
            self.typed = self.typed[count:]

    def split_echo(self, data: bytes) -> "tuple[bytes, bytes]":
        """Return the echo of what was typed, as far as output of the pseudo terminal begins with it, and the rest.

        Where it begins with anything else the echo is no longer looked for: a program writes at the same time.
        """
        size = 0
        while size < min(len(self.echo), len(data)) and self.echo[size] == data[size]:
            size += 1
        self.echo = self.echo[size:] if size == len(data) else b""
        return data[:size], data[size:]

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
