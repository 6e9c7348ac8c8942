"""The far side's agent: its source goes through standard input to python3 there (>= 3.6); nothing is written.

The source that is sent is frames.py, drain.py, journal.py, effects.py and this file, one behind the other
(`kernel.remote.bootstrap`).
At the end of standard input, at a signal, when a frame makes no sense or after too long a silence, what is
guarded is undone, newest first, each step tried. What would outlive this process stands in its journal.
"""

# This file and those sent with it speak Python 3.6: annotations newer than that are strings. They import little, for
# it is small machines that wait: `signal` with its enums, and contextlib, would double the time of Python's start.
import _signal as signal  # type: ignore[import-not-found]
import _thread
import errno
import os
import select
import sys
import time

from kernel.agent.frames import (
    BYE,
    CREDIT,
    ERROR,
    GUARD,
    HEAD,
    HOLD,
    LINKS,
    LIST,
    MAX_REQUEST,
    MORE,
    OK,
    PART,
    PERFORM,
    PING,
    READ,
    STOP,
    STREAM,
    SYNC,
    UNGUARD,
    frame,
    number,
    squeeze,
    unpack,
)
from kernel.agent.journal import open_own
from kernel.agent.ring_reader import RingReader
from kernel.agent.steps import GuardedSteps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


ENDS = ("SIGHUP", "SIGTERM", "SIGINT", "SIGPIPE", "SIGQUIT")
"""Signals at which everything is undone."""
BEAT = 1.0
"""Seconds between two words of an agent that carries out a request."""
LONG = (READ, LIST, LINKS, PERFORM, HOLD, STREAM, STOP, BYE)
"""Requests that wait for the kernel."""


def tasks() -> "list[bytes]":
    """Return the ids of our threads, which the kernel knows as tasks; empty where /proc does not tell."""
    try:
        return sorted(os.listdir(b"/proc/self/task"))
    except OSError:
        return []


class PeerGone(Exception):
    """The near side is not there any more, or makes no sense."""


class Heartbeat:
    """A word every second while a request is under way: a kernel may take half a minute for one write to a file."""

    def __init__(self) -> None:
        self.writing = _thread.allocate_lock()
        """Held while bytes of the agent are written."""
        self._begun, self._done, self._idle = (_thread.allocate_lock() for _ in range(3))
        for one in (self._begun, self._done, self._idle):
            one.acquire()
        self._runs = True
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # no more tasks are allowed there: a slow request is silent then
            self._runs = False

    def during(self, act: "Callable[..., list[bytes] | None]", *given: object) -> "list[bytes] | None":
        """Carry out a request, and have the near side hear of us meanwhile. Raises what it raises."""
        if not self._runs:
            return act(*given)
        self._idle.acquire()
        self._begun.release()
        try:
            return act(*given)
        finally:
            self._done.release()

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, name) for name in (*ENDS, "SIGALRM")])
        while True:
            self._idle.release()
            self._begun.acquire()
            while not self._done.acquire(True, BEAT):
                self._say()

    def _say(self) -> None:
        """Send an answer to no request; not where that would wait, or come between the bytes of a frame."""
        if not self.writing.acquire(False):
            return
        try:
            room = select.poll()
            room.register(1, select.POLLOUT)
            if [ready for _, ready in room.poll(0) if ready == select.POLLOUT]:
                os.write(1, frame(0, OK))
        except OSError:  # the line is cut, which the other thread finds
            pass
        finally:
            self.writing.release()


