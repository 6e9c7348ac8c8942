"""What is said in passing stands above the keys and covers nothing."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

import pytest
from textual import events
from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.reactive import var
from textual.widgets import Static
from textual.widgets._toast import Toast

import tui.app.keyboard
import tui.notifications
from tests.interface.test_app import application, recording
from tests.interface.test_typing import Clock, at_events
from tests.interface.widget_host import screen_text, until
from tui.notifications import Notices
from widgets.footer import KeyFooter, laid_out
from widgets.notice import MOST_LINES, Notice, lines

__all__ = ["recording"]

ROWS = 23


class Bench(App[None]):
    notice_lines: var[tuple[Notice, ...]] = var(())
    BINDINGS: ClassVar[list[BindingType]] = [Binding("f5", "act", "Act")]

    def __init__(self) -> None:
        super().__init__()
        self.acted = 0
        self.notices = Notices(self, partial(setattr, self, "notice_lines"))

    def compose(self) -> ComposeResult:
        yield Static("\n".join(f"row {n}" for n in range(100)), id="rows")
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one("#rows").styles.height = "1fr"

    def action_act(self) -> None:
        self.acted += 1


async def test_every_row_is_shown_while_something_is_said():
    app = Bench()
    async with app.run_test(size=(80, 24)) as pilot:
        app.notices.notify("x" * 30 + " " + "y" * 60, title="left behind", timeout=3)
        await pilot.pause()
        text = screen_text(app)
        assert text[-3:-1] == ["• left behind: " + "x" * 30, "  " + "y" * 60]
        assert "Act" in text[-1]
        assert text[: ROWS - 2] == [f"row {n}" for n in range(ROWS - 2)]
        assert not app.screen.query(Toast)
        await until(lambda: screen_text(app)[:ROWS] == [f"row {n}" for n in range(ROWS)], pilot)


async def test_what_went_wrong_stays_longer_and_the_newest_is_seen():
    app = Bench()
    async with app.run_test(size=(80, 24)) as pilot:
        app.notices.notify("no\x1b[31m[/bad]\nway out", severity="error", timeout=60)
        app.notices.notify("recording", timeout=2)
        app.notices.notify("recording", timeout=2)
        await pilot.pause()
        assert screen_text(app)[-3:-1] == [r"! no\x1b[31m[/bad] way out", "• recording"]
        await until(lambda: screen_text(app)[-2] == r"! no\x1b[31m[/bad] way out", pilot)


async def test_a_click_on_what_is_said_presses_no_key():
    app = Bench()
    async with app.run_test(size=(80, 24)) as pilot:
        app.notices.notify("something")
        await pilot.pause()
        line = app.query_one(KeyFooter)
        (span, *_) = [span for span in laid_out(line.keys, line.size.width) if span.key.label == "Act"]
        await pilot.click(line, offset=(span.start, 0))
        await pilot.pause()
        assert app.acted == 0
        await pilot.click(line, offset=(span.start, 1))
        await until(lambda: app.acted == 1, pilot)


def test_there_is_room_for_so_many_lines():
    said = [Notice("old " * 40), Notice("in the middle"), Notice("new " * 60, "title", urgent=True)]
    found = [line.plain for line in lines(said, 60)]
    assert len(found) == MOST_LINES
    assert found[0].startswith("! title: new")
    assert found[-1].endswith("…")
    assert [line.plain for line in lines(said[:2], 200)][-1] == "• in the middle"
    assert all(len(line) <= 20 for line in (line.plain for line in lines([Notice("word " * 3)], 20)))


@pytest.fixture
def clock(messages_go, monkeypatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(tui.notifications, "CLOCK", found)
    monkeypatch.setattr(tui.app.keyboard, "CLOCK", found)
    return found


async def test_a_message_goes_at_the_next_key_once_it_could_be_read(recording, clock):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        app.notices.notify("written: a.pwr", timeout=600)
        clock.pause()
        for key in ("g", "e"):
            await pilot.press(key)
            assert not app.notice_lines
            app.notices.notify("written: b.pwr", timeout=600)
            assert app.notice_lines
            clock.pause()
        click = (None, 20, 10, 0, 0, 1, False, False, False)
        app.post_message(events.MouseDown(*click))  # as the terminal's driver does
        app.post_message(events.MouseUp(*click))
        await pilot.pause()
        assert not app.notice_lines, "a click is as good as a key"


async def test_a_message_that_could_not_be_read_outlives_the_next_key(recording, clock):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        app.notices.notify("a", timeout=600)
        await pilot.press("down", "down")
        assert [one.text for one in app.notice_lines] == ["a"]
        await until(lambda: not app.notice_lines, pilot)  # by itself: nobody has to press a key again


async def test_errors_stay_until_they_are_answered(recording, clock):
    app = application(recording)
    async with app.run_test(size=(120, 40)) as pilot:
        await at_events(app, pilot)
        clock.pause()
        await pilot.press("slash")
        clock.pause()
        app.notices.notify("cut", severity="error", topic="connection")
        app.notices.notify("given up", severity="error")
        app.notices.notify_until_forgotten("arming …", "arm")
        clock.pause()
        await pilot.press("end", *"cpu", "backspace", "left")
        assert [one.text for one in app.notice_lines] == ["cut", "given up", "arming …"]
        app.notices.notify("back again", topic="connection")
        assert [one.text for one in app.notice_lines] == ["given up", "arming …", "back again"]
        clock.pause()
        await pilot.press("escape")
        assert [one.text for one in app.notice_lines] == ["arming …"], "what a worker does is over at its end"
        app.notices.forget("arm")
        assert not app.notice_lines
