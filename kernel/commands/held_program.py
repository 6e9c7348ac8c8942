"""Start a command on a target, and hold it until its calls are recorded; pass on its output, and end it with us.

`kernel.agent.command_runner` runs there, as the user who has logged in, and outlives neither us nor the connection.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from kernel.agent import command_runner as runner
from kernel.agent.frames import HEAD, frame, number, unpack
from kernel.agent.ring_reader import write_all
from kernel.commands.output_lines import LineSplitter, OutputLine, TerminalParts
from kernel.errors import CommandNotStarted, TargetUnusable
from kernel.remote.bootstrap import agent_source
from kernel.target import Target, TargetKind

_BOOT: Final = (
    "import os\ns=b''\nwhile len(s)<{size}:\n p=os.read(0,{size}-len(s))\n if not p: os._exit(1)\n s+=p\nexec(s)"
)
_PARTS: Final = ("frames", "command_process", "command_runner")
_PATIENCE: Final = 60.0
"""Seconds for a command to be started there."""
_ENDING: Final = 6.0
"""Seconds for a command to be ended; the runner kills it after two."""
_LAST: Final = 2.0
"""Seconds for the last output of a command that has ended."""
_LOOK_EVERY: Final = 0.02
_MOST_WAITING: Final = 4 << 20
"""Bytes of output that wait to be taken; the command is held up by more, as by any pipe that nobody reads."""
_MOST_ON_TERMINAL: Final = 1 << 18
"""Bytes likewise of a pseudo terminal: its screen is not to lag behind what is typed."""
_STREAMS: Final = {b"1": "stdout", b"2": "stderr"}


class TerminalSize(NamedTuple):
    """Size of a pseudo terminal, in characters."""

    rows: int
    columns: int


class HeldProgram:
    """Command that has a process already, and runs from `release` on."""

    def __init__(
        self, target: Target, words: Sequence[str], *, takes_input: bool = False, size: TerminalSize | None = None
    ) -> None:
        """Start it on the machine of a target; over SSH as the user who has logged in.

        `takes_input`: it gets our standard input, where it runs on this machine; else it has none (/dev/null).
        `size`: it gets a pseudo terminal of that size, if one can be had there, to which `type` writes.
        Raises CommandNotStarted: its file is not there, or can't be executed; TargetUnusable.
        """
        self.words = tuple(words)
        self.target = target.name
        self.exit_code: int | None = None
        """Exit status of the command; below 0: the signal that ended it. None: it has not ended, or nobody knows."""
        self.failure: CommandNotStarted | None = None
        """Error of its execution, after the release."""
        self.read_until = 0
        """Nanoseconds of CLOCK_MONOTONIC over there: no output comes any more with an earlier time."""
        self._asked = False
        """True while the runner owes an answer about its time."""
        self._ended = threading.Event()
        self._waiting: deque[OutputLine] = deque()
        self._waiting_bytes = 0
        self._most_waiting = _MOST_WAITING
        self._changed = threading.Condition()
        self._discards = False
        self._buffer = b""
        self._reader: threading.Thread | None = None
        self._helpers: list[int] | None = None
        """Processes of ours on the target, with the one that runs the command."""
        self._splitters: dict[bytes, LineSplitter | TerminalParts] = {
            stream: LineSplitter(name) for stream, name in _STREAMS.items()
        }
        self.has_terminal = False
        """True if the command has a pseudo terminal."""
        is_local = getattr(target, "kind", None) is TargetKind.LOCAL
        # A file of its own: 0 is where requests come from.
        passed = os.dup(0) if is_local and takes_input else -1
        try:
            self._process = self._begin(target, sys.executable if is_local else "python3", passed)
            try:
                self.pid = self._start(passed, size)
                """Process of the command, on its machine."""
            except BaseException:
                self.close()
                raise
        finally:
            if passed >= 0:
                os.close(passed)
        self._helpers = getattr(target, "helpers", None)
        if self._helpers is not None:
            self._helpers.append(self._runner)
        self._reader = threading.Thread(target=self._read_answers, daemon=True, name="program output")
        self._reader.start()

    def _begin(self, target: Target, python: str, passed: int) -> subprocess.Popen[bytes]:
        """Start the runner; `passed`: file that it gets, -1: none. Raises TargetUnusable."""
        start = getattr(target, "start", None)
        if start is None:
            raise TargetUnusable(f"{target.name}: no program can be started there")
        source = agent_source(_PARTS)
        words = [python, "-I", "-S", "-c", _BOOT.format(size=len(source))]
        try:
            process: subprocess.Popen[bytes] = start(words, *([passed] if passed >= 0 else []))
        except OSError as error:
            raise TargetUnusable(f"{target.name}: no program can be started there ({error.strerror})") from None
        with contextlib.suppress(OSError):  # then it answers nothing
            if process.stdin is not None:
                write_all(process.stdin.fileno(), source)
        return process

    def _start(self, passed: int, size: TerminalSize | None) -> int:
        """Start the process of the command; return its number. Raises CommandNotStarted, TargetUnusable."""
        words = list(map(os.fsencode, self.words))
        if size is None:
            self._request(runner.START, b"%d" % passed, *words)
        else:
            self._request(runner.TERMINAL, *_bytes(size), *words)
        op, fields = self._answer(_PATIENCE)
        if op == runner.FAILED:
            raise self._not_started(number(fields[0]))
        if op != runner.HELD:
            raise TargetUnusable(
                f"{self.target}: no program can be started there",
                "install python3 there (3.6 or newer), which runs the command",
            )
        self._runner = number(fields[1])
        if fields[2]:
            self.has_terminal, self._most_waiting = True, _MOST_ON_TERMINAL
            self._splitters |= {b"1": TerminalParts("terminal"), runner.ECHO: TerminalParts("echo")}
        return number(fields[0])

    def _not_started(self, reason: int) -> CommandNotStarted:
        return CommandNotStarted(self.target, self.words[0], reason)

    @property
    def has_ended(self) -> bool:
        """True once the command has ended, and all its output is there to be taken, or the connection is lost."""
        return self._ended.is_set()

    def release(self) -> None:
        """Let the command run."""
        self._request(runner.RELEASE)

    def ask_time(self) -> None:
        """Let `read_until` be brought up to now, soon."""
        if not self._asked:
            self._asked = True
            self._request(runner.ASK_TIME)

    def wait_for_time(self, seconds: float) -> None:
        """Have `read_until` brought up to now; wait for that, or until the command has ended."""
        self.ask_time()
        end = time.monotonic() + seconds
        while self._asked and time.monotonic() < end and not self._ended.wait(_LOOK_EVERY):
            pass

    def send_signal(self, sign: int) -> None:
        """Send a signal to the command and its process group."""
        self._request(runner.SIGNAL, b"%d" % sign)

    def type(self, data: bytes) -> None:
        """Give the command what was typed, where it has a pseudo terminal."""
        if self.has_terminal:
            self._request(runner.INPUT, data)

    def resize(self, size: TerminalSize) -> None:
        """Give its pseudo terminal another size."""
        if self.has_terminal:
            self._request(runner.RESIZE, *_bytes(size))

    def ask_end(self) -> None:
        """Begin to end the command and its process group: SIGTERM, and SIGKILL after two seconds. Never waits."""
        self._request(runner.END)

    def end(self, seconds: float = _ENDING) -> None:
        """End the command and its process group: SIGTERM, then SIGKILL. Waits until it has ended; discards output
        that has no room.
        """
        self._request(runner.END)
        with self._changed:
            self._discards = True
            self._changed.notify_all()
        self._ended.wait(seconds)

    def wait(self, seconds: float) -> bool:
        """Wait until the command has ended; False: it has not."""
        return self._ended.wait(seconds)

    def take_output(self) -> list[OutputLine]:
        """Return the lines written since the last call, in order of time; never waits."""
        with self._changed:
            lines = list(self._waiting)
            self._waiting.clear()
            self._waiting_bytes = 0
            self._changed.notify_all()
        return lines

    def close(self) -> None:
        """End the command if it runs, and what runs it. Safe to call twice."""
        with contextlib.suppress(ValueError):
            if self._helpers is not None:
                self._helpers.remove(self._runner)
        with self._changed:
            self._discards = True
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_ENDING)
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        if self._reader is not None:
            self._reader.join(_LAST)
        if self._process.stdout is not None and (self._reader is None or not self._reader.is_alive()):
            self._process.stdout.close()

    def _request(self, op: int, *fields: bytes) -> None:
        with contextlib.suppress(OSError, ValueError):  # it is gone, which its end tells
            if self._process.stdin is not None:
                write_all(self._process.stdin.fileno(), frame(0, op, *fields))

    def _answer(self, patience: float | None = None) -> tuple[int, list[bytes]]:
        """Return the next answer; 0: there will be none."""
        output = self._process.stdout
        while output is not None:
            if len(self._buffer) >= HEAD.size:
                size, _, op = HEAD.unpack_from(self._buffer)
                if len(self._buffer) >= HEAD.size + size:
                    fields = unpack(self._buffer[HEAD.size : HEAD.size + size])
                    self._buffer = self._buffer[HEAD.size + size :]
                    return op, fields
                if size > 1 << 20:
                    break
            if patience is not None and not select.select([output], [], [], patience)[0]:
                break
            data = output.read(1 << 16)
            if not data:
                break
            self._buffer += data
        return 0, []

    def _read_answers(self) -> None:
        """Take the answers until the command has ended; in a thread."""
        with contextlib.suppress(OSError, ValueError, IndexError):  # a malformed answer ends it, too
            while (answer := self._answer())[0]:
                op, fields = answer
                if op == runner.OUTPUT:
                    ts = number(fields[1])
                    self._put(self._splitters[fields[0]].split(ts, fields[2]))
                    self.read_until = ts
                elif op == runner.TIME:
                    self.read_until, self._asked = number(fields[0]), False
                elif op == runner.FAILED:
                    self.failure = self.failure or self._not_started(number(fields[0]))
                elif op == runner.ENDED:
                    self.exit_code = -number(fields[1]) if fields[0] else number(fields[1])
        for splitter in self._splitters.values():
            self._put(splitter.finish(self.read_until))
        self.read_until = sys.maxsize
        self._ended.set()

    def _put(self, lines: list[OutputLine]) -> None:
        with self._changed:
            self._changed.wait_for(lambda: self._waiting_bytes < self._most_waiting or self._discards)
            if self._waiting_bytes < self._most_waiting:
                self._waiting.extend(lines)
                self._waiting_bytes += sum(len(line.data) + 64 for line in lines)


def _bytes(size: TerminalSize) -> list[bytes]:
    return [b"%d" % one for one in size]


def end_text(program: HeldProgram, *, was_ended: bool = False) -> str:
    """Return how a command that was released has ended, in a line; empty: with status 0.

    `was_ended`: we ended it.
    """
    name, code = program.words[0], program.exit_code
    if program.failure is not None:
        return str(program.failure)
    if code == 0:
        return ""
    if was_ended:
        return f"{name} was ended"
    if code is None:
        return f"{name}: its end is unknown, as the connection was lost"
    return f"{name} ended with status {code}" if code > 0 else f"{name} was ended by {_signal_name(-code)}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def shell_status(exit_code: int) -> int:
    """Return an exit status as shells give it: that of the command, or 128 and the number of its signal."""
    return exit_code if exit_code >= 0 else 128 - exit_code


def start_failure_status(reason: int) -> int:
    """Return the exit status of a command that could not be started, as env(1) and timeout(1) have it."""
    return 127 if reason == errno.ENOENT else 126
