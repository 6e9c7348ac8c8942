"""The pump, and the local stream below it: FIFOs stand in for trace_pipe_raw."""

import contextlib
import gc
import os
import threading
import time
import weakref
from pathlib import Path

import pytest

from events.batch import Batch, Chunk
from kernel.errors import FileRefused, StreamClosed, TargetLost
from kernel.local.stream import LocalStream
from kernel.local.target import LocalTarget
from kernel.pump import Pump
from kernel.target import Effect, Step
from tests.descriptors import descriptors
from tests.fake_target import HEADER_PAGE, FakeStream

PAGE = 4096


def batch(byte: bytes, pages: int = 1, drained: bool = True) -> Batch:
    return Batch((Chunk(0, byte * (PAGE * pages)),), drained)


def test_what_comes_in_goes_out_in_order():
    stream = FakeStream([batch(b"a"), batch(b"b"), Batch((), True), batch(b"c")])
    pump = Pump(stream)
    others = set(threading.enumerate())
    pump.start()
    assert pump.settle(60)
    assert [found.chunks[0].data[:1] for found in pump.drain()] == [b"a", b"b", b"c"]
    assert pump.drain() == []
    assert pump.received_bytes == 3 * PAGE
    assert (pump.dropped_bytes, pump.dropped_events) == (0, 0)
    pump.close()
    assert stream.closed.is_set()
    assert set(threading.enumerate()) <= others
    assert pump.error is None
    pump.close()


def test_a_full_queue_drops_the_oldest_and_counts_them():
    pump = Pump(FakeStream([batch(bytes([65 + n]), 2) for n in range(10)]), limit_bytes=5 * PAGE)
    pump.events_in = lambda chunk: 3
    pump.start()
    assert pump.settle(60)
    found = pump.drain()
    assert [one.chunks[0].data[:1] for one in found] == [b"I", b"J"]
    assert sum(len(one.chunks[0].data) for one in found) <= 5 * PAGE
    assert pump.dropped_events == 8 * 3
    assert pump.dropped_bytes + sum(len(one.chunks[0].data) for one in found) == pump.received_bytes
    pump.close()


def test_a_part_is_drained_and_the_rest_stays_in_order():
    pump = Pump(FakeStream([batch(bytes([65 + n])) for n in range(6)]), limit_bytes=6 * PAGE)
    pump.start()
    assert pump.settle(60)
    parts = [[found.chunks[0].data[:1] for found in pump.drain(2 * PAGE)] for _ in range(4)]
    assert parts == [[b"A", b"B"], [b"C", b"D"], [b"E", b"F"], []]
    pump.close()


class Broken(FakeStream):
    def __init__(self, error: Exception) -> None:
        super().__init__([batch(b"a")])
        self.error = error

    def read(self, timeout: float) -> Batch | None:
        if not self.batches:
            raise self.error
        return super().read(timeout)


@pytest.mark.parametrize("error", [TargetLost("the connection was lost"), ZeroDivisionError("a bug")])
def test_a_lost_target_is_reported_after_what_came_before(error):
    pump = Pump(Broken(error))
    pump.start()
    deadline = time.monotonic() + 60
    while not pump.done and time.monotonic() < deadline:
        time.sleep(0.005)
    assert isinstance(pump.error, TargetLost)
    assert len(pump.drain()) == 1
    assert not pump.wait(60)
    assert pump.settle(0.1)  # nothing more can come
    pump.close()


def test_wait_ends_when_something_comes():
    stream = FakeStream()
    pump = Pump(stream)
    pump.start()
    assert not pump.wait(0.05)
    stream.batches.append(batch(b"a"))
    assert pump.wait(60)
    pump.close()
    assert pump.wait(60)


@pytest.fixture
def instance(tmp_path):
    (tmp_path / "events").mkdir()
    (tmp_path / "events/header_page").write_text(HEADER_PAGE)
    (tmp_path / "tracing_on").write_text("1")
    for cpu in (0, 1, 10):
        (tmp_path / f"per_cpu/cpu{cpu}").mkdir(parents=True)
        os.mkfifo(tmp_path / f"per_cpu/cpu{cpu}/trace_pipe_raw")
    return tmp_path


def writer(instance: Path, cpu: int) -> int:
    return os.open(instance / f"per_cpu/cpu{cpu}/trace_pipe_raw", os.O_RDWR | os.O_NONBLOCK)


def test_local_stream_reads_whole_sub_buffers_of_all_cpus(instance):
    fds = {cpu: writer(instance, cpu) for cpu in (0, 1, 10)}
    stream = LocalStream(str(instance))
    assert stream.read(0.01) is None
    os.write(fds[0], b"a" * PAGE * 2)
    os.write(fds[10], b"b" * PAGE)
    found = stream.read(60)
    assert found == Batch((Chunk(0, b"a" * PAGE * 2), Chunk(10, b"b" * PAGE)), True)
    stream.close()
    with pytest.raises(StreamClosed):
        stream.read(60)
    stream.close()


def test_a_pass_is_bounded_however_much_comes(instance):
    fd = writer(instance, 0)
    stop = threading.Event()

    def feed() -> None:
        while not stop.is_set():
            try:
                os.write(fd, b"x" * PAGE)
            except BlockingIOError:
                time.sleep(0)

    feeder = threading.Thread(target=feed)
    feeder.start()
    stream = LocalStream(str(instance))
    try:
        sizes = [sum(len(c.data) for c in found.chunks) for _ in range(5) if (found := stream.read(60))]
        assert max(sizes) <= 1 << 20
    finally:
        stop.set()
        feeder.join()
        stream.close()


