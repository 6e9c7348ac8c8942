"""Fixtures of every test of the interface."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import pytest
import textual._callback
import textual.app
import textual.pilot
from textual._compositor import Compositor
from textual._context import active_app, visible_screen_stack
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet
from textual.geometry import Region

import tui.app.keyboard
import tui.notifications
from tests.interface.widget_host import SAID_LATELY
from tests.shared_work import (
    calls_never_followed_before,
    collections_without_modules,
    pumps_closed_after_the_test,
    recordings_packed_once,
    types_indexed_once,
)
from tui.notifications import Notices

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
    rules_map = Stylesheet.rules_map.fget

    def parse_once(sheet: Stylesheet, *source: Any, **more: Any) -> list[RuleSet]:
        key = (source, *sorted(more.items()), *sorted(sheet._variables.items()))
        if key not in known:
            known[key] = parse(sheet, *source, **more)
        return known[key]

    maps: dict[tuple[int, ...], dict[str, list[RuleSet]]] = {}

    def map_once(sheet: Stylesheet) -> dict[str, list[RuleSet]]:
        if sheet._rules_map is None:
            key = tuple(map(id, sheet.rules))  # `known` keeps them alive
            if key not in maps:
                maps[key] = rules_map(sheet)
            sheet._rules_map = maps[key]
        return sheet._rules_map

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Stylesheet, "_parse_rules", parse_once)
        patch.setattr(Stylesheet, "rules_map", property(map_once))
        yield


@pytest.fixture(scope="session", autouse=True)
def parameters_counted_once() -> Iterator[None]:
    """Count the parameters of a callback once for its code: each application has closures of its own.

    A bound method has the code of its function, and a parameter less.
    """
    count, known = textual._callback._count_parameters, dict[Any, int]()

    def count_once(function: Any) -> int:
        code = getattr(function, "__code__", None)
        if code is None:
            return count(function)
        key = code, hasattr(function, "__self__")
        if key not in known:
            known[key] = count(function)
        return known[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(textual._callback, "_count_parameters", count_once)
        yield


@pytest.fixture(scope="session", autouse=True)
def paints_for_no_terminal() -> Iterator[None]:
    """Have widgets render what changed, and cut none of it into pieces for a terminal that is not there.

    The pieces are Textual's; a test that reads the screen has them made (`widget_host.screen_text`).
    """
    update = Compositor.render_update

    def render(compositor: Compositor, full: bool = False, screen_stack: Any = None, simplify: bool = False) -> Any:
        if active_app.get()._driver is None or not active_app.get().is_headless or full:
            return update(compositor, full, screen_stack, simplify)
        visible_screen_stack.set(screen_stack or [])
        dirty = compositor._dirty_regions.copy()
        compositor._dirty_regions.clear()
        if dirty:
            everything = compositor.size.region
            deque(compositor._get_renders(Region.from_union(dirty).intersection(everything)), maxlen=0)
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", render)
        yield


@pytest.fixture(autouse=True)
def keys_pressed_with_thought(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each key come long after the one before, whatever time that takes; tests of fast typing stop the clock."""
    monkeypatch.setattr(tui.app.keyboard, "CLOCK", itertools.count(0, 10).__next__)


@pytest.fixture(autouse=True)
def messages_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have messages stay for minutes: a busy machine takes seconds from a key to what a test looks at then."""
    monkeypatch.setattr(tui.notifications, "_SECONDS", 300.0)


@pytest.fixture
def messages_go(messages_stay: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have messages go by themselves as they do for a user."""
    monkeypatch.setattr(tui.notifications, "_SECONDS", 3.0)


@pytest.fixture(scope="session", autouse=True)
def messages_kept() -> Iterator[None]:
    """Keep the last messages of each application for `widget_host.until`: on the screen they stay for seconds."""
    notify = Notices.notify

    def notify_and_keep(notices: Notices, message: str, **more: Any) -> None:
        vars(notices.app).setdefault(SAID_LATELY, deque(maxlen=8)).append(message)
        notify(notices, message, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Notices, "notify", notify_and_keep)
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
