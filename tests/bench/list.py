"""`probewright list --limit 0` on the shipped recording, beside bpftool's raw dump of the same types."""

from __future__ import annotations

import subprocess
import sys

from kernel.connection.open_target import open_target, shipped_recording
from tests.bench._bpftool import raw_dump
from tests.bench._measure import Figure, Part, Row, Used, interleaved, run_child

SECONDS = Figure("list of all functions", "s of CPU", most=0.6, digits=2)
RATIO = Figure("list of all functions / bpftool raw to a file", "x", most=4.5, digits=2)
"""0.6 s beside the 135 to 177 ms that bpftool takes on quiet machines."""


def measured() -> list[Row]:
    """Ours and bpftool in turn."""
    shipped = str(shipped_recording())
    command = [sys.executable, "-m", "tui", "list", "--limit", "0", "--target", shipped]
    lines = subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.count(b"\n")
    used: list[Used] = []

    def timer() -> float:
        used.append(run_child(command, stdout=subprocess.DEVNULL))
        return used[-1].cpu

    with raw_dump(open_target(shipped).btf()) as peer:
        if peer is None:
            (own,) = interleaved(timer)
            ratio = RATIO.missing("no bpftool here")
        else:
            own, other = interleaved(timer, peer[1])
            ratio = RATIO.of(own.over(other), f"beside {other.median * 1e3:.0f} ms")
    wall = min(one.wall for one in used)
    return [SECONDS.of(own, f"{lines:,} functions, {wall:.2f} s of the wall at best"), ratio]


PARTS = (Part("recording", (SECONDS, RATIO), measured),)
