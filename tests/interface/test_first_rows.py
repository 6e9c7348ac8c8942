"""The first rows of a recording stand on the screen before it is open, and stay as they are when it is."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, cast

import pytest
from textual.pilot import Pilot

from kernel.connection.open_target import open_target, shipped_recording
from kernel.recording.target import RecordingTarget
from tests.interface.widget_host import screen_text, until
from tui.app import keyboard, target_control
from tui.app.app import Probewright
from tui.app.palette import rows_of
from tui.dialogs.preset_screen import PresetScreen
from tui.help import help_of
from tui.opening import Opening
from tui.present.first_row import Preview
from tui.present.first_rows import first_rows
from tui.present.ways_out import BUILD_PROBE
from tui.preview import PreviewReader
from widgets.events.status_bar import LiveLine, TopLine
from widgets.footer import KeyFooter
from widgets.functions.function_list import FunctionList
from widgets.lists.tail_table import TailTable

SIZE = (120, 40)


class Held(Opening):
    """Opens its recording only when it is let go."""

    def __init__(self, spec: str) -> None:
        super().__init__(spec)
        self.free = threading.Event()

    def run(self) -> None:
        self.free.wait(60)
        super().run()


class Read:
    """A `PreviewReader` whose child is done."""

    def __init__(self, preview: Preview | None, events: bool) -> None:
        self.preview = preview
        self._events = events
        self._free = threading.Event()

    def start(self) -> None:
        pass

    def is_alive(self) -> bool:
        return not self._free.is_set()

    def holds_events(self) -> bool:
        return self._events

    def join(self) -> None:
        self._free.wait(60)

    def finish(self) -> None:
        self._free.set()


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No dialog says how far the opening is, however long a test holds it."""
    monkeypatch.setattr(target_control, "PATIENCE_WITH_FUNCTIONS", 600)


@pytest.fixture(scope="module")
def preview() -> Preview:
    path = shipped_recording()
    assert path is not None
    target = open_target(str(path))
    assert isinstance(target, RecordingTarget)
    facts = target.facts()
    names = tuple(sorted({line.partition(" ")[0] for line in facts.functions}))
    return Preview(target.name, facts.title, names, first_rows(target))


@asynccontextmanager
async def starting(read: Read) -> AsyncIterator[tuple[Probewright, Pilot[Any], Held]]:
    opening = Held(str(shipped_recording()))
    app = Probewright(opening, cast("PreviewReader", read))
    async with app.run_test(size=SIZE) as pilot:
        try:
            yield app, pilot, opening
        finally:
            read.finish()
            opening.free.set()
            await until(lambda: opening.ident is not None, pilot)  # the application opens it now


def table_of(app: Probewright) -> TailTable:
    return app.places.live.query_one(TailTable)


async def let_go(app: Probewright, pilot: Pilot[Any], opening: Held) -> None:
    """Open the recording, and wait until its rows come from the store and the kernel's losses are known."""
    opening.free.set()
    await until(lambda: app.current_watch and app.current_watch.ended and app.counts is not None, pilot)
    assert app.places.live is not None
    await until(lambda: app.places.live.views.current.pane.shown is not None or not app.places.live.is_current, pilot)


def above_details(app) -> list[str]:
    """Return the lines above the pane of details, which waits for the store."""
    lines = screen_text(app)
    return lines[: next(n for n, line in enumerate(lines) if line.startswith("─"))]


async def test_the_rows_stand_before_the_recording_is_open_and_stay(preview):
    read = Read(preview, events=True)
    read.finish()
    async with starting(read) as (app, pilot, opening):
        await until(
            lambda: app.places.live and app.places.live.is_current and "exe-384" in above_details(app)[-1], pilot
        )
        assert app.planner is None and app.current_watch is None
        before = above_details(app)
        assert before[0].startswith(" probewright  default.pwr · Linux 7.2") and "4 probes  lost 0" in before[0]
        assert "shown 790" in before[1] and "■ recorded" in before[1] and str(BUILD_PROBE) in before[1]
        await let_go(app, pilot, opening)
        assert app.planner is not None
        assert above_details(app) == before


async def test_the_place_of_the_events_is_there_before_its_rows(preview):
    read = Read(preview, events=True)
    async with starting(read) as (app, pilot, _):
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        line = app.screen.query_one(LiveLine)
        assert line.state.note == "", "nothing is said of a recording that is not read"
        assert app.screen.query_one(TopLine).status.kernel == "opening"
        read.finish()
        await until(lambda: table_of(app).rows.next == preview.events.next, pilot)
        assert list(app.places.live.views.by_name) == ["events"], "other views are made when they are shown"


async def test_functions_stay_where_the_target_has_no_events(preview):
    read = Read(preview._replace(events=None), events=False)
    read.finish()
    async with starting(read) as (app, pilot, _):
        await until(lambda: "functions" in screen_text(app)[0], pilot)
        assert app.places.compose.is_current and app.places.live is None


async def test_who_types_a_name_is_not_taken_to_the_events(preview):
    read = Read(preview, events=False)
    async with starting(read) as (app, pilot, opening):
        await pilot.press(*"vfs")
        read.finish()
        await until(lambda: "functions" in screen_text(app)[0], pilot)
        await let_go(app, pilot, opening)
        assert app.places.compose.is_current


async def test_who_leaves_for_the_functions_is_not_taken_back(preview):
    read = Read(preview, events=True)
    read.finish()
    async with starting(read) as (app, pilot, opening):
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await until(lambda: app.places.compose.is_current, pilot)
        await let_go(app, pilot, opening)
        assert app.places.compose.is_current
        await pilot.press("f3")
        await until(lambda: "exe-384" in above_details(app)[-1], pilot)


