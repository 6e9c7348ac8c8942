"""Views that need other recordings than the one that ships: first failures, stacks, monitored numbers."""

from __future__ import annotations

from screenshots.play import recorded_events
from screenshots.stage import Stage


async def play_failures(stage: Stage) -> None:
    """Functions that returned an error first, by number of failed calls, and the chain of one of them."""
    await recorded_events(stage)
    app = stage.app
    await stage.until(lambda: app.planner is not None and app.planner.info.loaded_symbols, "no symbols")
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
    await stage.sees("vm_event_states")
    stage.save("numbers")
