"""First paint with the function list ready, against the smallest Textual application; idle CPU.

Both are whole processes in a pty of their own, in turn, from exec to the bytes that a person would see.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from events.recording import Recording, RecordingWriter
from kernel.open import open_target, shipped_recording
from kernel.recording import FACT_BLOBS
from tests.terminal import Terminal

PEER = [sys.executable, str(Path(__file__).with_name("_minimal_app.py"))]
ROUNDS = 9


def _paint(command: list[str], marker: bytes) -> float:
    terminal = Terminal(command)
    try:
        return terminal.wait_for(marker)
    finally:
        terminal.close()


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


def _idle(command: list[str], marker: bytes, seconds: float = 5.0) -> float:
    terminal = Terminal(command)
    try:
        terminal.wait_for(marker)
        end = time.perf_counter() + 3
        while time.perf_counter() < end:
            terminal.read(0.1)
        before = terminal.cpu_seconds()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end:
            terminal.read(0.1)
        return (terminal.cpu_seconds() - before) / seconds
    finally:
        terminal.close()


def run() -> list[tuple[str, str, str, bool]]:
    with tempfile.TemporaryDirectory() as folder:
        path, functions = facts_only(folder)
        return _measure([sys.executable, "-m", "tui", path], f"{functions:,}".encode())


def _measure(command: list[str], marker: bytes) -> list[tuple[str, str, str, bool]]:
    ratios, ours, peers = [], [], []
    for _ in range(ROUNDS):
        peer = _paint(PEER, b"peer-is-painted")
        our = _paint(command, marker)
        ours.append(our)
        peers.append(peer)
        ratios.append(our / peer)
    ratio = statistics.median(ratios)
    figure = f"{statistics.median(ours) * 1e3:.0f} ms / {statistics.median(peers) * 1e3:.0f} ms = {ratio:.2f} x"
    idle = _idle(command, marker)
    return [
        ("first paint, functions ready / smallest Textual app", figure, "<= 1.5 x", ratio <= 1.5),
        ("idle CPU over 5 s", f"{idle * 100:.1f} %", "0 % (< 0.5 %)", idle < 0.005),
    ]
