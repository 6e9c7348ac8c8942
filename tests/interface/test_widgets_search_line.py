"""Keys typed ahead of Enter reach whoever has the keyboard then."""

from __future__ import annotations

from textual import events
from textual.app import App, ComposeResult
from textual.widgets import Input

from tests.interface.widget_host import screen_text
from widgets.search_line import SearchLine


class Two(App[None]):
    """Enter in the first line moves to the second, by a message as screens do."""

    moves = True

    def compose(self) -> ComposeResult:
        yield SearchLine(id="one")
        yield SearchLine(id="two")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if self.moves and event.input.id == "one":
            self.call_later(self.query_one("#two").focus)


def burst(app: App[None], keys: str) -> None:
    """All keys in one packet: the app gets them before any widget does."""
    for key in keys:
        app.post_message(events.Key("enter", "\r") if key == "\r" else events.Key(key, key))


async def test_keys_after_enter_go_where_the_keyboard_went():
    app = Two()
    async with app.run_test() as pilot:
        burst(app, "abc\rxy")
        await pilot.pause(0.3)
        assert app.query_one("#one", Input).value == "abc"
        assert app.query_one("#two", Input).value == "xy"


async def test_keys_stay_when_the_keyboard_does():
    app = Two()
    app.moves = False
    async with app.run_test() as pilot:
        burst(app, "abc\rxy")
        await pilot.pause(0.3)
        assert app.query_one("#one", Input).value == "abcxy"


async def test_what_stands_in_the_line_may_be_an_escape_sequence():
    app = Two()
    async with app.run_test() as pilot:
        line = app.query_one("#one", SearchLine)
        line.value = 'comm == "a\x1b]0;b\x07\u202ec"'
        line.cursor_position = len(line.value)
        await pilot.pause()
        assert screen_text(app)[0].startswith('comm == "a␛]0;b␇\ufffdc"')
        assert line._cursor_offset == len(line.value) + 1
