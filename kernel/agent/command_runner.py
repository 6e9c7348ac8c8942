"""Run one command for a client: hold it until it is released, send on its output with times, and end it with us.

A process of its own, apart from the agent, as the user who has logged in; on this machine too. The sent source is
frames.py, command_process.py and this file, concatenated (`kernel.commands.held_program`). Requests come through
standard input, which ends when the client is gone, however that ended: then the command and its process group are
ended.
"""

# This file is Python 3.6 and imports the standard library alone: it runs on the remote host too.
import os
import select
import signal
import sys
import time

from kernel.agent.command_process import GRACE, CommandProcess
from kernel.agent.frames import HEAD, MAX_REQUEST, frame, number, unpack

START, RELEASE, SIGNAL, END, ASK_TIME, TERMINAL, INPUT, RESIZE = range(1, 9)
"""Requests: START (file of standard input, words…), RELEASE, SIGNAL (number), END, ASK_TIME, TERMINAL (rows, columns,
words…: START with a pseudo terminal, or with pipes where there is none), INPUT (bytes typed), RESIZE (rows, columns).
"""
HELD, FAILED, OUTPUT, ENDED, TIME = range(64, 69)
"""Answers: HELD (process, ours, `1` if it has a pseudo terminal), FAILED (errno), OUTPUT (stream, nanoseconds,
bytes), ENDED (`-` if by a signal, number), TIME (nanoseconds: no output comes with an earlier one). Nanoseconds are
those of CLOCK_MONOTONIC, as of the trace clock `mono`.
"""
ECHO = b"e"
"""Stream of OUTPUT: bytes that the pseudo terminal wrote for what was typed; the others are `1` and `2`."""
_PART = 1 << 16
_LAST_PARTS = 64
"""Parts of output that are read once the command has ended; processes that it left may write on."""


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
        self.has_ended = False
        self.has_client = True
        self.kill_at = 0.0
        """Time by time.monotonic() at which the process group is killed; 0: it is not to end."""
        self.command = CommandProcess()
        self.wake, self.woken = os.pipe()
        for end in (self.wake, self.woken):
            os.set_blocking(end, False)
        signal.signal(signal.SIGTERM, lambda *_: self.end())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self.woken)

    def send(self, op: int, *fields: bytes) -> None:
        if self.has_client:
            write_whole(frame(0, op, *fields))

    def tell_held(self) -> None:
        """Tell the client of the process, and start its guard."""
        self.command.start_guard()
        self.send(HELD, b"%d" % self.command.pid, b"%d" % os.getpid(), b"1" if self.command.master >= 0 else b"")

    def end(self) -> None:
        """Begin to end the command: SIGTERM, and SIGKILL after some seconds."""
        if not self.kill_at:
            self.kill_at = time.monotonic() + (GRACE if self.command.pid and not self.has_ended else 0.0)
            self.command.signal(signal.SIGTERM)
            if self.command.master >= 0:  # interactive shells ignore the other one
                self.command.signal(signal.SIGHUP)
            self.command.signal(signal.SIGCONT)

    def reap(self) -> None:
        """Send the status of the command once it has ended; one that was stopped goes on: nobody could resume it."""
        while self.command.pid and not self.has_ended:
            pid, status = os.waitpid(self.command.pid, os.WNOHANG | os.WUNTRACED)
            if not pid:
                return
            if os.WIFSTOPPED(status):
                self.command.signal(signal.SIGCONT)
                continue
            self.has_ended = True
            self.command.give_terminal(self.command.former)
            if self.kill_at:
                self.command.signal(signal.SIGKILL)  # the rest of its group
            for _ in range(_LAST_PARTS):
                if not self.copy(list(self.command.outputs)):
                    break
            by_signal = os.WIFSIGNALED(status)
            code = os.WTERMSIG(status) if by_signal else os.WEXITSTATUS(status)
            os.write(self.command.guard, b"\n")  # what it left may stay
            self.send(ENDED, b"-" if by_signal else b"", b"%d" % code)

    def copy(self, ready: "list[int]") -> bool:
        """Send what there is in pipes, a part of each; return whether there was something."""
        found = False
        for fd in ready:
            if fd not in self.command.outputs:
                continue
            try:
                data = os.read(fd, _PART)
            except BlockingIOError:
                continue
            except OSError:  # EIO: nobody has the pseudo terminal open
                data = b""
            if data:
                found = True
                echo, data = self.command.split_echo(data) if fd == self.command.master else (b"", data)
                if echo:
                    self.send(OUTPUT, ECHO, now(), echo)
                if data:
                    self.send(OUTPUT, self.command.outputs[fd], now(), data)
            else:
                del self.command.outputs[fd]
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
            self.command.start(*fields)
            self.tell_held()
        elif op == TERMINAL:
            self.command.start_in_terminal(*fields)
            self.tell_held()
        elif op == INPUT:
            self.command.type(fields[0])
        elif op == RESIZE:
            self.command.resize(*fields)
        elif op == RELEASE:
            self.command.release()
        elif op == SIGNAL:
            self.command.signal(number(fields[0]))
        elif op == END:
            self.end()
        elif op == ASK_TIME:
            self.send(TIME, now())

    def serve(self) -> None:
        """Serve until the command has ended, or could not be started, or the client is gone and it was ended."""
        while not self.has_ended:
            poll = select.poll()
            for fd in (self.wake, *([0, *self.command.outputs] if self.has_client else [])):
                has_input = self.command.typed and fd == self.command.master
                poll.register(fd, select.POLLIN | (select.POLLOUT if has_input else 0))
            wait = max(0.0, self.kill_at - time.monotonic()) * 1000 + 1 if self.kill_at else None
            ready = [fd for fd, _ in poll.poll(wait)]
            if self.wake in ready:
                os.read(self.wake, 4096)
            if self.has_client:
                self.copy(ready)  # before anything is typed: its echo begins what is read next
            if self.has_client and 0 in ready and not self.take():
                self.has_client = False
                self.end()
            if self.has_client:
                self.command.type(b"")
            if self.kill_at and time.monotonic() >= self.kill_at:
                self.command.signal(signal.SIGKILL)
                if not self.command.pid:
                    return
                self.kill_at += GRACE
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
