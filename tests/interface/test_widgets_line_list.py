"""The virtual list: keys, mouse, a million rows, and nothing painted without need."""

from __future__ import annotations

import pytest
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.strip import Strip

from tests.interface.widget_host import Host, count_paints
from widgets.lists.line_list import LineList
from widgets.lists.line_paint import CURSOR_MARK, part_of_line
from widgets.rows import Piece
from widgets.safe_text import safe

SIZE = (80, 24)


class Numbers:
    def __init__(self, count, first=0, text="row {}"):
        self.first, self.next, self.text = first, first + count, text
        self.formatted = 0

    def pieces(self, row, columns):
        self.formatted += 1
        yield Piece(safe(self.text.format(row)), "name")


def host(count=100, header=False, **options):
    return Host(lambda: LineList(Numbers(count, **options), header=header), LineList.RowMessage)


async def test_only_what_is_seen_is_formatted_of_a_million_rows():
    app = host(1_000_000)
    async with app.run_test(size=SIZE) as pilot:
        assert app.widget.rows.formatted <= 3 * SIZE[1]
        await pilot.press("end")
        assert app.line(23).startswith(CURSOR_MARK + "row 999999")
        await pilot.press("home")
        assert app.line(0).startswith(CURSOR_MARK + "row 0")
        assert app.widget.rows.formatted <= 9 * SIZE[1]


async def test_keys_move_the_cursor_and_scroll():
    app = host()
    async with app.run_test(size=SIZE) as pilot:
        app.widget.focus()
        await pilot.press(*["down"] * 24)
        assert app.widget.cursor == 24
        assert app.line(23).startswith(CURSOR_MARK + "row 24")
        await pilot.press("up")
        assert app.line(22).startswith(CURSOR_MARK + "row 23")
        await pilot.press("pagedown")
        assert app.widget.cursor == 46
        await pilot.press("pageup", "pageup", "pageup", "pageup")
        assert app.widget.cursor == 0
        await pilot.press("up")
        assert app.widget.cursor == 0
        rows = [m.row for m in app.heard if isinstance(m, LineList.Highlighted)]
        assert rows[-1] == 0
        assert rows[1:25] == list(range(1, 25))


async def test_enter_and_double_click_take_a_row():
    app = host(header=True)
    async with app.run_test(size=SIZE) as pilot:
        app.widget.focus()
        await pilot.press("down", "enter")
        assert [m.row for m in app.heard if isinstance(m, LineList.Selected)] == [1]
        await pilot.click(LineList, offset=(5, 8))
        assert app.widget.cursor == 7
        assert len([m for m in app.heard if isinstance(m, LineList.Selected)]) == 1
        await pilot.double_click(LineList, offset=(5, 9))
        assert [m.row for m in app.heard if isinstance(m, LineList.Selected)] == [1, 8]
        await pilot.click(LineList, offset=(5, 0))
        assert app.widget.cursor == 8  # the header is no row


async def test_wheel_scrolls_without_the_cursor():
    app = host()
    async with app.run_test(size=SIZE) as pilot:
        await pilot._post_mouse_events([events.MouseScrollDown], LineList, (3, 3))
        assert app.widget.window.top > 0
        assert app.widget.cursor == 0


async def test_nothing_is_painted_without_change():
    app = host()
    async with app.run_test(size=SIZE) as pilot:
        await pilot.pause()
        painted = count_paints(app.widget)
        await pilot.pause(0.3)
        assert painted[0] == 0
        app.widget.move_to(3)
        await pilot.pause()
        assert 0 < painted[0] <= 4  # the old row and the new one


async def test_rows_that_fall_away_at_the_front_do_not_move_the_picture():
    app = host(1000)
    async with app.run_test(size=SIZE) as pilot:
        app.widget.move_to(500)
        await pilot.pause()
        top = app.widget.window.top
        app.widget.rows.first = 100
        app.widget.rows_changed()
        await pilot.pause()
        assert app.widget.window.top == top
        assert app.widget.cursor == 500
        app.widget.rows.first = 600
        app.widget.rows_changed()
        await pilot.pause()
        assert app.widget.cursor == 600
        assert app.line(0).startswith(CURSOR_MARK + "row 600")


async def test_a_list_that_becomes_shorter_at_the_front_shows_the_same_rows_at_its_end():
    app = host(1000)
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("end")
        top = app.widget.window.top
        app.widget.rows.first, app.widget.rows.next = 300, 1010
        app.widget.rows_changed()
        await pilot.pause()
        assert (app.widget.window.top, app.widget.cursor) == (top, 999)


async def test_fewer_rows_clamp_the_cursor_and_none_at_all_is_fine():
    app = host(1000)
    async with app.run_test(size=SIZE) as pilot:
        app.widget.move_to(900)
        app.widget.rows = Numbers(5)
        await pilot.pause()
        assert app.widget.cursor == 0
        app.widget.rows.next = 0
        app.widget.rows_changed()
        await pilot.press("down", "enter", "end", "pageup")
        assert app.text.strip() == ""


@pytest.mark.parametrize("size", [(80, 24), (20, 5), (1, 1), (200, 60)])
async def test_every_line_is_as_wide_as_the_widget(size):
    app = host(50, text="日本語 [/b] \x1b[31m {0}" * 4)
    async with app.run_test(size=size):
        for y in range(size[1]):
            assert cell_len(app.widget.render_line(y).text) == app.widget.window.columns
            assert "\x1b" not in app.widget.render_line(y).text


async def test_the_cursor_is_seen_without_colour_and_themes_change_its_colour():
    app = host()
    async with app.run_test(size=SIZE) as pilot:
        app.widget.focus()
        await pilot.pause()
        before = app.widget.render_line(0)
        assert before.text.startswith(CURSOR_MARK)
        app.theme = "ansi-dark"
        await pilot.pause()
        after = app.widget.render_line(0)
        assert list(before) != list(after)


async def test_a_resize_keeps_the_cursor_in_sight():
    app = host()
    async with app.run_test(size=SIZE) as pilot:
        app.widget.move_to(23)
        await pilot.resize_terminal(80, 10)
        await pilot.pause()
        assert app.widget.window.top <= 23 < app.widget.window.top + app.widget.window.page


async def test_a_frame_formats_no_more_rows_than_it_shows():
    app = host(1_000_000)
    async with app.run_test(size=(120, 40)):
        app.widget.move_to(500_000)
        app.widget._painter.forget()
        app.widget.rows.formatted = 0
        for y in range(40):
            app.widget.render_line(y)
        assert app.widget.rows.formatted == 40


def test_a_word_that_is_cut_at_an_end_of_the_screen_has_an_ellipsis_there():
    line = Strip([Segment(" 24.95  count=", Style(dim=True)), Segment("1024  a界"), Segment("b")])

    def part(left: int, columns: int) -> str:
        return part_of_line(line, left, columns).text

    assert part(0, 16) == " 24.95  count=1…" and part(0, 18) == " 24.95  count=1024"
    assert part(0, 6) == " 24.95" and part(0, 5) == " 24.…" and part(2, 6) == "….95  "
    assert part(8, 10) == "count=1024" and part(9, 8) == "…unt=10…"
    assert part(0, line.cell_length) == line.text
    assert all(part_of_line(line, left, 7).cell_length == 7 for left in range(line.cell_length - 6))
    assert [segment.style.dim for segment in part_of_line(line, 9, 3)][-1], "it looks as what it stands for"
