"""The call graph, on a recording of the function_graph tracer."""

from __future__ import annotations

from screenshots.play import recorded_events
from screenshots.stage import Stage


async def play_graph(stage: Stage) -> None:
    """The tree of calls around a slow read, and where the time went."""
    await recorded_events(stage)
    app = stage.app
    await stage.until(lambda: app.planner is not None and app.planner.info.symbols.loaded, "no symbols")
    await stage.press("g")
    await stage.sees("calls")
    await stage.press("space", "home", "slash")
    await stage.type("vfs_read")
    await stage.press("enter", "n", "escape")
    await stage.sees("vfs_read(file=")
    stage.save("graph")
    await stage.press("h")
    await stage.sees("p99")
    await stage.until(lambda: "vfs_" in stage.text or "_" in stage.text, "no hot spots")
    stage.save("hot")
