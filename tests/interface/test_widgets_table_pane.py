"""Live events: following, pausing, a million rows, rows that fall away, search, and no work without news."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import pytest
from rich.cells import cell_len
from textual import events

from tests.interface.widget_host import Host, count_paints, until
from widgets.columns import TableColumns
from widgets.events.event_rows import FIXED, EventColumn, EventRows, ShownEvent
from widgets.lists.table_pane import TablePane
from widgets.lists.tail_table import TailTable

FIELDS = ("f_pos", "count", "ret")


class Record(NamedTuple):
    seq: int
    ts: int
    cpu: int
    pid: int
    comm: str
    event: str


class Found(NamedTuple):
    seq: int | None
    next: int
    done: bool


class Store:
    """Makes its events up from their numbers; counts how many were asked for."""

    def __init__(self, count: int, comm: str = "cat") -> None:
        self.first, self.next, self.comm = 0, count, comm
        self.asked = 0

    def item(self, seq: int) -> Record:
        if not self.first <= seq < self.next:
            raise IndexError(seq)
        self.asked += 1
        return Record(seq, 12_304_117_000 + seq * 1000, seq % 2, 812, self.comm, "pw_1/vfs_read__exit")

    def find(self, match: str, start: int, direction: int = 1, budget: float = 0.01) -> Found:
        for n in range(100):
            seq = start + n * direction
            if not self.first <= seq < self.next:
                return Found(None, seq, True)
            if match in f"f_pos={seq}":
                return Found(seq, seq + direction, True)
        return Found(None, start + 100 * direction, False)


def cells(event: ShownEvent) -> Mapping[str, str]:
    assert isinstance(event, Record)
    return {"f_pos": str(event.seq), "count": "131072", "ret": "-EAGAIN" if event.seq % 3 else "512"}


def host(store: Store, theme: str = "", fields: tuple[str, ...] = FIELDS) -> Host:
    def make() -> TablePane:
        pane = TablePane()

        def ready() -> None:
            pane.table.show(EventRows(store, (*FIXED, *map(EventColumn, fields)), cells))
            pane.table.focus()

        pane.call_after_refresh(ready)
        return pane

    return Host(make, TailTable.DetailRequested, TailTable.Followed, theme=theme)


def rows(app: Host) -> list[str]:
    """The screen without its header and scroll bar."""
    return [line[:78].rstrip() for line in app.text.split("\n")[1:]]


async def test_the_newest_are_at_the_bottom_and_columns_stand_under_their_titles():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        header, row = app.line(0), app.line(23)
        assert "12.305116" in row
        assert "cat-812" in row
        assert "vfs_read__exit" in row
        assert header.index("task") == row.index("cat-812")
        assert header.index("f_pos") + len("f_pos") == row.index(" 999 ") + 4
        store.next += 500
        app.widget.table.tick()
        await pilot.pause()
        assert " 1499 " in app.line(23)


async def test_nothing_is_done_without_news():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.pause(0.5)
        painted = [count_paints(widget) for widget in app.screen.query("*")]
        asked = store.asked
        for _ in range(20):
            app.widget.table.tick()
        await pilot.pause(0.5)
        assert sum(n[0] for n in painted) == 0
        assert store.asked == asked


async def test_a_tick_formats_only_what_is_seen():
    store = Store(0)
    app = host(store)
    async with app.shown() as pilot:
        for _ in range(5):
            store.next += 100_000
            app.widget.table.tick()
            await pilot.pause()
        assert store.asked <= 6 * 24
        assert " 499999 " in app.line(23)


async def test_news_after_a_long_silence_reach_the_scroll_bar():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.pause(0.5)
        for _ in range(3):
            store.next += 100
            app.widget.table.tick()
            await pilot.pause()
        table = app.widget.table
        await until(lambda: table.virtual_size.height == 1301 and table.scroll_offset.y == table.max_scroll_y, pilot)
        assert " 1299 " in app.line(23)


async def test_going_up_leaves_following_and_counts_what_is_new():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.press("up")
        assert not app.widget.table.follow.following
        assert app.widget.table.cursor == 998
        picture = rows(app)
        store.next += 1234
        app.widget.table.tick()
        await pilot.pause(0.4)
        assert rows(app) == picture
        assert app.widget.table.follow.new == 1234
        await pilot.press("end")
        assert app.widget.table.follow.following
        assert " 2233 " in app.line(23)
        assert app.widget.table.follow.new == 0
        assert [m.following for m in app.heard][-2:] == [False, True]


async def test_a_list_that_becomes_higher_goes_on_following():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.press("slash", "x")
        await pilot.pause(0.1)
        await pilot.press("escape")
        await pilot.pause(0.2)
        await pilot.press("escape")
        await pilot.pause(0.2)
        assert app.widget.table.follow.following
        app.widget.table.scroll_relative(y=-3, animate=False)
        await until(lambda: not app.widget.table.follow.following, pilot)


async def test_space_holds_and_follows_and_enter_asks_for_details():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.press("space")
        assert not app.widget.table.follow.following
        await pilot.press("up", "up", "enter")
        assert [m.row for m in app.heard if isinstance(m, TailTable.DetailRequested)] == [997]
        await pilot.pause(0.2)
        await pilot.press("space")
        assert app.widget.table.follow.following
        await pilot.press("enter")
        assert [m.row for m in app.heard if isinstance(m, TailTable.DetailRequested)] == [997, 999]


async def test_the_wheel_goes_back_from_what_is_seen_even_when_the_bar_is_late():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        store.next = 50_000
        app.widget.table.tick()
        await pilot._post_mouse_events([events.MouseScrollUp], TailTable, (5, 5))
        await pilot.pause()
        table = app.widget.table
        assert not table.follow.following
        assert 50_000 - table.window.page - 10 < table.window.top < 50_000 - table.window.page
        await pilot.press("home")
        assert " 0 " in app.line(1)


async def test_a_click_holds_the_row_that_was_clicked():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        text = app.line(10)
        await pilot.click(TailTable, offset=(8, 10))
        assert app.line(10) == "▌" + text[1:]
        await pilot.double_click(TailTable, offset=(8, 5))
        assert len([m for m in app.heard if isinstance(m, TailTable.DetailRequested)]) == 1


async def test_rows_that_are_dropped_from_the_store():
    store = Store(1000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.press("home")
        store.first, store.next = 600, 5000
        app.widget.table.tick()
        await until(lambda: " 600 " in app.line(1), pilot)
        await pilot.press("down")
        assert app.widget.table.cursor == 601


async def test_a_held_picture_at_the_end_stays_when_more_rows_are_dropped_than_come():
    store = Store(5000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.press("space")
        table = app.widget.table
        top = table.window.top
        store.first, store.next = 1000, 5050
        table.tick()
        await until(lambda: table.window.origin == 1000, pilot)
        assert (table.follow.following, table.cursor, table.window.top) == (False, 4999, top)


async def test_search_goes_to_hits_in_steps():
    store = Store(10_000)
    app = host(store)
    async with app.shown() as pilot:
        await pilot.press("slash", *"=777", "enter")
        await until(lambda: app.widget.table.cursor == 7779, pilot)  # the newest before the end
        assert "777" in app.line(app.widget.table.cursor - app.widget.table.window.top + 1)
        await pilot.press("N")
        await until(lambda: app.widget.table.cursor == 7778, pilot)
        await pilot.press("n", "n")
        await until(lambda: "none after" in app.line(23), pilot)
        await pilot.press("escape")
        assert "none" not in app.line(23)
        assert app.widget.table.has_focus


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (150, 40)])
async def test_hostile_text_and_sizes(size):
    app = host(Store(100, comm="[/b]\x1b[31m日本語\t"), theme="ansi-dark", fields=("f_pos", "[/]\x1b[2J" * 5))
    async with app.shown(*size) as pilot:
        await pilot.press("up")
        assert "\x1b" not in app.text
        assert r"[/b]\x1b" in app.text
        assert all(cell_len(line) <= size[0] for line in app.text.split("\n"))
        await pilot.press("right", "right", "left")


def test_columns_give_way_to_numbers():
    columns = TableColumns(["task", "event", "count"])
    columns.see(["kworker/u16:3-events-1234", "a_very_long_event_name__exit", "131072"])
    assert columns.right(2)
    assert not columns.right(0)
    widths = columns.widths(40)
    assert widths[2] == 6
    assert sum(widths) + 4 == 40
    assert columns.total(10) > 10
    columns.see(["x", "y", "-EAGAIN"])
    assert not columns.right(2)