async def test_keys_behind_the_enter_on_a_function_are_for_its_fields_though_these_come_later(preview, monkeypatch):
    monkeypatch.setattr(keyboard, "CLOCK", lambda: 100.0)
    read = Read(preview, events=True)
    read.finish()
    async with starting(read) as (app, pilot, opening):
        await until(lambda: app.places.live and app.places.live.is_current, pilot)
        await pilot.press("f2")
        await until(lambda: app.places.compose.is_current, pilot)
        await pilot.press(*"vfs", "underscore", *"read", "enter", "3")
        assert app.places.compose.query_one(FunctionList).query_text == "vfs_read"
        opening.free.set()
        await until(lambda: str(app.places.compose.panes.probe) == "f vfs_read count", pilot)
        assert app.places.compose.query_one(FunctionList).query_text == "vfs_read"


async def test_a_held_row_stays_under_the_cursor(preview):
    read = Read(preview, events=True)
    read.finish()
    async with starting(read) as (app, pilot, opening):
        await until(lambda: app.places.live and app.places.live.is_current and table_of(app).rows.next, pilot)
        table = table_of(app)
        await pilot.press("space", "up", "up", "up")
        assert not table.follow.following
        cursor, top = table.cursor, table.window.top
        await let_go(app, pilot, opening)
        assert (table.cursor, table.window.top, table.follow.following) == (cursor, top, False)
        await pilot.press("enter")
        await until(lambda: app.screen is not app.places.live, pilot)


async def test_a_search_begun_early_ends_in_the_open_recording(preview):
    read = Read(preview, events=True)
    read.finish()
    async with starting(read) as (app, pilot, opening):
        await until(lambda: app.places.live and app.places.live.is_current and table_of(app).rows.next, pilot)
        await pilot.press("slash", *"bprm", "enter")
        table = table_of(app)
        assert table.follow.following
        await let_go(app, pilot, opening)
        await until(lambda: not table.follow.following, pilot)
        assert app.places.live.views.current.pane.shown.item(table.cursor).event.endswith("bprm_execve__entry")


async def test_rows_that_were_not_read_say_that_they_come(preview):
    first = preview.events._replace(rows=preview.events.rows[-50:])
    read = Read(preview._replace(events=first), events=True)
    read.finish()
    async with starting(read) as (app, pilot, opening):
        await until(lambda: app.places.live and app.places.live.is_current and table_of(app).rows.next, pilot)
        await pilot.press("home")
        assert "…" in screen_text(app)[3] and "vfs_" not in screen_text(app)[3]
        await let_go(app, pilot, opening)
        await until(lambda: "vfs_" in screen_text(app)[3] or "open" in screen_text(app)[3], pilot)


def offered(app: Probewright) -> set[str]:
    return {key.label for key in app.screen.query_one(KeyFooter).keys}


async def test_the_foot_offers_what_works_before_a_recording_is_open(preview):
    read = Read(preview, events=True)
    async with starting(read) as (app, pilot, opening):
        everywhere = {"Compose", "Live", "Target", "Presets", "Help"}
        await until(lambda: app.places.live and app.places.live.is_current and offered(app), pilot)
        assert offered(app) == everywhere, "nothing is read"
        read.finish()
        await until(lambda: table_of(app).rows.next == preview.events.next, pilot)
        table_of(app).focus()
        await until(lambda: table_of(app).has_focus, pilot)
        await pilot.pause()
        assert offered(app) == everywhere, "rows stand there, and no target is open"
        assert {row.name for row in rows_of(app, app.screen)} == everywhere | {"Quit"}
        (without,) = (one.intro for one in help_of(app.screen) if one.title == "Without effect here")
        assert "no target is open yet; F4 chooses one" in without and "space" in without
        assert not {"Hold", "Pause/follow", "Details"} & offered(app)
        await let_go(app, pilot, opening)
        await until(lambda: {"Hold", "Details", "Filter", "Summary"} <= offered(app), pilot)


async def test_the_foot_offers_what_works_before_a_kernel_is_open(preview):
    read = Read(preview._replace(events=None), events=False)
    read.finish()
    async with starting(read) as (app, pilot, opening):
        await until(lambda: "functions" in screen_text(app)[0], pilot)
        needs = {"Edit", "Lines", "Graph", "Filter", "Export", "Mark", "Mark all"}
        assert not needs & offered(app) and {"Pick", "Target", "Help"} <= offered(app)
        named = {row.name for row in rows_of(app, app.screen)}
        assert not needs & named and {"Target", "Presets"} <= named
        await pilot.press("f3")
        await until(lambda: app.places.live and app.places.live.is_current and offered(app), pilot)
        assert offered(app) == {"Compose", "Live", "Target", "Presets", "Help"}
        await pilot.press("f5")
        await until(lambda: isinstance(app.screen, PresetScreen) and offered(app), pilot)
        assert "Help" in offered(app), "a dialog has its own"
        await pilot.press("escape")
        await until(lambda: app.places.live.is_current, pilot)
        opening.free.set()
        await until(lambda: app.planner is not None, pilot)
        await until(lambda: app.places.live.is_current and "Filter" in offered(app), pilot)
        await pilot.press("f2")
        await until(lambda: app.places.compose.is_current and {"Mark", "Mark all"} <= offered(app), pilot)
        assert "Lines" in {row.name for row in rows_of(app, app.screen)}
