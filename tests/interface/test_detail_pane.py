"""The pane of details beside or below the rows: it follows the cursor, leads to both ends, can be hidden."""

from __future__ import annotations

import re
from contextlib import asynccontextmanager

import pytest

from kernel.connection.open_target import shipped_recording
from tests.interface.test_app import application
from tests.interface.widget_host import screen_text, until
from tui.live.details.detail_screen import DetailScreen
from tui.live.details.place import PanePlace
from tui.views.events.detail import call_of_event
from tui.views.events.pane import EventsPane


@asynccontextmanager
async def live(size):
    app = application(shipped_recording())
    async with app.run_test(size=size) as pilot:
        await until(lambda: app.current_watch and app.current_watch.ended and app.places.live, pilot)
        pane = app.places.live.query_one(EventsPane)
        await until(lambda: pane.table.rows.next == app.current_watch.store.next_seq, pilot)
        yield pilot, pane, app.places.live


def shown_names(screen) -> list[str]:
    """Return the names of the fields in the pane."""
    rows = screen.details.pane.fields
    return [field.name for field in rows]


@pytest.mark.parametrize(("size", "place"), [((120, 40), PanePlace.BELOW), ((200, 60), PanePlace.BESIDE)])
async def test_the_pane_follows_the_cursor_and_says_the_other_end_and_the_latency(size, place):
    async with live(size) as (pilot, pane, screen):
        assert screen.details.pane.parent.has_class(place.value)
        await pilot.press("up")
        while not (pane.record.event.endswith("vfs_write__entry")):
            await pilot.press("up")
        await until(lambda: "latency" in shown_names(screen), pilot)
        record, store = pane.record, pilot.app.current_watch.store
        call = call_of_event(pilot.app.current_watch, store, record.seq)
        assert call is not None and call.entry == record.seq
        names = shown_names(screen)
        assert names.index("count") < names.index("latency") < names.index("exit") < names.index("exit: ret")
        assert names.index("exit: ret") < names.index("common_pid")
        (place,) = (field.value for field in screen.details.pane.fields if field.name == "__probe_ip")
        assert re.fullmatch(r"vfs_write\+0x4/0x[0-9a-f]+  \(0xffff[0-9a-f]{12}\)", place)
        lines = screen_text(pilot.app)
        assert any("u64" in line and " count " in line for line in lines), "types stand beside the values"
        await pilot.press("down")
        await until(lambda: "exit" not in shown_names(screen), pilot)


async def test_keys_go_to_both_ends_of_a_call_from_events_and_calls():
    async with live((120, 40)) as (pilot, pane, screen):
        await pilot.press("up")
        while not (pane.record.event.endswith("vfs_write__entry")):
            await pilot.press("up")
        entry = pane.record.seq
        call = call_of_event(pilot.app.current_watch, pilot.app.current_watch.store, entry)
        await pilot.press("right_parenthesis")
        await until(lambda: pane.record.seq == call.exit, pilot)
        await pilot.press("left_parenthesis")
        await until(lambda: pane.record.seq == entry, pilot)
        await pilot.press("x")
        table = screen.views.current.pane.table
        await until(lambda: table.rows.next > table.rows.first and screen.details.is_shown, pilot)
        await pilot.press("up", "up")
        ends = screen.views.current.call_of_row(screen.views.watch, table.cursor)
        await pilot.press("right_parenthesis")
        await until(lambda: screen.views.current.name == "events" and pane.record.seq == ends.exit, pilot)
        while not (pane.record.event.endswith("bprm_execve__entry")):
            await pilot.press("down" if pane.table.cursor < pane.table.rows.next - 1 else "home")
        await pilot.press("left_parenthesis")
        assert any("no end of a call" in line for line in screen_text(pilot.app))