class Agent:
    """Requests in, answers out by one thread, beside which another keeps the line from falling silent."""

    def __init__(self) -> None:
        self.buffer = b""
        self.effects = GuardedSteps()
        self.streams: dict[int, RingReader] = {}
        self.silence = 120.0
        self.heard = time.monotonic()
        self.written = 0
        self.before = -1
        """What was written when somebody last looked whether that goes on."""
        self.ending = False
        self.pulse = Heartbeat()
        self.acts: dict[int, Callable[..., list[bytes] | None]] = {
            PING: self.ping,
            READ: self.read,
            LIST: self.names,
            LINKS: self.links,
            PERFORM: self.step,
            GUARD: self.guard,
            UNGUARD: self.unguard,
            HOLD: self.hold,
            STREAM: self.start,
            CREDIT: self.give,
            SYNC: self.sync,
            STOP: self.stop,
            BYE: self.bye,
        }

    def send(self, ident: int, op: int, *fields: bytes) -> None:
        self.put(frame(ident, op, *fields))

    def put(self, data: bytes) -> None:
        """Write to the near side, which reads at all times: where it takes nothing for too long, it is gone."""
        self.before = -1
        signal.setitimer(signal.ITIMER_REAL, self.silence / 2, self.silence / 2)
        with self.pulse.writing:
            while data:
                done = os.write(1, data)
                self.written += done
                data = data[done:]
        signal.setitimer(signal.ITIMER_REAL, 0)

    def look(self, *_: object) -> None:
        """Handler of the timer in `put`."""
        if self.written == self.before:
            self.leave()
        self.before = self.written

    def undo(self) -> "list[bytes]":
        """Let go of everything, then each guarded step, newest first; the failed ones, as `effect path: why`."""
        for stream in self.streams.values():
            stream.close()
        self.streams = {}
        return self.effects.undo()

    def answer(self, ident: int, op: int, fields: "list[bytes]") -> None:
        """Carry out one request. Raises OSError (told to the near side), ValueError and Gone (the end)."""
        act = self.acts.get(op)
        if act is None:
            raise OSError(errno.ENOSYS, "no such request")
        result = self.pulse.during(act, ident, *fields) if op in LONG else act(ident, *fields)
        if op != CREDIT:
            self.send(ident, OK, *(result or []))

    def ping(self, _: int, silence: bytes) -> None:
        self.silence = float(number(silence))

    def read(self, ident: int, path: bytes, limit: bytes, offset: bytes = b"0") -> None:
        left = number(limit)
        if os.path.dirname(path).decode("utf-8", "surrogateescape") in self.effects.journal.places:
            fd = open_own(path)
        else:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if number(offset):
                os.lseek(fd, number(offset), os.SEEK_SET)
            while left > 0:
                parts, size, wanted = [], 0, min(PART, left)
                while size < wanted:  # sysfs and seq files give a page a call
                    parts.append(os.read(fd, wanted - size))
                    size += len(parts[-1])
                    if not parts[-1]:
                        left = size
                        break
                left -= size
                if size:
                    self.send(ident, MORE, *squeeze(b"".join(parts)))
        finally:
            os.close(fd)

    def names(self, _: int, folder: bytes) -> "list[bytes]":
        return sorted(os.listdir(folder))

    def links(self, _: int, folder: bytes) -> "list[bytes]":
        result = []
        for name in os.listdir(folder):
            try:
                result.append(os.readlink(folder + b"/" + name))
            except OSError:  # closed meanwhile
                pass
        return result

    def step(self, _: int, effect: bytes, path: bytes, data: bytes) -> None:
        self.effects.perform(effect, path, data)

    def guard(self, _: int, effect: bytes, path: bytes, data: bytes, expects: bytes = b"") -> None:
        self.effects.guard(effect, path, data, expects)

    def unguard(self, _: int, effect: bytes, path: bytes, data: bytes, expects: bytes = b"") -> None:
        self.effects.unguard(effect, path, data, expects)

    def hold(self, _: int, path: bytes) -> None:
        self.effects.hold(path)

    def start(self, ident: int, instance: bytes, credit: bytes) -> "list[bytes]":
        stream = self.streams[ident] = RingReader(ident, instance.rstrip(b"/"), number(credit))
        return [b"%d" % len(stream.files), b"%d" % stream.size]

    def give(self, _: int, ident: bytes, credit: bytes) -> None:
        stream = self.streams.get(number(ident))
        if stream:
            stream.credit += number(credit)

    def sync(self, _: int, ident: bytes) -> "list[bytes]":
        """Send what is in the buffers now, as far as the credit goes; whether that was all."""
        stream = self.streams.get(number(ident))
        if stream is None:
            raise OSError(errno.ENOENT, "no such stream")
        while stream.credit > 0:
            passed = stream.collect(time.monotonic())
            if passed:
                self.put(passed)
            if stream.drained:
                return [b"1"]
        return [b"0"]

    def stop(self, _: int, ident: bytes) -> None:
        stream = self.streams.pop(number(ident), None)
        if stream:
            stream.close()

    def bye(self, ident: int) -> None:
        self.ending = True  # a signal from here on would lose the step that is just being taken
        self.send(ident, OK, *self.undo())
        raise PeerGone

    def take(self) -> None:
        """Read what came and answer each whole frame. Raises Gone at the end of the line."""
        data = os.read(0, 1 << 16)
        if not data:
            raise PeerGone
        self.heard = time.monotonic()
        self.buffer += data
        while len(self.buffer) >= HEAD.size:
            size, ident, op = HEAD.unpack_from(self.buffer)
            if size > MAX_REQUEST:
                raise PeerGone
            if len(self.buffer) < HEAD.size + size:
                return
            payload, self.buffer = self.buffer[HEAD.size : HEAD.size + size], self.buffer[HEAD.size + size :]
            fields = unpack(payload)
            try:
                self.answer(ident, op, fields)
            except BrokenPipeError:
                raise
            except OSError as error:
                self.send(ident, ERROR, b"%d" % (error.errno or 0))

    def serve(self) -> None:
        """Until Gone, or too long a silence."""
        while True:
            now = time.monotonic()
            wait = self.heard + self.silence - now
            poll = select.poll()
            poll.register(0, select.POLLIN)
            for stream in self.streams.values():
                wait = min(wait, stream.wait(now))
                if stream.credit > 0 and stream.due <= now:
                    poll.register(stream.epoll.fileno(), select.POLLIN)
            ready = [fd for fd, _ in poll.poll(max(0, int(wait * 1000) + 1))]
            if 0 in ready:
                self.take()
            now = time.monotonic()
            if now - self.heard > self.silence:
                raise PeerGone
            for stream in list(self.streams.values()):
                if stream.credit > 0 and (stream.epoll.fileno() in ready or now >= max(stream.due, stream.latest)):
                    passed = stream.collect(now)
                    if passed:
                        self.put(passed)

    def leave(self, *_: object) -> None:
        """Signal handler: out of whatever we wait in, once."""
        if not self.ending:
            self.ending = True
            raise PeerGone

    def main(self) -> None:
        for name in ENDS:
            signal.signal(getattr(signal, name), self.leave)
        signal.signal(signal.SIGALRM, self.look)
        try:
            try:
                self.send(0, OK, b"1", b"%d" % os.getpid(), b"%d" % os.getuid(), *tasks())
                self.serve()
            finally:
                self.ending = True
        except (PeerGone, OSError, ValueError, TypeError, IndexError):  # the last three: a frame that makes no sense
            pass
        finally:
            self.undo()


if __name__ == "__main__":
    os.chdir("/")
    Agent().main()
    sys.exit(0)
