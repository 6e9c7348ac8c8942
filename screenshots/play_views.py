"""Views that need other recordings than the one that ships: first failures, stacks, monitored numbers and others."""

from __future__ import annotations

from pathlib import Path

from textual.widgets import Input

from screenshots.play import recorded_events
from screenshots.stage import Stage
from tui.app.app import Probewright
from tui.dialogs.target_screen import TargetScreen


async def play_failures(stage: Stage) -> None:
    """Functions that returned an error first, by number of failed calls, and the chain of one of them."""
    await recorded_events(stage)
    app = stage.app
    await stage.until(lambda: app.planner is not None and app.planner.info.symbols.loaded, "no symbols")
    await stage.press("E")
    await stage.sees("fifo_open")
    stage.save("failures")
    await stage.press("enter")
    await stage.sees("first:")
    stage.save("chain")


async def play_stacks(stage: Stage) -> None:
    """The flame graph of all stacks."""
    await recorded_events(stage)
    await stage.press("F")
    await stage.sees("events in")
    await stage.press(*["down"] * 4)
    stage.save("stacks")


async def play_latencies(stage: Stage) -> None:
    """Latencies of timers by CPU, and what interrupted."""
    await recorded_events(stage)
    await stage.press("J")
    await stage.sees("thread")
    stage.save("latencies")


async def play_numbers(stage: Stage) -> None:
    """Numbers that were sampled beside a probe."""
    await recorded_events(stage)
    await stage.press("I")
    await stage.sees("LT] CPU 0")
    stage.save("numbers")


async def play_references(stage: Stage) -> None:
    """References that were not put, and the gets and puts of an object."""
    await recorded_events(stage)
    app = stage.app
    await stage.until(lambda: app.planner is not None and app.planner.info.symbols.loaded, "no symbols")
    await stage.press("R")
    await stage.until(lambda: _note(app).startswith("238 objects"), "not all objects")
    await stage.press("home")
    stage.save("references")
    await stage.press("enter")
    await stage.sees("get fget_raw")
    stage.save("reference")


async def play_comparison(stage: Stage, other: Path) -> None:
    """Changes from one recording to another, and the values of one field in both."""
    await recorded_events(stage)
    await stage.press("U")
    await stage.sees("no recording to compare with was chosen")
    await stage.press("O")
    await stage.until(lambda: isinstance(stage.app.screen, TargetScreen), "no choice of recordings")
    await stage.press("slash")  # the first letter of the path, which goes from the list to the line
    await stage.until(lambda: isinstance(stage.app.focused, Input), "no line for a path")
    await stage.paste(str(other.absolute()).removeprefix("/"))
    await stage.press("enter")
    await stage.sees(f"B is {other.name}")
    stage.save("compare")
    await stage.press("down", "enter")
    await stage.sees("logarithmic bars")
    stage.save("distributions")


def _note(app: Probewright) -> str:
    """The text about the view that is shown, whole also where the line above it is too short."""
    live = app.places.live
    assert live is not None
    return live.status.line.state.note