async def test_an_end_that_the_filter_hides_is_said_so():
    async with live((120, 40)) as (pilot, pane, _screen):
        pane.only("event == vfs_write__entry")
        await pilot.press("up")
        await pilot.press("right_parenthesis")
        await until(lambda: any("hidden by the filter" in line for line in screen_text(pilot.app)), pilot)


async def test_a_key_hides_it_and_the_choice_is_kept_in_all_views():
    async with live((120, 40)) as (pilot, _pane, screen):
        assert screen.details.is_shown
        await pilot.press("P")
        assert not screen.details.is_shown
        await pilot.press("x")
        await until(lambda: screen.views.current.name == "calls", pilot)
        assert not screen.details.is_shown
        await pilot.press("P")
        assert screen.details.is_shown
        await pilot.press("s")
        await until(lambda: screen.views.current.name == "summary", pilot)
        assert not screen.details.is_shown, "a summary has no rows with fields"
        await pilot.press("e")
        await until(lambda: screen.details.is_shown, pilot)


async def test_a_narrow_screen_has_no_pane_and_enter_opens_the_details():
    async with live((80, 24)) as (pilot, _pane, screen):
        assert not screen.details.is_shown
        await pilot.press("P")
        assert any("120 columns" in line for line in screen_text(pilot.app))
        await pilot.press("enter")
        await until(lambda: isinstance(pilot.app.screen, DetailScreen), pilot)
        await pilot.press("escape")
        await pilot.resize_terminal(140, 40)
        await until(lambda: screen.details.is_shown, pilot)


async def test_tab_goes_into_the_pane_and_escape_back():
    async with live((120, 40)) as (pilot, pane, screen):
        await pilot.press("up", "up")
        await until(lambda: shown_names(screen), pilot)
        assert "▌" not in "".join(line for line in screen_text(pilot.app) if "common_pid" in line)
        await pilot.press("tab", "down")
        assert screen.details.pane.has_focus_within
        await pilot.press("escape")
        assert pane.table.has_focus


async def test_the_pane_is_filled_once_however_far_the_cursor_goes(monkeypatch):
    async with live((120, 40)) as (pilot, pane, screen):
        await until(lambda: shown_names(screen), pilot)
        filled = []
        real = screen.views.events.detail

        def detail(watch, row):
            filled.append(row)
            return real(watch, row)

        monkeypatch.setattr(screen.views.events, "detail", detail)
        pane.table.follower.stand()
        for row in range(pane.table.rows.first, pane.table.rows.next):
            pane.table.cursor = row
        await until(lambda: filled, pilot)
        assert filled == [pane.table.rows.next - 1]


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_columns_stay_while_the_cursor_moves_and_a_key_gives_them_to_its_kind(size):
    async with live(size) as (pilot, pane, screen):

        def titles() -> list[str]:
            return [column.name for column in pane.columns.choice.shown if not column.of_all]

        await until(titles, pilot)
        before = titles()
        await pilot.press("up")
        while not pane.record.event.endswith("vfs_write__exit"):
            await pilot.press("up")
        screen.details._look()
        assert titles() == before and "count" not in before
        lines = screen_text(pilot.app)
        assert any("vfs_write__exit" in line and "count=" in line for line in lines)
        assert any("vfs_read__exit" in line and "f_pos=" in line for line in lines)
        held, above = pane.record, pane.table.cursor - pane.table.window.top
        await pilot.press("right")
        assert titles() == ["count", "ret", "pos_0"] and pane.columns.choice.current.name == "count"
        assert (pane.record, pane.table.cursor - pane.table.window.top) == (held, above), "the picture stays"
        lines = screen_text(pilot.app)
        assert any("vfs_write__exit" in line and "count=" not in line for line in lines)
        assert any("filename=/proc/self" in line for line in lines), "a row of another kind shows its values"
        await pilot.press("A")
        everything = titles()
        assert {"f_pos", "dfd", "filename", "pos_0"} <= set(everything)
        await pilot.press("up", "up", "A")
        await until(lambda: len(titles()) < len(everything), pilot)
