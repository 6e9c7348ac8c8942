"""First paint and first event row, against the smallest Textual application; idle CPU.

All are whole processes in a pty of their own, in turn, from exec to the bytes that a person would see.
"""

from __future__ import annotations

import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

from events.batch import Batch
from events.decode import Decoder
from events.recording.reader import Recording, RecordingWriter
from events.store.store import Store
from kernel.connection.open_target import open_target, shipped_recording
from kernel.local.target import LocalTarget
from kernel.recording.target import FACT_BLOBS
from tests.bench._measure import ROUNDS, Figure, Part, Row, Spread, Timer, interleaved
from tests.terminal import Terminal

PEER = [sys.executable, str(Path(__file__).with_name("_minimal_app.py"))]
APPLICATION = [sys.executable, "-m", "tui"]
IDLE_AFTER, IDLE_FOR = 3.0, 2.0
"""Seconds."""

FIRST = Figure("first paint, functions ready / smallest Textual app", "x", most=1.5, digits=2)
ROW = Figure("first event row / smallest Textual app", "x", most=2.5, digits=2)
IDLE = Figure(f"idle, {IDLE_FOR:.0f} s each round", "% of a core", most=0.5, digits=2)


def until(command: list[str], marker: re.Pattern[bytes], used: list[float]) -> Timer:
    """A timer from exec to the first bytes on the screen that match; `used` gets the seconds of CPU until then."""

    def timer() -> float:
        terminal = Terminal(command)
        try:
            end = terminal.started + 60
            while not marker.search(terminal.output):
                if time.perf_counter() > end:
                    raise TimeoutError(f"{marker.pattern!r} not seen in {terminal.output[-2000:]!r}")
                terminal.read(0.2)
            used.append(terminal.cpu_seconds())
            return time.perf_counter() - terminal.started
        finally:
            terminal.close()

    return timer


def facts_only(folder: str) -> tuple[str, int]:
    """The shipped recording without its events, as a file that opens at the functions, and how many those are."""
    shipped = shipped_recording()
    assert shipped is not None
    recording = Recording.open(shipped)
    path = f"{folder}/facts.pwr"
    with open(path, "wb") as file:
        writer = RecordingWriter(file)
        writer.meta({"facts": recording.facts})
        for kind, name in (*(("facts", name) for name in FACT_BLOBS), ("btf", ""), ("symbols", "")):
            writer.blob(kind, name, recording.blob(kind, name) or b"")
        writer.close()
    names = {line.split()[0] for line in open_target(path).facts().functions}
    return path, len(names)


def task_names(path: Path) -> re.Pattern[bytes]:
    """`comm-pid` of the tasks of a recording's events: text that stands in their rows alone."""
    recording = Recording.open(path)
    store = Store(Decoder(recording.formats, recording.header), 1 << 40)
    store.task_names.known = recording.cmdlines
    for batch in recording.batches():
        store.feed(Batch(batch.chunks, True))
    store.flush()
    records = map(store.record, range(store.first_seq, store.next_seq))
    tasks = sorted({f"{record.comm}-{record.pid}" for record in records})
    return re.compile(b"|".join(re.escape(task.encode()) + rb"\b" for task in tasks))


def without_arguments() -> tuple[list[str], str]:
    """The command that opens the shipped recording, and a note where that takes an argument here."""
    trouble = any(trouble.fatal for trouble in LocalTarget().facts().troubles)
    if trouble:
        return APPLICATION, ""
    return [*APPLICATION, "--target", str(shipped_recording())], "with --target: this kernel can be probed"


def beside(figure: Figure, command: list[str], marker: re.Pattern[bytes], note: str = "") -> list[Row]:
    """Ours and the peer in turn."""
    own_cpu: list[float] = []
    peer_cpu: list[float] = []
    own, peer = interleaved(until(command, marker, own_cpu), until(PEER, re.compile(b"peer-is-painted"), peer_cpu))
    cpu = statistics.median(own_cpu) / statistics.median(peer_cpu)
    times = f"{own.median * 1e3:.0f} ms beside {peer.median * 1e3:.0f} ms, CPU {cpu:.2f} x"
    return [figure.of(own.over(peer), f"{times} {note}".rstrip())]


def first() -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        path, functions = facts_only(folder)
        return beside(FIRST, [*APPLICATION, path], re.compile(f"{functions:,}".encode()))


def row() -> list[Row]:
    shipped = shipped_recording()
    assert shipped is not None
    command, note = without_arguments()
    return beside(ROW, command, task_names(shipped), note)


def idle() -> list[Row]:
    """CPU of a screen on which nothing changes, in five rounds of the same application."""
    with tempfile.TemporaryDirectory() as folder:
        path, functions = facts_only(folder)
        terminal = Terminal([*APPLICATION, path])
        try:
            terminal.wait_for(f"{functions:,}".encode())
            watch(terminal, IDLE_AFTER)
            return [IDLE.of(Spread(tuple(share(terminal) * 100 for _ in range(ROUNDS))))]
        finally:
            terminal.close()


def share(terminal: Terminal) -> float:
    """Of a core, in a while."""
    before, began = terminal.cpu_seconds(), time.perf_counter_ns()
    watch(terminal, IDLE_FOR)
    return (terminal.cpu_seconds() - before) / (time.perf_counter_ns() - began) * 1e9


def watch(terminal: Terminal, seconds: float) -> None:
    """Take what it paints."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        terminal.read(0.1)


PARTS = (Part("first", (FIRST,), first), Part("row", (ROW,), row), Part("idle", (IDLE,), idle))
