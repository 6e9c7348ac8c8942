"""Run the agent on the remote host: its source is sent through standard input to python3 (>= 3.6); no file is
written.

The sent source is frames.py, long_read.py, bpf_calls.py, number_readers.py, sampler.py, object_rings.py,
ring_reader.py, journal.py, user_events.py, steps.py and this file, concatenated (`kernel.remote.bootstrap`). At the
end of standard input, at a signal, at a bad frame or after a long silence, the guarded steps are undone, newest
first, each step tried. Effects that would outlive this process are in its journal.
"""

# This file and those sent with it are Python 3.6: newer annotations are strings. They import little, as small
# machines take long to import: `signal` with its enums, and contextlib, would double the start time of Python.
import _signal as signal  # type: ignore[import-not-found]
import _thread
import errno
import os
import select
import sys
import time

from kernel.agent.bpf_calls import BpfCalls, folders_below
from kernel.agent.frames import (
    BPF,
    BYE,
    CREDIT,
    DROP,
    ERROR,
    FOLDERS,
    GUARD,
    HEAD,
    HOLD,
    LINKS,
    LIST,
    MAX_REQUEST,
    MORE,
    OK,
    PERFORM,
    PING,
    READ,
    RINGS,
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
from kernel.agent.long_read import LongReads
from kernel.agent.object_rings import ring_reader
from kernel.agent.ring_reader import RingReader
from kernel.agent.sampler import SAMPLER
from kernel.agent.steps import GuardedSteps

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


ENDS = ("SIGHUP", "SIGTERM", "SIGINT", "SIGPIPE", "SIGQUIT")
"""Signals at which everything is undone."""
BEAT = 1.0
"""Seconds between two heartbeats of an agent that carries out a request."""
LONG = (READ, LIST, LINKS, FOLDERS, PERFORM, HOLD, STREAM, STOP, BYE, BPF, DROP)
"""Requests that wait for the kernel."""


def tasks() -> "list[bytes]":
    """Return the ids of our threads, which are tasks to the kernel; empty if /proc does not show them."""
    try:
        return sorted(os.listdir(b"/proc/self/task"))
    except OSError:
        return []


class PeerGone(Exception):
    """The client is gone, or sent a malformed frame."""


class Heartbeat:
    """Thread that sends a frame every second during a request: a kernel may take half a minute for one write to a
    file.
    """

    def __init__(self) -> None:
        self.writing = _thread.allocate_lock()
        """Held while bytes of the agent are written."""
        self._start_lock, self._end_lock, self._idle_lock = (_thread.allocate_lock() for _ in range(3))
        for lock in (self._start_lock, self._end_lock, self._idle_lock):
            lock.acquire()
        self._runs = True
        try:
            _thread.start_new_thread(self._run, ())
        except RuntimeError:  # no more tasks are allowed: a slow request is silent then
            self._runs = False

    def during(self, act: "Callable[..., list[bytes] | None]", *arguments: object) -> "list[bytes] | None":
        """Carry out a request, with heartbeats to the client meanwhile. Raises as the request does."""
        if not self._runs:
            return act(*arguments)
        self._idle_lock.acquire()
        self._start_lock.release()
        try:
            return act(*arguments)
        finally:
            self._end_lock.release()

    def _run(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [getattr(signal, name) for name in (*ENDS, "SIGALRM")])
        while True:
            self._idle_lock.release()
            self._start_lock.acquire()
            while not self._end_lock.acquire(True, BEAT):
                self._send_heartbeat()

    def _send_heartbeat(self) -> None:
        """Send an answer without request id, unless that would block, or fall between the bytes of a frame."""
        if not self.writing.acquire(False):
            return
        try:
            poll = select.poll()
            poll.register(1, select.POLLOUT)
            if [ready for _, ready in poll.poll(0) if ready == select.POLLOUT]:
                os.write(1, frame(0, OK))
        except OSError:  # disconnected; the other thread notices it
            pass
        finally:
            self.writing.release()


class Agent:
    """Server of requests in one thread, beside a second one for heartbeats."""

    def __init__(self) -> None:
        self.buffer = b""
        self.effects = GuardedSteps()
        self.bpf = BpfCalls()
        self.streams: dict[int, RingReader] = {}
        self.reads = LongReads()
        self.silence = 120.0
        self.last_received = self.last_request = time.monotonic()
        self.written = 0
        self.before = -1
        """Bytes written at the previous check for progress."""
        self.ending = False
        self.heartbeat = Heartbeat()
        self.start_sampler()
        self.acts: dict[int, Callable[..., list[bytes] | None]] = {
            PING: self.ping,
            READ: self.read,
            LIST: self.names,
            LINKS: self.links,
            FOLDERS: self.folders,
            PERFORM: self.step,
            GUARD: self.guard,
            UNGUARD: self.unguard,
            HOLD: self.hold,
            STREAM: self.start,
            CREDIT: self.give,
            SYNC: self.sync,
            STOP: self.stop,
            BYE: self.bye,
            BPF: self.call_bpf,
            DROP: self.drop,
            RINGS: self.change_rings,
        }

    @staticmethod
    def start_sampler() -> None:
        """Start its thread, before the ids of our threads are told."""
        try:
            SAMPLER.start()
        except RuntimeError:  # no more tasks are allowed: monitors say so
            pass

    def send(self, ident: int, op: int, *fields: bytes) -> None:
        self.put(frame(ident, op, *fields))

    def put(self, data: bytes) -> None:
        """Write to the client, which reads at all times: if it takes no data for too long, it is gone."""
        self.before = -1
        signal.setitimer(signal.ITIMER_REAL, self.silence / 2, self.silence / 2)
        with self.heartbeat.writing:
            while data:
                count = os.write(1, data)
                self.written += count
                data = data[count:]
        signal.setitimer(signal.ITIMER_REAL, 0)

    def look(self, *_: object) -> None:
        """Check for progress in `put`; handler of its timer."""
        if self.written == self.before:
            self.leave()
        self.before = self.written

    def undo(self) -> "list[bytes]":
        """Close all streams, then undo each guarded step, newest first; return the failed ones, as `effect path:
        why`.
        """
        for stream in self.streams.values():
            stream.close()
        self.streams = {}
        self.bpf.close_all()
        return self.effects.undo()

    def answer(self, ident: int, op: int, fields: "list[bytes]") -> None:
        """Carry out one request. Raises OSError (sent to the client), ValueError and PeerGone (the end)."""
        act = self.acts.get(op)
        if act is None:
            raise OSError(errno.ENOSYS, "no such request")
        result = self.heartbeat.during(act, ident, *fields) if op in LONG else act(ident, *fields)
        if op != CREDIT and ident not in self.reads:
            self.send(ident, OK, *(result or []))

    def ping(self, _: int, silence: bytes) -> None:
        self.silence = float(number(silence))

    def read(self, ident: int, path: bytes, limit: bytes, offset: bytes = b"0") -> None:
        if os.path.dirname(path).decode("utf-8", "surrogateescape") in self.effects.journal.places:
            fd = open_own(path)
        else:
            fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        self.reads.begin(ident, fd, number(offset), number(limit))
        self.read_on(ident)

    def read_on(self, ident: int) -> None:
        """Read on in a file for a moment, and send what is complete. Raises OSError."""
        part = self.reads.go_on(ident)
        if part:
            self.send(ident, MORE, *squeeze(part))

    def go_on_reading(self) -> None:
        """Read on in the file whose turn it is; answer its request at the end."""
        ident = self.reads.next_ident
        try:
            self.heartbeat.during(self.read_on, ident)
            if ident not in self.reads:
                self.send(ident, OK)
        except BrokenPipeError:
            raise
        except OSError as error:
            self.send(ident, ERROR, b"%d" % (error.errno or 0))

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

    def folders(self, _: int, top: bytes) -> "list[bytes]":
        return [b"%d %s" % folder for folder in folders_below(top)]

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
        """Send the present content of the buffers, as far as the credit allows; return whether that was all."""
        stream = self.streams.get(number(ident))
        if stream is None:
            raise OSError(errno.ENOENT, "no such stream")
        while stream.credit > 0:
            batch = stream.collect(time.monotonic())
            if batch:
                self.put(batch)
            if stream.drained:
                return [b"1"]
        return [b"0"]

    def stop(self, _: int, ident: bytes) -> None:
        stream = self.streams.pop(number(ident), None)
        if stream:
            stream.close()

    def call_bpf(self, _: int, command: bytes, attributes: bytes, *parts: bytes) -> "list[bytes]":
        """Call bpf(2); the parts are an offset, a kind and bytes for each pointer. Return result and memory."""
        pointers = [(number(parts[at]), parts[at + 1], parts[at + 2]) for at in range(0, len(parts), 3)]
        result, filled = self.bpf.call(number(command), attributes, pointers)
        return [b"%d" % abs(result), b"-" if result < 0 else b"", *filled]

    def drop(self, _: int, *files: bytes) -> None:
        for fd in files:
            self.bpf.close(number(fd))

    def change_rings(self, _: int, ident: bytes, name: bytes, record: bytes, *maps: bytes) -> None:
        """Read BPF ring buffers with a stream: CPU, file and size of each; none: those of the number no more."""
        stream = self.streams.get(number(ident))
        if stream is None:
            raise OSError(errno.ENOENT, "no such stream")
        if not maps:
            stream.remove_ring(number(name))
        for at in range(0, len(maps), 3):
            cpu, fd, size = (number(field) for field in maps[at : at + 3])
            stream.add_ring(number(name), cpu, ring_reader(fd, size, record))

    def bye(self, ident: int) -> None:
        self.ending = True  # a signal from here on would lose the step being undone
        self.send(ident, OK, *self.undo())
        raise PeerGone

    def take(self) -> None:
        """Read available bytes and answer each complete frame. Raises PeerGone at the end of the connection."""
        data = os.read(0, 1 << 16)
        if not data:
            raise PeerGone
        self.last_received = time.monotonic()
        self.buffer += data
        while len(self.buffer) >= HEAD.size:
            size, ident, op = HEAD.unpack_from(self.buffer)
            if size > MAX_REQUEST:
                raise PeerGone
            if len(self.buffer) < HEAD.size + size:
                return
            payload, self.buffer = self.buffer[HEAD.size : HEAD.size + size], self.buffer[HEAD.size + size :]
            fields = unpack(payload)
            if op not in (CREDIT, PING):
                self.last_request = self.last_received
            try:
                self.answer(ident, op, fields)
            except BrokenPipeError:
                raise
            except OSError as error:
                self.send(ident, ERROR, b"%d" % (error.errno or 0))

    def serve(self) -> None:
        """Serve requests and streams until PeerGone, or too long a silence."""
        while True:
            now = time.monotonic()
            wait = self.last_received + self.silence - now
            poll = select.poll()
            poll.register(0, select.POLLIN)
            for stream in self.streams.values():
                wait = min(wait, stream.wait(now))
                if stream.credit > 0 and stream.due <= now:
                    poll.register(stream.epoll.fileno(), select.POLLIN)
            wait = min(wait, self.reads.wait(now, self.last_request))
            ready = [fd for fd, _ in poll.poll(int(wait * 1000) + 1 if wait > 0 else 0)]
            if 0 in ready:
                self.take()
            now = time.monotonic()
            if now - self.last_received > self.silence:
                raise PeerGone
            for stream in list(self.streams.values()):
                if stream.credit > 0 and (stream.epoll.fileno() in ready or now >= max(stream.due, stream.latest)):
                    batch = stream.collect(now)
                    if batch:
                        self.put(batch)
            if self.reads.wait(time.monotonic(), self.last_request) <= 0:
                self.go_on_reading()

    def leave(self, *_: object) -> None:
        """Raise PeerGone out of any wait, once; signal handler."""
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
        except (PeerGone, OSError, ValueError, TypeError, IndexError):  # the last three: a malformed frame
            pass
        finally:
            self.undo()


if __name__ == "__main__":
    os.chdir("/")
    Agent().main()
    sys.exit(0)
