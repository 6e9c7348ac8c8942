"""Draw a line to type in where its text is foreign."""

from __future__ import annotations

from textual.app import App, ComposeResult

from tests.interface.widget_host import screen_text
from widgets.search_line import SearchLine


class OneLine(App[None]):
    def compose(self) -> ComposeResult:
        yield SearchLine()


async def test_what_stands_in_the_line_may_be_an_escape_sequence():
    app = OneLine()
    async with app.run_test() as pilot:
        line = app.query_one(SearchLine)
        line.value = 'comm == "a\x1b]0;b\x07\u202ec"'
        line.cursor_position = len(line.value)
        await pilot.pause()
        assert screen_text(app)[0].startswith('comm == "a␛]0;b␇\ufffdc"')
        assert line._cursor_offset == len(line.value) + 1
