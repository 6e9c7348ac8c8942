"""First paint with the function list ready, against the smallest Textual application; idle CPU.

Both are whole processes in a pty of their own, in turn, from exec to the bytes that a person would see.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from tests.terminal import Terminal

PEER = [sys.executable, str(Path(__file__).with_name("_minimal_app.py"))]
OURS = [sys.executable, "-m", "tui"]
ROUNDS = 9


def _paint(command: list[str], marker: bytes) -> float:
    terminal = Terminal(command)
    try:
        return terminal.wait_for(marker)
    finally:
        terminal.close()


def _idle(seconds: float = 5.0) -> float:
    terminal = Terminal(OURS)
    try:
        terminal.wait_for(b" of ")
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
    ratios, ours, peers = [], [], []
    for _ in range(ROUNDS):
        peer = _paint(PEER, b"peer-is-painted")
        our = _paint(OURS, b" of ")
        ours.append(our)
        peers.append(peer)
        ratios.append(our / peer)
    ratio = statistics.median(ratios)
    figure = f"{statistics.median(ours) * 1e3:.0f} ms / {statistics.median(peers) * 1e3:.0f} ms = {ratio:.2f} x"
    idle = _idle()
    return [
        ("first paint, functions ready / smallest Textual app", figure, "<= 1.5 x", ratio <= 1.5),
        ("idle CPU over 5 s", f"{idle * 100:.1f} %", "0 % (< 0.5 %)", idle < 0.005),
    ]
