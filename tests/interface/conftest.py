"""Fixtures of every test of the interface."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
import textual.app
import textual.pilot
from textual._context import active_app
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

import tui.app.keyboard
from tests.interface.widget_host import SAID_LATELY
from tests.shared_work import (
    calls_never_followed_before,
    collections_without_modules,
    pumps_closed_after_the_test,
    recordings_packed_once,
    types_indexed_once,
)
from tui.notifications import SayingApp

FRAME = 1 / 60
"""Seconds between two paints of a screen, as Textual has it: with shorter ones tests paint a tenth more."""
BUSY = 0.25
"""Share of a frame in which a process that computes is not idle."""

__all__ = [
    "calls_never_followed_before",
    "collections_without_modules",
    "pumps_closed_after_the_test",
    "recordings_packed_once",
    "types_indexed_once",
]


@pytest.fixture(scope="session", autouse=True)
def style_sheets_parsed_once() -> Iterator[None]:
    """Share parsed rules between applications: all have the sheets of the same widgets."""
    parse, known = Stylesheet._parse_rules, {}

    def parse_once(sheet: Stylesheet, *source: Any, **more: Any) -> list[RuleSet]:
        key = (source, *sorted(more.items()), *sorted(sheet._variables.items()))
        if key not in known:
            known[key] = parse(sheet, *source, **more)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        yield


@pytest.fixture(autouse=True)
def keys_pressed_with_thought(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each key come long after the one before, whatever time that takes; tests of fast typing stop the clock."""
    monkeypatch.setattr(tui.app.keyboard, "CLOCK", itertools.count(0, 10).__next__)


@pytest.fixture(scope="session", autouse=True)
def messages_kept() -> Iterator[None]:
    """Keep the last messages of each application for `widget_host.until`: on the screen they stay for seconds."""
    notify = SayingApp.notify

    def notify_and_keep(app: SayingApp, message: str, **more: Any) -> None:
        vars(app).setdefault(SAID_LATELY, deque(maxlen=8)).append(message)
        notify(app, message, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SayingApp, "notify", notify_and_keep)
        yield


async def idle(min_sleep: float = 0, max_sleep: float = 1) -> None:
    """Wait until no coroutine can go on and no thread computes; in the place of `textual._wait.wait_for_idle`.

    Textual's looks at the CPU alone: a process that others keep from it seems idle.
    """
    loop: Any = asyncio.get_running_loop()
    end = time.monotonic() + max_sleep
    earliest = time.monotonic() + min_sleep
    while time.monotonic() < end:
        threads = any(worker.is_running for worker in active_app.get().workers)
        spent = time.process_time()
        await asyncio.sleep(FRAME * 5 if threads else FRAME)
        if not loop._ready and time.process_time() - spent < FRAME * BUSY and time.monotonic() >= earliest:
            return


@pytest.fixture(scope="session", autouse=True)
def idle_by_what_is_to_do() -> Iterator[None]:
    """Wait for an application that is idle by `idle`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textual.app, "wait_for_idle", idle, raising=False)
        patch.setattr(textual.pilot, "wait_for_idle", idle)
        yield
