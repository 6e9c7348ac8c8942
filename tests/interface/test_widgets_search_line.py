"""Draw a line to type in where its text is foreign."""

from __future__ import annotations

import pytest
from textual.app import App, ComposeResult

from tests.interface.widget_host import screen_text
from widgets.search_line import FindLine, SearchLine


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


@pytest.mark.parametrize("kind", [SearchLine, FindLine])
@pytest.mark.parametrize("before", ["", "events.csv", "longer than the other"])
async def test_what_is_typed_after_a_value_was_set_stands_behind_it(kind, before):
    class Filled(App[None]):
        def compose(self) -> ComposeResult:
            line = kind()
            line.value = before
            yield line

    async with Filled().run_test() as pilot:
        line = pilot.app.query_one(kind)
        line.focus()
        await pilot.press("1", "home", "0")
        assert line.value == f"0{before}1"
        line.value = "events.parquet"
        await pilot.press("2")
        assert line.value == "events.parquet2"
        await pilot.press("ctrl+u", "3")
        assert line.value == "3"
        line.value = "events.parquet"
        await pilot.press("shift+home")
        line.value = "events.folded"
        await pilot.press("4", "left", "left", "5", "backspace", "6")
        assert line.value == "events.folde6d4"