def test_close_wakes_a_waiting_read(instance):
    keep = writer(instance, 0), writer(instance, 1), writer(instance, 10)
    stream = LocalStream(str(instance))

    def wait() -> None:
        with contextlib.suppress(StreamClosed):
            stream.read(3600)

    reader = threading.Thread(target=wait)
    reader.start()
    time.sleep(0.1)  # so that it waits; if it came too late it ends as well
    stream.close()
    reader.join()
    assert keep


def test_few_passes_for_many_small_pieces(instance):
    fd = writer(instance, 0)
    stream = LocalStream(str(instance))
    pump = Pump(stream)
    pump.start()
    began = time.monotonic()
    for _ in range(300):
        os.write(fd, b"x" * 64)
        time.sleep(0.001)
    seconds = time.monotonic() - began
    assert pump.settle(60)
    assert len(pump.drain()) < 10 + seconds / 0.02
    assert pump.received_bytes == 300 * 64
    pump.close()


def test_a_cpu_without_a_buffer_is_no_busy_loop(instance):
    # The last writer is gone: poll says POLLHUP at once, as it says POLLERR for a CPU that never was online.
    os.close(writer(instance, 0))
    keep = writer(instance, 1), writer(instance, 10)
    hung = os.open(instance / "per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)
    stream = LocalStream(str(instance))
    os.close(writer(instance, 0))
    calls = 0
    began = time.monotonic()
    while time.monotonic() - began < 0.5:
        stream.read(0.1)
        calls += 1
    assert calls < 20
    os.write(keep[0], b"y" * PAGE)
    found = stream.read(60)
    assert found is not None
    assert found.chunks[0].cpu == 1
    stream.close()
    os.close(hung)


def test_a_missing_instance_is_a_refusal(tmp_path):
    with pytest.raises(FileRefused):
        LocalStream(str(tmp_path / "none"))
    assert not any(str(tmp_path) in path for path in descriptors())


def test_a_target_does_not_keep_streams_that_are_closed(instance):
    target = LocalTarget()
    gone = weakref.ref(stream := target.stream(str(instance)))
    stream.close()
    del stream
    target.stream(str(instance))
    gc.collect()
    assert gone() is None
    target.close()


def test_two_that_close_at_once_close_each_file_once(tmp_path, monkeypatch):
    target = LocalTarget()
    for name in ("one", "two"):
        (tmp_path / name).touch()
        target.hold(str(tmp_path / name))
    closed: list[int] = []
    close = os.close

    def meanwhile(fd: int) -> None:
        closed.append(fd)
        close(fd)
        if len(closed) == 1:
            target.close()

    with monkeypatch.context() as patch:
        patch.setattr("kernel.local.target.os.close", meanwhile)
        target.close()
    assert len(closed) == len(set(closed)) == 2


def test_local_target_holds_until_its_folder_goes(tmp_path):
    target = LocalTarget()
    folder = str(tmp_path / "one")
    target.perform(Step(Effect.MKDIR, folder))
    with open(f"{folder}/tracing_on", "w") as file:
        file.write("1")
    target.hold(f"{folder}/tracing_on")
    assert [path for path in descriptors() if folder in path] == [f"{folder}/tracing_on"]
    target.perform(Step(Effect.APPEND, f"{folder}/tracing_on", b"2"))
    assert target.read(f"{folder}/tracing_on") == b"12"
    target.perform(Step(Effect.WRITE, f"{folder}/tracing_on", b"3"))
    assert target.read(f"{folder}/tracing_on") == b"3"
    assert target.read(f"{folder}/tracing_on", 0) == b""
    os.unlink(f"{folder}/tracing_on")
    target.perform(Step(Effect.RMDIR, folder))
    assert not any(folder in path for path in descriptors())
    with pytest.raises(FileRefused) as caught:
        target.list(folder)
    assert caught.value.path == folder
    assert threading.get_native_id() in target.our_pids()
    target.close()


def test_a_read_that_ended_before_says_nothing_of_the_buffers_now():
    pump = Pump(FakeStream([]))
    pump._thread = threading.current_thread()  # between two reads
    pump._take(None, 0)
    assert not pump.settle(0.01)


class FarAway(FakeStream):
    """Has an event on its way, which comes once the host has been asked and lets it go."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked = False
        self.answers = threading.Event()

    def require_answer(self) -> bool:
        self.asked = True
        return True

    def read(self, timeout: float) -> Batch | None:
        if not self.asked:
            return super().read(min(timeout, 0.01))
        if not self.answers.wait(0.01):
            return Batch((), drained=False)
        self.asked = False
        return batch(b"z")


def test_a_remote_host_is_asked_before_its_buffers_count_as_empty():
    stream = FarAway()
    pump = Pump(stream)
    pump.start()
    assert not pump.settle(0.1)
    stream.answers.set()
    assert pump.settle(60)
    assert {found.chunks[0].data[:1] for found in pump.drain() if found.chunks} == {b"z"}
    pump.close()


def test_a_host_from_which_nothing_comes_is_waited_for():
    stream = FarAway()
    pump = Pump(stream)
    pump.start()
    later = threading.Timer(0.3, stream.answers.set)
    later.start()
    assert pump.settle(0.1, patience=60) or pump.settle(60)
    assert {found.chunks[0].data[:1] for found in pump.drain() if found.chunks} == {b"z"}
    later.join()
    pump.close()


def test_a_read_that_began_before_a_host_was_asked_proves_nothing():
    pump = Pump(FarAway())
    pump._thread = threading.current_thread()  # a read is running
    assert not pump.settle(0.01)
    pump._take(None, 0)
    assert pump._quiet < pump._reads
    pump._take(None, 1)
    assert pump._quiet == pump._reads
