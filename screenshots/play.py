"""Play the scenes of the pictures on the shipped recording, from the name of a function to its events."""

from __future__ import annotations

from screenshots.stage import Stage
from tui.live.screen import LiveScreen


async def play(stage: Stage) -> None:
    """All pictures of one size, in the order in which one meets them."""
    await recorded_events(stage)
    await functions(stage)
    await signature(stage)
    await refusal(stage)
    await unprobeable(stage)
    await live(stage)
    await calls(stage)
    await details(stage)
    await summary(stage)
    await by_key(stage)
    await timeline(stage)
    await presets(stage)
    await targets(stage)
    await help_of_place(stage)


async def recorded_events(stage: Stage) -> None:
    """The recording shows what it holds; its end is the beginning here."""
    app = stage.app
    await stage.until(lambda: app.current_watch is not None and app.current_watch.ended, "the recording does not end")
    await stage.until(lambda: isinstance(app.screen, LiveScreen), "no live place")


async def functions(stage: Stage) -> None:
    await stage.press("f2")
    await stage.sees("functions")
    await stage.type("vfs_re")
    await stage.sees("vfs_readlink")
    stage.save("functions")


async def signature(stage: Stage) -> None:
    """`file->f_pos`, `count` and `$retval` at the exit of vfs_read, and the lines for the kernel."""
    await stage.press("enter")
    await stage.sees("ssize_t vfs_read")
    await stage.type("x3")
    await stage.press("right")
    await stage.sees("->f_mode")
    await stage.type("/f_pos")
    await stage.press("enter")
    await stage.type("l")
    await stage.sees("f_pos=file->f_pos")
    stage.save("signature")


async def refusal(stage: Stage) -> None:
    """A filter on a field that is not recorded: the error under its token, with the nearest name."""
    await stage.type("f")
    await stage.type("f_poss > 512")
    await stage.press("enter")
    await stage.sees("did you mean")
    stage.save("error")
    await stage.press("f6", "tab")
    await stage.sees("if f_pos > 512")


async def unprobeable(stage: Stage) -> None:
    """A function that the compiler has made another of."""
    await stage.press("f2", "escape")
    await stage.type("finish_task_swi")
    await stage.sees("the compiler made")
    await stage.press("enter")
    await stage.sees("struct rq *finish_task_switch")
    stage.save("unprobeable")


async def live(stage: Stage) -> None:
    await stage.press("f3")
    await stage.sees("■")
    stage.save("live")


async def calls(stage: Stage) -> None:
    """Show the values that each call changed between its entry and its exit."""
    await stage.press("x")
    await stage.sees(" pairs")
    await stage.sees("4096  count")
    stage.save("calls")
    await stage.press("e")
    await stage.sees("■")


async def details(stage: Stage) -> None:
    """The newest event with a text in it, by search."""
    await stage.type("/")
    await stage.type("kallsyms")
    await stage.press("enter")
    await stage.sees("▌")
    await stage.press("enter")
    await stage.sees("latency")
    await stage.press("end", "up")
    stage.save("details")
    await stage.press("escape", "escape", "space")


async def summary(stage: Stage) -> None:
    """Latencies of pairs, the names that were opened, processes."""
    await stage.press("s")
    await stage.sees(" events")
    await stage.type("vvvv")
    await stage.sees("filename")
    stage.save("summary")
    await stage.press("e")


async def by_key(stage: Stage) -> None:
    """Results of reads by process."""
    await stage.press("y")
    await stage.sees("by key")
    stage.save("by-key")
    await stage.press("e")


async def timeline(stage: Stage) -> None:
    """All events by time, an interval of it selected."""
    await stage.press("l")
    await stage.sees("by event")
    await stage.press("home", *["n"] * 12, *["shift+right"] * 5)
    await stage.sees("selected")
    stage.save("timeline")
    await stage.press("0", "e")
    await stage.sees("■")


async def presets(stage: Stage) -> None:
    """Presets by question, ranked by a word of it."""
    await stage.press("f5")
    await stage.sees("exec-arguments")
    await stage.type("open")
    await stage.sees("slow-opens")
    stage.save("presets")
    await stage.press("escape")


async def targets(stage: Stage) -> None:
    await stage.press("f4")
    await stage.sees("other: ssh://")
    await stage.press("home")
    await stage.sees("way out")
    stage.save("targets")
    await stage.press("escape")


async def help_of_place(stage: Stage) -> None:
    await stage.press("f1")
    await stage.sees("esc closes")
    stage.save("help")
    await stage.press("escape")
