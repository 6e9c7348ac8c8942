"""A line that is cut while the application is on the screen: said, tried again by itself and by hand, and back."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from textual.pilot import Pilot

from events.store.outage_mark import OUTAGE_EVENT
from kernel.connection.kernel_info import KernelInfo
from kernel.errors import ConnectionGone, TargetLost, TargetUnusable
from kernel.graph.watch import graph_watch
from kernel.watch import reconnect
from probes.plans.graph_plan import GraphPlan
from tests.interface.widget_host import screen_text, until
from tests.pure.kernel.test_ssh_reconnect import Side
from tests.pure.kernel.test_watch import Anything, id_of, probe
from tests.pure.remote_hosts import eventually
from tui.app.app import Probewright
from tui.opening import Opening
from widgets.dialogs.error_dialog import ErrorDialog

SIZE = (80, 24)


class Opened(Opening):
    """A target that is open already."""

    def __init__(self, side: Side) -> None:
        super().__init__("ssh://box")
        self._side = side

    def run(self) -> None:
        self._info = KernelInfo(self._side.target)


@asynccontextmanager
async def live(side: Side) -> AsyncIterator[tuple[Probewright, Pilot[None]]]:
    """The application with one probe armed and one event on its screen."""
    opening = Opened(side)
    opening.start()
    app = Probewright(opening)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernel.connection.planner.Planner", Anything)
        async with app.run_test(size=SIZE) as pilot:
            await until(lambda: app.current_watch is not None, pilot)
            assert app.current_watch is not None
            armed = await asyncio.to_thread(app.current_watch.armed.arm, probe("vfs_read"))
            app.refresh_loop.count()
            await pilot.press("f3")
            side.event(1000, id_of(armed))
            await until(lambda: "vfs_read" in shown(app), pilot)
            yield app, pilot


async def test_nothing_is_shown_of_what_comes_while_the_application_ends() -> None:
    side = Side()
    async with live(side) as (app, _):
        watching = app.current_watch
        assert watching is not None
    side.event(2000, id_of(watching.armed.probes[0]))
    side.cut()
    assert eventually(lambda: watching.error is not None)
    app.refresh_loop.ticks.run()
    assert watching.take_error() is not None, "nobody was told"


def shown(app: Probewright) -> str:
    return "\n".join(screen_text(app))


def keys(app: Probewright) -> set[str]:
    """What can be done now about a connection."""
    there = {binding.binding.action for binding in app.screen.active_bindings.values() if binding.enabled}
    return there & {"reconnect", "give_up"}


def said(app: Probewright) -> str:
    return " ".join(one.text for one in app.notice_lines)


async def test_a_line_that_is_cut_comes_back_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (0.2,))
    side = Side()
    side.refuse = TargetUnusable("no route to box")
    async with live(side) as (app, pilot):
        assert keys(app) == set()
        side.cut()
        await until(lambda: "disconnected" in shown(app), pilot)
        await until(lambda: "F8 gives up" in shown(app), pilot)
        text = shown(app)
        assert "armed 0" in text and "vfs_read" in text, "what came stays"
        assert keys(app) == {"reconnect", "give_up"}
        assert not isinstance(app.screen, ErrorDialog)
        side.refuse = None
        await until(lambda: "armed 1" in shown(app), pilot)
        assert "disconnected" not in screen_text(app)[0]
        assert "events of that time are lost" in said(app)
        assert app.current_watch is not None
        side.event(2000, id_of(app.current_watch.armed.probes[0]))
        await until(lambda: shown(app).count("vfs_read") == 2, pilot)
        text = shown(app)
        assert OUTAGE_EVENT in text and "! gap " in text
        assert keys(app) == set()


async def test_a_line_that_is_frozen_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What asks for losses waits, too: the screen goes on without it."""
    side, frozen = Side(), threading.Event()
    async with live(side) as (app, pilot):
        assert app.current_watch is not None
        assert "● following" in shown(app)
        counts = app.current_watch.counts
        monkeypatch.setattr(app.current_watch, "counts", lambda: (frozen.wait(60), counts())[1])
        side.last_received = side.unanswered = time.monotonic() - 40
        await until(lambda: re.search(r"✗ last heard 4\d s ago", screen_text(app)[1]), pilot)
        assert "following" not in shown(app) and "/s" not in screen_text(app)[1]
        await until(lambda: re.search(r"✗ last heard 4\d s ago", screen_text(app)[0]), pilot)
        await pilot.press("f2")
        await until(lambda: "last heard" in screen_text(app)[0], pilot)
        await pilot.press("f3")
        side.last_received, side.unanswered = time.monotonic(), None
        frozen.set()
        await until(lambda: "● following" in shown(app) and "last heard" not in shown(app), pilot)


async def test_by_hand_at_once_and_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (3600.0,))
    side = Side()
    side.refuse = TargetUnusable("no route to box")
    async with live(side) as (app, pilot):
        side.cut()
        await until(lambda: keys(app) == {"reconnect", "give_up"} and len(side.asked) == 1, pilot)
        await pilot.press("f7")
        await until(lambda: len(side.asked) == 2, pilot)
        await pilot.press("f8")
        await until(lambda: isinstance(app.screen, ErrorDialog), pilot)
        assert "no route to box" in shown(app)
        await pilot.press("escape")
        await until(lambda: keys(app) == {"reconnect"}, pilot)
        assert "the connection was lost" in shown(app)
        side.refuse = None
        await pilot.press("f7")
        await until(lambda: "armed 1" in shown(app), pilot)


async def test_what_has_ended_for_good_is_told_at_once() -> None:
    side = Side()
    side.refuse = ConnectionGone("the guest has ended")
    async with live(side) as (app, pilot):
        side.cut()
        await until(lambda: isinstance(app.screen, ErrorDialog), pilot)
        assert "the guest has ended" in shown(app)


async def test_who_leaves_does_not_wait_for_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconnect, "PAUSES", (3600.0,))
    side = Side()
    side.refuse = TargetUnusable("no route to box")
    async with live(side) as (app, pilot):
        side.cut()
        await until(lambda: keys(app) == {"reconnect", "give_up"} and len(side.asked) == 1, pilot)
        await pilot.press("ctrl+q")
    assert side.traces == []


async def test_a_call_graph_that_its_line_ended_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No probe need be armed beside it."""
    async with live(Side()) as (app, _):
        graph = graph_watch(app.current_watch.planner, GraphPlan())
        errors = iter([TargetLost("the connection was lost")])
        monkeypatch.setattr(graph, "take_error", lambda: next(errors, None))
        app.tracing.current_watch = graph
        for _ in range(2):
            app._ticked()
        (told,) = (one for one in app.notice_lines if one.title == "the call graph has ended")
        assert told.text == "the connection was lost; F4 opens the target anew"


async def test_a_silent_line_is_made_anew_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has to wait until the silence counts as a cut."""
    monkeypatch.setattr(reconnect, "PAUSES", (0.05,))
    side = Side()
    async with live(side) as (app, pilot):
        assert not app.check_action("reconnect", ())
        side.last_received = side.unanswered = time.monotonic() - 40
        await until(lambda: "last heard" in shown(app) and keys(app) == {"reconnect"}, pilot)
        lose = side.lose

        def lost(why: str) -> None:
            assert why.startswith("last heard 4")
            side.unanswered = None  # of the line that is made in its place
            lose(why)

        monkeypatch.setattr(side, "lose", lost)
        await pilot.press("f7")
        await until(lambda: len(side.asked) == 1 and "events of that time are lost" in said(app), pilot)
        await until(lambda: keys(app) == set() and "● following" in shown(app), pilot)
