"""What is to be called later is called, however long the process waits for a processor meanwhile."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
import textual.timer
from textual.app import App

from tests.interface.widget_host import until
from widgets.call_after import call_after

TOP = Path(__file__).parent.parent.parent


@pytest.mark.parametrize("seconds", [0.0, 0.01])
async def test_a_call_that_is_overdue_is_made(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    called: list[str] = []
    app = App[None]()
    async with app.run_test() as pilot:
        # A second passes between any two looks at the clock.
        monkeypatch.setattr(textual.timer._time, "get_time", itertools.count(100.0).__next__)
        app.set_timer(0.01, lambda: called.append("by Textual"))  # why call_after is there
        call_after(app, seconds, lambda: called.append("by call_after"))
        await until(lambda: called, pilot)
    assert called == ["by call_after"]


async def test_a_call_that_was_stopped_is_not_made() -> None:
    called: list[str] = []
    app = App[None]()
    async with app.run_test() as pilot:
        call_after(app, 0.01, lambda: called.append("stopped")).stop()
        call_after(app, 0.02, lambda: called.append("made"))
        await until(lambda: called, pilot)
    assert called == ["made"]


def test_nothing_else_uses_timers_of_one_call() -> None:
    files = [path for folder in ("tui", "widgets") for path in (TOP / folder).rglob("*.py")]
    users = [str(path.relative_to(TOP)) for path in files if ".set_timer(" in path.read_text()]
    assert users == ["widgets/call_after.py"]
