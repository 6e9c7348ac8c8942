"""Ring buffers through both dialects; here they are named pipes."""

from __future__ import annotations

import fcntl
import os
import queue
import signal
import sys
import termios
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from events.batch import Batch, Chunk
from kernel.agent import frames, ring_reader
from kernel.errors import StreamClosed, TargetLost
from kernel.pump import Pump
from kernel.remote.bootstrap import boot_agent
from kernel.remote.protocol.agent_dialect import AgentDialect
from kernel.remote.protocol.page_stream import AgentStream
from kernel.remote.protocol.text_stream import TextStream
from kernel.target import Effect, Step, Stream
from tests.descriptors import descriptors
from tests.pure.remote_hosts import KINDS, SHELLS, Instance, RemoteHost, eventually, remote_host, runs, spawn

PAGE = 4096


@pytest.fixture
def agent() -> Iterator[RemoteHost]:
    with remote_host("agent") as side:
        yield side


@pytest.fixture
def instance(tmp_path: Path) -> Iterator[Instance]:
    made = Instance(tmp_path)
    yield made
    made.close()


def stream_of(far: RemoteHost, path: str, window: int = 1 << 20) -> Stream:
    assert isinstance(far.dialect, AgentDialect)
    return far.dialect.stream(path, window)


def read_all(stream: Stream, size: int, seconds: float = 60.0) -> list[Batch]:
    """Batches until `size` bytes came."""
    batches: list[Batch] = []
    end = time.monotonic() + seconds
    while sum(len(c.data) for b in batches for c in b.chunks) < size and time.monotonic() < end:
        batch = stream.read(0.2)
        if batch is not None:
            batches.append(batch)
    return batches


def test_pages_come_as_they_are(agent: RemoteHost, instance: Instance) -> None:
    stream = stream_of(agent, instance.path)
    pages = {0: [os.urandom(PAGE) for _ in range(5)], 1: [bytes(PAGE) for _ in range(4)]}
    for cpu, data in pages.items():
        os.write(instance.pipes[cpu], b"".join(data))
    batches = read_all(stream, 9 * PAGE)
    for cpu, data in pages.items():
        got = b"".join(chunk.data for batch in batches for chunk in batch.chunks if chunk.cpu == cpu)
        assert got == b"".join(data)
    assert all(not chunk.text for batch in batches for chunk in batch.chunks)
    assert batches[-1].drained
    assert Path(instance.path, "buffer_percent").read_text().startswith("0")
    assert stream.read(0.05) is None
    os.write(instance.pipes[1], bytes(PAGE))
    assert read_all(stream, PAGE)


def test_an_idle_stream_costs_nothing(agent: RemoteHost, instance: Instance) -> None:
    stream = stream_of(agent, instance.path)

    def reads() -> int:
        """read(2) so far, those that found nothing too."""
        lines = Path(f"/proc/{agent.dialect.pid}/io").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("syscr:"))

    assert stream.read(0.1) is None
    before = reads()
    assert stream.read(1.0) is None
    assert reads() - before < 50, "who spins has thousands of them"
    os.write(instance.pipes[0], bytes(PAGE))
    assert read_all(stream, PAGE)


def test_poll_wakes_a_stream_not_the_clock(instance: Instance) -> None:
    stream = ring_reader.RingReader(1, instance.path.encode(), 1 << 20)
    assert stream.collect(100.0) == b""
    assert stream.epoll.poll(0) == []
    assert stream.wait(100.5) == 0.5, "the clock alone would look again in half a second"
    os.write(instance.pipes[1], bytes(PAGE))
    assert [fd for fd, _ in stream.epoll.poll()] == [stream.files[1]]
    stream.close()


