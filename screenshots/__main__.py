"""`make screenshots`: pictures of the real application on the shipped recording, as SVG (PNG with `--png FOLDER`)."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path

from kernel.connection.open_target import shipped_recording
from screenshots.offered import fictitious_machine
from screenshots.play import play
from screenshots.play_graph import play_graph
from screenshots.play_lab import lab_pictures
from screenshots.play_views import (
    play_comparison,
    play_failures,
    play_latencies,
    play_numbers,
    play_references,
    play_stacks,
)
from screenshots.stage import Stage
from tests.trimmed_recordings import DATA, graph_recording, stack_recording
from tui.app.app import Probewright
from tui.opening import Opening

HERE = Path(__file__).parent
SIZES = {(120, 40): HERE, (80, 24): HERE / "80x24", (200, 60): HERE / "200x60"}


async def take(
    size: tuple[int, int], folder: Path, recording: object, played: Callable[[Stage], Coroutine[None, None, None]]
) -> list[Path]:
    """All pictures of one size that are played on one recording."""
    folder.mkdir(exist_ok=True)
    opening = Opening(str(recording))
    opening.start()
    app = Probewright(opening)
    app.theme = "textual-dark"
    async with app.run_test(size=size, notifications=False) as pilot:
        stage = Stage(pilot, app, folder)
        await played(stage)
        return stage.saved


def pictures(size: tuple[int, int], folder: Path) -> list[Path]:
    """All of one size, each part on its recording."""
    saved = asyncio.run(take(size, folder, shipped_recording(), play))
    with tempfile.TemporaryDirectory() as temporary:
        other = stack_recording(Path(temporary, "after.pwr"), DATA / "compare-b.pwr")
        for name, make, played in (
            ("graph", graph_recording, play_graph),
            ("failures", partial(graph_recording, kernel="failures"), play_failures),
            ("stacks", stack_recording, play_stacks),
            ("latencies", partial(stack_recording, data=DATA / "latencies.pwr"), play_latencies),
            ("references", partial(stack_recording, data=DATA / "references-7.2.pwr"), play_references),
            ("before", partial(stack_recording, data=DATA / "compare-a.pwr"), partial(play_comparison, other=other)),
            ("numbers", partial(stack_recording, data=DATA / "monitors-7.2.pwr"), play_numbers),
        ):
            recording = make(Path(temporary, f"{name}.pwr"))
            saved += asyncio.run(take(size, folder, recording, played))
    return saved


def convert(saved: list[Path], folder: Path) -> None:
    """PNG of each picture, where rsvg-convert is installed."""
    if shutil.which("rsvg-convert") is None:
        print("no rsvg-convert: no PNG")
        return
    for path in saved:
        target = folder / path.relative_to(HERE).with_suffix(".png")
        target.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["rsvg-convert", "--zoom", "1", "-o", str(target), str(path)], check=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m screenshots")
    parser.add_argument("--lab", action="store_true", help="boot guests for the views that no recording holds, too")
    parser.add_argument("--png", type=Path, metavar="FOLDER", help="write PNG there too")
    arguments = parser.parse_args()
    with fictitious_machine():
        saved = [path for size, folder in SIZES.items() for path in pictures(size, folder)]
    if arguments.lab:
        saved += [path for size, folder in SIZES.items() for path in asyncio.run(lab_pictures(size, folder / "lab"))]
    for path in saved:
        print(f"{path.stat().st_size >> 10:5} KiB  {path.relative_to(HERE.parent)}")
    if arguments.png:
        convert(saved, arguments.png)
    return 0


if __name__ == "__main__":
    sys.exit(main())
