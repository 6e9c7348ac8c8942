"""Forms: what a target says of the values is waited for without stopping, and is in sight on a small screen."""

from __future__ import annotations

import gc
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import NamedTuple

from textual.app import App
from textual.pilot import Pilot

from tests.interface.widget_host import screen_text, until
from widgets.dialogs.form import FormDialog, FormField

LINES = [FormField(f"line{number}", help="words " * 40) for number in range(8)]


class Judge:
    """Refuses `bad`, once it is let go."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.free = threading.Event()

    def __call__(self, values: Mapping[str, str]) -> str:
        self.asked.append(values["line0"])
        self.free.wait(60)
        return "this kernel has no bad" if values["line0"] == "bad" else ""


class Asked(NamedTuple):
    """Form on the screen of an application."""

    app: App[None]
    pilot: Pilot[None]
    form: FormDialog
    answers: list[dict[str, str] | None]


@asynccontextmanager
async def asking(judge: Judge) -> AsyncIterator[Asked]:
    app: App[None] = App()
    answers: list[dict[str, str] | None] = []
    form = FormDialog("form", LINES, judge=judge)
    async with app.run_test(size=(80, 24)) as pilot:
        await app.push_screen(form, answers.append)
        yield Asked(app, pilot, form, answers)


async def test_a_target_is_waited_for_while_keys_are_taken() -> None:
    judge = Judge()
    async with asking(judge) as (app, pilot, _, answers):
        await pilot.press(*"bad", "enter")
        await until(lambda: judge.asked[-1:] == ["bad"], pilot)
        assert any("looking at this kernel" in line for line in screen_text(app)) and not answers
        judge.free.set()
        await until(lambda: any("this kernel has no bad" in line for line in screen_text(app)), pilot)
        assert not answers
        await pilot.press("backspace", "backspace", "backspace", *"good", "enter")
        await until(lambda: bool(answers), pilot)
        assert answers[0] is not None and answers[0]["line0"] == "good"


async def test_what_is_typed_while_a_target_is_waited_for_is_not_taken_with_the_old_answer() -> None:
    judge = Judge()
    async with asking(judge) as (app, pilot, form, answers):
        await pilot.press(*"good", "enter")
        await until(lambda: judge.asked[-1:] == ["good"], pilot)
        await pilot.press("x")
        judge.free.set()
        await until(lambda: judge.asked[-1:] == ["goodx"], pilot)
        assert not answers and app.screen is form


async def test_a_question_that_a_newer_one_replaces_at_once_is_not_begun() -> None:
    judge = Judge()
    judge.free.set()
    async with asking(judge) as (_, pilot, form, answers):
        await pilot.press(*"good")
        for _ in range(3):
            form.action_done()
        await until(lambda: bool(answers), pilot)
        gc.collect()  # a coroutine that nobody awaited is told when it is collected, and fails the test
        assert len(answers) == 1
