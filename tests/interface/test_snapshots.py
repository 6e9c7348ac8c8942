"""Pictures of the main places, on the recording that comes along.

`--snapshot-update` takes new ones, to be looked at before they are kept.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import application
from tests.interface.test_stacks_view import settled, shown
from tests.interface.widget_host import paste, until
from tests.trimmed_recordings import stack_recording
from widgets.fields.probe_editor import ProbeEditor
from widgets.functions.function_list import FunctionList

Compare = Callable[..., bool]
Walk = Callable[[Pilot[Any]], Awaitable[None]]


async def events(pilot: Pilot[Any]) -> None:
    app = pilot.app
    await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
    await until(lambda: app.places.live.views.current.pane.table.rows.next == app.current_watch.store.next_seq, pilot)
    await app.workers.wait_for_complete()
    await pilot.press("space")


async def calls(pilot: Pilot[Any]) -> None:
    await events(pilot)
    await pilot.press("x")
    view = pilot.app.places.live.views.current
    await until(lambda: view.pane.shown and view.pane.shown.counts[0] > 0 and not view.pane.tick(), pilot)


async def signature(pilot: Pilot[Any]) -> None:
    await events(pilot)
    await pilot.press("f2")
    await paste(pilot, "vfs_read")
    place = pilot.app.places.compose
    await until(lambda: place.query_one(FunctionList).current == "vfs_read", pilot)
    await pilot.press("enter")
    editor = place.query_one(ProbeEditor)
    await until(lambda: editor.probe is not None and editor.has_focus_within, pilot)
    await pilot.press("x", "3", "1", "right")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Says what kind of terminal it is, whatever the one of the tests is."""

    def say(term: str, colors: str) -> None:
        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setenv("TERM", term)
        monkeypatch.setenv("COLORTERM", colors)

    return say


@pytest.mark.snapshot
@pytest.mark.parametrize("walk", [events, calls, signature])
def test_picture(walk: Walk, snap_compare: Compare, terminal: Callable[[str, str], None]) -> None:
    terminal("xterm-256color", "truecolor")
    assert snap_compare(application(shipped_recording()), run_before=walk, terminal_size=(100, 30))


@pytest.mark.snapshot
@pytest.mark.parametrize("keys", [(), ("z",)], ids=["stacks", "compared"])
def test_picture_of_stacks(
    keys: tuple[str, ...], tmp_path: Path, snap_compare: Compare, terminal: Callable[[str, str], None]
) -> None:
    async def stacks(pilot: Pilot[Any]) -> None:
        view = await shown(pilot.app, pilot)
        await pilot.press(*keys)
        await settled(view, pilot)
        await pilot.press("down", "down")

    terminal("xterm-256color", "truecolor")
    app = application(stack_recording(tmp_path / "stacks.pwr"))
    assert snap_compare(app, run_before=stacks, terminal_size=(100, 30))


@pytest.mark.snapshot
def test_picture_in_sixteen_colours(snap_compare: Compare, terminal: Callable[[str, str], None]) -> None:
    terminal("xterm", "")
    assert snap_compare(application(shipped_recording()), run_before=signature, terminal_size=(80, 24))


@pytest.mark.snapshot
@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_picture_of_several_kinds(
    size: tuple[int, int], snap_compare: Compare, terminal: Callable[[str, str], None]
) -> None:
    async def kinds(pilot: Pilot[Any]) -> None:
        await events(pilot)
        live = pilot.app.places.live
        pane = live.views.events.pane
        await pilot.press("up")
        while not pane.record.event.endswith("vfs_read__exit"):
            await pilot.press("up")
        await pilot.press("right")
        if live.details.is_shown:
            await until(lambda: "f_pos" in [field.name for field in live.details.pane.fields], pilot)

    terminal("xterm-256color", "truecolor")
    assert snap_compare(application(shipped_recording()), run_before=kinds, terminal_size=size)