def test_silence_is_asked_about_after_a_step_that_was_performed_meanwhile() -> None:
    """A read that began before the step waits for what came before it, too."""

    class Line:
        performed = 0
        asked: ClassVar[list[int]] = []

        def request(self, op: int, *fields: bytes) -> list[bytes]:
            self.asked.append(op)
            stream.put((Batch((), drained=True), 0))  # what the remote host still had
            return [b"1"]

    class Passes(queue.SimpleQueue[tuple[Batch, int] | None]):
        def get(self, block: bool = True, timeout: float | None = None) -> tuple[Batch, int] | None:
            line.performed += 1
            raise queue.Empty

    line = Line()
    stream = AgentStream(line, 1, 1 << 20)
    stream._passes = Passes()
    batch = stream.read(60.0)
    assert line.asked == [frames.SYNC]
    assert batch is not None and not batch.drained, "the next read says whether that was all"


def test_nothing_means_that_the_buffers_were_read_again_after_the_last_data(
    agent: RemoteHost, instance: Instance
) -> None:
    """A pass has younger events of one CPU than what it has not yet of another."""
    stream = stream_of(agent, instance.path)
    put, fetched = stream.put, list[Batch]()
    stream.put = lambda item: None if item is not None and not item[0].chunks else put(item)  # type: ignore[method-assign]
    os.write(instance.pipes[1], bytes(PAGE))
    while not fetched or not fetched[-1].chunks:
        fetched += [batch for batch in [stream.read(5.0)] if batch is not None]
    assert [stream.read(0.1) for _ in range(3)] == [Batch((), drained=False)] * 3
    stream.put = put  # type: ignore[method-assign]
    os.write(instance.pipes[1], bytes(PAGE))
    batch = stream.read(5.0)
    assert batch is not None and (not batch.chunks or stream.read(5.0) is None)
    stream.close()


@pytest.mark.parametrize("window", [1 << 14, 1 << 18])
def test_a_slow_reader_fills_the_buffer_there(agent: RemoteHost, instance: Instance, window: int) -> None:
    """Nobody reads, so no more than the window leaves the kernel; then everything comes, in order."""
    stream = stream_of(agent, instance.path, window)
    capacity = 1 << 16  # of a pipe
    accepted = instance.fill(0, 16 << 20)
    assert accepted <= window + capacity + 64 * PAGE
    assert accepted >= window
    # The agent still answers while the buffers are full.
    assert agent.dialect.read("/proc/version", 10)
    got = sum(len(c.data) for b in read_all(stream, accepted) for c in b.chunks)
    assert got == accepted
    more = threading.Thread(target=instance.fill, args=(1, 2 << 20))
    more.start()
    got = sum(len(c.data) for b in read_all(stream, 2 << 20) for c in b.chunks)
    more.join()
    assert got == 2 << 20


def test_requests_overtake_a_stream_that_runs(agent: RemoteHost, instance: Instance) -> None:
    stream = stream_of(agent, instance.path)
    stop = threading.Event()

    def pump() -> None:
        while not stop.is_set():
            stream.read(0.1)

    def feed() -> None:
        while not stop.is_set():
            instance.fill(0, 1 << 20)

    threads = [threading.Thread(target=pump), threading.Thread(target=feed)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        assert agent.dialect.read("/proc/uptime", 100)
    stop.set()
    for thread in threads:
        thread.join()


def test_close_from_another_thread_wakes_the_reader(agent: RemoteHost, instance: Instance) -> None:
    stream = stream_of(agent, instance.path)
    threading.Timer(0.2, stream.close).start()
    with pytest.raises(StreamClosed):
        stream.read(3600)
    stream.close()
    with pytest.raises(StreamClosed):
        stream.read(0.01)
    assert not any("trace_pipe_raw" in path for path in descriptors(agent.dialect.pid))
    assert agent.dialect.read("/proc/version", 10)


def test_a_killed_agent_is_noticed(agent: RemoteHost, instance: Instance) -> None:
    stream = stream_of(agent, instance.path)
    threading.Timer(0.2, agent.process.kill).start()
    with pytest.raises(TargetLost):
        stream.read(30)
    with pytest.raises(TargetLost):
        stream.read(30)
    with pytest.raises(TargetLost):
        agent.dialect.read("/proc/version", 10)


@pytest.mark.parametrize("shell", SHELLS)
def test_text_comes_in_whole_lines(shell: str, tmp_path: Path) -> None:
    folder = tmp_path / "it's an instance"
    folder.mkdir()
    os.mkfifo(folder / "trace_pipe")
    pipe = os.open(folder / "trace_pipe", os.O_RDWR)
    try:
        with remote_host(shell) as far:
            stream = far.dialect.stream(str(folder))
            assert stream.read(0.05) is None
            os.write(pipe, b"one\ntwo\nthr")
            batch = stream.read(60)
            assert batch is not None
            assert batch.chunks[0] == Chunk(-1, b"one\ntwo\n", text=True)
            assert stream.read(0.05) is None
            os.write(pipe, b"ee\x1b[m \xff\n")
            batch = stream.read(60)
            assert batch is not None
            assert batch.chunks[0].data == b"three\x1b[m \xff\n"
            pids = far.dialect.stream_pids()
            assert len(pids) == 3
            assert all(runs(pid) for pid in pids)
            assert Path(f"/proc/{pids[1]}/comm").read_text() == "dd\n"
            threading.Timer(0.2, stream.close).start()
            with pytest.raises(StreamClosed):
                stream.read(30)
            assert eventually(lambda: not any(runs(pid) for pid in pids))
            stream.close()
            assert far.dialect.stream_pids() == (), "another process may get these numbers"
            again = far.dialect.stream(str(folder))
            assert far.dialect.stream_pids() == again.pids
            assert far.dialect._streams == [again]
    finally:
        os.close(pipe)


@pytest.mark.parametrize("shell", SHELLS)
def test_text_waits_in_the_kernel_too(shell: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace_pipe")
    with remote_host(shell) as far:
        stream = far.dialect.stream(str(tmp_path))
        pipe = os.open(tmp_path / "trace_pipe", os.O_RDWR | os.O_NONBLOCK)
        try:
            written = 0
            end = time.monotonic() + 5
            while time.monotonic() < end:
                try:
                    written += os.write(pipe, b"x" * 99 + b"\n")
                except BlockingIOError:
                    time.sleep(0.3)
                    try:
                        os.write(pipe, b"y" * 99 + b"\n")
                        written += 100
                    except BlockingIOError:
                        break
            assert written < 1 << 20
            got = sum(len(c.data) for b in read_all(stream, written) for c in b.chunks)
            assert got == written
        finally:
            stream.close()
            os.close(pipe)


@pytest.mark.parametrize("which", [0, 1], ids=["shell", "dd"])
@pytest.mark.parametrize("shell", SHELLS)
def test_a_cut_text_stream_is_noticed(shell: str, which: int, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trace_pipe")
    pipe = os.open(tmp_path / "trace_pipe", os.O_RDWR)
    try:
        with remote_host(shell) as far:
            stream = far.dialect.stream(str(tmp_path))
            pids = far.dialect.stream_pids()
            os.kill(pids[which], signal.SIGKILL)
            if which == 0:  # dd still holds the pipe, as a far process would that nobody can reach
                os.kill(pids[1], signal.SIGKILL)
            with pytest.raises(TargetLost):
                stream.read(60)
            assert far.dialect.stream_pids() == ()
            stream.close()
            assert eventually(lambda: not any(runs(pid) for pid in pids))
    finally:
        os.close(pipe)


@pytest.mark.parametrize("shell", SHELLS)
def test_a_killed_shell_ends_the_stream_beside_it(shell: str, tmp_path: Path) -> None:
    """Also while events come, and nobody asks it for anything: nothing would be undone at the end."""
    os.mkfifo(tmp_path / "trace_pipe")
    pipe = os.open(tmp_path / "trace_pipe", os.O_RDWR)
    try:
        with remote_host(shell, silence=3600) as far:
            stream = far.dialect.stream(str(tmp_path))
            pids = far.dialect.stream_pids()
            os.kill(far.dialect.pid, signal.SIGKILL)

            def lost() -> bool:
                os.write(pipe, b"an event\n")
                try:
                    stream.read(0.1)
                except TargetLost:
                    return True
                return False

            assert eventually(lost)
            assert all(runs(pid) for pid in pids)
            assert "ended" in far.dialect.loss
            stream.close()
    finally:
        os.close(pipe)


@pytest.mark.parametrize("way", ["hurry", "lose", "close"])
def test_a_stream_that_does_not_begin_is_not_waited_for_by_who_leaves(way: str, tmp_path: Path) -> None:
    (tmp_path / "trace_pipe").touch()
    asleep = spawn(["sleep", "1000"])
    with remote_host("dash") as far, ThreadPoolExecutor(1) as pool:
        far.dialect._another = lambda: asleep  # type: ignore[union-attr]
        begun = pool.submit(far.dialect.stream, str(tmp_path))
        assert eventually(lambda: asleep.stdin is not None and _holds_bytes(asleep.stdin.fileno()))
        if way == "hurry":
            far.dialect.set_deadline(time.monotonic())
        elif way == "lose":
            far.dialect.lose("given up")
        else:
            far.dialect.close()
        with pytest.raises(TargetLost, match="before the remote host began to read"):
            begun.result(30)  # not the minute that a shell may take to begin
        assert asleep.poll() is not None


def _holds_bytes(pipe: int) -> bool:
    """Whether somebody has written into a pipe what nobody has read."""
    held = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
    return int.from_bytes(held, sys.byteorder) > 0


def test_nothing_means_nothing_after_an_effect(agent: RemoteHost, instance: Instance, tmp_path: Path) -> None:
    """Once a probe is switched off, the first silence has to say that all its events are here."""
    (tmp_path / "enable").write_text("1")
    stream = stream_of(agent, instance.path)
    for _ in range(20):
        os.write(instance.pipes[0], bytes(PAGE))  # comes in a pass of its own: the agent looks 30 times a second
        agent.dialect.perform(Step(Effect.WRITE, str(tmp_path / "enable"), b"0"))
        got = 0
        while (batch := stream.read(0.0)) is not None:
            got += sum(len(chunk.data) for chunk in batch.chunks)
            if batch.drained:
                break
        assert got == PAGE


@pytest.mark.parametrize("kind", KINDS)
def test_a_pump_ends_with_the_target_that_is_closed_under_it(kind: str, instance: Instance, tmp_path: Path) -> None:
    """Else its thread would read what is closed, again and again."""
    os.mkfifo(tmp_path / "trace_pipe")
    pipe = os.open(tmp_path / "trace_pipe", os.O_RDWR)
    try:
        with remote_host(kind) as far:
            pump = Pump(far.dialect.stream(instance.path))
            pump.start()
            far.dialect.close()
            assert eventually(lambda: pump.done)
            pump.close()
    finally:
        os.close(pipe)


def test_an_agent_whose_line_takes_nothing_any_more_undoes(instance: Instance, tmp_path: Path) -> None:
    """As where the network is gone: the buffers on the way are full, and nobody hears that it can't be written."""
    log = tmp_path / "log"
    log.write_text("")
    process = spawn(["sh"])
    try:
        boot_agent(process, lambda program: f'exec python3 -I -S -c "{program}"')
        assert process.stdin is not None and process.stdout is not None
        assert process.stdout.read(100), "its hello; then nobody reads any more"
        for request in (
            frames.frame(1, frames.PING, b"1"),
            frames.frame(2, frames.GUARD, b"write", os.fsencode(log), b"undone", b""),
            frames.frame(3, frames.STREAM, os.fsencode(instance.path), b"%d" % (1 << 20)),
        ):
            process.stdin.write(request)
        instance.fill(0, 1 << 20)
        assert eventually(lambda: log.read_text() == "undone")
    finally:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("argv", [["true"], ["sleep", "1000"]])
def test_a_shell_that_does_not_begin_to_read_is_told_and_ended(
    argv: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the ssh server allows no second session, or the machine hangs."""
    monkeypatch.setattr("kernel.remote.protocol.text_stream._PATIENCE", 0.1)
    process = spawn(argv)
    if argv == ["true"]:
        process.wait()  # there is nobody to write to
    with pytest.raises(TargetLost, match="could not start to read trace_pipe") as caught:
        TextStream(process, "/nowhere")
    assert "MaxSessions" in caught.value.remedy
    assert process.poll() is not None
